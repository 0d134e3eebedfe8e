// SPDX-License-Identifier: BSD-2-Clause
//
// Whether the C library that a program will be loaded with has what libseep.so needs of it: one that has not
// makes the loader end the program before it begins. Reads files only, which are hostile input; runs nothing.
#ifndef SEEP_SOURCE_RUN_LIBRARY_FIT_H
#define SEEP_SOURCE_RUN_LIBRARY_FIT_H

#include "base/error.h"

// The C library of `program` that is too old for `library`, malloc'ed, with the first version that it does
// not have. NULL: none that we know of.
char *seep_library_too_new(const char *program, const char *library, char **ret_version);

#endif
