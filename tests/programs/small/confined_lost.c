// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "confined_limit.h"

int main(void) {
    int nr = 0;
    void *volatile first = malloc(1 << 20); // seep begins before the limit; the block is beside the heap
    free(first);
    mallopt(M_TOP_PAD, 16 << 20);
    // The heap takes nearly all of it at once: nothing is left for seep.
    limit_address_space(17 << 20);
    void **head = NULL, **next;
    for (; (next = malloc(200)) != NULL; nr++) {
        *next = head;
        head = next;
    }
    for (; head; head = next) {
        next = *head;
        free(head);
    }
    printf("%d\n", nr);
    return 0;
}
