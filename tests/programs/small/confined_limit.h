// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Limits the address space of a process, for tests in which seep must not need more than is left.
#include <sys/mman.h>
#include <sys/resource.h>

static int there_is_room(void) {
    void *page = mmap(NULL, 4096, PROT_READ, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    return page != MAP_FAILED && munmap(page, 4096) == 0;
}

// The new limit: the present size and `more_bytes`.
static void limit_address_space(rlim_t more_bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    rlim_t low = 1 << 20, high = 1 << 30;
    while (high - low > 128 * 1024) {
        limit.rlim_cur = (low + high) / 2;
        setrlimit(RLIMIT_AS, &limit);
        if (there_is_room())
            high = limit.rlim_cur;
        else
            low = limit.rlim_cur;
    }
    limit.rlim_cur = high + more_bytes;
    setrlimit(RLIMIT_AS, &limit);
}
