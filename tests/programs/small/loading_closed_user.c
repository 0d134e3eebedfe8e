// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow);
void *use(void) { return _ZnwmRKSt9nothrow_t((size_t)1 << 50, NULL); }
