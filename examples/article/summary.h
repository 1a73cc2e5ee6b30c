/* The summary of a run, as JSON. */
#ifndef ARTICLE_SUMMARY_H
#define ARTICLE_SUMMARY_H

#include "article/claims.h"

typedef struct article_summary {
    const char *recipe;
    int64_t seed;
    int64_t steps;
    double final_loss; /* of the saved weights */
    const claims *measured;
    uint32_t checksum;
    double wall_seconds; /* of the steps of this run */
    int64_t
        requests_after_warmup; /* to the allocator, from the 100th step of this run on; -1: it had fewer */
} article_summary;

/* Writes it to `path`: beside first, then renamed. TG_EIO with path and cause. */
tg_status summary_write(const char *path, const article_summary *summary, tg_error *error);

#endif
