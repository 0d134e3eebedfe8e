// SPDX-License-Identifier: BSD-2-Clause
// See memory_copy.h.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "confine/opener.h"
#include "process/memory_copy.h"

// process_vm_readv waits without a lock on the address space; /proc/PID/mem holds it, and then no probe can
// be taken out of the process.
static int make_copy(const char *words) {
    char piece[4096];
    int tid, fd = memfd_create("memory", MFD_CLOEXEC);
    uint64_t start, end;
    if (fd < 0 || sscanf(words, "%d %" SCNx64 " %" SCNx64, &tid, &start, &end) != 3)
        return fd;
    for (uint64_t at = start; at < end;) {
        size_t nr = (size_t)SEEP_MIN(end - at, sizeof(piece) - at % sizeof(piece));
        struct iovec here = {piece, nr};
        struct iovec there = {(void *)(uintptr_t)at, nr}; // NOLINT(performance-no-int-to-ptr)
        if (process_vm_readv(tid, &here, 1, &there, 1, 0) != (ssize_t)nr ||
            write(fd, piece, nr) != (ssize_t)nr)
            break;
        at += nr;
    }
    return fd;
}

int seep_memory_copy(pid_t pid, uint64_t start, uint64_t end) {
    char words[64];
    snprintf(words, sizeof(words), "%d %" PRIx64 " %" PRIx64, (int)seep_live_thread(pid), start, end);
    return seep_open_made(make_copy, words);
}
