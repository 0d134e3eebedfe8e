// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stddef.h>
static char space[1 << 16] __attribute__((aligned(16)));
static size_t used;
SCOPE void *PREFIX_malloc(size_t size) {
    void *p = space + used;
    used += (size + 15) & ~(size_t)15;
    return used <= sizeof(space) ? p : NULL;
}
SCOPE void PREFIX_free(void *p) { (void)p; }
