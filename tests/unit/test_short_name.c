// SPDX-License-Identifier: BSD-2-Clause
// Names as people read them: what is left out, what stays, and that no text leads astray.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "names/library_code.h"
#include "names/short_name.h"

static const char *const cases[][2] = {
    {"main", "main"},
    {"parse_line.constprop.0", "parse_line"},
    {"parse_line.part.3.cold", "parse_line"},
    {"parse(int) [clone .isra.0]", "parse(int)"},
    {"name.5", "name.5"},
    {"std::vector<int, std::vector<int, ", "std::vector<int, std::vector<int, "}, // a name that was cut
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

static void test_scopes(void **state) {
    static const struct {
        const char *name;
        unsigned columns;
        const char *shorter;
    } scoped[] = {
        {"a::b::grow()", 12, "a::b::grow()"},
        {"linear::algebra::detail::dense<double>::dense(unsigned long)", 44,
         "…::dense<double>::dense(unsigned long)"},
        {"linear::algebra::detail::dense<double>::dense(unsigned long)", 50,
         "…::detail::dense<double>::dense(unsigned long)"},
        {"linear::algebra::detail::dense<a::b>::dense(a::b, c::d)", 10, "…::dense<a::b>::dense(a::b, c::d)"},
        {"(anonymous namespace)::table<int>::grow(a::b)", 30, "…::table<int>::grow(a::b)"},
        {"somewhere::else::work", 12, "…::else::work"},
        {"a_function_without_any_scope(int)", 8, "a_function_without_any_scope(int)"},
        {"one_scope::and_a_function(int)", 8, "one_scope::and_a_function(int)"},
        {"a::b::c", 3, "a::b::c"}, // no shorter
        {"space::of::box::operator<<(int)", 20, "…::box::operator<<(int)"},
        {"unbalanced<int(a::b::c", 4, "unbalanced<int(a::b::c"},
        {"", 0, ""},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(scoped); i++) {
        char *name = strdup(scoped[i].name);
        assert_non_null(name);
        seep_name_drop_scopes(name, scoped[i].columns);
        assert_string_equal(name, scoped[i].shorter);
        free(name);
    }
}

static const char *const types[][2] = {
    {"struct user *config.users[2]", "struct user *config.users[2]"},
    {"std::map<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, long, "
     "std::less<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > >, "
     "std::allocator<std::pair<const std::__cxx11::basic_string<char, std::char_traits<char>, "
     "std::allocator<char> >, long> > > registry[abi:cxx11]",
     "std::map<std::string, long> registry"},
    {"void *(*hooks_of_a_long_name_that_goes_on_and_on_until_it_is_wider_than_eighty_columns[4])()",
     "void *(*hooks_of_a_long_name_that_goes_on_and_on_until_it_is_wider_than_eighty_columns[4])()"},
    {"engine::Registry<engine::very::long::name::of::a::Type, engine::another::long::name::of::a::Type> *all",
     "engine::Registry<…> *all"},
};

static void test_types(void **state) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(types); i++) {
        char *shorter = NULL;
        assert_null(seep_type_shorten(types[i][0], &shorter));
        assert_string_equal(shorter ? shorter : types[i][0], types[i][1]);
        free(shorter);
    }
}

