// SPDX-License-Identifier: BSD-2-Clause
//
// Views of hand-made and random profiles: whatever the grouping, rows add up; filters keep what
// they should and hide what they make unknowable; only what is shown is looked up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "view/view.h"
#include "synthetic.h"

struct fixture {
    struct seep_session *session;
    struct seep_symbols *symbols;
    struct seep_view *view;
    struct seep_view_options options;
    regex_t regex;
    bool has_regex;
};

static void start(struct fixture *f, struct seep_session *session) {
    *f = (struct fixture){.session = session, .options = seep_view_options_default};
    f->options.top = 0;
    assert_null(seep_symbols_create(NULL, &f->symbols));
}

static void stop(struct fixture *f) {
    seep_view_destroy(f->view);
    seep_symbols_destroy(f->symbols);
    seep_session_destroy(f->session);
    if (f->has_regex)
        regfree(&f->regex);
}

static regex_t *compiled(struct fixture *f, const char *text) {
    if (f->has_regex)
        regfree(&f->regex);
    assert_int_equal(regcomp(&f->regex, text, REG_EXTENDED | REG_NOSUB), 0);
    f->has_regex = true;
    return &f->regex;
}

static const struct seep_view *make(struct fixture *f) {
    seep_view_destroy(f->view);
    f->view = NULL;
    struct seep_error *error = seep_view_create(f->session, SIZE_MAX, f->symbols, &f->options, &f->view);
    if (error)
        fail_msg("%s", error->message);
    return f->view;
}

static void expect_unsupported(struct fixture *f, const char *word) {
    struct seep_view *view = NULL;
    struct seep_error *error = seep_view_create(f->session, SIZE_MAX, f->symbols, &f->options, &view);
    assert_non_null(error);
    assert_null(view);
    assert_int_equal(error->code, SEEP_E_UNSUPPORTED);
    assert_non_null(strstr(error->message, word));
    assert_non_null(error->hint);
    seep_error_destroy(error);
}

static const struct seep_view_row *row_named(const struct seep_view *view, const char *key) {
    for (size_t i = 0; i < view->nr_rows; i++)
        if (strcmp(view->rows[i].key, key) == 0)
            return &view->rows[i];
    fail_msg("there is no row '%s'", key);
    return NULL;
}

// ---- sums ----

// By process and file, every figure that all rows know must be the total.
static void check_sums(const struct seep_view *view) {
    int64_t live_blocks = 0, live_bytes = 0;
    uint64_t allocations = 0, bytes = 0, frees = 0, freed = 0, temporary = 0;
    uint32_t known = SEEP_KNOWN_ALL;
    for (size_t i = 0; i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        live_blocks += row->live_blocks;
        live_bytes += row->live_bytes;
        allocations += row->counters.allocations;
        bytes += row->counters.allocated_bytes;
        frees += row->counters.frees;
        freed += row->counters.freed_bytes;
        temporary += row->counters.temporary;
        known &= row->known;
        int64_t shares = 0;
        for (uint32_t s = 0; s < row->nr_shares; s++)
            shares += row->shares[s].live_bytes;
        assert_int_equal(shares, row->live_bytes);
    }
    assert_int_equal(view->nr_rows, view->nr_rows_all);
    assert_int_equal(live_blocks, view->totals.live_blocks);
    assert_int_equal(live_bytes, view->totals.live_bytes);
    assert_int_equal(live_bytes, view->all.live_bytes);
    assert_true(known & SEEP_KNOWN_LIVE);
    if (known & SEEP_KNOWN_ALLOCATIONS)
        assert_int_equal(allocations, view->totals.allocations);
    if (known & SEEP_KNOWN_BYTES)
        assert_int_equal(bytes, view->totals.allocated_bytes);
    if (known & SEEP_KNOWN_FREES) {
        assert_int_equal(frees, view->totals.frees);
        assert_int_equal(freed, view->totals.freed_bytes);
    }
    if (known & SEEP_KNOWN_TEMPORARY)
        assert_int_equal(temporary, view->totals.temporary);
    if (view->options.by != SEEP_BY_SIZE)
        assert_int_equal(known | SEEP_KNOWN_PEAK | SEEP_KNOWN_AT_PEAK, SEEP_KNOWN_ALL);
}

