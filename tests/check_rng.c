/* The generator: every draw against PyTorch's, copies, and what is refused. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tensor/rng.h"

enum { MOST = 5000 }; /* values in a step */

typedef enum rng_kind {
    RNG_SEED,
    RNG_UNIFORM,
    RNG_NORMAL,
    RNG_BELOW,
    RNG_PERMUTATION,
    RNG_BITS
} rng_kind;

typedef struct rng_step {
    rng_kind kind;
    int n;
    double a, b; /* low and high, mean and deviation, or the bound */
    uint64_t hash;
    int sample; /* where its values are in rng_pool */
} rng_step;

typedef struct rng_group {
    const char *name;
    uint64_t seed;
    bool fresh; /* seeds anew at each step */
    int first, count;
} rng_group;

#include "golden/rng_values.h"

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* FNV-1a over whole words. */
static uint64_t hash_of(const uint32_t *words, int n) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < n; i++)
        hash = (hash ^ words[i]) * 0x100000001b3u;
    return hash;
}

/* Floats as their bits, integers as themselves. */
static void draw_reals(tg_rng *rng, const rng_step *step, uint32_t *words) {
    static tg_real values[MOST];
    tg_error error = {0};
    tg_status status = step->kind == RNG_UNIFORM
                           ? tg_rng_uniform(rng, step->n, step->a, step->b, values, &error)
                           : tg_rng_normal(rng, step->n, step->a, step->b, values, &error);
    ck_assert_msg(status == TG_OK, "%s", error.message);
    for (int i = 0; i < step->n; i++) {
        float narrow = (float)values[i];
        ck_assert_msg((tg_real)narrow == values[i], "%.17g is no float", (double)values[i]);
        words[i] = bits_of(narrow);
    }
}

static void draw_permutation(tg_rng *rng, int n, uint32_t *words) {
    static int64_t places[MOST];
    ck_assert_int_eq(tg_rng_permutation(rng, n, places, NULL), TG_OK);
    for (int i = 0; i < n; i++)
        words[i] = (uint32_t)places[i];
}

static void draw(tg_rng *rng, const rng_step *step, uint32_t *words) {
    ck_assert_int_le(step->n, MOST);
    if (step->kind == RNG_UNIFORM || step->kind == RNG_NORMAL)
        draw_reals(rng, step, words);
    else if (step->kind == RNG_PERMUTATION)
        draw_permutation(rng, step->n, words);
    else if (step->kind == RNG_BELOW)
        for (int i = 0; i < step->n; i++)
            ck_assert_int_eq(tg_rng_below(rng, (uint32_t)step->a, &words[i], NULL), TG_OK);
    else
        for (int i = 0; i < step->n; i++)
            words[i] = tg_rng_bits(rng);
}

/* 1e-6 in units of the deviation, and half a unit in the last place of the float. */
static bool near_pytorch(const rng_step *step, uint32_t ours, uint32_t pytorch) {
    if (step->kind != RNG_NORMAL)
        return ours == pytorch;
    double expected = float_of(pytorch);
    double rounding = nextafterf(fabsf(float_of(pytorch)), INFINITY) - fabs(expected);
    return fabs(float_of(ours) - expected) <= 1e-6 * fmax(1, step->b) + rounding / 2;
}

/* Which values were stored: see sampled() in make_rng.py. */
static bool is_stored(const rng_step *step, int i) {
    int stride = step->kind != RNG_NORMAL ? step->n : step->n >= 8 ? step->n / 8 : 1;
    return (i + 1) % stride == 0 || i == step->n - 1;
}

START_TEST(draws_are_those_of_pytorch) {
    static uint32_t words[MOST];
    const rng_group *group = &rng_groups[_i];
    tg_rng rng;
    tg_rng_seed(&rng, group->seed);
    for (int s = 0; s < group->count; s++) {
        const rng_step *step = &rng_steps[group->first + s];
        if (group->fresh || step->kind == RNG_SEED)
            tg_rng_seed(&rng, group->seed);
        if (step->kind == RNG_SEED)
            continue;
        draw(&rng, step, words);
        const uint32_t *expected = &rng_pool[step->sample];
        for (int i = 0; i < step->n; i++)
            if (is_stored(step, i)) {
                ck_assert_msg(near_pytorch(step, words[i], *expected),
                              "%s, step %d: value %d of %d is %08x, not %08x", group->name, s, i,
                              step->n, words[i], *expected);
                expected++;
            }
        ck_assert_msg(hash_of(words, step->n) == step->hash,
                      "%s, step %d: the bits of %d values differ", group->name, s, step->n);
    }
}
END_TEST

