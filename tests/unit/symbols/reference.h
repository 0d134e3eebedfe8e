// SPDX-License-Identifier: BSD-2-Clause
//
// What other tools say about an address: addr2line of binutils or of LLVM, nm, objdump. For tests
// of the symbol room; every failure to run one of them fails the test.
#ifndef TEST_SYMBOLS_REFERENCE_H
#define TEST_SYMBOLS_REFERENCE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/attr.h"
#include "names/symbols.h"

struct reference_frame {
    char *function;
    char *file; // real path where the file exists
    unsigned line;
};

struct reference {
    uint64_t address;
    struct reference_frame frames[64];
    unsigned nr_frames;
    bool has_source; // every frame has a file with a directory
};

// The addresses of at most `max` instructions that are not padding, evenly spread over the file.
size_t reference_addresses(const char *file, size_t max, uint64_t **ret_addresses);

// One element per address, in order. `tool` takes the options of addr2line.
struct reference *reference_ask(const char *tool, const char *file, const uint64_t *addresses, size_t nr);
void reference_free(struct reference *references, size_t nr);

// Of a symbol, from `nm OPTIONS FILE`.
uint64_t reference_symbol(const char *options, const char *file, const char *name);

// From `readelf -n`; returns how many bytes it has.
size_t reference_build_id(const char *file, uint8_t *ret_id, size_t capacity);

bool reference_has_tool(const char *tool);

// Fails the test on an error of ours.
void check_no_error(struct seep_error *error);

char *test_format(const char *format, ...) SEEP_PRINTF(1, 2);

// Whether the test program is missing, because a tool to build it is missing; prints the reason.
bool test_is_missing(const char *folder, const char *name, const char *why);

// Without debuginfod servers.
struct seep_symbols *test_open_symbols(const char *debug_dir, const char *sysroot);
unsigned test_module_of(struct seep_symbols *symbols, const char *path);

#endif
