// SPDX-License-Identifier: BSD-2-Clause
// Arrays whose size is known at run time, on the stack.
#include "corpus.h"
#include <alloca.h>

static NOINLINE void work(size_t nr) {
    struct node **array = (struct node **)alloca(nr * sizeof(*array));
    for (size_t i = 0; i < nr; i++)
        array[i] = make(40); // EXPECT: 49 reachable, 1 lost
    array[nr / 2] = NULL;
    KEEP(array);
    park();
    KEEP(array);
}

int main(void) {
    work(50);
}
