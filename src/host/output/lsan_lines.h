// SPDX-License-Identifier: BSD-2-Clause
//
// The `leak:` lines by which LeakSanitizer knows a function, whatever built the program and wrote its names:
//
//   gcc -g     libbacktrace: the demangled name with its arguments; of a function that no other file can
//              see (static, of an unnamed namespace, a lambda) only what DWARF calls it: "anon" or
//              "operator()", for gcc gives those no linkage name
//   gcc        libbacktrace, from the symbols: always the demangled name
//   clang      llvm-symbolizer: always the demangled name, by a demangler of its own
//
// What demanglers write in different ways is left open with `*`: "> >" or ">>", "{lambda(int)#1}" or
// "'lambda'(int)" or "$_0".
// Source: what gcc 12 and clang 14 do; libiberty's and LLVM's Itanium demanglers.
// Proof: tests/cli/test_suppressions.py gives the lines to both.
#ifndef SEEP_OUTPUT_LSAN_LINES_H
#define SEEP_OUTPUT_LSAN_LINES_H

#include <stdbool.h>

#include "core/attr.h"

struct seep_lsan_lines {
    char *whole; // "leak:^...$" by the demangled name, or by that of a C function
    char *bare;  // as gcc's DWARF names what only its file sees, where it is or may be such; NULL: it is not
    bool vague;  // `bare` is the name of many: "operator()"
};

// `linkage` is the mangled name, NULL: none. false: no memory.
SEEP_MUST_CHECK bool seep_lsan_lines_init(struct seep_lsan_lines *lines, const char *function,
                                          const char *linkage);
// The line of a module, by the name of its file. NULL: no memory.
SEEP_MUST_CHECK char *seep_lsan_module_line(const char *name);
void seep_lsan_lines_deinit(struct seep_lsan_lines *lines);

#endif
