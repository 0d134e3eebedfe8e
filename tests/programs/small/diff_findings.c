// SPDX-License-Identifier: BSD-2-Clause
// Arguments: how many blocks are kept from one place, kept from another, lost, and freed at once.
#include <stdlib.h>

static void *kept[10000];
static int nr;

static void add(int n) {
    for (int i = 0; i < n; i++)
        kept[nr++] = malloc(100);
}

static void other(int n) {
    for (int i = 0; i < n; i++)
        kept[nr++] = malloc(500);
}

static void lose(int n) {
    for (int i = 0; i < n; i++) {
        char *volatile block = malloc(64);
        block = NULL;
    }
}

static void churn(int n) {
    for (int i = 0; i < n; i++) {
        char *volatile block = malloc(32);
        free(block);
    }
}

int main(int argc, char **argv) {
    add(atoi(argv[1]));
    other(atoi(argv[2]));
    lose(atoi(argv[3]));
    churn(atoi(argv[4]));
    return 0;
}