static uint32_t next_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

// Up to three processes with random trees, sites, threads and all their live blocks.
static struct seep_session *random_session(uint64_t seed) {
    struct seep_session *session = synthetic_leaky();
    static const char *const modules[] = {"/opt/app/bin/app", "/usr/lib/libc.so.6", "/usr/lib/libparse.so.2"};
    uint32_t nr_processes = next_random(&seed) % 3;
    for (uint32_t n = 0; n < nr_processes; n++) {
        struct seep_profile *p = synthetic_profile(500 + n, "/opt/app/bin/app");
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(modules); i++)
            synthetic_module(p, modules[i]);
        uint32_t nr_threads = 1 + next_random(&seed) % 4;
        for (uint32_t i = 0; i < nr_threads; i++)
            synthetic_thread(p, 500 + i, i % 2 ? "worker" : "io");
        for (uint32_t i = 0; i < 100; i++)
            synthetic_node(p, next_random(&seed) % p->nr_nodes, next_random(&seed) % p->nr_modules,
                           0x1000 + 0x10 * (next_random(&seed) % 6));
        uint64_t address = 0x1000;
        for (uint32_t i = 0; i < 60; i++) {
            uint32_t thread = next_random(&seed) % nr_threads;
            uint64_t size = next_random(&seed) % 5000, allocations = next_random(&seed) % 8;
            uint64_t live = allocations ? next_random(&seed) % (allocations + 1) : 0;
            uint32_t site = synthetic_site(p, next_random(&seed) % p->nr_nodes, 1 + next_random(&seed) % 5,
                                           thread, size, allocations, allocations - live, 0);
            for (uint64_t b = 0; b < live; b++, address += 8192)
                synthetic_block(p, site, address, size, thread, (int64_t)address);
        }
        seep_profile_derive(p);
        assert_null(seep_session_add(session, p));
    }
    return session;
}

static void test_rows_add_up(void **state) {
    struct seep_session *(*const makers[])(void) = {synthetic_leaky,  synthetic_clean, synthetic_empty,
                                                    synthetic_family, synthetic_many,  synthetic_strange};
    for (size_t m = 0; m < SEEP_ARRAY_SIZE(makers); m++) {
        for (int by = 0; by < SEEP_BY_NR; by++) {
            struct fixture f;
            start(&f, makers[m]());
            f.options.by = by;
            bool blocks = f.session->profiles[0]->nr_blocks || !f.session->profiles[0]->totals.live_blocks;
            if (by == SEEP_BY_SIZE && !blocks)
                expect_unsupported(&f, "--by size");
            else
                check_sums(make(&f));
            stop(&f);
        }
    }
}

static void test_random_rows_add_up(void **state) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct fixture f;
        start(&f, random_session(seed * 977));
        for (f.options.by = 0; f.options.by < SEEP_BY_NR; f.options.by++)
            check_sums(make(&f));
        stop(&f);
    }
}

// Live figures of filters that part the blocks in two add up to all.
static void test_random_filters_part(void **state) {
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct fixture f;
        start(&f, random_session(seed));
        uint64_t border = 1 + seed * 100;
        f.options.max_size = border - 1;
        int64_t below = make(&f)->all.live_bytes;
        f.options.max_size = UINT64_MAX;
        f.options.min_size = border;
        int64_t above = make(&f)->all.live_bytes;
        assert_int_equal(below + above, f.view->totals.live_bytes);
        for (size_t i = 0; i < f.view->nr_rows; i++)
            assert_true(f.view->rows[i].live_bytes >= f.view->rows[i].live_blocks * (int64_t)border);
        f.options.min_size = 0;
        f.options.thread = compiled(&f, "^(app|io)$");
        int64_t some = make(&f)->all.live_bytes;
        f.options.thread = compiled(&f, "worker");
        assert_int_equal(some + make(&f)->all.live_bytes, f.view->totals.live_bytes);
        stop(&f);
    }
}

