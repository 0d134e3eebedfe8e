// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
unsigned long tc_malloc_size(void *);
int main(void) {
    return !tc_malloc_size(malloc(77));
}
