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

// Whether it helps to try once more. `ret_before` is to be set again then.
static bool lift_file_limit(struct rlimit *ret_before) {
    if (errno != EFBIG || getrlimit(RLIMIT_FSIZE, ret_before) || ret_before->rlim_cur == ret_before->rlim_max)
        return false;
    struct rlimit lifted = {ret_before->rlim_max, ret_before->rlim_max};
    return setrlimit(RLIMIT_FSIZE, &lifted) == 0;
}

static void set_again(const struct rlimit *before) {
    int trouble = errno;
    setrlimit(RLIMIT_FSIZE, before);
    errno = trouble;
}

// A write that begins below the limit and would end above it writes a part, without an error.
bool seep_write_memory_file(int fd, uint64_t off, const void *bytes, size_t nr_bytes) {
    const char *from = bytes;
    struct rlimit before;
    bool is_lifted = false;
    while (nr_bytes && off <= INT64_MAX) {
        ssize_t put = pwrite(fd, from, nr_bytes, (off_t)off);
        if (put == 0 || (put < 0 && (is_lifted || !lift_file_limit(&before))))
            break;
        is_lifted |= put < 0;
        put = put < 0 ? 0 : put;
        from += put;
        off += (uint64_t)put;
        nr_bytes -= (size_t)put;
    }
    if (is_lifted)
        set_again(&before);
    return !nr_bytes;
}

bool seep_size_memory_file(int fd, uint64_t nr_bytes) {
    struct rlimit before;
    bool done = ftruncate(fd, (off_t)nr_bytes) == 0;
    if (!done && lift_file_limit(&before)) {
        done = ftruncate(fd, (off_t)nr_bytes) == 0;
        set_again(&before);
    }
    return done;
}
