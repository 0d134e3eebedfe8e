// SPDX-License-Identifier: BSD-2-Clause
// What scan_places.c opens: behind its zeroed data the kernel may join other memory to it.
static char zeroed[5 * 4096 + 8] __attribute__((aligned(8)));
static __thread char much[300];
static __thread void *own;

void hold_zeroed(void *block) {
    *(void **)(zeroed + 5 * 4096) = block;
}

void hold_own(void *block) {
    own = block;
    much[7] = 1;
}
