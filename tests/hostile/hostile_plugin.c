// SPDX-License-Identifier: BSD-2-Clause
// A library that allocates for who loads it.
#include <stdlib.h>

void *plugin_get(size_t bytes);
void plugin_put(void *block);

void *plugin_get(size_t bytes) {
    char *block = malloc(bytes + 1);
    if (block)
        block[bytes] = 0;
    return block;
}

void plugin_put(void *block) {
    free(block);
}