START_TEST(bits_are_those_of_the_standard) {
    /* C++11, [rand.predef]: the 10000th of std::mt19937, whose seed is 5489 */
    tg_rng rng;
    tg_rng_seed(&rng, 5489);
    for (int i = 1; i < 10000; i++)
        tg_rng_bits(&rng);
    ck_assert_uint_eq(tg_rng_bits(&rng), 4123659995u);
}
END_TEST

/* Some of everything; out[70] */
static void draw_some(tg_rng *rng, tg_real *out) {
    int64_t order[10];
    uint32_t below;
    ck_assert_int_eq(tg_rng_normal(rng, 3, 0, 1, out, NULL), TG_OK);
    ck_assert_int_eq(tg_rng_uniform(rng, 10, -1, 1, out + 3, NULL), TG_OK);
    ck_assert_int_eq(tg_rng_normal(rng, 37, 0, 1, out + 13, NULL), TG_OK);
    ck_assert_int_eq(tg_rng_normal(rng, 8, 0, 1, out + 50, NULL), TG_OK);
    ck_assert_int_eq(tg_rng_permutation(rng, 10, order, NULL), TG_OK);
    ck_assert_int_eq(tg_rng_below(rng, 1000, &below, NULL), TG_OK);
    for (int i = 0; i < 10; i++)
        out[58 + i] = (tg_real)order[i];
    out[68] = (tg_real)below;
    out[69] = (tg_real)(tg_rng_bits(rng) & 0xffffffu);
}

START_TEST(a_copy_goes_on_alike) {
    tg_rng rng;
    tg_rng_seed(&rng, 99);
    int cached = 0, at_end = 0;
    for (int moment = 0; moment < 700; moment++) {
        unsigned char stored[sizeof rng];
        memcpy(stored, &rng, sizeof rng);
        tg_rng original = rng, copy;
        memset(&copy, 0xff, sizeof copy);
        memcpy(&copy, stored, sizeof copy);
        cached += rng.has_cached;
        at_end += rng.next == TG_RNG_WORDS;
        tg_real a[70], b[70];
        draw_some(&original, a);
        draw_some(&copy, b);
        ck_assert_mem_eq(a, b, sizeof a);
        ck_assert_mem_eq(&original, &copy, sizeof copy);
        ck_assert_mem_eq(&rng, stored, sizeof rng);
        if (moment % 3 == 0)
            ck_assert_int_eq(tg_rng_normal(&rng, 1, 0, 1, a, NULL), TG_OK);
        else
            tg_rng_bits(&rng);
    }
    /* else the walk has missed what it is for */
    ck_assert_int_gt(cached, 300);
    ck_assert_int_lt(cached, 400);
    ck_assert_int_ge(at_end, 2);
}
END_TEST

START_TEST(equal_states_are_equal_bytes) {
    tg_rng a, b;
    memset(&a, 0xff, sizeof a);
    memset(&b, 0, sizeof b);
    tg_rng_seed(&a, 7);
    tg_rng_seed(&b, 7 + ((uint64_t)5 << 32));
    ck_assert_mem_eq(&a, &b, sizeof a);
    tg_real pair[2];
    ck_assert_int_eq(tg_rng_normal(&a, 2, 0, 1, pair, NULL), TG_OK); /* 4 words, nothing cached */
    ck_assert_mem_ne(&a, &b, sizeof a);
    for (int i = 0; i < 4; i++)
        tg_rng_bits(&b);
    ck_assert_mem_eq(&a, &b, sizeof a);
}
END_TEST

