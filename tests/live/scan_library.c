// SPDX-License-Identifier: BSD-2-Clause
// A library whose data hold a block and whose thread-local storage is dynamic.
#include <stdlib.h>

void *held[4];
__thread void *of_thread[200];

void fill(size_t size) {
    held[1] = malloc(size);
    if (size == 3200) // glibc keeps the thread-local storage of a library that was unloaded
        of_thread[100] = held[1];
}
