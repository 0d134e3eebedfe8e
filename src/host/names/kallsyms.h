// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of the running kernel and its modules by address, from /proc/kallsyms.
// Proof: tests/unit/test_kallsyms.c.
#ifndef SEEP_NAMES_KALLSYMS_H
#define SEEP_NAMES_KALLSYMS_H

#include "base/error.h"

struct seep_kallsyms;

struct seep_kernel_function {
    const char *name;   // owned by the table
    const char *module; // "kernel" for what is built in
    uint64_t offset;    // of the address in it
    uint64_t bytes;     // to the next function, or just beyond the address where there is none
};

// SEEP_E_PERMISSION where the kernel hides its addresses from us.
SEEP_MUST_CHECK struct seep_error *seep_kallsyms_read(struct seep_kallsyms **ret_symbols);
// The same of a text in that form, which is copied. Lines that are not in it are left out.
SEEP_MUST_CHECK struct seep_error *seep_kallsyms_parse(const char *text, size_t nr_bytes,
                                                       struct seep_kallsyms **ret_symbols);
void seep_kallsyms_destroy(struct seep_kallsyms *symbols); // takes NULL

// The last function at or below the address: binary search. false: none. There are no ends in the file, so
// an address behind a module's last function is that function's.
bool seep_kallsyms_find(const struct seep_kallsyms *symbols, uint64_t address,
                        struct seep_kernel_function *ret_function);

// What addresses of a module ("kernel" for what is built in) are relative to, so that they are the same after
// the next start: the kernel's first function, _text, or the module's. 0: there is none. O(functions).
uint64_t seep_kallsyms_base(const struct seep_kallsyms *symbols, const char *module);

#endif
