// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// Limits the address space of a process, for tests in which seep must not need more than is left.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// The new limit: the present size and `more_bytes`.
static void limit_address_space(rlim_t more_bytes) {
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    if (file < 0 || read(file, text, sizeof(text) - 1) <= 0)
        _exit(1);
    close(file);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = strtoul(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + more_bytes;
    setrlimit(RLIMIT_AS, &limit);
}
