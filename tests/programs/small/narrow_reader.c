// SPDX-License-Identifier: BSD-2-Clause
// Looks at a number of 64 bits in a file that another process maps, after each of its instructions: FILE OFFSET PID
// STEPS. Says how often it went back, and by how much it grew.
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
    int fd = argc == 5 ? open(argv[1], O_RDONLY) : -1;
    uint64_t off = fd < 0 ? 0 : strtoull(argv[2], NULL, 10), back = 0;
    const char *page = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, (off_t)(off & ~UINT64_C(4095)));
    pid_t pid = fd < 0 ? 0 : atoi(argv[3]);
    if (page == MAP_FAILED || ptrace(PTRACE_ATTACH, pid, NULL, NULL) != 0 ||
        waitpid(pid, NULL, __WALL) != pid)
        return 1;
    const uint64_t *at = (const uint64_t *)(page + (off & 4095));
    uint64_t first = __atomic_load_n(at, __ATOMIC_RELAXED), last = first;
    for (int left = atoi(argv[4]); left > 0; left--) {
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) != 0 || waitpid(pid, NULL, __WALL) != pid)
            return 1;
        uint64_t now = __atomic_load_n(at, __ATOMIC_RELAXED);
        back += now < last;
        last = now;
    }
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    printf("%" PRIu64 " %" PRIu64 "\n", back, last - first);
    return 0;
}
