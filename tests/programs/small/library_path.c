// SPDX-License-Identifier: BSD-2-Clause
// For test_attach_exec.py: with LIBRARY a library whose constructor allocates at once, else the program that needs it.
#include <stdlib.h>

#ifdef LIBRARY
void *volatile allocated[16];

__attribute__((noinline)) static void allocate(int nr) {
    allocated[nr] = malloc(100);
}

__attribute__((constructor)) static void begin(void) {
    for (int i = 0; i < 16; i++)
        allocate(i);
}
#else
extern void *volatile allocated[16];

int main(void) {
    return allocated[15] == NULL;
}
#endif