// ---- leaders ----

// Three times as many sites as there are leaders, in no order.
#define NR_SITES (3 * SEEP_VIEW_LEADERS)

static struct seep_session *of_many_sites(void) {
    struct seep_session *session;
    struct seep_profile *p = synthetic_profile(7, "/opt/app/bin/app");
    p->nodes = seep_arena_alloc(&p->arena, NR_SITES + 1, sizeof(*p->nodes));
    p->sites = seep_arena_alloc(&p->arena, NR_SITES + 1, sizeof(*p->sites));
    assert_true(p->nodes && p->sites);
    p->nr_nodes = p->nr_sites = NR_SITES + 1;
    for (uint32_t i = 1; i <= NR_SITES; i++) {
        uint64_t nr = i * UINT64_C(7919) % NR_SITES + 1; // a prime: each number from 1 on once
        p->nodes[i].offset = i;
        p->sites[i] = (struct seep_site){
            .node = i,
            .via = SEEP_VIA_MALLOC,
            .counters = {.allocations = nr, .allocated_bytes = nr * 16, .size_min = 16, .size_max = 16}};
    }
    seep_profile_derive(p);
    assert_null(seep_session_of(p, &session));
    return session;
}

static void test_leaders_are_those_that_have_most(void **state) {
    struct fixture f;
    start(&f, of_many_sites());
    const struct seep_view_leaders *leaders = &make(&f)->leaders[SEEP_LEAD_LIVE];
    assert_int_equal(leaders->nr_rows, SEEP_VIEW_LEADERS_MOST); // each site is a place of its own
    assert_int_equal(leaders->all, f.view->all.live_bytes);
    for (uint64_t i = 0; i < SEEP_VIEW_LEADERS; i++) {
        assert_int_equal(leaders->rows[i].value, (NR_SITES - i) * 16);
        assert_int_equal(leaders->rows[i].allocations, NR_SITES - i);
    }
    f.options.no_leaders = true;
    assert_int_equal(make(&f)->leaders[SEEP_LEAD_LIVE].nr_rows, 0);
    stop(&f);
}

// ---- order ----

static void test_orders(void **state) {
    struct fixture f;
    start(&f, synthetic_many());
    for (f.options.sort = 0; f.options.sort < SEEP_SORT_AGE; f.options.sort++) {
        const struct seep_view *view = make(&f);
        for (size_t i = 1; i < view->nr_rows; i++) {
            const struct seep_view_row *a = &view->rows[i - 1], *b = &view->rows[i];
            switch (f.options.sort) {
            case SEEP_SORT_ALLOCATIONS:
                assert_true(a->counters.allocations >= b->counters.allocations);
                break;
            case SEEP_SORT_BYTES:
                assert_true(a->counters.allocated_bytes >= b->counters.allocated_bytes);
                break;
            case SEEP_SORT_PEAK:
                assert_true(a->counters.peak_bytes >= b->counters.peak_bytes);
                break;
            case SEEP_SORT_TEMPORARY:
                assert_true(a->counters.temporary >= b->counters.temporary);
                break;
            case SEEP_SORT_SIZE:
                assert_true(a->live_bytes * b->live_blocks >= b->live_bytes * a->live_blocks);
                break;
            case SEEP_SORT_BLOCKS:
                assert_true(a->live_blocks >= b->live_blocks);
                break;
            default:
                assert_true(a->live_bytes >= b->live_bytes);
            }
        }
    }
    stop(&f);
    start(&f, synthetic_leaky());
    f.options.sort = SEEP_SORT_AGE;
    assert_int_equal(make(&f)->rows[0].oldest_ns, 1200000000);
    stop(&f);
}

