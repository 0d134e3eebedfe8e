// SPDX-License-Identifier: BSD-2-Clause
//
// How a traced process hands its image to the tool. SEEP_SOCKET names a Unix SOCK_SEQPACKET socket.
// Each process image, when it is made (at start, after exec, after fork), connects to it, sends one
// struct seep_hello with the memory file attached by SCM_RIGHTS, and closes. It waits for no answer;
// connect and send do not block, and when they fail the process goes on alone.
//
// Invariant: the tool trusts none of it. Who the sender is comes from SO_PEERCRED, how big the file
// is from fstat.
#ifndef SEEP_IMAGE_HELLO_H
#define SEEP_IMAGE_HELLO_H

#include "image/layout.h"

#define SEEP_HELLO_VERSION 1u

// All numbers in the byte order of the sender, which the magic tells.
struct seep_hello {
    uint64_t magic;      // SEEP_IMAGE_MAGIC
    uint32_t version;    // SEEP_HELLO_VERSION
    uint32_t pid;        // getpid() as the sender sees itself
    uint64_t image_size; // Units: bytes; the fixed size of the memory file
};

// A process that is leaving says so with this, on a connection of its own, if SEEP_SCAN asked for it.
// It waits for any answer, for the end of the connection or for a time limit, whichever is first: until
// then the tool may stop it and read its memory.
#define SEEP_PARKED_MAGIC UINT64_C(0x4b52415050454553) // "SEEPPARK", little-endian
struct seep_parked {
    uint64_t magic;   // SEEP_PARKED_MAGIC
    uint32_t version; // SEEP_HELLO_VERSION
    uint32_t pid;     // getpid() as the sender sees itself
    uint64_t sp_rt;   // on the stack of the thread that is leaving: what is below is the library's
};

_Static_assert(sizeof(struct seep_hello) == 24, "wire size");
_Static_assert(sizeof(struct seep_parked) == 24, "wire size");

// A traced process says over the same socket, without a file, that a process is about to become
// another program. If no image comes of it, the tool can say what was not traced, and who started it.
#define SEEP_NOTICE_MAGIC   UINT64_C(0x0a434558454545) // "EEEXEC\n", little-endian
#define SEEP_NOTICE_VERSION 1u

#define SEEP_NOTICE_SPAWNED    (1u << 0) // by posix_spawn: `pid` is not the sender
#define SEEP_NOTICE_SEARCHED   (1u << 1) // a name without a slash was looked up in PATH
#define SEEP_NOTICE_NO_PRELOAD (1u << 2) // no LD_PRELOAD with libseep in its environment, or no SEEP_SOCKET
#define SEEP_NOTICE_FAILED     (1u << 3) // it did not come to that: the notice before is void
#define SEEP_NOTICE_SECURE     (1u << 4) // its effective user or group is not the real one: no LD_PRELOAD

struct seep_notice {
    uint64_t magic;   // SEEP_NOTICE_MAGIC
    uint32_t version; // SEEP_NOTICE_VERSION
    uint32_t flags;   // SEEP_NOTICE_*
    // As the sender sees them.
    uint32_t sender_pid;
    uint32_t pid;       // of the process that becomes the program
    uint32_t image_pid; // whose image the sender is in: itself, or the process that it was forked from
    uint32_t reserved;
    char path[472]; // NUL-terminated; a longer one is cut
};

_Static_assert(sizeof(struct seep_notice) == 504, "wire size");

#endif
