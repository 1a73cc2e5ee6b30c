#include "support.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/arena.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POISONS
#endif
#ifdef POISONS
#include <sanitizer/asan_interface.h>
#endif

/* What malloc need not be troubled with: these sizes no machine has. */
static void *refuse_huge(void *user, size_t bytes) {
    size_t *refused = user;
    if (bytes > (size_t)1 << 40) {
        ++*refused;
        return NULL;
    }
    return malloc(bytes);
}

static void release_any(void *user, void *block, size_t bytes) {
    (void)user;
    (void)bytes;
    free(block);
}

/* Numbers that only have to be mixed. Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t mixed(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Whether `piece` lies as a piece of `bytes` has to. */
static void assert_aligned(const void *piece, size_t bytes) {
    ck_assert_ptr_nonnull(piece);
    ck_assert_uint_eq((uintptr_t)piece % (bytes >= 64 ? 64 : 16), 0);
}

START_TEST(alignment) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 100, 1000, 70000, 1, 200000, 3};
    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            unsigned char *piece = tgi_arena_take(&arena, sizes[i]);
            assert_aligned(piece, sizes[i]);
            memset(piece, 1, sizes[i]);
        }
    tgi_arena_free(&arena);
    ck_assert_uint_eq(memory.live_bytes, 0);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

/* An allocator need align for C's objects only, not for 64 bytes. */
START_TEST(alignment_over_badly_placed_chunks) {
    for (size_t shift = 16; shift <= 64; shift += 16) {
        test_memory memory = {0};
        tgi_arena arena = {.allocator = test_allocator(&memory)};
        void *stagger = arena.allocator.allocate(&memory, 1000 * shift + shift);
        assert_aligned(tgi_arena_take(&arena, 64), 64);
        arena.allocator.release(&memory, stagger, 1000 * shift + shift);
        tgi_arena_free(&arena);
        ck_assert_uint_eq(memory.live_bytes, 0);
    }
}
END_TEST

/* A piece that the test holds, filled with one byte all over. */
typedef struct piece {
    unsigned char *bytes;
    size_t size;
    unsigned char fill;
} piece;

static void assert_whole(const piece *pieces, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < pieces[i].size; j++)
            if (pieces[i].bytes[j] != pieces[i].fill)
                ck_abort_msg("byte %zu of piece %zu has changed", j, i);
}

/* Takes, marks and rewinds at random, as a stack; no piece ever moves or meets another. */
static void run_at_random(uint64_t seed, tgi_arena *arena) {
    enum { PIECES = 400, MARKS = 20 };
    piece pieces[PIECES];
    size_t count = 0, depth = 0, kept[MARKS];
    tgi_arena_mark marks[MARKS];
    for (int step = 0; step < 1500; step++) {
        uint64_t draw = mixed(&seed) % 100;
        if (draw < 10 && depth < MARKS) {
            marks[depth] = tgi_arena_now(arena);
            kept[depth++] = count;
        } else if (draw < 18 && depth > 0) {
            depth -= mixed(&seed) % depth + 1; /* over several marks at once, too */
            tgi_arena_rewind(arena, marks[depth]);
            count = kept[depth];
        } else if (draw == 18 || count == PIECES) {
            tgi_arena_reset(arena);
            count = depth = 0;
        } else {
            piece *p = &pieces[count++];
            p->size = mixed(&seed) % (draw < 95 ? 300 : 90000);
            p->fill = (unsigned char)mixed(&seed);
            p->bytes = tgi_arena_take(arena, p->size);
            assert_aligned(p->bytes, p->size);
            memset(p->bytes, p->fill, p->size);
        }
        if (step % 50 == 0)
            assert_whole(pieces, count);
    }
    assert_whole(pieces, count);
}

