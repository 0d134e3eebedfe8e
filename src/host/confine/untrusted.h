// SPDX-License-Identifier: BSD-2-Clause
//
// Whose file it is. A file of root's or of the tool's own user is read by the tool itself; one that another
// user wrote, or can write, is read by a worker without rights (worker.h).
// Proof: tests/unit/test_worker.c.
#ifndef SEEP_CONFINE_UNTRUSTED_H
#define SEEP_CONFINE_UNTRUSTED_H

#include <sys/stat.h>

#include "core/attr.h"

// Whether another user made the open file, or can change it; also where that cannot be known.
bool seep_file_is_untrusted(int fd);
bool seep_handle_is_untrusted(int fd); // the same of a handle, which asks its file system and may wait for it
// As fstat(); of a handle (confine/opener.h) without waiting for its file system, by what the kernel knows.
bool seep_file_status(int fd, struct stat *ret_status);
// The same by what is known of the file, for a tool of this user and group.
bool seep_status_is_untrusted(const struct stat *status, uid_t user, gid_t group);

// Whether only root and this user can have put a file or a link there, or can do so now: a folder by its
// absolute path, and a file in such a folder. A path that does not exist is judged too.
bool seep_folder_is_ours(const char *path);
bool seep_file_is_ours(const char *path);

#endif
