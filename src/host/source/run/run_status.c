// SPDX-License-Identifier: BSD-2-Clause
//
// What a process that is not our child ended with: the kernel tells it by a descriptor of the process, also
// when its parent has waited for it (Linux 6.15).
// Source: include/uapi/linux/pidfd.h, the first version of struct pidfd_info.
#include <stdint.h>
#include <sys/ioctl.h>

#include "source/run/run.h"

#define INFO_EXIT UINT64_C(8) // PIDFD_INFO_EXIT

struct info {
    uint64_t mask;
    uint64_t cgroup;
    uint32_t ids[11];
    int32_t exit_code; // as wait() has it
};
_Static_assert(sizeof(struct info) == 64, "PIDFD_INFO_SIZE_VER0");
#define GET_INFO _IOWR(0xff, 11, struct info) // PIDFD_GET_INFO

bool seep_run_image_status(const struct seep_run_image *image, int *ret_status) {
    struct info info = {.mask = INFO_EXIT};
    if (image->end_fd < 0 || ioctl(image->end_fd, GET_INFO, &info) != 0 || !(info.mask & INFO_EXIT))
        return false;
    *ret_status = info.exit_code;
    return true;
}
