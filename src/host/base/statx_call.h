// SPDX-License-Identifier: BSD-2-Clause
// statx(2) as the kernel has it: not every libc does.
#ifndef SEEP_BASE_STATX_CALL_H
#define SEEP_BASE_STATX_CALL_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/attr.h"

// As the kernel has it: statx(2).
struct seep_statx_time {
    int64_t tv_sec;
    uint32_t tv_nsec;
    int32_t reserved;
};

// Source: linux/stat.h; the same on all CPUs.
struct seep_statx {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, spare;
    uint64_t ino, size, blocks, attributes_mask;
    struct seep_statx_time atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t more[14];
};
_Static_assert(sizeof(struct seep_statx) == 256, "as the kernel writes it");

#define SEEP_STATX_BASIC     0x7ffu
#define SEEP_STATX_DONT_SYNC 0x4000 // cached attributes are enough: a file system that hangs is not asked

// false: errno says why.
SEEP_INLINE bool seep_statx(int folder, const char *path, int flags, struct seep_statx *ret_status) {
    return syscall(SYS_statx, folder, path, flags, SEEP_STATX_BASIC, ret_status) == 0;
}

#endif
