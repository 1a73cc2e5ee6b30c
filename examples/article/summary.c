#include "article/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A number of nine digits; JSON has none that is not finite. */
static void print_number(FILE *file, double value) {
    if (isfinite(value))
        fprintf(file, "%.9g", value);
    else
        fputs("null", file);
}

static void print_claims(FILE *file, const claims *measured) {
    for (int i = 0; i < measured->count; i++) {
        fprintf(file, "    {\"name\": \"%s\", \"value\": ", measured->list[i].name);
        print_number(file, measured->list[i].value);
        fprintf(file, ", \"holds\": %s}%s\n", measured->list[i].holds ? "true" : "false",
                i + 1 < measured->count ? "," : "");
    }
}

static void print_all(FILE *file, const article_summary *s) {
    fprintf(file, "{\n  \"recipe\": \"%s\",\n  \"seed\": %" PRId64 ",\n  \"steps\": %" PRId64 ",\n",
            s->recipe, s->seed, s->steps);
    fputs("  \"final_loss\": ", file);
    print_number(file, s->final_loss);
    fprintf(file, ",\n  \"floor\": %.9g,\n  \"plateau\": %.9g,\n  \"checks\": [\n", claims_floor(),
            claims_plateau());
    print_claims(file, s->measured);
    fprintf(file,
            "  ],\n  \"all_hold\": %s,\n  \"parameters_crc32\": \"%08" PRIx32
            "\",\n  \"wall_seconds\": %.6f,\n  \"malloc_after_warmup\": ",
            claims_all_hold(s->measured) ? "true" : "false", s->checksum, s->wall_seconds);
    if (s->requests_after_warmup >= 0)
        fprintf(file, "%" PRId64 "\n}\n", s->requests_after_warmup);
    else
        fputs("null\n}\n", file);
}

tg_status summary_write(const char *path, const article_summary *summary, tg_error *error) {
    char beside[4096];
    if (snprintf(beside, sizeof beside, "%s.tmp", path) >= (int)sizeof beside)
        return tg_fail(error, TG_EINVAL, "summary: the path is too long");
    FILE *file = fopen(beside, "w");
    if (file == NULL)
        return tg_fail(error, TG_EIO, "%.150s: %s", beside, strerror(errno));
    print_all(file, summary);
    int failed = ferror(file) || fflush(file) != 0 || fsync(fileno(file)) != 0;
    if (fclose(file) != 0 || failed || rename(beside, path) != 0) {
        tg_fail(error, TG_EIO, "%.150s: %s", path, strerror(errno));
        remove(beside);
        return TG_EIO;
    }
    return TG_OK;
}
