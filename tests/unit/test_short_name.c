// SPDX-License-Identifier: BSD-2-Clause
// Names as people read them: what is left out, what stays, and that no text leads astray.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names/short_name.h"

static const char *const cases[][2] = {
    {"main", "main"},
    {"parse_line.constprop.0", "parse_line"},
    {"parse_line.part.3.cold", "parse_line"},
    {"parse(int) [clone .isra.0]", "parse(int)"},
    {"name.5", "name.5"},
    {"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::reserve(unsigned "
     "long)",
     "std::string::reserve(unsigned long)"},
    {"std::vector<int, std::allocator<int> >::push_back(int&&)", "std::vector<int>::push_back(int&&)"},
    {"std::map<std::string, long, std::less<std::string>, std::allocator<std::pair<std::string const, long> "
     "> >"
     "::at(std::string const&)",
     "std::map<std::string, long>::at(std::string const&)"},
    {"std::unique_ptr<a, std::default_delete<a> >::get() const", "std::unique_ptr<a>::get() const"},
    {"std::allocator<int>::allocate(unsigned long)", "std::allocator<int>::allocate(unsigned long)"},
    {"int* std::__copy_move<false, true>::move<int>(int*, int*)",
     "std::__copy_move<false, true>::move<int>(int*, int*)"},
    {"name[abi:cxx11](int)", "name(int)"},
    {"bool operator< <int>(box<int> const&, box<int> const&)",
     "bool operator< <int>(box<int> const&, box<int> const&)"},
    {"box::operator->() const", "box::operator->() const"},
    {"std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char const*)",
     "std::ostream& operator<< <std::char_traits<char>>(std::ostream&, char const*)"},
    {"(anonymous namespace)::work(int)", "(anonymous namespace)::work(int)"},
    {"std::vector<std::map<std::__cxx11::basic_string<char>, int> >::_M_realloc_insert<int const&>(int "
     "const&, int const&)",
     "std::vector<std::map<std::string, int>>::_M_realloc_insert<int const&>(…)"},
    {"engine::Registry<engine::very::long::name::of::a::Type, "
     "engine::another::long::name::of::a::Type>::add(int)",
     "engine::Registry<…>::add(int)"},
    {"unbalanced<int(", "unbalanced<int("},
    {"", ""},
};

static void test_cases(void **state) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        char *shorter = NULL;
        assert_null(seep_name_shorten(cases[i][0], &shorter));
        assert_string_equal(shorter ? shorter : cases[i][0], cases[i][1]);
        free(shorter);
    }
}

static void test_10_kilobytes(void **state) {
    char name[10240] = "f<";
    for (size_t nr = 2; nr < sizeof(name) - 64; nr = strlen(name))
        strcat(name, "std::vector<int, std::allocator<int> >, ");
    strcat(name, "int>(int)");
    char *shorter = NULL;
    assert_null(seep_name_shorten(name, &shorter));
    assert_non_null(shorter);
    assert_true(strlen(shorter) < 100);
    free(shorter);
}

// Soups of brackets: whatever comes out, it is a text, and making it shorter again leads to no other.
static void test_soups(void **state) {
    static const char *const words[] = {"<",        ">",     "(", ")",     ", ", "std::",
                                        "operator", "[abi:", "]", "{",     "}",  "basic_string<char",
                                        " ",        "->",    "x", ".cold", "…",  "std::allocator<"};
    uint32_t random = 1;
    for (int round = 0; round < 20000; round++) {
        char name[512] = "";
        for (int i = 0; i < 20; i++) {
            random = random * 1664525u + 1013904223u;
            strcat(name, words[(random >> 16) % SEEP_ARRAY_SIZE(words)]);
        }
        char *shorter = NULL;
        assert_null(seep_name_shorten(name, &shorter));
        if (shorter)
            assert_true(strlen(shorter) <= 2 * strlen(name));
        free(shorter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_10_kilobytes),
        cmocka_unit_test(test_soups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