START_TEST(pieces_never_meet) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    run_at_random(UINT64_C(88172645463325252) + (uint64_t)_i, &arena);
    tgi_arena_free(&arena);
    ck_assert_uint_eq(memory.live_bytes, 0);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(rewinding_gives_the_same_places_again) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    tgi_arena_mark start = tgi_arena_now(&arena); /* before there is a chunk */
    void *first = tgi_arena_take(&arena, 100);
    tgi_arena_mark outer = tgi_arena_now(&arena);
    void *second = tgi_arena_take(&arena, 200);
    tgi_arena_mark inner = tgi_arena_now(&arena);
    void *large = tgi_arena_take(&arena, 1000000); /* in a chunk of its own */
    tgi_arena_rewind(&arena, inner);
    ck_assert_ptr_eq(tgi_arena_take(&arena, 1000000), large);
    tgi_arena_rewind(&arena, inner);
    tgi_arena_rewind(&arena, outer);
    ck_assert_ptr_eq(tgi_arena_take(&arena, 200), second);
    tgi_arena_rewind(&arena, start);
    ck_assert_ptr_eq(tgi_arena_take(&arena, 100), first);
    tgi_arena_reset(&arena);
    ck_assert_ptr_eq(tgi_arena_take(&arena, 100), first);
    ck_assert_uint_eq(memory.requests, 2);
    tgi_arena_free(&arena);
}
END_TEST

START_TEST(equal_steps_allocate_once) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    void *places[200];
    size_t requests = 0, capacity = 0;
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < 200; i++) {
            void *place = tgi_arena_take(&arena, (size_t)(i * i) + 1);
            ck_assert(step == 0 || place == places[i]);
            places[i] = place;
        }
        ck_assert(step == 0 || memory.requests == requests);
        ck_assert(step == 0 || tgi_arena_capacity(&arena) == capacity);
        requests = memory.requests;
        capacity = tgi_arena_capacity(&arena);
        tgi_arena_reset(&arena);
    }
    ck_assert_uint_lt(requests, 10); /* chunks grow, so there are few */
    tgi_arena_free(&arena);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

START_TEST(bytes_of_all_chunks) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    ck_assert_uint_eq(tgi_arena_capacity(&arena), 0);
    size_t taken = 0, before = 0;
    for (int i = 0; i < 30; i++) {
        size_t bytes = (size_t)1 << (i % 18);
        ck_assert_ptr_nonnull(tgi_arena_take(&arena, bytes));
        taken += bytes;
        ck_assert_uint_ge(tgi_arena_capacity(&arena), taken);
        ck_assert_uint_ge(tgi_arena_capacity(&arena), before);
        before = tgi_arena_capacity(&arena);
    }
    ck_assert_uint_le(before, memory.live_bytes);
    ck_assert_uint_le(memory.live_bytes, before + memory.live_blocks * 256);
    tgi_arena_reset(&arena);
    ck_assert_uint_eq(tgi_arena_capacity(&arena), before);
    tgi_arena_free(&arena);
    ck_assert_uint_eq(tgi_arena_capacity(&arena), 0);
    ck_assert_uint_eq(memory.live_bytes, 0);
    tgi_arena_free(&arena); /* and it may be used again */
    ck_assert_ptr_nonnull(tgi_arena_take(&arena, 10));
    tgi_arena_free(&arena);
    ck_assert_uint_eq(memory.live_blocks, 0);
}
END_TEST

START_TEST(nothing_to_take_back) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    tgi_arena_reset(&arena);
    tgi_arena_rewind(&arena, tgi_arena_now(&arena));
    tgi_arena_free(&arena);
    ck_assert_uint_eq(memory.requests, 0);
}
END_TEST

START_TEST(no_bytes_are_a_valid_address) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    for (int i = 0; i < 10000; i++)
        assert_aligned(tgi_arena_take(&arena, 0), 0);
    unsigned char *full = tgi_arena_take(&arena, 64);
    memset(full, 5, 64);
    ck_assert_ptr_nonnull(tgi_arena_take(&arena, 0));
    tgi_arena_free(&arena);
    ck_assert_uint_eq(memory.live_bytes, 0);
}
END_TEST

/* What each request of a small run needs, so that every one of them fails in turn. */
static bool run_with_failures(tgi_arena *arena, piece *pieces, size_t *count) {
    static const size_t sizes[] = {10, 100000, 40000, 5, 300000, 700000, 20, 1500000, 9};
    for (*count = 0; *count < sizeof sizes / sizeof sizes[0]; ++*count) {
        piece *p = &pieces[*count];
        tgi_arena_mark before = tgi_arena_now(arena);
        size_t capacity = tgi_arena_capacity(arena);
        *p = (piece){tgi_arena_take(arena, sizes[*count]), sizes[*count], (unsigned char)*count};
        if (p->bytes == NULL) { /* the arena is as it was */
            tgi_arena_mark after = tgi_arena_now(arena);
            ck_assert_ptr_eq(after.chunk, before.chunk);
            ck_assert_uint_eq(after.used, before.used);
            ck_assert_uint_eq(tgi_arena_capacity(arena), capacity);
            return false;
        }
        memset(p->bytes, p->fill, p->size);
    }
    return true;
}

