// SPDX-License-Identifier: BSD-2-Clause
// Bytes that cross 4 GiB as often as can be: blocks of 1 GiB that are not touched. Ends when its input does.
#include <poll.h>
#include <stdlib.h>

int main(void) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    while (poll(&input, 1, 0) == 0)
        for (int i = 0; i < 1000; i++) {
            void *volatile block = malloc((size_t)1 << 30);
            if (!block)
                return 1;
            free(block);
        }
    return 0;
}
