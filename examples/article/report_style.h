/* How the report looks. */
#ifndef ARTICLE_REPORT_STYLE_H
#define ARTICLE_REPORT_STYLE_H

/* A style sheet: light and dark, on a phone, a desktop and paper. */
extern const char report_style[];

#endif
