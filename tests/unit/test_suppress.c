// SPDX-License-Identifier: BSD-2-Clause
//
// Suppressions: the two languages read, their errors, their two ways to match a name, and what they
// take out of a session. synthetic_leaky has 10 blocks of 1,000 bytes through strdup, parse_line,
// load_file (inlined in load_all), main; 5 of 64 through walk and visit; and 1 of 1 byte.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analysis/suppress.h"
#include "view/view.h"
#include "synthetic.h"

static void patterns_of_lsan(void **state) {
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"foo", "xfoox", true},    {"foo", "fo", false},
        {"^foo", "foox", true},    {"^foo", "xfoo", false},
        {"foo$", "xfoo", true},    {"foo$", "foox", false},
        {"foo$", "foofoo", true},  {"^foo$", "foo", true},
        {"^foo$", "fooo", false},  {"a*c", "xabcx", true},
        {"a*c", "ca", false},      {"^a*c$", "abcabc", true},
        {"^a*c$", "abcab", false}, {"a**c", "ac", true},
        {"*", "x", true},          {"foo", "", false},
        {"*", "", false},          {"^*foo", "xfoo", true},
        {"foo*", "foo", true},     {"foo*$", "foobar", true},
        {"a*b*c", "a-c-b", false}, {"operator new", "operator new(unsigned long)", true},
        {"a?c", "abc", false},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++)
        if (seep_suppress_search(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("'%s' against '%s'", cases[i].pattern, cases[i].text);
}

static void patterns_of_valgrind(void **state) {
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"foo", "foo", true},
        {"foo", "foox", false},
        {"f?o", "foo", true},
        {"f?o", "fo", false},
        {"*", "", true},
        {"*", "anything", true},
        {"*.so.*", "/usr/lib/libc.so.6", true},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"?", "", false},
        {"*alloc", "malloc", true},
        {"^foo$", "foo", false},
        {"**", "x", true},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++)
        if (seep_suppress_glob(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("'%s' against '%s'", cases[i].pattern, cases[i].text);
}

static void parse(struct seep_suppress_rules *rules, const char *text) {
    *rules = (struct seep_suppress_rules)SEEP_SUPPRESS_RULES_INIT;
    struct seep_error *error = seep_suppress_rules_parse(rules, "a.supp", text, strlen(text));
    if (error)
        fail_msg("%s", error->message);
}

static void both_languages_in_one_file(void **state) {
    struct seep_suppress_rules rules;
    parse(&rules,
          "# comment\n\n  leak:foo  \r\nrace:bar\n{\n a name, with blanks \n Memcheck,Addrcheck:Leak\n"
          "match-leak-kinds: definite , reachable\n fun:malloc\n...\n# inside\n obj:/lib/*\n src:a.c:3\n}\n"
          "{\n other\n Memcheck:Cond\n fun:x\n garbage is skipped with it\n}\n"
          "{\n another tool\n Helgrind:Race\n}\nleak:last");
    assert_int_equal(rules.nr_rules, 3);
    assert_int_equal(rules.nr_skipped, 3);
    assert_string_equal(rules.rules[0].name, "leak:foo");
    assert_int_equal(rules.rules[0].line, 3);
    assert_string_equal(rules.lines[0].pattern, "foo");
    assert_string_equal(rules.rules[1].name, "a name, with blanks");
    assert_int_equal(rules.rules[1].line, 5);
    assert_int_equal(rules.rules[1].nr_lines, 4);
    assert_int_equal(rules.rules[1].kinds,
                     1u << SEEP_KIND_UNKNOWN | 1u << SEEP_KIND_LOST | 1u << SEEP_KIND_REACHABLE);
    assert_int_equal(rules.lines[2].kind, SEEP_SUPPRESS_ANY_FRAMES);
    assert_string_equal(rules.lines[4].pattern, "a.c:3");
    assert_string_equal(rules.rules[2].name, "leak:last");
    assert_int_equal(rules.rules[2].line, 25);
    seep_suppress_rules_deinit(&rules);
}

static void the_mark_of_utf_8_is_skipped_at_the_start(void **state) {
    struct seep_suppress_rules rules;
    parse(&rules, "\xef\xbb\xbf{\nname\nMemcheck:Leak\nfun:x\n}\n");
    assert_int_equal(rules.nr_rules, 1);
    assert_int_equal(rules.rules[0].line, 1);
    seep_suppress_rules_deinit(&rules);
    parse(&rules, "\xef\xbb\xbf");
    assert_int_equal(rules.nr_rules, 0);
    struct seep_error *error = seep_suppress_rules_parse(&rules, "a.supp", "leak:a\n\xef\xbb\xbfleak:b", 16);
    assert_non_null(error);
    seep_error_destroy(error);
    seep_suppress_rules_deinit(&rules);
}

#define NO_PATTERN "a.supp:1: leak: without a pattern"
#define NO_PLACE   "is no place in a stack"

static void errors_name_file_and_line(void **state) {
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"\nleek:foo\n", "a.supp:2: 'leek:foo' is no suppression"},
        {"fun:main\n", "a.supp:1: 'fun:main' is no suppression"},
        {"leak:\n", NO_PATTERN},
        {"leak:^*$\n", NO_PATTERN},
        {"{\nx\nMemcheck:Leak\nfun:x\n", "a.supp:1: the entry that begins here has no '}'"},
        {"{\nx\n{\n", "a.supp:3: '{' inside of an entry; the one from line 1 has no '}'"},
        {"\n{\n}\n", "a.supp:3: an entry without a name"},
        {"{\nx\nLeak\n", "a.supp:3: 'Leak' is no kind of error"},
        {"{\nx\nMemcheck:Leak\n}\n", "a.supp:4: an entry without a stack"},
        {"{\nx\nMemcheck:Leak\n...\n}\n", "a.supp:5: an entry of '...' only would match every stack"},
        {"{\nx\nMemcheck:Leak\nmain\n}\n", "a.supp:4: 'main' " NO_PLACE},
        {"{\nx\nMemcheck:Leak\nfun:\n}\n", "a.supp:4: 'fun:' " NO_PLACE},
        {"{\nx\nMemcheck:Leak\nmatch-leak-kinds: lost\nfun:x\n}\n",
         "a.supp:4: match-leak-kinds: unknown kind 'lost'"},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        struct seep_suppress_rules rules = SEEP_SUPPRESS_RULES_INIT;
        struct seep_error *error =
            seep_suppress_rules_parse(&rules, "a.supp", cases[i].text, strlen(cases[i].text));
        if (!error)
            fail_msg("no error for: %s", cases[i].text);
        assert_int_equal(error->code, SEEP_E_FORMAT);
        assert_string_equal(error->message, cases[i].message);
        seep_error_destroy(error);
        seep_suppress_rules_deinit(&rules);
    }
    struct seep_suppress_rules rules = SEEP_SUPPRESS_RULES_INIT;
    struct seep_error *error = seep_suppress_rules_parse(&rules, "z", "leak:a\0b", 8);
    assert_string_equal(error->message, "z:1: not a text: a zero byte");
    seep_error_destroy(error);
    seep_suppress_rules_deinit(&rules);
}

