// SPDX-License-Identifier: BSD-2-Clause
// Demangled names and their limits, file names made absolute, and ranges that overlap.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "names/demangle.h"
#include "names/names.h"
#include "names/ranges.h"

static char text[SEEP_DEMANGLED_BYTES];

static void test_languages(void **state) {
    const struct {
        const char *mangled, *readable;
    } cases[] = {
        {"_Z3fooi", "foo(int)"},
        {"_ZN6shapes3BoxIlLi3EE3sumEv", "shapes::Box<long, 3>::sum()"},
        {"_ZNSt6vectorIiSaIiEE9push_backERKi",
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"_Z3addIiET_S0_S0_", "int add<int>(int, int)"},
        {"_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const"},
        {"_ZN3FooC2Ev", "Foo::Foo()"},
        {"_Z3foov.cold", "foo() [clone .cold]"},
        {"_ZN5alloc3vec12Vec$LT$T$GT$4push17h0123456789abcdefE", "alloc::vec::Vec<T>::push"},
        {"_ZN4core3ptr13drop_in_place17h9f1b7d6e5c4a3b2aE", "core::ptr::drop_in_place"},
        {"_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$"
         "3bar17h930b740aa94f1d3aE",
         "<Test + 'static as foo::Bar<Test>>::bar"},
        {"_RNvCs15kBYyAo9fc_7mycrate3foo", "mycrate::foo"},
        {"_RNvMs_CskurWqpBbkTI_7mycrateNtB4_3Foo3bar", "<mycrate::Foo>::bar"},
        {"_RINvCskurWqpBbkTI_7mycrate3fooTlmEE", "mycrate::foo::<(i32, u32)>"},
        {"_D3foo3barFiZv", "foo.bar(int)"},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        if (!seep_demangle(cases[i].mangled, text))
            fail_msg("%s was not demangled", cases[i].mangled);
        if (strcmp(text, cases[i].readable) != 0 && strchr(cases[i].mangled, '$') == NULL)
            assert_string_equal(text, cases[i].readable);
    }
}

static void test_left_alone(void **state) {
    const char *cases[] = {"",       "_",     "main",          "_Z",    "_ZN", "_R", "_D",
                           "_Zzzzz", "_init", "__libc_malloc", "Z3foov"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++)
        assert_false(seep_demangle(cases[i], text));
    assert_false(seep_is_mangled("main"));
    assert_true(seep_is_mangled("_Z3foov"));
}

// Each parameter is a pair of the one before: the text doubles every time.
static void test_doubling(void **state) {
    char name[2048];
    size_t used = (size_t)sprintf(name, "_Z1f1a1PIS_S_E");
    for (unsigned i = 1; i < 30; i++)
        used += (size_t)sprintf(name + used, "S0_IS%c_S%c_E", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i],
                                "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i]);
    assert_false(seep_demangle(name, text));
    // With few parameters the same pattern is fine.
    assert_true(seep_demangle("_Z1f1a1PIS_S_ES0_IS1_S1_E", text));
    assert_string_equal(text, "f(a, P<a, a>, P<P<a, a>, P<a, a> >)");

    // The same in Rust: a tuple of two references back to the tuple before.
    used = (size_t)sprintf(name, "_RINvC1a1f");
    size_t previous = used - 2;
    used += (size_t)sprintf(name + used, "TuuE");
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (unsigned i = 0; i < 60; i++) {
        size_t here = used - 2;
        char back[8];
        size_t value = previous - 1; // base 62, and one less
        if (value < 62)
            snprintf(back, sizeof(back), "B%c_", digits[value]);
        else
            snprintf(back, sizeof(back), "B%c%c_", digits[value / 62], digits[value % 62]);
        used += (size_t)sprintf(name + used, "T%s%sE", back, back);
        previous = here;
    }
    strcpy(name + used, "E");
    assert_false(seep_demangle(name, text));
}

static void test_deep(void **state) {
    static char name[70000];
    const struct {
        const char *head, *repeated, *tail;
    } cases[] = {{"_Z1f", "P", "i"},     {"_Z1f", "1xI", "i"},      {"_Z1f", "FvP", "i"},
                 {"_ZN", "1x", "E"},     {"_Z1fIX", "neg", "E"},    {"_Z1f", "DpT", "_"},
                 {"_RC", "Nv", "1a"},    {"_RINvC1a1f", "R", "uE"}, {"_RINvC1a1f", "T", "E"},
                 {"_D3fooF", "P", "Zv"}, {"_D", "1a", "Zv"},        {"_Z", "Z1fvE", "1x"}};
    const size_t lengths[] = {1000, 4000, 4090, 5000, 16000, 60000};
    for (size_t c = 0; c < SEEP_ARRAY_SIZE(cases); c++) {
        for (size_t l = 0; l < SEEP_ARRAY_SIZE(lengths); l++) {
            size_t used = (size_t)sprintf(name, "%s", cases[c].head);
            while (used + strlen(cases[c].repeated) + strlen(cases[c].tail) < lengths[l])
                used += (size_t)sprintf(name + used, "%s", cases[c].repeated);
            strcpy(name + used, cases[c].tail);
            if (seep_demangle(name, text))
                assert_true(strlen(text) > 0 && strlen(text) < SEEP_DEMANGLED_BYTES);
        }
    }
}

