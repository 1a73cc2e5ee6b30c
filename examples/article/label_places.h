/* Where to write the names of points, so that they do not cover each other. */
#ifndef ARTICLE_LABEL_PLACES_H
#define ARTICLE_LABEL_PLACES_H

#include <stdbool.h>

/* A point of a picture and its name, in pixels. */
typedef struct placed_label {
    double x, y;               /* the point */
    double width, height;      /* of the name */
    int side;                  /* where the name was found to go: 1 right of the point, -1 left of
                                * it, 0 above or below */
    double label_x, label_y;   /* of the end of the name that is next to the point, or (side 0) of
                                * its middle, at half its height */
    bool far;                  /* the name is so far off that a stroke should lead to it */
    double stroke_x, stroke_y; /* where that stroke ends, at the edge of the name */
} placed_label;

/* Finds a place for the name of each of labels[count] in a picture of width x height pixels: of the
 * places around its point the one that overlaps least with the points, the other names and the
 * edges, and then the nearest. One name after the other, three times over. */
void label_places_find(placed_label *labels, int count, double width, double height);

#endif
