// SPDX-License-Identifier: BSD-2-Clause
//
// Sets a limit to nothing at all, which changes none.
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/resource.h>

int main(void) {
    free(malloc(3));
    return setrlimit64(RLIMIT_AS, NULL) != 0;
}
