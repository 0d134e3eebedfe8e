// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdlib.h>
#ifdef __cplusplus
extern "C"
#endif
const char *__lsan_default_suppressions(void) { BODY }
__attribute__((noinline)) static void leak_known(void) { void *p = malloc(100); __asm__ volatile("" : "+r"(p)); }
__attribute__((noinline)) static void leak_new(void) { void *p = malloc(10); __asm__ volatile("" : "+r"(p)); }
int main(void) { leak_known(); leak_new(); return 0; }
