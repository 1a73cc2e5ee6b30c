/* What a study leaves for people and programs: a table, two CSV files and a chart. */
#ifndef ARTICLE_STUDY_REPORT_H
#define ARTICLE_STUDY_REPORT_H

#include <stdio.h>

#include "article/study.h"
#include "train/plot.h"

/* How many seeds met each criterion and some of them together, with the share and its interval of
 * 95 %. The study has at least one result. */
void study_print(const study *made, const article_recipe *recipe, FILE *out);

/* Writes into the directory, which is there, in place of what was there before:
 *
 *     seeds.csv    seed, loss, each criterion as 0 or 1, all: a row a seed
 *     curves.csv   step, p5, p25, median, p75, p95: quantiles over the seeds of the training loss
 *
 * A loss that is not finite is inf in curves.csv. TG_EIO with path and cause, TG_ENOMEM. */
tg_status study_write(const study *made, const article_recipe *recipe, const char *directory,
                      tg_error *error);

/* Draws study.svg from curves.csv, by a script study.gp that stays beside it. The outcome is
 * tg_plot_script's, and so are the errors. */
tg_status study_draw(const study *made, const article_recipe *recipe, const char *directory,
                     tg_plot_outcome *outcome, tg_error *error);

#endif
