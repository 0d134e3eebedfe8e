// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#include <sys/mman.h>
static char *volatile inside;
int main(void) {
    inside = (char *)malloc(300) + 100;
    return mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == NULL;
}
