// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Calls abort() and goes on: by longjmp out of the handler ("jump"), in the handler ("leave"), or not ("die"). What it
// allocates then is lost, 1000 blocks of 123 bytes.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static sigjmp_buf place;
static const char *how;
static void *volatile block;

static void lose(void) {
    for (int i = 0; i < 1000; i++)
        block = malloc(123);
    block = NULL;
}

static void handle(int signal) {
    (void)signal;
    if (strcmp(how, "jump") == 0)
        siglongjmp(place, 1);
    if (strcmp(how, "leave") == 0) {
        lose();
        exit(3);
    }
}

int main(int argc, char **argv) {
    how = argc > 1 ? argv[1] : "jump";
    signal(SIGABRT, handle);
    if (strcmp(how, "die") == 0)
        lose();
    for (int i = 0; i < 3; i++)
        if (!sigsetjmp(place, 1))
            abort();
    lose();
    return 3;
}
