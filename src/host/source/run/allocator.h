// SPDX-License-Identifier: BSD-2-Clause
//
// The allocator that a traced program shall have: a library that is preloaded behind libseep.so, and so is
// what its hooks call.
#ifndef SEEP_SOURCE_RUN_ALLOCATOR_H
#define SEEP_SOURCE_RUN_ALLOCATOR_H

#include "base/error.h"

// `name`: next (what the program has anyway: *ret_path is NULL), glibc, jemalloc, mimalloc, tcmalloc, scudo,
// the path of a library, or NAME of a libNAME.so. *ret_path is malloc'ed. Errors say what would help: no such
// library, not one for this machine, one without malloc and free.
SEEP_MUST_CHECK struct seep_error *seep_allocator_find(const char *name, char **ret_path);

#endif
