/* Logarithm, sine and cosine: near the truth, and the same bits as an evaluation elsewhere. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "golden/portable_math_values.h"
#include "tensor/portable_math.h"

/* 2 pi rounded to float is above 2 pi: the largest angle that the generator can come near. */
#define LARGEST_ANGLE 0x1.921fb6p+2

/* What the library promises, and twice that where the reference is no better itself. */
static const double tolerance = LDBL_MANT_DIG > DBL_MANT_DIG ? 2.3e-16 : 4.6e-16;

static bool near(double actual, long double expected, double relative) {
    return fabsl(actual - expected) <= relative * fabsl(expected);
}

/* Rounded from 300 bits, by mpmath. */
static const struct {
    double x, log;
} logs[] = {
    {1, 0},
    {0x1p-1074, -0x1.74385446d71c3p+9},
    {0x1p-53, -0x1.25e4f7b2737fap+5},
    {0x1p-24, -0x1.0a2b23f3bab73p+4},
    {0x1.6a09e667f3bccp-1, -0x1.62e42fefa39f1p-2},
    {0x1.6a09e667f3bcdp-1, -0x1.62e42fefa39eep-2},
    {0x1.fffffffffffffp-1, -0x1p-53},
    {0x1.0000000000001p+0, 0x1.fffffffffffffp-53},
    {0x1.6a09e667f3bcdp+0, 0x1.62e42fefa39fp-2},
    {1.5, 0x1.9f323ecbf984cp-2},
    {DBL_MAX, 0x1.62e42fefa39efp+9},
};

static const struct {
    double x, sine, cosine;
} angles[] = {
    {0, 0, 1},
    {0x1p-1000, 0x1p-1000, 1},
    {0x1.921fb54442d18p-1, 0x1.6a09e667f3bccp-1, 0x1.6a09e667f3bcdp-1},
    {1, 0x1.aed548f090ceep-1, 0x1.14a280fb5068cp-1},
    {0x1.921fb54442d18p+0, 1, 0x1.1a62633145c07p-54},
    {0x1.2d97c7f3321d2p+1, 0x1.6a09e667f3bcdp-1, -0x1.6a09e667f3bccp-1},
    {3, 0x1.210386db6d55bp-3, -0x1.fae04be85e5d2p-1},
    {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -1},
    {0x1.f6a7a2955385ep+1, -0x1.6a09e667f3bccp-1, -0x1.6a09e667f3bcep-1},
    {0x1.2d97c7f3321d2p+2, -1, -0x1.a79394c9e8a0ap-53},
    {0x1.921fb54442d18p+2, -0x1.1a62633145c07p-52, 1},
    {LARGEST_ANGLE, 0x1.777a5cf72ceadp-23, 0x1.fffffffffff76p-1},
};

START_TEST(landmarks_are_near) {
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++)
        ck_assert_msg(near(tgi_log(logs[i].x), logs[i].log, 2.3e-16), "log(%a) is %a, not %a",
                      logs[i].x, tgi_log(logs[i].x), logs[i].log);
    for (size_t i = 0; i < sizeof angles / sizeof angles[0]; i++) {
        double x = angles[i].x, sine, cosine;
        tgi_sine_cosine(x, &sine, &cosine);
        ck_assert_msg(near(sine, angles[i].sine, 2.3e-16), "sin(%a) is %a, not %a", x, sine,
                      angles[i].sine);
        ck_assert_msg(near(cosine, angles[i].cosine, 2.3e-16), "cos(%a) is %a, not %a", x, cosine,
                      angles[i].cosine);
    }
}
END_TEST

static double next_uniform(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

START_TEST(all_are_near_the_c_library) {
    uint64_t state = 2;
    for (int i = 0; i < 200000; i++) {
        double u = next_uniform(&state), near_one = 1 + ldexp(u - 0.5, -(i % 52));
        double far = ldexp(1 + u, i % 2000 - 1000);
        ck_assert_msg(near(tgi_log(near_one), logl(near_one), tolerance), "log(%a)", near_one);
        ck_assert_msg(near(tgi_log(far), logl(far), tolerance), "log(%a)", far);
        double x = u * LARGEST_ANGLE, sine, cosine;
        tgi_sine_cosine(x, &sine, &cosine);
        ck_assert_msg(near(sine, sinl(x), tolerance), "sin(%a)", x);
        ck_assert_msg(near(cosine, cosl(x), tolerance), "cos(%a)", x);
    }
}
END_TEST

START_TEST(zeros_of_sine_and_cosine_are_near) {
    for (int quarter = 1; quarter <= 4; quarter++) {
        double x = quarter * 0x1.921fb54442d18p+0;
        for (int step = 0; step < 500; step++)
            x = nextafter(x, 0);
        for (int step = 0; step < 1000; step++) {
            double sine, cosine;
            tgi_sine_cosine(x, &sine, &cosine);
            ck_assert_msg(near(sine, sinl(x), tolerance), "sin(%a)", x);
            ck_assert_msg(near(cosine, cosl(x), tolerance), "cos(%a)", x);
            x = nextafter(x, 7);
        }
    }
}
END_TEST

/* FNV-1a over whole words. */
static void add_to_hash(uint64_t *hash, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    *hash = (*hash ^ bits) * 0x100000001b3u;
}

START_TEST(bits_are_those_of_the_written_order) {
    uint64_t state = 1, logs_so_far = 0xcbf29ce484222325u;
    uint64_t sines = logs_so_far, cosines = logs_so_far;
    for (int i = 0; i < HASHED_VALUES; i++) {
        const double two_pi = 0x1.921fb54442d18p+2;
        double u = next_uniform(&state), sine, cosine;
        tgi_sine_cosine(two_pi * u, &sine, &cosine);
        add_to_hash(&logs_so_far, tgi_log(1 - u));
        add_to_hash(&sines, sine);
        add_to_hash(&cosines, cosine);
    }
    ck_assert_uint_eq(logs_so_far, log_hash);
    ck_assert_uint_eq(sines, sine_hash);
    ck_assert_uint_eq(cosines, cosine_hash);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("portable_math");
    TCase *t = tcase_create("portable_math");
    tcase_add_test(t, landmarks_are_near);
    tcase_add_test(t, all_are_near_the_c_library);
    tcase_add_test(t, zeros_of_sine_and_cosine_are_near);
    tcase_add_test(t, bits_are_those_of_the_written_order);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return test_main(suite());
}
