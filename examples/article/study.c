#include "article/study.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "article/claims.h"
#include "article/training.h"

/* ---- one seed ---- */

static void judge(const claims *measured, study_result *result) {
    bool *holds = result->holds;
    holds[STUDY_DECISIVE] = claims_group_holds(measured, CLAIM_DECISIVE);
    holds[STUDY_ATTENTION] = claims_group_holds(measured, CLAIM_ATTENTION);
    holds[STUDY_SPLITS] = claims_group_holds(measured, CLAIM_SPLITS);
    holds[STUDY_NOUN] = claims_group_holds(measured, CLAIM_NOUN);
    holds[STUDY_PLATEAU] = claims_near(result->loss, claims_plateau());
    holds[STUDY_FLOOR] = claims_near(result->loss, claims_floor());
    holds[STUDY_ALL] = claims_all_hold(measured);
}

/* All steps of the recipe; losses[points] as the study keeps them. */
static tg_status train(training *run, const study *made, double *losses, tg_error *error) {
    const int64_t steps = recipe_steps(&run->recipe);
    double sum = 0, loss = 0;
    int64_t point = 0, begun = 0;
    tg_status status = TG_OK;
    while (run->step < steps && status == TG_OK) {
        status = training_step(run, &loss, error);
        sum += loss;
        if (status == TG_OK && point < made->points && run->step == made->steps[point]) {
            losses[point++] = sum / (double)(run->step - begun);
            begun = run->step;
            sum = 0;
        }
    }
    return status;
}

static tg_status try_seed(const article_recipe *recipe, const study *made, double *losses,
                          study_result *result, tg_error *error) {
    training run;
    claims measured;
    tg_status status = training_init(&run, recipe, result->seed, error);
    if (status == TG_OK)
        status = train(&run, made, losses, error);
    if (status == TG_OK)
        status = training_loss(&run, &result->loss, error);
    if (status == TG_OK)
        status =
            claims_measure(&run.model, run.tape, result->loss, recipe->solved, &measured, error);
    if (status == TG_OK)
        judge(&measured, result);
    training_free(&run);
    return status;
}

/* ---- many ---- */

/* What the threads share. All below `lock` is changed under it alone. */
typedef struct crew {
    const study_plan *plan;
    study *made;
    pthread_mutex_t lock;
    int64_t next;   /* the place of the seed to be handed out next */
    int64_t end;    /* places from here on are not wanted (any more) */
    int64_t failed; /* the place of the first seed that failed */
    int64_t done;
    tg_error failure;
    tg_progress progress;
} crew;

static bool take(crew *c, int64_t *place) {
    pthread_mutex_lock(&c->lock);
    *place = c->next;
    bool more = c->next < c->end;
    c->next += more;
    pthread_mutex_unlock(&c->lock);
    return more;
}

/* A seed that failed, or was looked for, makes those behind it unwanted. Those before it have all
 * been handed out, and come in later. */
static void hand_in(crew *c, int64_t place, const tg_error *failure) {
    const study_result *result = &c->made->results[place];
    bool failed = failure->status != TG_OK;
    bool found = !failed && c->plan->search && result->holds[STUDY_ALL];
    pthread_mutex_lock(&c->lock);
    if (failed && place < c->end) {
        c->failed = place;
        c->failure = *failure;
    }
    if ((failed || found) && place < c->end)
        c->end = place + 1;
    tg_progress_update(&c->progress, ++c->done, result->loss);
    pthread_mutex_unlock(&c->lock);
}

static void *work(void *user) {
    crew *c = user;
    for (int64_t place; take(c, &place);) {
        tg_error failure = {TG_OK, ""};
        try_seed(c->plan->recipe, c->made, c->made->losses + place * c->made->points,
                 &c->made->results[place], &failure);
        hand_in(c, place, &failure);
    }
    return NULL;
}

/* The calling thread works too, so that the work is done even where there is no other. */
static void work_together(crew *c) {
    pthread_t threads[STUDY_MOST_THREADS];
    int64_t wanted = c->plan->threads < c->plan->seeds ? c->plan->threads : c->plan->seeds;
    int64_t started = 0;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, c) == 0)
        started++;
    work(c);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static tg_status make_room(const study_plan *plan, study *made, tg_error *error) {
    int64_t steps = recipe_steps(plan->recipe);
    size_t seeds = (size_t)plan->seeds;
    *made = (study){.points = plan->search ? 0 : steps < STUDY_POINTS ? steps : STUDY_POINTS};
    size_t points = (size_t)made->points;
    made->results = calloc(seeds, sizeof *made->results);
    made->steps = calloc(points + 1, sizeof *made->steps);
    made->losses = calloc(seeds * points + 1, sizeof *made->losses);
    if (made->results == NULL || made->steps == NULL || made->losses == NULL)
        return tg_fail(error, TG_ENOMEM, "study: out of memory for %" PRId64 " seeds", plan->seeds);
    for (int64_t i = 0; i < plan->seeds; i++)
        made->results[i].seed = plan->first + i;
    for (int64_t i = 0; i < made->points; i++)
        made->steps[i] = (i + 1) * steps / made->points;
    return TG_OK;
}

static tg_status check_plan(const study_plan *plan, tg_error *error) {
    if (plan->seeds < 1 || plan->seeds > STUDY_MOST_SEEDS)
        return tg_fail(error, TG_EINVAL, "study: %" PRId64 " seeds are not 1 to %d", plan->seeds,
                       STUDY_MOST_SEEDS);
    if (plan->first < 0 || plan->first > INT64_MAX - plan->seeds)
        return tg_fail(error, TG_EINVAL,
                       "study: %" PRId64 " seeds from %" PRId64
                       " on are not all from 0 to %" PRId64,
                       plan->seeds, plan->first, INT64_MAX);
    if (plan->threads < 1 || plan->threads > STUDY_MOST_THREADS)
        return tg_fail(error, TG_EINVAL, "study: %" PRId64 " threads are not 1 to %d",
                       plan->threads, STUDY_MOST_THREADS);
    return TG_OK;
}

tg_status study_run(const study_plan *plan, study *made, tg_error *error) {
    *made = (study){.count = 0};
    tg_status status = check_plan(plan, error);
    if (status == TG_OK)
        status = make_room(plan, made, error);
    if (status != TG_OK)
        return status;
    crew c = {.plan = plan, .made = made, .end = plan->seeds};
    if (pthread_mutex_init(&c.lock, NULL) != 0)
        return tg_fail(error, TG_ENOMEM, "study: no room for a lock");
    tg_progress_begin(&c.progress, plan->progress, plan->search ? "search" : "study", plan->seeds);
    work_together(&c);
    tg_progress_end(&c.progress);
    pthread_mutex_destroy(&c.lock);
    if (c.failure.status != TG_OK && c.failed + 1 == c.end)
        return tg_fail(error, c.failure.status, "study: seed %" PRId64 ": %.200s",
                       made->results[c.failed].seed, c.failure.message);
    made->count = c.end;
    made->found = plan->search && made->results[c.end - 1].holds[STUDY_ALL];
    return TG_OK;
}

void study_free(study *made) {
    free(made->results);
    free(made->steps);
    free(made->losses);
}
