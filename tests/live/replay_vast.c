// SPDX-License-Identifier: BSD-2-Clause
// 4 TiB that are never written: more than any machine has that runs this.
#include <stdlib.h>

int main(void) {
    for (int i = 0; i < 4096; i++)
        if (!malloc((size_t)1 << 30))
            return 1;
    return 0;
}
