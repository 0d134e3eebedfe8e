// SPDX-License-Identifier: BSD-2-Clause
// A pool whose pieces seep knows, and a moment with a name.
#include <seep.h>
#include <stdlib.h>

static char pool[4096];

int main(void) {
    seep_pool_create(pool, "pieces");
    seep_pool_alloc(pool, pool + 64, 100);
    seep_mark("loaded");
    seep_pool_free(pool, pool + 64);
    seep_pool_destroy(pool);
    return 0;
}