// Blocks that `text` takes of synthetic_leaky, whose blocks have `kinds` by size (0: not scanned).
static uint64_t taken(const char *text, uint8_t kind_of_1000, uint8_t kind_of_64) {
    struct seep_suppress_rules rules;
    struct seep_session *session = synthetic_leaky();
    struct seep_profile *profile = session->profiles[0];
    struct seep_symbols *symbols = NULL;
    parse(&rules, text);
    if (kind_of_1000) {
        profile->block_kinds = seep_arena_alloc(&profile->arena, profile->nr_blocks, 1);
        for (size_t i = 0; i < profile->nr_blocks; i++)
            profile->block_kinds[i] = profile->blocks[i].size == 1000 ? kind_of_1000
                                      : profile->blocks[i].size == 64 ? kind_of_64
                                                                      : SEEP_KIND_REACHABLE;
        seep_profile_derive_leaks(profile);
    }
    assert_null(seep_symbols_create(NULL, &symbols));
    assert_null(seep_suppress_session(&rules, session, symbols));
    uint64_t blocks = 0;
    for (uint32_t i = 0; i < session->nr_suppressions; i++)
        blocks += session->suppressions[i].blocks;
    assert_int_equal(blocks, profile->leaks.suppressed_blocks);
    if (!kind_of_1000)
        assert_int_equal(seep_profile_leaked(profile).blocks, profile->totals.live_blocks - blocks);
    seep_symbols_destroy(symbols);
    seep_session_destroy(session);
    seep_suppress_rules_deinit(&rules);
    return blocks;
}

#define ENTRY(lines) "{\nx\nMemcheck:Leak\n" lines "}\n"

static void stacks_are_matched(void **state) {
    static const struct {
        const char *text;
        uint64_t blocks;
    } cases[] = {
        {"leak:strdup", 10},    // innermost
        {"leak:load_file", 10}, // inlined
        {"leak:load.c", 10},    // source file
        {"leak:libparse", 11},  // module
        {"leak:^visit$", 5},
        {"leak:^malloc$", 11}, // the allocation function
        {"leak:parse_l*x", 0},
        {ENTRY("fun:malloc\nfun:strdup\n"), 10},
        {ENTRY("fun:strdup\n"), 0}, // the allocation function comes first
        {ENTRY("...\nfun:strdup\n"), 10},
        {ENTRY("fun:*alloc\n...\nfun:main\n"), 16},
        {ENTRY("fun:malloc\nfun:strdup\nfun:parse_line\nfun:load_file\nfun:load_all\nfun:main\n"), 10},
        {ENTRY("fun:malloc\nfun:strdup\nfun:load_all\n"), 0},
        {ENTRY("fun:malloc\n...\nfun:load_all\n...\nfun:(below main)\n"), 10},
        {ENTRY("fun:malloc\n...\nobj:*/libparse.so.?\n"), 11},
        {ENTRY("fun:malloc\nobj:*/libparse.so.2\n"), 1},
        {ENTRY("...\nsrc:walk.c\n"), 5},
        {ENTRY("...\nsrc:walk.c:999\n"), 5}, // lines move
        {ENTRY("...\nsrc:/src/app/*.c\nfun:main\n"), 15},
        {ENTRY("fun:calloc\nfun:walk\nfun:walk\nfun:walk\nfun:walk\nfun:visit\n...\nfun:main\n"), 5},
        {ENTRY("fun:calloc\nfun:visit\n"), 0},
        {ENTRY("match-leak-kinds: none\nfun:malloc\n"), 0},
        {ENTRY("match-leak-kinds: indirect\nfun:malloc\n"), 11}, // not scanned: of any kind
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        uint64_t blocks = taken(cases[i].text, SEEP_KIND_UNKNOWN, SEEP_KIND_UNKNOWN);
        if (blocks != cases[i].blocks)
            fail_msg("%s: takes %llu", cases[i].text, (unsigned long long)blocks);
    }
}

