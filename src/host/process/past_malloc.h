// SPDX-License-Identifier: BSD-2-Clause
//
// Whether a program or library may call libc's own malloc past the hooks: it imports dlsym or dlvsym, and has
// a name of malloc's family among its constants. A call of __libc_malloc that the linker binds comes to the
// hooks.
#ifndef SEEP_PROCESS_PAST_MALLOC_H
#define SEEP_PROCESS_PAST_MALLOC_H

#include "process/elf_file.h"

// Imports that such a call needs, from the dynamic table.
struct seep_imports {
    bool is_known; // false: the table was not read yet
    bool exports_malloc;
    bool looks_up; // dlsym or dlvsym
    bool opens;    // dlopen
};
void seep_imports_note(struct seep_imports *imports, const char *name);

// Reads the dynamic table, and of a file that imports dlsym at most 8 MiB of each section of constants and
// 32 MiB of all for each question. A library that exports malloc is none: its own malloc is called through
// ours. The name must be a whole text: as the end of others (acc_malloc of libgomp) it is in a quarter of all
// files that import dlsym.
SEEP_MUST_CHECK struct seep_error *seep_past_malloc_find(const struct seep_elf_file *elf, bool *ret_is_past);
// The same for libc's own free, which no hook sees: the file also imports dlopen, and has the names of libc
// and of free among its constants. `imports`: those of the file, if they are known.
SEEP_MUST_CHECK struct seep_error *seep_past_free_find(const struct seep_elf_file *elf,
                                                       const struct seep_imports *imports, bool *ret_is_past);

#endif