static const struct {
    rng_kind kind;
    double a, b;
    const char *words; /* in the message */
} refused[] = {
    {RNG_UNIFORM, 2, 1, "low 2 is above high 1"},
    {RNG_UNIFORM, NAN, 1, "nan"},
    {RNG_UNIFORM, 0, NAN, "nan"},
    {RNG_UNIFORM, 0, INFINITY, "inf"},
    {RNG_UNIFORM, -INFINITY, 0, "inf"},
    {RNG_UNIFORM, 0, 1e39, "1e+39"},
    {RNG_UNIFORM, -3e38, 3e38, "too wide"},
    {RNG_NORMAL, 0, -1, "deviation -1"},
    {RNG_NORMAL, 0, NAN, "nan"},
    {RNG_NORMAL, NAN, 1, "nan"},
    {RNG_NORMAL, 0, INFINITY, "inf"},
    {RNG_NORMAL, -INFINITY, 1, "inf"},
    {RNG_NORMAL, 1e39, 1, "1e+39"},
    {RNG_NORMAL, 0, FLT_MAX, "deviation 3.40282e+38"},
    {RNG_BELOW, 0, 0, "below 0"},
};

START_TEST(illegal_arguments_draw_nothing) {
    tg_rng rng, before;
    tg_rng_seed(&rng, 1);
    before = rng;
    for (int n = 0; n <= 20; n += 10) { /* an empty draw does not hide a mistake */
        tg_error error = {0};
        tg_real out[20] = {12, 12};
        uint32_t below = 12;
        tg_status status;
        if (refused[_i].kind == RNG_UNIFORM)
            status = tg_rng_uniform(&rng, n, refused[_i].a, refused[_i].b, out, &error);
        else if (refused[_i].kind == RNG_NORMAL)
            status = tg_rng_normal(&rng, n, refused[_i].a, refused[_i].b, out, &error);
        else
            status = tg_rng_below(&rng, (uint32_t)refused[_i].a, &below, &error);
        ck_assert_int_eq(status, TG_EINVAL);
        ck_assert_int_eq(error.status, TG_EINVAL);
        ck_assert_msg(strstr(error.message, refused[_i].words) != NULL, "%s", error.message);
        ck_assert(out[0] == 12 && out[1] == 12 && below == 12);
        ck_assert_mem_eq(&rng, &before, sizeof rng);
    }
}
END_TEST

