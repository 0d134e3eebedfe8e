// SPDX-License-Identifier: BSD-2-Clause
//
// Functions that no report names as the place of an allocation: those of the standard libraries of C++ and
// Rust, those in headers of installed libraries, and those that allocate for their callers under a name of
// their own ("xmalloc", "sqlite3DbMallocRaw", "g_strdup"). Name and file alone decide.
#ifndef SEEP_NAMES_LIBRARY_CODE_H
#define SEEP_NAMES_LIBRARY_CODE_H

#include <stdbool.h>

// Of the C and C++ runtime, the loader, an allocator.
bool seep_module_is_runtime(const char *path);
// Of the library that traces.
bool seep_module_is_tracer(const char *path);

// Demangled; both may be NULL.
bool seep_function_is_std(const char *function, const char *file);
bool seep_function_is_wrapper(const char *function);
bool seep_function_is_passed(const char *function, const char *file); // one of these

// Which frame of a stack to name as the line to look at: the innermost of those that are first in this order.
enum seep_blame {
    SEEP_BLAME_LINE,        // the program's own, with its line
    SEEP_BLAME_OWN,         // the program's own
    SEEP_BLAME_PASSED_LINE, // passed over, as above
    SEEP_BLAME_PASSED,
    SEEP_BLAME_RUNTIME_LINE, // in the C or C++ runtime
    SEEP_BLAME_RUNTIME,
    SEEP_BLAME_NR
};
enum seep_blame seep_blame_of(const char *function, const char *file, unsigned line, bool runtime);
// The same of a function of the kernel, where the functions of its allocators are passed over. NULL: passed
// over.
enum seep_blame seep_blame_of_kernel(const char *function);

#endif