static void kinds_are_matched(void **state) {
    static const struct {
        const char *text;
        uint8_t kind_of_1000, kind_of_64;
        uint64_t blocks;
    } cases[] = {
        {ENTRY("match-leak-kinds: definite\n...\nfun:main\n"), SEEP_KIND_LOST, SEEP_KIND_POSSIBLE, 10},
        {ENTRY("match-leak-kinds: possible\n...\nfun:main\n"), SEEP_KIND_LOST, SEEP_KIND_POSSIBLE, 5},
        {ENTRY("match-leak-kinds: reachable\n...\nfun:main\n"), SEEP_KIND_LOST, SEEP_KIND_INDIRECT, 1},
        {ENTRY("match-leak-kinds: all\n...\nfun:main\n"), SEEP_KIND_LOST, SEEP_KIND_INDIRECT, 16},
        {ENTRY("...\nfun:main\n"), SEEP_KIND_LOST, SEEP_KIND_INDIRECT, 16},
        {"leak:main", SEEP_KIND_LOST, SEEP_KIND_INDIRECT, 15}, // what is held is no leak
        {"leak:main", SEEP_KIND_REACHABLE, SEEP_KIND_POSSIBLE, 5},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        uint64_t blocks = taken(cases[i].text, cases[i].kind_of_1000, cases[i].kind_of_64);
        if (blocks != cases[i].blocks)
            fail_msg("%s: takes %llu", cases[i].text, (unsigned long long)blocks);
    }
}

static void the_first_rule_counts(void **state) {
    struct seep_suppress_rules rules;
    struct seep_session *session = synthetic_leaky();
    struct seep_symbols *symbols = NULL;
    parse(&rules, "leak:parse_line\nleak:unused\nleak:walk\n");
    assert_null(seep_symbols_create(NULL, &symbols));
    assert_null(seep_suppress_session(&rules, session, symbols));
    seep_suppress_rules_deinit(&rules);
    assert_int_equal(session->nr_suppressions, 3);
    assert_int_equal(session->suppressions[0].blocks, 10);
    assert_int_equal(session->suppressions[0].bytes, 10000);
    assert_int_equal(session->suppressions[0].nr_sites, 1);
    assert_int_equal(session->suppressions[1].blocks, 0);
    assert_int_equal(session->suppressions[2].blocks, 5);

    // The view keeps the figures, tells what of them is suppressed, and puts such rows last.
    struct seep_view_options options = seep_view_options_default;
    struct seep_view *view = NULL;
    options.top = 0;
    assert_null(seep_view_create(session, SIZE_MAX, symbols, &options, &view));
    assert_int_equal(view->all.live_blocks, 16);
    assert_int_equal(view->all.suppressed_blocks, 15);
    assert_int_equal(view->nr_rows_live, 1);
    assert_int_equal(view->rows[0].live_bytes, 1);
    assert_int_equal(view->rows[0].suppressed_by, 0);
    for (size_t i = 1; i < view->nr_rows; i++)
        assert_int_equal(view->rows[i].live_bytes, view->rows[i].suppressed_bytes);
    seep_view_destroy(view);
    seep_symbols_destroy(symbols);
    seep_session_destroy(session);
}

static void modules_are_looked_at_before_symbols(void **state) {
    struct seep_suppress_rules rules;
    struct seep_session *session = synthetic_leaky();
    struct seep_symbols *symbols = NULL;
    parse(&rules, ENTRY("fun:malloc\n...\nobj:*/libnone.so\nfun:f\n"));
    assert_null(seep_symbols_create(NULL, &symbols));
    assert_null(seep_suppress_session(&rules, session, symbols));
    assert_int_equal(synthetic_resolved(), 0);
    seep_suppress_rules_deinit(&rules);
    seep_symbols_destroy(symbols);
    seep_session_destroy(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_of_lsan),
        cmocka_unit_test(patterns_of_valgrind),
        cmocka_unit_test(both_languages_in_one_file),
        cmocka_unit_test(the_mark_of_utf_8_is_skipped_at_the_start),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(stacks_are_matched),
        cmocka_unit_test(kinds_are_matched),
        cmocka_unit_test(the_first_rule_counts),
        cmocka_unit_test(modules_are_looked_at_before_symbols),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
