#include "article/label_places.h"

#include <math.h>

enum { ROUNDS = 3, DIRECTIONS = 8, RINGS = 4 };

static const double DOT = 6;         /* half of the side of a point, with a margin */
static const double GAP = 3;         /* pixels between a point's square and its name */
static const double RING_STEP = 13;  /* pixels from one ring of places to the next */
static const double RING_COST = 30;  /* what a ring farther out is worth, in pixels of overlap */
static const double EDGE_COST = 100; /* what a pixel outside the picture is worth */

/* A rectangle around a middle. */
typedef struct box {
    double x, y, half_width, half_height;
} box;

static box box_of(const placed_label *label) {
    double half = label->width / 2;
    return (box){label->label_x + label->side * half, label->label_y, half, label->height / 2};
}

static double overlap(box a, box b) {
    double across = a.half_width + b.half_width - fabs(a.x - b.x);
    double along = a.half_height + b.half_height - fabs(a.y - b.y);
    return across > 0 && along > 0 ? across * along : 0;
}

/* Pixels that the box reaches over the edges. */
static double outside(box b, double width, double height) {
    return fmax(b.half_width - b.x, 0) + fmax(b.x + b.half_width - width, 0) +
           fmax(b.half_height - b.y, 0) + fmax(b.y + b.half_height - height, 0);
}

/* Moves the name of a point to a place: in a direction, on a ring. */
static void move(placed_label *label, int direction, int ring) {
    /* right, left, above, below, then the corners */
    static const int across[DIRECTIONS] = {1, -1, 0, 0, 1, 1, -1, -1};
    static const int along[DIRECTIONS] = {0, 0, -1, 1, -1, 1, -1, 1};
    bool corner = across[direction] != 0 && along[direction] != 0;
    double away = (corner ? 0.4 : 1) * DOT + GAP + ring * RING_STEP;
    label->side = across[direction];
    label->label_x = label->x + across[direction] * away;
    label->label_y = label->y + along[direction] * (label->height / 2 + away);
    label->far = ring > 0;
    box name = box_of(label);
    label->stroke_x = fmax(name.x - name.half_width, fmin(label->x, name.x + name.half_width));
    label->stroke_y = fmax(name.y - name.half_height, fmin(label->y, name.y + name.half_height));
}

/* What the place of a name is worth among the others. */
static double cost_of(const placed_label *labels, int count, int which, double width,
                      double height) {
    box place = box_of(&labels[which]);
    double cost = EDGE_COST * outside(place, width, height);
    for (int i = 0; i < count; i++) {
        box dot = {labels[i].x, labels[i].y, DOT, DOT};
        cost += 2 * overlap(place, dot);
        if (i != which)
            cost += overlap(place, box_of(&labels[i]));
    }
    return cost;
}

static void place_one(placed_label *labels, int count, int which, double width, double height) {
    placed_label best = labels[which];
    double least = INFINITY;
    for (int ring = 0; ring < RINGS; ring++)
        for (int direction = 0; direction < DIRECTIONS; direction++) {
            move(&labels[which], direction, ring);
            double cost = cost_of(labels, count, which, width, height);
            cost += RING_COST * ring + 0.1 * direction;
            if (cost < least) {
                least = cost;
                best = labels[which];
            }
        }
    labels[which] = best;
}

void label_places_find(placed_label *labels, int count, double width, double height) {
    for (int i = 0; i < count; i++)
        move(&labels[i], 0, 0);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < count; i++)
            place_one(labels, count, i, width, height);
}
