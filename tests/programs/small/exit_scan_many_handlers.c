// SPDX-License-Identifier: BSD-2-Clause
// A library whose constructor registers more handlers of exit() than the C library has room for (32): it allocates
// room for 32 more at a time, and frees that in exit(), when they have run. With -DPROGRAM: a program for it.
#include <stdlib.h>

#ifdef PROGRAM
extern int nr_run;
int main(void) {
    return nr_run;
}
#else
int nr_run;

static void run_one(void) {
    nr_run++;
}

__attribute__((constructor)) static void start(void) {
    for (int i = 0; i < 100; i++)
        atexit(run_one);
}
#endif
