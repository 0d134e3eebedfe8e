// SPDX-License-Identifier: BSD-2-Clause
// Room in the address space, see room.h.
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/room.h"

static bool is_limited(int resource) {
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

struct seep_error *seep_room_check(uint64_t nr_bytes) {
    if (!is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA))
        return NULL;
    // It takes no memory: nothing is written to it.
    void *room = mmap(NULL, (size_t)nr_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return seep_error_no_memory();
    munmap(room, (size_t)nr_bytes);
    return NULL;
}
