// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
void *library_alloc(unsigned long n) { return PREFIX_malloc(n); }
void library_free(void *p) { PREFIX_free(p); }