START_TEST(null_is_refused) {
    tg_rng rng, before;
    tg_real out[1];
    uint32_t below;
    int64_t places[1];
    tg_rng_seed(NULL, 1);
    tg_rng_seed(&rng, 1);
    before = rng;
    ck_assert_int_eq(tg_rng_check(NULL, NULL), TG_EINVAL);
    ck_assert_uint_eq(tg_rng_bits(NULL), 0);
    ck_assert_int_eq(tg_rng_uniform(NULL, 1, 0, 1, out, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_normal(NULL, 1, 0, 1, out, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_below(NULL, 1, &below, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_permutation(NULL, 1, places, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_uniform(&rng, 1, 0, 1, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_normal(&rng, 1, 0, 1, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_below(&rng, 1, NULL, NULL), TG_EINVAL);
    ck_assert_int_eq(tg_rng_permutation(&rng, 1, NULL, NULL), TG_EINVAL);
    ck_assert_mem_eq(&rng, &before, sizeof rng);
}
END_TEST

START_TEST(empty_draws_change_nothing) {
    tg_rng rng, before;
    tg_real one[1];
    tg_rng_seed(&rng, 1);
    ck_assert_int_eq(tg_rng_normal(&rng, 1, 0, 1, one, NULL), TG_OK); /* leaves a cached value */
    before = rng;
    const int64_t none[] = {0, -1, -16, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(tg_rng_uniform(&rng, none[i], 0, 1, NULL, NULL), TG_OK);
        ck_assert_int_eq(tg_rng_normal(&rng, none[i], 0, 1, NULL, NULL), TG_OK);
        ck_assert_int_eq(tg_rng_permutation(&rng, none[i], NULL, NULL), TG_OK);
    }
    ck_assert_mem_eq(&rng, &before, sizeof rng);
}
END_TEST

START_TEST(largest_ranges_stay_finite) {
    tg_rng rng;
    tg_real out[1000];
    tg_rng_seed(&rng, 3);
    ck_assert_int_eq(tg_rng_uniform(&rng, 1000, -FLT_MAX, 0, out, NULL), TG_OK);
    for (int i = 0; i < 1000; i++)
        ck_assert(out[i] >= -FLT_MAX && out[i] <= 0);
    ck_assert_int_eq(tg_rng_normal(&rng, 1000, 0, FLT_MAX / 9, out, NULL), TG_OK);
    for (int i = 0; i < 1000; i++)
        ck_assert(isfinite(out[i]));
    /* each end is a float, but their distance rounds to infinity */
    ck_assert_int_eq(tg_rng_uniform(&rng, 1, -FLT_MAX, 0x1p103, out, NULL), TG_EINVAL);
    int64_t place;
    tg_error error = {0};
    ck_assert_int_eq(tg_rng_permutation(&rng, ((int64_t)1 << 32) + 1, &place, &error), TG_EINVAL);
    ck_assert_ptr_nonnull(strstr(error.message, "4294967297"));
}
END_TEST

static void assert_no_state(const tg_rng *state) {
    tg_rng rng = *state;
    tg_error error = {0};
    tg_real out[20];
    uint32_t below;
    int64_t places[2];
    ck_assert_int_eq(tg_rng_check(&rng, &error), TG_ESTATE);
    ck_assert_int_eq(strncmp(error.message, "rng_check: ", 11), 0);
    ck_assert_int_eq(tg_rng_uniform(&rng, 20, 0, 1, out, &error), TG_ESTATE);
    ck_assert_int_eq(strncmp(error.message, "rng_uniform: ", 13), 0);
    ck_assert_int_eq(tg_rng_normal(&rng, 20, 0, 1, out, NULL), TG_ESTATE);
    ck_assert_int_eq(tg_rng_below(&rng, 2, &below, NULL), TG_ESTATE);
    ck_assert_int_eq(tg_rng_permutation(&rng, 2, places, NULL), TG_ESTATE);
    ck_assert_uint_eq(tg_rng_bits(&rng), 0);
    ck_assert_mem_eq(&rng, state, sizeof rng);
}

static const struct {
    uint32_t next;
    int32_t has_cached;
    double cached;
} impossible[] = {
    {0, 0, 0},
    {TG_RNG_WORDS + 1, 0, 0},
    {UINT32_MAX, 0, 0},
    {TG_RNG_WORDS, 2, 0.5},
    {TG_RNG_WORDS, -1, 0.5},
    {TG_RNG_WORDS, 0, 0.5},
    {TG_RNG_WORDS, 1, NAN},
    {TG_RNG_WORDS, 1, 10},
};

START_TEST(impossible_states_are_refused) {
    tg_rng rng;
    tg_rng_seed(&rng, 1);
    rng.next = impossible[_i].next;
    rng.has_cached = impossible[_i].has_cached;
    rng.cached = impossible[_i].cached;
    assert_no_state(&rng);
}
END_TEST

START_TEST(states_without_bits_are_refused) {
    tg_rng rng = {0};
    assert_no_state(&rng); /* never seeded */
    rng.next = TG_RNG_WORDS;
    assert_no_state(&rng);
    rng.word[0] = 0x7fffffffu; /* bits that are never read */
    assert_no_state(&rng);
    rng.word[0] = 0x80000000u;
    ck_assert_int_eq(tg_rng_check(&rng, NULL), TG_OK);
    rng.word[0] = 0;
    rng.word[TG_RNG_WORDS - 1] = 1;
    ck_assert_int_eq(tg_rng_check(&rng, NULL), TG_OK);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("rng");
    TCase *t = tcase_create("rng");
    tcase_add_loop_test(t, draws_are_those_of_pytorch, 0,
                        (int)(sizeof rng_groups / sizeof rng_groups[0]));
    tcase_add_test(t, bits_are_those_of_the_standard);
    tcase_add_test(t, a_copy_goes_on_alike);
    tcase_add_test(t, equal_states_are_equal_bytes);
    tcase_add_loop_test(t, illegal_arguments_draw_nothing, 0,
                        (int)(sizeof refused / sizeof refused[0]));
    tcase_add_test(t, null_is_refused);
    tcase_add_test(t, empty_draws_change_nothing);
    tcase_add_test(t, largest_ranges_stay_finite);
    tcase_add_loop_test(t, impossible_states_are_refused, 0,
                        (int)(sizeof impossible / sizeof impossible[0]));
    tcase_add_test(t, states_without_bits_are_refused);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return test_main(suite());
}
