// SPDX-License-Identifier: BSD-2-Clause
// Allocates 10 blocks by operator new, and keeps 3 of them.
#include <stddef.h>

void *_Znwm(size_t);
void _ZdlPv(void *);
void _ZdlPvm(void *, size_t);
static void *volatile kept;

int main(void) {
    for (int i = 0; i < 10; i++) {
        kept = _Znwm(111);
        if (i < 4)
            _ZdlPv(kept);
        else if (i < 7)
            _ZdlPvm(kept, 111);
    }
    return 0;
}