// Of overloads, which come to the same without their arguments.
static void test_first_arguments(void **state) {
    static const char name[] = "ns::Thing::take_over(std::map<int, std::pair<int, long>> const&, "
                               "void (*)(int, long), unsigned long)";
    static const char *const forms[] = {
        "ns::Thing::take_over(…)",
        "ns::Thing::take_over(std::map<int, std::pair<int, long>> const&, …)",
        "ns::Thing::take_over(std::map<int, std::pair<int, long>> const&, void (*)(int, long), …)",
    };
    (void)state;
    for (unsigned i = 0; i < SEEP_ARRAY_SIZE(forms); i++) {
        char *shorter = NULL;
        assert_null(seep_name_shorten_to(name, i ? 89 : 20, i, &shorter));
        assert_string_equal(shorter, forms[i]);
        free(shorter);
    }
    char *no_room = NULL;
    assert_null(seep_name_shorten_to(name, 60, 1, &no_room));
    assert_string_equal(no_room, forms[0]);
    free(no_room);
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

// Where an allocation is looked for, and where not.
static void test_wrappers(void **state) {
    static const char *const passed[] = {
        "xmalloc",
        "jv_mem_alloc",
        "llvm::SmallVectorBase<unsigned int>::grow_pod(void*, unsigned long, unsigned long)",
        "XMALLOC",
        "my_malloc",
        "av_malloc",
        "av_mallocz",
        "av_malloc_array",
        "sqlite3Malloc",
        "sqlite3MallocZero",
        "sqlite3DbMallocRawNN",
        "sqlite3DbStrNDup",
        "PyMem_Malloc",
        "PyMem_RawCalloc",
        "_PyObject_GC_New",
        "PyObject_Malloc",
        "PyType_GenericAlloc",
        "emalloc",
        "_emalloc",
        "g_malloc0",
        "g_malloc_n",
        "g_strdup",
        "g_memdup2",
        "g_slice_alloc0",
        "g_strdup_printf",
        "apr_palloc",
        "apr_pstrdup",
        "apr_pcalloc",
        "ngx_pnalloc",
        "xrealloc",
        "ggc_internal_alloc",
        "ggc_internal_cleared_alloc",
        "ggc_realloc",
        "Perl_safesysmalloc",
        "ruby_xmalloc2",
        "objspace_xmalloc0",
        "js_malloc_rt",
        "git__calloc",
        "luaM_realloc_",
        "zmalloc",
        "ztrymalloc_usable",
        "zend_strndup",
        "MemoryContextAllocZero",
        "palloc0",
        "pstrdup",
        "psprintf",
        "curl_dbg_malloc",
        "bfd_zmalloc",
        "_objalloc_alloc",
        "xasprintf",
        "xstrdup",
        "AcquireQuantumMemory",
        "uv__malloc",
        "CRYPTO_zalloc",
        "OPENSSL_malloc",
        "safe_malloc(unsigned long)",
        "llvm::safe_malloc(unsigned long)",
        "(anonymous namespace)::xmalloc(unsigned long)",
        "ns::(anonymous namespace)::safe_realloc(void*, unsigned long)",
        "void* detail::checked_malloc<int>(unsigned long)",
        "Arena<int, 4>::allocate(unsigned long)",
        "_cgo_0b5f3c_Cfunc__Cmalloc"};
    static const char *const standard[] = {"std::allocator<int>::allocate(unsigned long)",
                                           "__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
                                           "operator new(unsigned long)",
                                           "__rust_alloc",
                                           "__rdl_alloc",
                                           "alloc::alloc::alloc",
                                           "<alloc::vec::Vec<T>>",
                                           "alloc::raw_vec::RawVec<T,A>::reserve::do_reserve_and_handle"};
    static const char *const not_passed[] = {"main",
                                             "read_order",
                                             "node_alloc",
                                             "user_alloc",
                                             "item_alloc",
                                             "list_alloc",
                                             "allocate_node",
                                             "alloc_table",
                                             "mallocs_of_main",
                                             "test_malloc",
                                             "test_mem_alloc",
                                             "leak_strdup",
                                             "call_calloc",
                                             "strdup_all",
                                             "parse_and_then_maybe_strdup",
                                             "reallocated",
                                             "load_config",
                                             "Cache::grow(int)",
                                             "box::operator->() const",
                                             "memory",
                                             "alloc::my_own",
                                             "allocations",
                                             "stdlib_init",
                                             "standard::make()",
                                             "dup",
                                             "new_node",
                                             ""};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(passed); i++)
        if (!seep_function_is_wrapper(passed[i]))
            fail_msg("%s is a wrapper", passed[i]);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(standard); i++)
        if (!seep_function_is_std(standard[i], NULL))
            fail_msg("%s is of a standard library", standard[i]);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(not_passed); i++)
        if (seep_function_is_passed(not_passed[i], "src/main.c"))
            fail_msg("%s is none", not_passed[i]);
    assert_true(seep_function_is_std("push", "/rustc/9fc6b4/library/alloc/src/vec/mod.rs"));
    assert_false(seep_function_is_passed(NULL, NULL));
    assert_true(seep_function_is_passed("boost::make_tree()", "/usr/include/boost/tree.hpp"));
    assert_true(
        seep_function_is_passed("boost::make_tree()", "/usr/aarch64-linux-gnu/include/boost/tree.hpp"));
    assert_false(seep_function_is_passed("boost::make_tree()", "/usr/src/boost/include/boost/tree.hpp"));
    assert_false(seep_function_is_passed("make_tree", "/home/user/include/tree.h"));
}

// Each would take minutes if the time grew with the square of the length.
static void test_a_megabyte(void **state) {
    static const char *const parts[] = {"<", ">", "(", "operator<", "a<", "<aaaaaaaa>(bbbbbbbb)::g"};
    const size_t nr_bytes = 1 << 20;
    char *name = calloc(nr_bytes + 64, 1);
    assert_non_null(name);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(parts); i++) {
        size_t nr = strlen(parts[i]);
        name[0] = 'f';
        for (size_t at = 1; at < nr_bytes; at += nr)
            memcpy(name + at, parts[i], nr + 1);
        char *shorter = NULL;
        assert_null(seep_name_shorten_to(name, SEEP_SHORT_NAME_COLUMNS, 2, &shorter));
        assert_true(!shorter || strlen(shorter) < strlen(name));
        free(shorter);
    }
    free(name);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),        cmocka_unit_test(test_scopes),
        cmocka_unit_test(test_types),        cmocka_unit_test(test_first_arguments),
        cmocka_unit_test(test_10_kilobytes), cmocka_unit_test(test_a_megabyte),
        cmocka_unit_test(test_soups),        cmocka_unit_test(test_wrappers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
