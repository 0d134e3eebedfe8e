// SPDX-License-Identifier: BSD-2-Clause
// Functions as LeakSanitizer's lines: what is left open, and the bare names of what only its file sees.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "output/lsan_lines.h"

static void lines_of_functions(void **state) {
    static const struct {
        const char *function, *linkage, *whole, *bare;
    } cases[] = {
        {"make", NULL, "^make$", NULL},
        {"shop::Order::Order(int)", "_ZN4shop5OrderC1Ei", "^shop::Order::Order(int)$", NULL},
        {"lose(int)", "_ZL4losei", "^lose(int)$", "^lose$"},
        {"shop::lose(int)", "_ZN4shopL4loseEi", "^shop::lose(int)$", "^lose$"},
        {"shop::Lot::lose()", "_ZN4shop3Lot4loseEv", "^shop::Lot::lose()$", NULL},
        {"(anonymous namespace)::Z::fill()", "_ZN12_GLOBAL__N_11Z4fillEv",
         "^(anonymous namespace)::Z::fill()$", "^fill$"},
        {"(anonymous namespace)::Z::~Z()", "_ZN12_GLOBAL__N_11ZD1Ev", "^(anonymous namespace)::Z::~Z()$",
         "^~Z$"},
        {"(anonymous namespace)::Z* (anonymous namespace)::mk<(anonymous namespace)::Z>(int)",
         "_ZN12_GLOBAL__N_12mkINS_1ZEEEPT_i",
         "^(anonymous namespace)::Z* (anonymous namespace)::mk<(anonymous namespace)::Z>(int)$", "^mk<*>$"},
        {"void twice<long>(long)", "_Z5twiceIlEvT_", "^void twice<long>(long)$", "^twice<*>$"},
        {"Box<std::map<int, A<B> > >::put()", "_ZN3BoxE", "^Box<std::map<int, A<B>*>*>::put()$", NULL},
        {"op()::{lambda(int)#1}::operator()(int) const", "_ZZ2opvENKUliE_clEi",
         "^op()::*::operator()(int) const$", "^operator()$"},
        {"main::{lambda}::operator()", "operator()", "^main::*::operator()$", "^operator()$"},
        {"app::inside", "inside", "^app::inside$", "^inside$"},
        {"op()::$_0::operator()(int) const", "_ZZ2opvENK3$_0clEi", "^op()::*::operator()(int) const$",
         "^operator()$"},
        {"op(int)::Inner::keep(int)", "_ZZ2opiEN5Inner4keepEi", "^op(int)::Inner::keep(int)$", "^keep$"},
        {"(anonymous namespace)::Z::operator bool() const", "_ZN12_GLOBAL__N_11ZcvbEv",
         "^(anonymous namespace)::Z::operator bool() const$", "^operator bool$"},
        {"Call::operator()(int) const", "_ZNK4CallclEi", "^Call::operator()(int) const$", NULL},
        {"f(int) [clone .part.0]", "_Z1fi.part.0", "^f(int)", NULL},
        {"with_tag[abi:cxx11](int)", "_Z8with_tagB5cxx11i", "^with_tag[abi:cxx11](int)$", NULL},
        {"a$b\nc", NULL, "^a*b*c$", NULL},
        {"na\xc3\xafve\xff\x1b[1m\xc2\x9b\x7fz\xc3", NULL, "^na\xc3\xafve*[1m*z*$", NULL},
        // names of files that lie
        {"", "_ZL", "^$", NULL},
        {"((((", "_ZL9", "^(((($", NULL},
        {"a::", "_ZN99999999999999999999x", "^a::$", NULL},
        {"operator", "_ZLoperator", "^operator$", "^operator$"},
        {"x<{", "_ZZ", "^x<*$", "^x<*>$"},
    };
    char *module = seep_lsan_module_line("lib\xe2\x80\xaez\n.so");
    assert_string_equal(module, "leak:lib*z*.so");
    free(module);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        struct seep_lsan_lines lines;
        assert_true(seep_lsan_lines_init(&lines, cases[i].function, cases[i].linkage));
        const char *bare = lines.bare ? lines.bare + strlen("leak:") : NULL;
        if (strcmp(lines.whole + strlen("leak:"), cases[i].whole) != 0 || !bare != !cases[i].bare ||
            (bare && strcmp(bare, cases[i].bare) != 0))
            fail_msg("'%s': %s and %s", cases[i].function, lines.whole, lines.bare ? lines.bare : "none");
        bool is_vague = bare && strncmp(bare, "^operator", 9) == 0;
        assert_int_equal(lines.vague, is_vague);
        seep_lsan_lines_deinit(&lines);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lines_of_functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