static void test_order_without_live_is_by_allocations(void **state) {
    struct fixture f;
    start(&f, synthetic_clean());
    const struct seep_view *view = make(&f);
    assert_int_equal(view->options.sort, SEEP_SORT_ALLOCATIONS);
    assert_int_equal(view->rows[0].counters.allocations, 5000);
    stop(&f);
}

static void test_top_looks_up_only_what_is_shown(void **state) {
    struct fixture f;
    start(&f, synthetic_many());
    f.options.top = 3;
    const struct seep_view *view = make(&f);
    assert_int_equal(view->nr_rows, 3);
    assert_int_equal(view->nr_rows_all, 200);
    assert_int_equal(view->all.counters.allocations, view->totals.allocations);
    assert_int_equal(synthetic_resolved(), 3);
    f.options.top = SEEP_TOP_DEFAULT;
    assert_int_equal(make(&f)->nr_rows, 10);
    f.options.top = 0;
    assert_int_equal(make(&f)->nr_rows, 200);
    stop(&f);
}

// ---- filters ----

static void test_filters_on_frames(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    f.options.function = compiled(&f, "^load_file$"); // only ever inlined
    assert_int_equal(make(&f)->nr_rows, 2);
    assert_true(f.view->filtered);
    assert_int_equal(f.view->all.live_bytes, 10000);
    f.options.function = compiled(&f, "no such function");
    assert_int_equal(make(&f)->nr_rows, 0);
    f.options.function = NULL;
    f.options.file = compiled(&f, "walk\\.c$");
    assert_int_equal(make(&f)->nr_rows, 1);
    assert_int_equal(f.view->rows[0].live_bytes, 320);
    f.options.file = NULL;
    f.options.module = compiled(&f, "libparse");
    assert_int_equal(make(&f)->nr_rows, 2);
    assert_int_equal(f.view->all.live_bytes, 10001);
    stop(&f);
}

static void test_filter_on_threads(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    f.options.thread = compiled(&f, "^worker$");
    assert_int_equal(make(&f)->all.counters.allocations, 1002);
    assert_int_equal(f.view->all.live_bytes, 320);
    assert_false(f.view->live_is_net);
    f.options.thread = compiled(&f, "^4242$");
    assert_int_equal(make(&f)->all.live_bytes, 10001);
    // Without the threads of blocks live is what the thread itself did.
    f.session->profiles[0]->blocks[0].thread = UINT32_MAX;
    assert_int_equal(make(&f)->all.live_bytes, 10001);
    assert_true(f.view->live_is_net);
    stop(&f);
}

static void test_filter_on_sizes_keeps_what_is_known(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    struct seep_profile *p = f.session->profiles[0];
    f.options.min_size = 65;
    const struct seep_view *view = make(&f);
    assert_int_equal(view->nr_rows, 1);
    assert_true(view->rows[0].known & SEEP_KNOWN_ALLOCATIONS); // all blocks of the site are of that size
    assert_int_equal(view->rows[0].counters.allocations, 12);
    p->sites[1].counters.size_min = 10; // now some were smaller: allocations of that size are not known
    view = make(&f);
    assert_int_equal(view->rows[0].known, SEEP_KNOWN_LIVE);
    assert_int_equal(view->rows[0].live_bytes, 10000);
    f.options.min_size = 0;
    f.options.older_ns = 850000000;
    view = make(&f);
    assert_int_equal(view->all.live_blocks, 2);
    assert_int_equal(view->rows[0].known, SEEP_KNOWN_LIVE);
    stop(&f);
}

static void test_what_is_not_kept_is_an_error(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    struct seep_profile *p = f.session->profiles[0];
    for (size_t i = 0; i < p->nr_blocks; i++)
        p->blocks[i].age_ns = -1;
    f.options.older_ns = 1;
    expect_unsupported(&f, "--older");
    f.options.older_ns = -1;
    f.options.sort = SEEP_SORT_AGE;
    expect_unsupported(&f, "--sort age");
    f.options.sort = SEEP_SORT_AUTO;
    p->nr_blocks = 0;
    f.options.min_size = 1;
    expect_unsupported(&f, "--min-size");
    f.options.min_size = 0;
    f.options.max_size = 1;
    expect_unsupported(&f, "--max-size");
    f.options.max_size = UINT64_MAX;
    f.options.blocks = true;
    expect_unsupported(&f, "--blocks");
    stop(&f);
}

