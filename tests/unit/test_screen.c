// SPDX-License-Identifier: BSD-2-Clause
//
// The live screen without a terminal: hand-made looks, drawn on a canvas, byte for byte against
// tests/golden/screen-* (SEEP_GOLDEN_WRITE writes them); keys and clicks; every size of a terminal; foreign text.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen.h"
#include "synthetic.h"

#define SHOP   "/opt/shop/shopd"
#define SECOND INT64_C(1000000000)

static const struct synthetic_symbol shop_symbols[] = {
    {SHOP, 0x10, {{"main", "/src/shop/main.c", 40}}, 1},
    {SHOP, 0x20, {{"session_new", "/src/shop/session.c", 88}}, 1},
    {SHOP, 0x30, {{"cache_init", "/src/shop/cache.c", 31}}, 1},
    {SHOP, 0x40, {{"parse_header", "/src/shop/parse.c", 52}}, 1},
    {SHOP, 0x50, {{"strange\033[31m\033[2J\xff\xc2\x9b", "/src/\033]0;title\007/x.c", 1}}, 1},
};

static bool sessions_end_at_once; // all but one of 17

// What the shop has at its look number `at`.
static struct seep_session *shop(unsigned at) {
    synthetic_symbols(shop_symbols, SEEP_ARRAY_SIZE(shop_symbols));
    struct seep_profile *p = synthetic_profile(31724, SHOP);
    uint32_t module = synthetic_module(p, SHOP);
    uint32_t t0 = synthetic_thread(p, 31724, "shopd"), t1 = synthetic_thread(p, 31725, "\033[5mblink");
    uint32_t main_node = synthetic_node(p, 0, module, 0x10);
    uint32_t session = synthetic_site(p, synthetic_node(p, main_node, module, 0x20), SEEP_VIA_MALLOC, t0, 640,
                                      60000 + 1700 * at, sessions_end_at_once ? 1600 * at : 100 * at,
                                      sessions_end_at_once ? 1600 * at : 0);
    uint32_t cache =
        synthetic_site(p, synthetic_node(p, main_node, module, 0x30), SEEP_VIA_CALLOC, t0, 1 << 20, 22, 0, 0);
    synthetic_site(p, synthetic_node(p, main_node, module, 0x40), SEEP_VIA_MALLOC, t1, 100, 50000 * (at + 1),
                   50000 * (at + 1), 49000 * (at + 1));
    synthetic_site(p, synthetic_node(p, main_node, module, 0x50), SEEP_VIA_MALLOC, t1, 3, 3, 1, 0);
    for (unsigned i = 0; i < 22; i++)
        synthetic_block(p, cache, 0x7f0000000000 + i * 0x200000, 1 << 20, t0, i * 400 * SECOND);
    for (unsigned i = 0; i < 5; i++)
        synthetic_block(p, session, 0x550000000000 + i * 0x300, 640, t0, SECOND);
    p->process.duration_ns = (8040 + at) * SECOND;
    p->process.exit_kind = SEEP_EXIT_RUNNING;
    p->health.state = SEEP_STATE_LIVE;
    p->totals.peak_bytes = 109051904;
    struct seep_session *made = NULL;
    assert_null(seep_session_create(&made));
    seep_profile_derive(p);
    assert_null(seep_session_add(made, p));
    return made;
}

struct fixture {
    struct seep_live live;
    struct seep_symbols *symbols;
    struct seep_screen screen;
    struct seep_canvas canvas;
};

static void take(struct fixture *f, struct seep_session *session, unsigned at) {
    struct seep_look look = {.session = session,
                             .at_ns = (100 + at) * SECOND,
                             .rss_bytes = 131u << 20,
                             .used_bytes = 140u << 20,
                             .limit_bytes = 256u << 20,
                             .nr_threads = 14};
    look.rss_bytes += at * (1000u << 10);
    seep_screen_changed(&f->screen);
    assert_null(seep_live_take(&f->live, &look));
}

