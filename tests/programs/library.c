// SPDX-License-Identifier: BSD-2-Clause
//
// Allocations that libc makes for the program are the program's: their stack leads to the caller.
// EXPECT:
// {
//   "sites": [
//     {"in": "by_strdup", "by_library": true, "via": "malloc", "allocations": 3, "live_blocks": 3, "live_bytes": 18},
//     {"in": "by_strndup", "by_library": true, "via": "malloc", "allocations": 1, "live_blocks": 1, "live_bytes": 4},
//     {"in": "by_asprintf", "by_library": true, "live_blocks": 1},
//     {"in": "by_getline", "by_library": true, "reaching": true, "live_blocks": 1},
//     {"in": "by_memstream", "by_library": true, "live_blocks": 1},
//     {"in": "by_fopen", "by_library": true, "live_blocks": 0},
//     {"in": "by_qsort", "by_library": true, "live_blocks": 0, "optional": true},
//     {"in": "by_setenv", "by_library": true, "frees": 0}
//   ]
// }
#include "program.h"

APART static void by_strdup(void) {
    for (int i = 0; i < 3; i++)
        keep(strdup("hello"));
}

APART static void by_strndup(void) {
    keep(strndup("hello", hide(3)));
}

APART static void by_asprintf(void) {
    char *p = NULL;
    CHECK(asprintf(&p, "%d apples and %s", 12, "some pears") == 24);
    keep(p);
}

APART static void by_getline(void) {
    FILE *f = fopen("/proc/self/status", "r");
    char *line = NULL;
    size_t size = 0;
    CHECK(f != NULL && getline(&line, &size, f) > 0);
    fclose(f);
    keep(line);
}

APART static void by_memstream(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    for (int i = 0; i < 1000; i++)
        fprintf(f, "%d ", i);
    fclose(f);
    CHECK(size == 3890);
    keep(text);
}

APART static void by_fopen(void) {
    FILE *f = fopen("/proc/self/stat", "r");
    char buffer[64];
    CHECK(f != NULL && fgets(buffer, sizeof(buffer), f) != NULL);
    fclose(f);
}

static int by_value(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

// Larger than libc sorts on its stack: it takes a block and gives it back.
APART static void by_qsort(void) {
    static int values[5000];
    for (int i = 0; i < 5000; i++)
        values[i] = (i * 7919) % 5000;
    qsort(values, 5000, sizeof(values[0]), by_value);
    CHECK(values[0] == 0 && values[4999] == 4999);
}

// libc keeps the new environment, the string, and what else it likes.
APART static void by_setenv(void) {
    setenv("SEEP_TEST_VARIABLE", "a value", 1);
}

int main(void) {
    by_strdup();
    by_strndup();
    by_asprintf();
    by_getline();
    by_memstream();
    by_fopen();
    by_qsort();
    by_setenv();
    return 0;
}
