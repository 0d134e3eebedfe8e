// SPDX-License-Identifier: BSD-2-Clause
// Maps over all shared memory files, which it does not know, and then tells the kernel of a signal stack.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_BYTES = 1 << 16, MOST = 64 };

int main(void) {
    static uintptr_t starts[MOST], ends[MOST];
    static char line[512];
    int nr = 0;
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && nr < MOST && fgets(line, sizeof(line), maps))
        if (strstr(line, "/memfd:") && sscanf(line, "%lx-%lx", &starts[nr], &ends[nr]) == 2)
            nr++;
    for (int i = 0; i < nr; i++)
        if (mmap((void *)starts[i], ends[i] - starts[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                 -1, 0) == MAP_FAILED)
            return 1;
    if (sigaltstack(&stack, NULL) != 0)
        return 2;
    printf("%s\n", nr ? "mapped over" : "nothing there");
    return 0;
}
