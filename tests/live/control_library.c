// SPDX-License-Identifier: BSD-2-Clause
//
// What control_flow.c opens: it allocates when it comes, when it goes, when a thread first touches its
// thread-local variables, and with IFUNC where the loader asks which function is meant.
#include "program.h"

#ifdef IFUNC
static int twice(int n) {
    return 2 * n;
}

APART static void in_resolver(void) {
    keep(malloc(41));
}

// Exported, so that it is called through the loader.
int (*library_resolver(void))(int) {
    in_resolver();
    return twice;
}

int library_resolved_inside(int n) __attribute__((ifunc("library_resolver")));

int library_resolved(int n) {
    return library_resolved_inside(n);
}
#else
static __thread int large[20000]; // more than the loader has set aside: made where it is first used
static void *from_constructor;

APART void *library_take(size_t size) {
    return keep(malloc(size));
}

int library_touch(void) {
    return ++large[hide(12345)];
}

APART static void in_library_constructor(void) {
    from_constructor = keep(malloc(42));
}

APART static void in_library_destructor(void) {
    free(from_constructor);
    keep(malloc(43));
}

__attribute__((constructor)) static void begin(void) {
    in_library_constructor();
}

__attribute__((destructor)) static void end(void) {
    in_library_destructor();
}
#endif
