// SPDX-License-Identifier: BSD-2-Clause
// Bytes of a file at an offset, see read_at.h.
#include <errno.h>
#include <sys/resource.h>
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

bool seep_write_memory_file(int fd, uint64_t off, const void *bytes, size_t nr_bytes) {
    if (off > INT64_MAX)
        return false;
    bool done = pwrite(fd, bytes, nr_bytes, (off_t)off) == (ssize_t)nr_bytes;
    struct rlimit before;
    if (done || errno != EFBIG || getrlimit(RLIMIT_FSIZE, &before) || before.rlim_cur == before.rlim_max)
        return done;
    struct rlimit lifted = {before.rlim_max, before.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &lifted) == 0)
        done = pwrite(fd, bytes, nr_bytes, (off_t)off) == (ssize_t)nr_bytes;
    setrlimit(RLIMIT_FSIZE, &before);
    return done;
}
