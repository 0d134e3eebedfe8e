// SPDX-License-Identifier: BSD-2-Clause
// A log that is made longer by each line. With an argument: beside many small records, which come and go.
#include <stdlib.h>

static char *text;

static void add_line(size_t bytes) {
    text = realloc(text, bytes);
}

enum { RECORDS = 1000, ROUNDS = 40 };

static void one_kind(void **records) {
    for (int i = 0; i < RECORDS; i++)
        records[i] = malloc(16);
}

static void other_kind(void **records) {
    for (int i = 0; i < RECORDS; i++)
        records[i] = malloc(16);
}

static void third_kind(void **records) {
    for (int i = 0; i < RECORDS; i++)
        records[i] = malloc(16);
}

static void drop(void **records) {
    for (int i = 0; i < RECORDS; i++)
        free(records[i]);
}

int main(int argc, char **argv) {
    static void (*const kinds[])(void **) = {one_kind, other_kind, third_kind};
    static void *records[RECORDS];
    for (int round = 0; argc > 1 && round < ROUNDS; round++)
        for (int i = 0; i < 3; i++) {
            kinds[i](records);
            drop(records);
        }
    for (size_t i = 1; i <= 2000; i++)
        add_line(100 * i);
    return 0;
}