START_TEST(every_allocation_fails_in_turn) {
    size_t failures = 0;
    for (size_t fail_at = 1;; fail_at++) {
        test_memory memory = {.fail_at = fail_at};
        tgi_arena arena = {.allocator = test_allocator(&memory)};
        piece pieces[16];
        size_t count;
        bool complete = run_with_failures(&arena, pieces, &count);
        assert_whole(pieces, count);
        memory.fail_at = 0;
        unsigned char *again = tgi_arena_take(&arena, 400000);
        ck_assert_ptr_nonnull(again);
        memset(again, 0xff, 400000);
        assert_whole(pieces, count);
        tgi_arena_free(&arena);
        ck_assert_uint_eq(memory.live_bytes, 0);
        ck_assert_uint_eq(memory.live_blocks, 0);
        if (complete)
            break;
        failures++;
    }
    ck_assert_uint_ge(failures, 4);
}
END_TEST

START_TEST(huge_requests) {
    size_t refused = 0;
    tgi_arena arena = {.allocator = {refuse_huge, release_any, &refused}};
    unsigned char *kept = tgi_arena_take(&arena, 100);
    memset(kept, 7, 100);
    size_t capacity = tgi_arena_capacity(&arena);
    for (size_t less = 0; less <= 512; less++)
        ck_assert_ptr_null(tgi_arena_take(&arena, SIZE_MAX - less));
    for (int shift = 41; shift < 64; shift++) {
        ck_assert_ptr_null(tgi_arena_take(&arena, (size_t)1 << shift));
        ck_assert_ptr_null(tgi_arena_take(&arena, ((size_t)1 << shift) - 1));
        ck_assert_ptr_null(tgi_arena_take(&arena, ((size_t)1 << shift) + 63));
    }
    ck_assert_uint_ge(refused, 3);
    ck_assert_uint_eq(tgi_arena_capacity(&arena), capacity);
    unsigned char *next = tgi_arena_take(&arena, 16);
    ck_assert_uint_ge((size_t)(next - kept), 100);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(kept[i], 7);
    tgi_arena_free(&arena);
}
END_TEST

#ifdef POISONS
/* What is not given out, a piece's neighbours and what was taken back cannot be touched. */
START_TEST(what_is_not_given_out_is_poisoned) {
    test_memory memory = {0};
    tgi_arena arena = {.allocator = test_allocator(&memory)};
    for (size_t bytes = 1; bytes < 200; bytes++) {
        tgi_arena_mark before = tgi_arena_now(&arena);
        char *taken = tgi_arena_take(&arena, bytes);
        ck_assert_ptr_null(__asan_region_is_poisoned(taken, bytes));
        ck_assert(__asan_address_is_poisoned(taken + bytes));
        ck_assert(__asan_address_is_poisoned(taken + bytes + 60));
        char *behind = tgi_arena_take(&arena, 100000);
        ck_assert(__asan_address_is_poisoned(taken + bytes));
        tgi_arena_rewind(&arena, before);
        ck_assert(__asan_address_is_poisoned(taken));
        ck_assert(__asan_address_is_poisoned(taken + bytes - 1));
        ck_assert(__asan_address_is_poisoned(behind));
        ck_assert(__asan_address_is_poisoned(behind + 99999));
    }
    tgi_arena_free(&arena);
}
END_TEST
#endif

static Suite *suite(void) {
    Suite *made = suite_create("arena");
    TCase *tests = tcase_create("arena");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, alignment);
    tcase_add_test(tests, alignment_over_badly_placed_chunks);
    tcase_add_loop_test(tests, pieces_never_meet, 0, 5);
    tcase_add_test(tests, rewinding_gives_the_same_places_again);
    tcase_add_test(tests, equal_steps_allocate_once);
    tcase_add_test(tests, bytes_of_all_chunks);
    tcase_add_test(tests, nothing_to_take_back);
    tcase_add_test(tests, no_bytes_are_a_valid_address);
    tcase_add_test(tests, every_allocation_fails_in_turn);
    tcase_add_test(tests, huge_requests);
#ifdef POISONS
    tcase_add_test(tests, what_is_not_given_out_is_poisoned);
#endif
    suite_add_tcase(made, tests);
    return made;
}

int main(void) {
    return test_main(suite());
}
