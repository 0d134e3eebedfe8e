// SPDX-License-Identifier: BSD-2-Clause
//
// Opening a file that a stranger named. Its file system may be a program of that stranger's (FUSE) or a
// server that is gone, and who opens, or only looks up, waits for that, often so that not even SIGKILL ends
// it. So another process, with the tool's own rights, opens it and hands over the descriptor; the tool waits
// for ten seconds at most, hears signals meanwhile, and leaves the other one to its fate. Proof:
// tests/hostile/test_hostile_waiting.py.
#ifndef SEEP_CONFINE_OPENER_H
#define SEEP_CONFINE_OPENER_H

#include "core/attr.h"

// A regular file, for reading. `root`: a folder that is taken for the root of the path, links included; -1:
// ours. Returns a descriptor, or -1 and errno: EMEDIUMTYPE for what is no regular file, ETIMEDOUT where
// nothing answers, EINTR where nothing answers for two seconds after a signal (base/interrupt.h).
//
// Of an untrusted file on FUSE it is a handle (O_PATH): to read, to ask for the status, even to close an open
// file there waits for who makes the file system. The tool reads none of these; a worker gets the file
// itself.
int seep_open_regular(int root, const char *path);
int seep_open_no_link(const char *path); // the same, of a path whose end is no link
bool seep_is_handle(int fd);

// The descriptor that `make` returns, which is called in the other process: to look at what else may keep who
// looks waiting, as memory of a stranger's process. -1 and errno: as of `make`, or as above; EAGAIN where
// there is no other process. `words`: at most SEEP_MADE_BYTES.
#define SEEP_MADE_BYTES 256u
typedef int seep_opener_make(const char *words);
int seep_open_made(seep_opener_make *make, const char *words);

// Sends the file of a handle with these bytes, at most SEEP_GIVE_BYTES, to a socket. false: errno as above.
#define SEEP_GIVE_BYTES 256u
SEEP_MUST_CHECK bool seep_give_handle(int handle, int socket, const void *bytes, size_t nr_bytes);

#endif
