// SPDX-License-Identifier: BSD-2-Clause
// Of 8 allocations 2, and of 2400 live bytes 1800, are of a function without call-frame information and frame pointer.
// -DGO gives that function the name of one of the Go runtime; with -DMAPS it maps, and all allocations are of main.
#include <stdlib.h>
#include <sys/mman.h>

#ifdef GO
void *without(size_t size) __asm__("runtime.asmcgocall");
#endif
#ifdef MAPS
#define TAKE(size) mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
#else
#define TAKE(size) malloc(size)
#endif

#ifdef CUT
__attribute__((noinline)) void *without(size_t size) {
    void *volatile block = TAKE(size);
    return block;
}
#else
void *without(size_t size);

static void *volatile kept[8];

int main(void) {
    for (int i = 0; i < 6; i++)
        kept[i] = malloc(100);
    kept[6] = without(900);
    kept[7] = without(900);
    return 0;
}
#endif
