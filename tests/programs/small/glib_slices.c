// SPDX-License-Identifier: BSD-2-Clause
// With LIBRARY: nine pieces as those of GLib before 2.76, whose size is two words less than a power of two. Without: the program that has them.
#include <stdlib.h>

void g_slice_alloc(size_t size);

#ifdef LIBRARY
static void *kept[9];

void g_slice_alloc(size_t size) {
    for (int i = 0; i < 9; i++)
        if (posix_memalign(&kept[i], 1024, size) != 0)
            abort();
}
#else
int main(void) {
    g_slice_alloc(SIZE);
    return 0;
}
#endif