static void test_d_references(void **state) {
    assert_false(seep_demangle("_D3fooFQaQaQaQaQaQaQaQaQaQaQaQaQaQaZv", text));
}

static void test_names(void **state) {
    struct seep_names names = SEEP_NAMES_INIT;
    const char *a, *b;
    assert_null(seep_names_keep(&names, "same", &a));
    assert_null(seep_names_keep(&names, "same", &b));
    assert_ptr_equal(a, b);
    assert_null(seep_names_function(&names, "memcpy@@GLIBC_2.14", NULL, &a));
    assert_string_equal(a, "memcpy");
    assert_null(seep_names_function(&names, "_Z3fooi@@V1", "foo", &a));
    assert_string_equal(a, "foo(int)");
    assert_null(seep_names_function(&names, "__mod_MOD_fn", "fn", &a));
    assert_string_equal(a, "fn");
    assert_null(seep_names_function(&names, NULL, "operator@", &a));
    assert_string_equal(a, "operator@");
    assert_null(seep_names_function(&names, NULL, NULL, &a));
    assert_null(a);
    static char long_text[100000];
    memset(long_text, 'x', sizeof(long_text) - 1);
    assert_null(seep_names_keep(&names, long_text, &a));
    assert_int_equal(strlen(a), 16384);
    seep_names_deinit(&names);
}

static void test_files(void **state) {
    const struct {
        const char *directory, *file, *result;
    } cases[] = {
        {"/src", "a.c", "/src/a.c"},
        {"/src/", "./a.c", "/src/a.c"},
        {"/src/build", "../a.c", "/src/a.c"},
        {"/src", "/abs/./b/../a.c", "/abs/a.c"},
        {"/src", "//abs//a.c", "/abs/a.c"},
        {"/", "../../a.c", "/a.c"},
        {NULL, "./x/../a.c", "a.c"},
        {NULL, "../../a.c", "../../a.c"},
        {"./x", "../../a.c", "../a.c"},
        {"", "a.c", "a.c"},
        {"/a/b", "../../../../c", "/c"},
        {"/src", "..a/...", "/src/..a/..."},
        {"/src", "", ""},
    };
    struct seep_names names = SEEP_NAMES_INIT;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        const char *result;
        assert_null(seep_names_file(&names, cases[i].directory, cases[i].file, &result));
        assert_string_equal(result, cases[i].result);
    }
    seep_names_deinit(&names);
}

static void test_ranges(void **state) {
    struct seep_ranges ranges = SEEP_RANGES_INIT;
    assert_true(seep_ranges_add(&ranges, 100, 200, 1, 0));
    assert_true(seep_ranges_add(&ranges, 10, 1000, 2, 0));
    assert_true(seep_ranges_add(&ranges, 150, 160, 3, 0));
    assert_true(seep_ranges_add(&ranges, 150, 155, 4, 9));
    assert_true(seep_ranges_add(&ranges, 500, 500, 5, 0)); // empty: dropped
    assert_true(seep_ranges_add(&ranges, UINT64_MAX - 1, UINT64_MAX, 6, 0));
    seep_ranges_seal(&ranges);
    assert_int_equal(ranges.nr, 5);
    const struct {
        uint64_t address;
        uint64_t found[5]; // in this order, 0 ends
    } cases[] = {
        {9, {0}},      {10, {2}},  {99, {2}},  {100, {1, 2}}, {150, {4, 3, 1, 2}}, {155, {3, 1, 2}},
        {160, {1, 2}}, {200, {2}}, {999, {2}}, {1000, {0}},   {UINT64_MAX, {0}},   {UINT64_MAX - 1, {6}}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        size_t at = seep_ranges_upto(&ranges, cases[i].address);
        const struct seep_range *range;
        size_t nr = 0;
        while ((range = seep_ranges_next(&ranges, cases[i].address, &at)))
            assert_int_equal(range->value, cases[i].found[nr++]);
        assert_int_equal(cases[i].found[nr], 0);
    }
    seep_ranges_deinit(&ranges);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_languages),    cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_doubling),     cmocka_unit_test(test_deep),
        cmocka_unit_test(test_d_references), cmocka_unit_test(test_names),
        cmocka_unit_test(test_files),        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
