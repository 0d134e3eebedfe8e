// SPDX-License-Identifier: BSD-2-Clause
//
// Allocations that fail give the caller what libc gives, and count as nothing; errno is set on
// failure and kept on success.
// EXPECT:
// {
//   "sites": [
//     {"in": "keep_block", "via": "malloc", "allocations": 1, "frees": 0, "live_blocks": 1, "live_bytes": 40}
//   ]
// }
#include "program.h"
#include <errno.h>
#include <malloc.h>

APART static char *keep_block(void) {
    char *p = keep(malloc(40));
    memset(p, 'x', 40);
    return p;
}

#define FAILS(call)                                                                                          \
    do {                                                                                                     \
        errno = 0;                                                                                           \
        void *got_ = keep(call);                                                                             \
        CHECK(got_ == NULL);                                                                                 \
        CHECK(errno == ENOMEM);                                                                              \
    } while (0)

APART static void fail_all(char *p) {
    size_t huge = hide((size_t)PTRDIFF_MAX + 1), half = hide(SIZE_MAX / 2);
    FAILS(malloc(huge));
    FAILS(calloc(half, 3));
    FAILS(calloc(hide(1), huge));
    FAILS(realloc(null_pointer(), huge));
    FAILS(realloc(p, huge));
    FAILS(reallocarray(p, half, 3));
    FAILS(reallocarray(null_pointer(), half, 3));
    FAILS(aligned_alloc(64, huge));
    FAILS(memalign(64, huge));
    FAILS(valloc(huge));
    FAILS(pvalloc(hide(SIZE_MAX - 100)));
    void *out = p;
    errno = 77;
    CHECK(posix_memalign(&out, hide(24), 10) == EINVAL);
    CHECK(posix_memalign(&out, hide(1), 10) == EINVAL);
    CHECK(posix_memalign(&out, hide(64), huge) == ENOMEM);
    CHECK(out == p);
    for (int i = 0; i < 40; i++)
        CHECK(p[i] == 'x');
}

int main(void) {
    char *p = keep_block();
    for (int i = 0; i < 10; i++)
        fail_all(p);
    errno = 1234;
    free(NULL);
    CHECK(errno == 1234);
    return 0;
}
