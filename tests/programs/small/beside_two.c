// SPDX-License-Identifier: BSD-2-Clause
// Linked with two allocators, it calls a function of one of them that is beside malloc.
#include <stddef.h>
#include <stdlib.h>

void *mallocx(size_t size, int flags);
void dallocx(void *block, int flags);
void *mi_malloc(size_t size);
void mi_free(void *block);

int main(void) {
#ifdef MI
    mi_free(mi_malloc(100));
#else
    dallocx(mallocx(100, 0), 0);
#endif
    return malloc(30) == NULL;
}
