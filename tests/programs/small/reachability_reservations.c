// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
    size_t size = 8ul << 40;
    char *far = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (far == MAP_FAILED) return 77;
    mmap(0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *volatile *at[] = {(void *)far, (void *)(far + size / 2 + 4096 * 7 + 8), (void *)(far + size - 8)};
    for (int i = 0; i < 3; i++) *at[i] = malloc(1000 + 16 * i);
    *(void *volatile *)malloc(2000) = 0;
    write(1, "ready\n", 6);
    pause();
}
