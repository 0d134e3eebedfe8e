// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdlib.h>
void *_ZnwmRKSt9nothrow_t(size_t size, const void *nothrow) { return size >> 40 ? NULL : malloc(size); }
