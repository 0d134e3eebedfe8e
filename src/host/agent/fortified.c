// SPDX-License-Identifier: BSD-2-Clause
// A libbearssl.a that a distribution compiled with _FORTIFY_SOURCE wants these; not every libc has them.
#include <features.h>
#include <stdlib.h>
#include <string.h>

#ifndef __GLIBC__
void *__memcpy_chk(void *to, const void *from, size_t nr, size_t room);

void *__memcpy_chk(void *to, const void *from, size_t nr, size_t room) {
    if (nr > room)
        _Exit(134);
    return memcpy(to, from, nr);
}
#endif
