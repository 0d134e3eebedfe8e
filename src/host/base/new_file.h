// SPDX-License-Identifier: BSD-2-Clause
//
// A file that has no name as long as it is not complete: a tool that is killed meanwhile leaves nothing.
// Where the file system makes no files without a name, or there is no /proc to give it one by, it has a name
// of its own beside the target from the start.
#ifndef SEEP_BASE_NEW_FILE_H
#define SEEP_BASE_NEW_FILE_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/attr.h"

struct seep_new_file {
    char *path;    // a name of its own, beside the target; NULL: there is no such file
    bool is_named; // a file has that name
};

// The descriptor, close-on-exec, for reading and writing; -1: errno says why. `target`: the name
// that it gets in the end, which is not looked at. `mode`: of the file, less the umask.
int seep_new_file_create(const char *target, mode_t mode, struct seep_new_file *ret_file);

// The file of `fd` has its own name from now on, and can be renamed to the target. false: errno says why.
SEEP_MUST_CHECK bool seep_new_file_give_name(struct seep_new_file *file, int fd);

// It has the name of the target (`taken`), or goes. The descriptor stays open; errno stays.
void seep_new_file_forget(struct seep_new_file *file, bool taken);

#endif
