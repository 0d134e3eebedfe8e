// SPDX-License-Identifier: BSD-2-Clause
//
// What every fuzz target has: the function that libFuzzer and replay_main.c call, and its assertion.
#ifndef SEEP_TESTS_FUZZ_H
#define SEEP_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Not assert(), which NDEBUG removes.
#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            abort();                                                                                         \
    } while (0)

#endif