static void begin(struct fixture *f, unsigned nr_looks) {
    memset(f, 0, sizeof(*f));
    assert_null(seep_symbols_create(NULL, &f->symbols));
    seep_live_init(&f->live);
    seep_screen_init(&f->screen, &f->live, f->symbols);
    for (unsigned i = 0; i < nr_looks; i++)
        take(f, shop(i), i);
}

static void end(struct fixture *f) {
    seep_screen_deinit(&f->screen);
    seep_live_deinit(&f->live);
    seep_canvas_deinit(&f->canvas);
    seep_symbols_destroy(f->symbols);
}

static char *draw(struct fixture *f, int nr_columns, int nr_rows, bool ascii) {
    assert_true(seep_canvas_begin(&f->canvas, nr_columns, nr_rows, ascii));
    seep_screen_draw(&f->screen, &f->canvas);
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (int y = 0; y < nr_rows; y++) {
        char *line = seep_canvas_line(&f->canvas, y);
        assert_non_null(line);
        fprintf(out, "%s\n", line);
        free(line);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void golden(struct fixture *f, const char *name, int nr_columns, int nr_rows, bool ascii) {
    char path[4096];
    const char *folder = getenv("SEEP_GOLDEN") ? getenv("SEEP_GOLDEN") : "tests/golden";
    snprintf(path, sizeof(path), "%s/screen-%s.txt", folder, name);
    char *text = draw(f, nr_columns, nr_rows, ascii);
    FILE *file = fopen(path, getenv("SEEP_GOLDEN_WRITE") ? "wb" : "rb");
    if (!file)
        fail_msg("%s is not there", path);
    if (getenv("SEEP_GOLDEN_WRITE")) {
        fputs(text, file);
    } else {
        char *expected = NULL;
        size_t room = 0;
        assert_true(getdelim(&expected, &room, 0, file) >= 0);
        if (strcmp(expected, text) != 0)
            fprintf(stderr, "---- %s is now:\n%s----\n", name, text);
        assert_string_equal(text, expected);
        free(expected);
    }
    assert_int_equal(fclose(file), 0);
    free(text);
}

static void keys(struct fixture *f, const char *text) {
    for (; *text; text++)
        (void)seep_screen_key(&f->screen, *text == '\n' ? SEEP_KEY_ENTER : *text);
}

// ---- tests ----

static void test_sizes_of_the_sketch(void **state) {
    struct fixture f;
    begin(&f, 12);
    golden(&f, "80x24", 80, 24, false);
    golden(&f, "132x43", 132, 43, false);
    golden(&f, "40x12", 40, 12, false);
    golden(&f, "60x24", 60, 24, false);
    golden(&f, "80x24-ascii", 80, 24, true);
    end(&f);
}

static void test_tabs(void **state) {
    static const char *const names[] = {"functions", "lines", "modules", "threads",
                                        "processes", "leaks", "log"};
    struct fixture f;
    begin(&f, 9);
    for (unsigned i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        char key[] = {(char)('2' + i), 0}, name[64];
        keys(&f, key);
        snprintf(name, sizeof(name), "80x24-%s", names[i]);
        golden(&f, name, 80, 24, false);
    }
    keys(&f, "t");
    golden(&f, "80x24-tree", 80, 24, false);
    keys(&f, "t?");
    golden(&f, "80x24-help", 80, 24, false);
    golden(&f, "40x12-help", 40, 12, false);
    for (int i = 0; i < 100; i++)
        seep_screen_key(&f.screen, SEEP_KEY_DOWN);
    golden(&f, "40x12-help-end", 40, 12, false);
    seep_screen_key(&f.screen, SEEP_KEY_ESCAPE);
    assert_false(f.screen.help);
    end(&f);
}

static void test_a_mark_and_a_filter(void **state) {
    struct fixture f;
    begin(&f, 8);
    assert_null(seep_live_mark(&f.live, "warm"));
    for (unsigned i = 8; i < 11; i++)
        take(&f, shop(i), i);
    keys(&f, "d/session");
    golden(&f, "80x24-since", 80, 24, false);
    assert_int_equal(f.live.totals.since_bytes, 3 * 1600 * 640);
    assert_int_equal(f.live.totals.since_blocks, 3 * 1600);
    assert_int_equal(f.screen.table.nr_rows, 1);
    end(&f);
}

// Of each look the figures are those of the session, and rates those of the two last.
static void test_rates_are_exact(void **state) {
    struct fixture f;
    begin(&f, 2);
    free(draw(&f, 80, 24, false));
    const struct seep_live_row *row = &f.screen.table.rows[0];
    assert_true(strncmp(row->where, "session_new", 11) == 0);
    assert_true(row->per_s_known);
    assert_true(row->bytes_per_s == 1600 * 640);
    assert_true(row->allocations_per_s == 1700);
    assert_true(f.live.totals.allocations_per_s == 50000 + 1700);
    // An image of its own is another life: nothing is counted from the one before.
    struct seep_session *other = shop(0);
    other->profiles[0]->process.start_realtime_ns += SECOND;
    take(&f, other, 2);
    free(draw(&f, 80, 24, false));
    assert_false(f.screen.table.rows[0].per_s_known);
    assert_true(f.live.nr_log >= 1);
    end(&f);
}

static void test_the_chosen_row_is_followed(void **state) {
    struct fixture f;
    begin(&f, 3);
    free(draw(&f, 80, 24, false));
    keys(&f, "s"); // by what came since the look before: the cache had nothing
    free(draw(&f, 80, 24, false));
    (void)seep_screen_key(&f.screen, SEEP_KEY_END);
    (void)seep_screen_key(&f.screen, SEEP_KEY_HOME);
    (void)seep_screen_key(&f.screen, SEEP_KEY_DOWN);
    free(draw(&f, 80, 24, false));
    const char *chosen = f.screen.table.rows[1].where;
    assert_int_equal(f.screen.selected, 1);
    assert_true(strncmp(chosen, "cache_init", 10) == 0);
    // The look before was the same: by what there is now, the other one comes first.
    take(&f, shop(2), 3);
    free(draw(&f, 80, 24, false));
    assert_true(strncmp(f.screen.table.rows[f.screen.selected].where, "cache_init", 10) == 0);
    end(&f);
    // Without having chosen one stays at the top.
    begin(&f, 3);
    free(draw(&f, 80, 24, false));
    keys(&f, "s");
    free(draw(&f, 80, 24, false));
    assert_int_equal(f.screen.selected, 0);
    end(&f);
}

static void test_clicks(void **state) {
    struct fixture f;
    begin(&f, 3);
    free(draw(&f, 80, 24, false));
    (void)seep_screen_click(&f.screen, &f.canvas, 23, 5); // BLOCKS
    assert_int_equal(f.screen.sort, SEEP_LIVE_SORT_BLOCKS);
    free(draw(&f, 80, 24, false));
    (void)seep_screen_click(&f.screen, &f.canvas, 30, 7); // the second row
    assert_int_equal(f.screen.selected, 1);
    (void)seep_screen_click(&f.screen, &f.canvas, 12, 4); // Functions
    assert_int_equal(f.screen.tab, SEEP_TAB_FUNCTIONS);
    (void)seep_screen_key(&f.screen, SEEP_KEY_ESCAPE); // the message is where the keys are
    free(draw(&f, 80, 24, false));
    assert_int_equal(seep_screen_click(&f.screen, &f.canvas, 76, 23), SEEP_WISH_QUIT);
    assert_int_equal(seep_screen_click(&f.screen, &f.canvas, -1, 500), SEEP_WISH_NONE);
    end(&f);
}

static void test_commands(void **state) {
    struct fixture f;
    begin(&f, 3);
    keys(&f, ":sort bl\n");
    assert_int_equal(f.screen.sort, SEEP_LIVE_SORT_BLOCKS);
    keys(&f, ":mod\n");
    assert_int_equal(f.screen.tab, SEEP_TAB_MODULES);
    keys(&f, ":nonsense\n");
    assert_true(f.screen.message_bad);
    keys(&f, ":mark here");
    assert_int_equal(seep_screen_key(&f.screen, SEEP_KEY_ENTER), SEEP_WISH_MARK);
    assert_string_equal(f.screen.argument, "here");
    keys(&f, "wout.seep");
    assert_int_equal(seep_screen_key(&f.screen, SEEP_KEY_ENTER), SEEP_WISH_SAVE);
    assert_string_equal(f.screen.argument, "out.seep");
    end(&f);
}

// Nothing that a terminal obeys, whatever the names are and whatever is typed.
static void check_harmless(const char *text) {
    for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
        assert_true(*at >= 0x20 || *at == '\n');
        assert_int_not_equal(*at, 0x7f);
        assert_false(at[0] == 0xc2 && at[1] < 0xa0); // C1
    }
}

static void test_any_size_and_any_keys(void **state) {
    static const int extra[] = {SEEP_KEY_UP,   SEEP_KEY_DOWN,  SEEP_KEY_PAGE_UP, SEEP_KEY_PAGE_DOWN,
                                SEEP_KEY_HOME, SEEP_KEY_END,   SEEP_KEY_LEFT,    SEEP_KEY_RIGHT,
                                SEEP_KEY_TAB,  SEEP_KEY_ENTER, SEEP_KEY_ESCAPE,  SEEP_KEY_BACKSPACE};
    struct fixture f;
    begin(&f, 8);
    for (int size = 0; size < 60; size++) {
        char *text = draw(&f, size, 60 - size, size & 1);
        check_harmless(text);
        free(text);
    }
    uint32_t random = 1;
    for (unsigned i = 0; i < 1500; i++) {
        random = random * 1664525 + 1013904223;
        int key =
            random >> 31 ? extra[(random >> 16) % SEEP_ARRAY_SIZE(extra)] : (int)((random >> 16) & 0xff);
        (void)seep_screen_key(&f.screen, key);
        char *text = draw(&f, (int)(random >> 8 & 0x7f), (int)(random >> 20 & 0x3f), random & 1);
        check_harmless(text);
        free(text);
    }
    end(&f);
}

static int next_key(uint32_t *random) {
    static const char some[] = "12345678ssttdh/:kj<> +-ac\nX";
    static const int extra[] = {SEEP_KEY_DOWN,  SEEP_KEY_END,    SEEP_KEY_RIGHT,    SEEP_KEY_TAB,
                                SEEP_KEY_ENTER, SEEP_KEY_ESCAPE, SEEP_KEY_BACKSPACE};
    *random = *random * 1664525 + 1013904223;
    return *random >> 30 == 3 ? extra[(*random >> 16) % SEEP_ARRAY_SIZE(extra)]
                              : some[(*random >> 16) % (sizeof(some) - 1)];
}

// A drawing may find that more is to be made.
static char *draw_at_last(struct fixture *f) {
    char *text = draw(f, 80, 24, false);
    while (f->screen.making) {
        check_harmless(text);
        free(text);
        seep_screen_finish(&f->screen);
        text = draw(f, 80, 24, false);
    }
    return text;
}

// Keys and looks while a thread makes tables: at the end there is what is there without the thread.
static void test_tables_that_come_later(void **state) {
    struct fixture f, plain;
    struct seep_screen_maker *maker = NULL;
    begin(&f, 3);
    begin(&plain, 3);
    assert_null(seep_screen_maker_create(&maker));
    f.screen.maker = maker;
    f.screen.patience_ns = 0;
    uint32_t random = 7;
    for (unsigned i = 0; i < 600; i++) {
        int key = next_key(&random);
        (void)seep_screen_key(&f.screen, key);
        (void)seep_screen_key(&plain.screen, key);
        if (i % 7 == 0) {
            seep_screen_finish(&f.screen);
            take(&f, shop(3 + i), 3 + i);
            take(&plain, shop(3 + i), 3 + i);
        }
        char *late = draw_at_last(&f), *expected = draw(&plain, 80, 24, false);
        assert_string_equal(late, expected);
        assert_true(!f.live.outdated || f.screen.help); // of the list of keys no table is made
        free(late);
        free(expected);
    }
    for (unsigned i = 0; i < 600; i++) { // and what is made is never waited for
        (void)seep_screen_key(&f.screen, next_key(&random));
        if (i % 7 == 0) {
            seep_screen_finish(&f.screen); // it has borrowed the symbols of the test
            take(&f, shop(i), 1000 + i);
        }
        char *text = draw(&f, 80, 24, false);
        check_harmless(text);
        free(text);
    }
    end(&f);
    end(&plain);
    seep_screen_maker_destroy(maker);
}

// Of one look no rate is known, and before the first table no row is.
static void test_the_first_look(void **state) {
    struct fixture f;
    begin(&f, 1);
    assert_false(seep_screen_is_made(&f.screen));
    golden(&f, "80x24-first", 80, 24, false);
    assert_true(seep_screen_is_made(&f.screen));
    end(&f);
}

static void test_the_canvas_escapes_and_cuts(void **state) {
    struct seep_canvas canvas = {0};
    assert_true(seep_canvas_begin(&canvas, 12, 3, false));
    assert_int_equal(seep_canvas_put(&canvas, 0, 0, -1, 0, "a\033b"), 6);
    assert_int_equal(seep_canvas_put(&canvas, 0, 1, -1, 0, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e long text"),
                     12);
    assert_int_equal(seep_canvas_put(&canvas, 10, 2, -1, 0, "\xe6\x97\xa5\xe6\x9c\xac"), 1);
    static const char *const expected[] = {"a\\x1bb", "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e long\xe2\x80\xa6",
                                           "          \xe2\x80\xa6"};
    for (int y = 0; y < 3; y++) {
        char *line = seep_canvas_line(&canvas, y);
        assert_string_equal(line, expected[y]);
        free(line);
    }
    assert_true(seep_canvas_begin(&canvas, -5, 100000, true)); // of what there is no terminal
    assert_int_equal(canvas.nr_columns, 0);
    assert_int_equal(seep_canvas_put(&canvas, 3, 3, 100, 0, "x"), 0);
    seep_canvas_deinit(&canvas);
}

// After two looks there is no verdict yet: what grows is not "churn", however much of it is freed at once.
static void test_growth_goes_before_churn(void **state) {
    struct fixture f;
    sessions_end_at_once = true;
    begin(&f, 2);
    char *text = draw(&f, 120, 24, false);
    sessions_end_at_once = false;
    const char *row = strstr(text, "session_new (s"), *other = strstr(text, "parse_header (p");
    assert_non_null(row);
    assert_non_null(other);
    assert_memory_not_equal(row - strlen("churn   "), "churn", 5);
    assert_memory_equal(other - strlen("churn   "), "churn", 5);
    free(text);
    end(&f);
}

// The history is of the whole time, however long that is.
static void test_many_looks(void **state) {
    struct fixture f;
    begin(&f, 0);
    for (unsigned i = 0; i < 300; i++)
        take(&f, shop(i), i);
    assert_true(f.live.nr_points <= SEEP_LIVE_POINTS && f.live.nr_points >= SEEP_LIVE_POINTS / 2);
    assert_true(f.live.points[0].at_ns < 110 * SECOND);
    free(draw(&f, 80, 24, false));
    assert_int_equal(f.screen.table.rows[0].verdict, SEEP_TREND_GROWING);
    assert_true(f.screen.table.rows[1].verdict == SEEP_TREND_STEADY);
    end(&f);
}

int main(void) {
    // The width of characters is what the locale says.
    if (!setlocale(LC_CTYPE, "C.UTF-8") && !setlocale(LC_CTYPE, "en_US.UTF-8")) {
        printf("skipped: no UTF-8 locale\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_the_sketch),
        cmocka_unit_test(test_growth_goes_before_churn),
        cmocka_unit_test(test_tabs),
        cmocka_unit_test(test_a_mark_and_a_filter),
        cmocka_unit_test(test_rates_are_exact),
        cmocka_unit_test(test_the_chosen_row_is_followed),
        cmocka_unit_test(test_clicks),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_any_size_and_any_keys),
        cmocka_unit_test(test_tables_that_come_later),
        cmocka_unit_test(test_the_first_look),
        cmocka_unit_test(test_the_canvas_escapes_and_cuts),
        cmocka_unit_test(test_many_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
