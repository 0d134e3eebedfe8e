// SPDX-License-Identifier: BSD-2-Clause
// Two call sites that names and lines do not tell apart: of 100 and 200 bytes.
#include <stdlib.h>

int main(void) {
    free(malloc(100)), free(malloc(200));
    return 0;
}
