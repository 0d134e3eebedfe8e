// SPDX-License-Identifier: BSD-2-Clause
// Bytes of a file at an offset, see read_at.h.
#include <errno.h>
#include <unistd.h>

#include "base/read_at.h"

bool seep_read_at(int fd, uint64_t off, void *ret_bytes, size_t nr_bytes) {
    char *to = ret_bytes;
    while (nr_bytes > 0) {
        ssize_t got = off <= INT64_MAX ? pread(fd, to, nr_bytes, (off_t)off) : 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = EIO;
        if (got <= 0)
            return false;
        to += got;
        off += (uint64_t)got;
        nr_bytes -= (size_t)got;
    }
    return true;
}
