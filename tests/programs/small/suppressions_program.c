// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stddef.h>
static void *end(void *of) { pthread_exit(of); }
int main(void) { pthread_t t; pthread_create(&t, NULL, end, NULL); return pthread_join(t, NULL); }
