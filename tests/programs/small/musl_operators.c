// SPDX-License-Identifier: BSD-2-Clause
// Some of operator new and delete, with a header before the block.
#include <stdlib.h>

void *_Znwm(size_t size) {
    return (char *)malloc(size + 32) + 32;
}

void _ZdlPv(void *block) {
    free((char *)block - 32);
}

// The size of the block comes along.
void _ZdlPvm(void *block, size_t size) {
    if (size != 111)
        abort();
    _ZdlPv(block);
}
