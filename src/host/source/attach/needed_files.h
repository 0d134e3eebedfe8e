// SPDX-License-Identifier: BSD-2-Clause
//
// The files that a loader will map for a program, found as glibc's finds them (ld.so(8)): in the folders that
// the program and LD_LIBRARY_PATH name, by /etc/ld.so.cache, in the system's folders. A file too many is only
// read in vain, so if several files for this machine have one name, all are visited.
// Proof: tests/unit/test_needed_files.c.
#ifndef SEEP_SOURCE_ATTACH_NEEDED_FILES_H
#define SEEP_SOURCE_ATTACH_NEEDED_FILES_H

#include "base/error.h"

// A regular file, `path` as it is within the root. Its descriptor is closed after the call.
typedef void seep_needed_visit(void *context, int fd, const char *path);

// Of the program `fd`, which is `path` within the folder `root` (a descriptor): its interpreter, what it
// needs and what that needs. Damaged
// files need nothing, nor do those of other users, which the tool does not read itself.
// `library_path`: of LD_LIBRARY_PATH, or NULL.
void seep_needed_files(int root, int fd, const char *path, const char *library_path, seep_needed_visit *visit,
                       void *context);

#endif