static void test_blocks_of_rows(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    f.options.blocks = true;
    const struct seep_view *view = make(&f);
    assert_int_equal(view->rows[0].nr_blocks, 10);
    assert_int_equal(view->rows[0].blocks[9].address, 0x55552400);
    assert_int_equal(view->rows[0].blocks[9].age_ns, 900000000);
    assert_int_equal(view->rows[1].blocks[0].tid, 4243);
    f.options.older_ns = 500000000;
    view = make(&f);
    assert_int_equal(view->rows[0].nr_blocks, 5);
    stop(&f);
}

// ---- attribution and merging ----

static void test_attribution(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    f.options.by = SEEP_BY_FUNCTION;
    const struct seep_view *view = make(&f);
    assert_int_equal(row_named(view, "parse_line")->live_bytes, 10000);      // not strdup, of libc
    assert_int_equal(row_named(view, "load_file")->counters.allocations, 3); // the inlined one
    assert_int_equal(row_named(view, "(stack not recorded)")->counters.allocations, 2);
    stop(&f);
    start(&f, synthetic_strange());
    f.options.by = SEEP_BY_FUNCTION;
    row_named(make(&f), "void app::Cache<std::map<int, long>, 16ul>::insert<app::Key>(app::Key&&) const");
    stop(&f);
}

static void test_same_stack_of_processes_is_one_row(void **state) {
    struct fixture f;
    start(&f, synthetic_family());
    const struct seep_view *view = make(&f);
    assert_int_equal(view->nr_rows, 2);
    assert_int_equal(view->rows[0].nr_shares, 3);
    assert_int_equal(view->rows[0].live_bytes, 1800);
    assert_false(view->rows[0].known & SEEP_KNOWN_PEAK); // peaks of three processes do not add up
    assert_true(view->rows[1].known & SEEP_KNOWN_PEAK);
    for (unsigned i = 0; i < 3; i++) { // the same build, by its other name where /lib is a link
        struct seep_module *app = &f.session->profiles[i]->modules[i == 1 ? 2 : 1];
        assert_memory_equal(app->path, "/opt/", 5);
        app->path = i == 1 ? "/lib/libapp.so" : "/usr/lib/libapp.so";
    }
    assert_int_equal(make(&f)->nr_rows, 2);
    f.session->profiles[1]->modules[2].build_id[0] ^= 1; // another build of the same path
    assert_int_equal(make(&f)->nr_rows, 3);
    stop(&f);
}

// Code without a file: equal addresses of different processes are different code.
static void test_jit_of_processes_is_not_merged(void **state) {
    struct seep_session *session = synthetic_empty();
    for (uint32_t i = 0; i < 2; i++) {
        struct seep_profile *p = synthetic_profile(10 + i, "/usr/bin/java");
        uint32_t t = synthetic_thread(p, 10 + i, "java");
        synthetic_site(p, synthetic_node(p, 0, 0, 0x7f00000000), SEEP_VIA_MALLOC, t, 8, 1, 0, 0);
        seep_profile_derive(p);
        assert_null(seep_session_add(session, p));
    }
    struct fixture f;
    start(&f, session);
    assert_int_equal(make(&f)->nr_rows, 2);
    stop(&f);
}

// ---- stacks ----

static void test_recursion_is_folded(void **state) {
    struct fixture f;
    start(&f, synthetic_leaky());
    make(&f);
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 1;
    assert_null(seep_view_frames(f.view, &f.view->rows[1], &frames, &nr, &more));
    assert_int_equal(more, 0);
    assert_int_equal(nr, 12); // nothing is left out: 4 + 3 * 2 + 2
    assert_int_equal(frames[0].fold_times, 4);
    assert_int_equal(frames[0].fold_frames, 1);
    assert_true(frames[1].folded && frames[3].folded && !frames[4].folded);
    assert_int_equal(frames[5].fold_times, 3);
    assert_int_equal(frames[5].fold_frames, 2);
    assert_true(frames[6].folded && frames[9].folded && !frames[10].folded);
    stop(&f);
}

