// SPDX-License-Identifier: BSD-2-Clause
//
// Files of our own in the place of the system's, for one program and what it starts: in a mount namespace of
// theirs a copy hides the file. Other processes do not feel probes on the copy.
#ifndef SEEP_SOURCE_ATTACH_PRIVATE_FILE_H
#define SEEP_SOURCE_ATTACH_PRIVATE_FILE_H

#include <stdbool.h>
#include <sys/types.h>

// Moves the calling process, which has one thread, to a mount namespace that sees what is mounted in ours but
// shows nothing back. false: not allowed.
bool seep_private_enter(void);

// Whether a process of ours could do that.
bool seep_private_is_possible(void);

// Puts a copy of `path` in its place in the mount namespace of `pid`, whose processes are all stopped.
// false: it could not be done, and nothing has changed.
bool seep_private_copy(pid_t pid, const char *path);

#endif
