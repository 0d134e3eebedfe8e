// SPDX-License-Identifier: BSD-2-Clause
// Numbers that happen to be addresses: a conservative scan takes them for pointers, by design.
#include "corpus.h"

uint64_t checksum;
double *measured;

static void build(void) {
    checksum = (uint64_t)(uintptr_t)make(40); // EXPECT: reachable
    // TRUTH: gone: a number that happens to be an address
    measured = (double *)make(32);        // EXPECT: reachable
    uintptr_t bits = (uintptr_t)make(48); // EXPECT: reachable
    // TRUTH: gone: as above
    memcpy(&measured[2], &bits, sizeof(bits));
}

int main(void) {
    play(build);
    park();
}
