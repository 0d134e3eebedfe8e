// SPDX-License-Identifier: BSD-2-Clause
//
// What the test programs share: functions that stay functions, blocks that stay allocated, and a
// check that ends the program with a message. The programs are built without sibling calls.
#ifndef SEEP_TESTS_PROGRAM_H
#define SEEP_TESTS_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__clang__)
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif

// The compiler must believe that the block is used from elsewhere.
static inline void *keep(void *p) {
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

// NULL, but the compiler cannot know: it would make malloc of realloc.
static inline void *null_pointer(void) {
    return keep(NULL);
}

// A value the compiler cannot know.
static inline size_t hide(size_t n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
            _Exit(99);                                                                                       \
        }                                                                                                    \
    } while (0)

#endif
