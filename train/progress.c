#include "train/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "tensor/format.h"

#define REDRAW_SECONDS 0.1
/* How often the clock is looked at, as long as steps take as long as they took before. */
#define LOOK_SECONDS 0.02

#define LARGEST_WIDTH  200
#define DEFAULT_WIDTH  80
#define LARGEST_BAR    40
#define SMALLEST_BAR   5
#define BAR_FRAME      3 /* " [" and "]" */
#define NUMBER_SIZE    32
#define FIELD_SIZE     96
#define NO_MORE_UPDATE INT64_MAX

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- words ---- */

/* Cut between characters of UTF-8; control characters would move the cursor. */
static void copy_label(char label[TG_PROGRESS_LABEL], const char *text) {
    size_t length = strlen(text);
    if (length >= TG_PROGRESS_LABEL) {
        length = TG_PROGRESS_LABEL - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    for (size_t i = 0; i < length; i++)
        label[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
    label[length] = '\0';
}

/* "4.8s", "12s", "3m05s", "2h03m" */
static void format_time(char text[NUMBER_SIZE], double time) {
    double limited = time > 0 ? (time < 3.6e6 ? time : 3.6e6) : 0;
    int tenths = (int)(limited * 10 + 0.5);
    int whole = (int)(limited + 0.5);
    if (tenths < 100)
        snprintf(text, NUMBER_SIZE, "%d.%ds", tenths / 10, tenths % 10);
    else if (whole < 60)
        snprintf(text, NUMBER_SIZE, "%ds", whole);
    else if (whole < 3600)
        snprintf(text, NUMBER_SIZE, "%dm%02ds", whole / 60, whole % 60);
    else
        snprintf(text, NUMBER_SIZE, "%dh%02dm", whole / 3600, whole / 60 % 60);
}

/* "4.8s left" with `comma` before it, or "" while the speed is not known or nothing is left. */
static void format_left(const tg_progress *progress, const char *comma, char text[FIELD_SIZE]) {
    int64_t left = progress->total - progress->done;
    int64_t measured = progress->done - progress->first;
    text[0] = '\0';
    if (left <= 0 || measured <= 0)
        return;
    double time = progress->looked_time - progress->first_time;
    char number[NUMBER_SIZE];
    format_time(number, time / (double)measured * (double)left);
    snprintf(text, FIELD_SIZE, "%s%s left", comma, number);
}

static int percent_of(const tg_progress *progress) {
    double percent = 100 * (double)progress->done / (double)progress->total;
    return percent < 0 ? 0 : percent > 100 ? 100 : (int)percent;
}

/* ---- the bar ---- */

static int width_of(const tg_progress *progress) {
    struct winsize size = {0};
    int width = progress->width;
    if (ioctl(fileno(progress->file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    return width < LARGEST_WIDTH ? width : LARGEST_WIDTH;
}

/* What stands beside the bar. */
struct fields {
    const char *label; /* "" where there is no room */
    int bar;           /* the inside of the bar; 0 for none */
    char count[FIELD_SIZE], loss[FIELD_SIZE], time[FIELD_SIZE];
};

static void fill_fields(const tg_progress *progress, struct fields *fields) {
    char number[TGI_FORMAT_DOUBLE_SIZE], took[NUMBER_SIZE], total[NUMBER_SIZE];
    int digits = snprintf(total, sizeof total, "%lld", (long long)progress->total);
    snprintf(fields->count, FIELD_SIZE, "  %*lld/%s", digits, (long long)progress->done, total);
    tgi_format_double(number, sizeof number, progress->loss, 4);
    snprintf(fields->loss, FIELD_SIZE, "  loss %-9s", number);
    format_left(progress, "  ", fields->time);
    if (progress->ended) {
        format_time(took, progress->looked_time - progress->begin_time);
        snprintf(fields->time, FIELD_SIZE, "  in %s", took);
    }
}

/* Leaves out what has no room. The rooms do not depend on the values, so the bar keeps its size. */
static void fit_fields(struct fields *fields, int columns) {
    int room = columns - (int)strlen("  57%") - (int)strlen(fields->label);
    if (room < 0) {
        room += (int)strlen(fields->label);
        fields->label = "";
    }
    const int sizes[] = {(int)strlen("  loss 1.234e-05"), (int)strlen(fields->count),
                         (int)strlen("  59m59s left")};
    char *const texts[] = {fields->loss, fields->count, fields->time};
    for (int i = 0; i < 3; i++) {
        if (room - sizes[i] >= SMALLEST_BAR + BAR_FRAME)
            room -= sizes[i];
        else
            texts[i][0] = '\0';
    }
    int bar = room - BAR_FRAME;
    fields->bar = bar < SMALLEST_BAR ? 0 : bar < LARGEST_BAR ? bar : LARGEST_BAR;
}

/* " [####....]" */
static void draw_bar(const tg_progress *progress, int inside,
                     char text[LARGEST_BAR + BAR_FRAME + 1]) {
    text[0] = '\0';
    if (inside == 0)
        return;
    snprintf(text, LARGEST_BAR + BAR_FRAME + 1, " [%*s]", inside, "");
    int filled = percent_of(progress) * inside / 100;
    memset(text + 2, '#', (size_t)filled);
    memset(text + 2 + filled, '.', (size_t)(inside - filled));
}

/* Writes over what is there, and leaves the last column free: a cursor behind it may wrap. */
static void draw(tg_progress *progress) {
    int columns = width_of(progress) - 1;
    struct fields fields = {.label = progress->label};
    fill_fields(progress, &fields);
    fit_fields(&fields, columns);
    char bar[LARGEST_BAR + BAR_FRAME + 1];
    draw_bar(progress, fields.bar, bar);
    char line[LARGEST_WIDTH + 1] = "";
    int length = snprintf(line, sizeof line, "%s%s %3d%%%s%s%s", fields.label, bar,
                          percent_of(progress), fields.count, fields.loss, fields.time);
    length = length < columns ? length : columns;
    int blanks = progress->shown > length ? progress->shown - length : 0;
    blanks = blanks < columns - length ? blanks : columns - length;
    fprintf(progress->file, "\r%.*s%*s", length, line, blanks, "");
    fflush(progress->file);
    progress->shown = length;
}

/* Looks at the clock, draws where that is due, and says at which step to look again. */
static void look(tg_progress *progress, double now) {
    int64_t steps = progress->done - progress->looked_done;
    double elapsed = now - progress->looked_time;
    double stride = elapsed > 0 ? (double)steps * LOOK_SECONDS / elapsed : 2 * (double)steps;
    stride = stride < 2 * (double)steps ? stride : 2 * (double)steps;
    double next = (double)progress->done + (stride > 1 ? stride : 1);
    progress->next = next < (double)NO_MORE_UPDATE ? (int64_t)next : NO_MORE_UPDATE;
    progress->looked_done = progress->done;
    progress->looked_time = now;
    if (now - progress->drawn_time >= REDRAW_SECONDS) {
        draw(progress);
        progress->drawn_time = now;
    }
}

/* ---- lines ---- */

/* The first step at which k tenths are done: k total / 10, rounded up. */
static int64_t step_of_tenth(int64_t total, int k) {
    return total / 10 * k + (total % 10 * k + 9) / 10;
}

static void print_line(tg_progress *progress, double now) {
    char loss[TGI_FORMAT_DOUBLE_SIZE], took[NUMBER_SIZE], left[FIELD_SIZE];
    tgi_format_double(loss, sizeof loss, progress->loss, 4);
    progress->looked_time = now;
    format_time(took, now - progress->begin_time);
    format_left(progress, ", ", left);
    fprintf(progress->file, "%s: %lld/%lld (%d%%), loss %s, %s%s\n", progress->label,
            (long long)progress->done, (long long)progress->total, percent_of(progress), loss, took,
            left);
    fflush(progress->file);
    progress->drawn_done = progress->done;
}

/* A line for the tenths that were passed since the last one; those before the first update were
 * passed by another run. */
static void pass_tenths(tg_progress *progress, double now) {
    int before = progress->tenths;
    while (progress->tenths < 10) {
        int64_t step = step_of_tenth(progress->total, progress->tenths + 1);
        if (step > progress->done)
            break;
        progress->tenths++;
        if (step < progress->first)
            before = progress->tenths;
    }
    progress->next = progress->tenths < 10 ? step_of_tenth(progress->total, progress->tenths + 1)
                                           : NO_MORE_UPDATE;
    if (progress->tenths > before)
        print_line(progress, now);
}

/* ---- the run ---- */

static bool is_terminal(FILE *file) {
    const char *term = getenv("TERM");
    return term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0 && isatty(fileno(file));
}

void tg_progress_begin(tg_progress *progress, FILE *file, const char *label, int64_t total) {
    *progress = (tg_progress){
        .file = total > 0 ? file : NULL, .total = total, .next = NO_MORE_UPDATE, .drawn_done = -1};
    copy_label(progress->label, label != NULL ? label : "");
    if (progress->file == NULL)
        return;
    const char *columns = getenv("COLUMNS");
    long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    width = width < LARGEST_WIDTH ? width : LARGEST_WIDTH;
    progress->width = width > 0 ? (int)width : DEFAULT_WIDTH;
    progress->bar = is_terminal(file);
    progress->next = 0;
    progress->begin_time = seconds();
}

void tg_progress_update(tg_progress *progress, int64_t done, double loss) {
    progress->done = done;
    progress->loss = loss;
    if (done < progress->next || progress->file == NULL)
        return;
    double now = seconds();
    if (!progress->running) {
        progress->running = true;
        progress->first = progress->looked_done = done;
        progress->first_time = progress->looked_time = now;
        progress->drawn_time = now - REDRAW_SECONDS;
    }
    if (progress->bar)
        look(progress, now);
    else
        pass_tenths(progress, now);
}

void tg_progress_end(tg_progress *progress) {
    if (progress->file != NULL && progress->running) {
        progress->ended = true;
        progress->looked_time = seconds();
        if (progress->bar) {
            draw(progress);
            fputc('\n', progress->file);
            fflush(progress->file);
        } else if (progress->drawn_done != progress->done) {
            print_line(progress, progress->looked_time);
        }
    }
    *progress = (tg_progress){.next = NO_MORE_UPDATE};
}
