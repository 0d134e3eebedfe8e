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

// All numbers in the byte order of the sender; a tool of another byte order refuses the magic.
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

#endif
