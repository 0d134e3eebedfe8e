// SPDX-License-Identifier: BSD-2-Clause
//
// What a process that is not our child ended with: the kernel tells it by a descriptor of the process, also
// when its parent has waited for it (Linux 6.15).
// Source: include/uapi/linux/pidfd.h, the first version of struct pidfd_info.
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "source/run/run_parts.h"

#define INFO_EXIT UINT64_C(8) // PIDFD_INFO_EXIT

struct info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code; // as wait() has it
};
_Static_assert(sizeof(struct info) == 64, "PIDFD_INFO_SIZE_VER0");
#define GET_INFO _IOWR(0xff, 11, struct info) // PIDFD_GET_INFO

int seep_run_end_open(struct seep_run_image *before, pid_t pid) {
    struct rlimit limit;
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (before && before->replaced) {
        if (fd >= 0 && before->end_fd >= 0)
            close(before->end_fd);
        fd = fd >= 0 ? fd : before->end_fd;
        before->end_fd = -1;
    }
    if (fd < 0 || (getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2))
        return fd;
    close(fd);
    return -1;
}

bool seep_run_image_status(const struct seep_run_image *image, int *ret_status) {
    struct info info = {.mask = INFO_EXIT};
    if (image->end_fd < 0 || ioctl(image->end_fd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT))
        return false;
    *ret_status = info.exit_code;
    return true;
}