// A stack deeper than the view shows says how much is missing.
static void test_deep_stack(void **state) {
    const uint32_t depth = SEEP_VIEW_DEPTH + 100;
    struct seep_profile *p = synthetic_profile(1, "/opt/app/bin/app");
    uint32_t m = synthetic_module(p, "/opt/app/bin/app");
    uint32_t t = synthetic_thread(p, 1, "app");
    p->nodes = seep_arena_alloc(&p->arena, depth + 1, sizeof(*p->nodes));
    assert_non_null(p->nodes);
    for (uint32_t i = 1; i <= depth; i++)
        p->nodes[i] = (struct seep_node){.parent = i - 1, .module = m, .offset = i};
    p->nr_nodes = depth + 1;
    synthetic_site(p, depth, SEEP_VIA_MALLOC, t, 1, 1, 0, 0);
    seep_profile_derive(p);
    struct seep_session *session = NULL;
    assert_null(seep_session_create(&session));
    assert_null(seep_session_add(session, p));
    synthetic_symbols(NULL, 0);
    struct fixture f;
    start(&f, session);
    make(&f);
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    assert_null(seep_view_frames(f.view, &f.view->rows[0], &frames, &nr, &more));
    assert_int_equal(nr, SEEP_VIEW_DEPTH);
    assert_int_equal(more, 100);
    // Both ends are there: the innermost frame, and the outermost, before which the first of its part says it.
    const size_t outer = SEEP_VIEW_DEPTH - SEEP_VIEW_OUTERMOST;
    assert_int_equal(frames[0].offset, depth);
    assert_int_equal(frames[outer - 1].offset, depth - outer + 1);
    assert_int_equal(frames[outer].left_out, 100);
    assert_int_equal(frames[outer].offset, SEEP_VIEW_OUTERMOST);
    assert_int_equal(frames[SEEP_VIEW_DEPTH - 1].offset, 1);
    assert_int_equal(f.view->nr_without_symbols, 1);
    stop(&f);
}

// Absurd counters from a hostile image: no overflow that a sanitizer sees, no negative live.
static void test_absurd_counters(void **state) {
    struct seep_session *session = synthetic_many();
    struct seep_profile *p = session->profiles[0];
    for (uint32_t i = 1; i < p->nr_sites; i++) {
        p->sites[i].counters.allocations = UINT64_MAX;
        p->sites[i].counters.allocated_bytes = UINT64_MAX - i;
        p->sites[i].counters.peak_bytes = UINT64_MAX;
        p->thread_sites[i - 1].counters = p->sites[i].counters;
        p->thread_sites[i - 1].counters.freed_bytes = i % 2 ? UINT64_MAX : 0;
    }
    seep_profile_derive(p);
    struct fixture f;
    start(&f, session);
    for (f.options.by = 0; f.options.by < SEEP_BY_NR; f.options.by++) {
        if (f.options.by == SEEP_BY_SIZE)
            continue;
        make(&f);
        if (f.options.by != SEEP_BY_THREAD)
            assert_true(f.view->all.live_bytes == INT64_MAX);
    }
    f.options.by = SEEP_BY_SITE;
    f.options.thread = compiled(&f, "app");
    make(&f);
    stop(&f);
}

