// SPDX-License-Identifier: BSD-2-Clause
// Forty blocks that live until exit; with the argument "leak" nothing leads to them any more. With -DKNOWN
// it says that its leaks are known.
#include <stdlib.h>
#include <string.h>

static void *kept[40];

__attribute__((noinline)) static void fill(void) {
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        kept[i] = malloc(100);
}

__attribute__((noinline)) static void let_go(void) {
    memset(kept, 0, sizeof(kept));
}

#ifdef KNOWN
const char *__lsan_default_suppressions(void) {
    return "leak:fill\n";
}
#endif

int main(int argc, char **argv) {
    free(malloc(10));
    fill();
    if (argc > 1 && strcmp(argv[1], "leak") == 0)
        let_go();
    return 0;
}