// Short names are as long as they must be to stay apart.
static void test_short_names(void **state) {
    struct fixture f;
    start(&f, synthetic_strange());
    f.options.by = SEEP_BY_LINE;
    const struct seep_view *view = make(&f);
    row_named(view, "cache, \"new\".cpp:10");
    f.options.full_paths = true;
    row_named(make(&f), "/src/\xe6\x97\xa5\xe6\x9c\xac/cache, \"new\".cpp:10");
    f.options = seep_view_options_default;
    make(&f);
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    assert_null(seep_view_frames(f.view, &f.view->rows[0], &frames, &nr, &more));
    assert_string_equal(frames[nr - 1].file, "y/main.c");
    assert_string_equal(frames[nr - 2].file, "x/main.c");
    stop(&f);
}

// Two sites of one module that grow at the same rate: its row grows at both rates together.
static void test_growth_of_a_row_is_that_of_all_its_sites(void **state) {
    enum { LOOKS = 12 };
    struct fixture f;
    struct seep_profile *p = synthetic_profile(500, "/opt/app/bin/app");
    uint32_t module = synthetic_module(p, "/opt/app/bin/app");
    synthetic_thread(p, 500, "app");
    for (uint32_t i = 0; i < 2; i++)
        synthetic_site(p, synthetic_node(p, 0, module, 0x1000 + 0x100 * i), 1, 0, 100, LOOKS, 0, 0);
    seep_profile_derive(p);
    p->nr_snapshots = LOOKS;
    p->snapshots = seep_arena_alloc(&p->arena, LOOKS, sizeof(*p->snapshots));
    assert_non_null(p->snapshots);
    for (uint32_t i = 0; i < LOOKS; i++) {
        struct seep_snapshot_site *sites = seep_arena_alloc(&p->arena, 2, sizeof(*sites));
        assert_non_null(sites);
        sites[0] = (struct seep_snapshot_site){1, i + 1, 100 * (i + 1)};
        sites[1] = (struct seep_snapshot_site){2, i + 1, 100 * (i + 1)};
        p->snapshots[i] =
            (struct seep_snapshot){.at_ns = (i + 1) * 1000000000LL, .sites = sites, .nr_sites = 2};
    }
    assert_null(seep_growth_judge(p, SEEP_GROWTH_LEAST_NS));
    struct seep_session *session = NULL;
    assert_null(seep_session_create(&session));
    assert_null(seep_session_add(session, p));
    start(&f, session);
    const struct seep_view *view = make(&f);
    assert_int_equal(view->nr_rows, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(view->rows[i].growth->last_bytes, 100 * LOOKS);
    f.options.by = SEEP_BY_MODULE;
    view = make(&f);
    assert_int_equal(view->nr_rows, 1);
    const struct seep_growth_of *growth = view->rows[0].growth;
    assert_non_null(growth);
    assert_int_equal(growth->trend.verdict, SEEP_TREND_GROWING);
    assert_int_equal(growth->first_bytes, 200);
    assert_int_equal(growth->last_bytes, 200 * LOOKS);
    assert_int_equal(growth->last_blocks, 2 * LOOKS);
    assert_true(growth->trend.slope > 199 && growth->trend.slope < 201);
    stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_add_up),
        cmocka_unit_test(test_random_rows_add_up),
        cmocka_unit_test(test_leaders_are_those_that_have_most),
        cmocka_unit_test(test_random_filters_part),
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_order_without_live_is_by_allocations),
        cmocka_unit_test(test_top_looks_up_only_what_is_shown),
        cmocka_unit_test(test_filters_on_frames),
        cmocka_unit_test(test_filter_on_threads),
        cmocka_unit_test(test_filter_on_sizes_keeps_what_is_known),
        cmocka_unit_test(test_what_is_not_kept_is_an_error),
        cmocka_unit_test(test_blocks_of_rows),
        cmocka_unit_test(test_attribution),
        cmocka_unit_test(test_same_stack_of_processes_is_one_row),
        cmocka_unit_test(test_jit_of_processes_is_not_merged),
        cmocka_unit_test(test_recursion_is_folded),
        cmocka_unit_test(test_deep_stack),
        cmocka_unit_test(test_absurd_counters),
        cmocka_unit_test(test_short_names),
        cmocka_unit_test(test_growth_of_a_row_is_that_of_all_its_sites),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
