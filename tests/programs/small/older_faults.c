// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Cases that crashed or misled older tools: the first heap call, failing calls, many mappings, a change of folder.
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile kept;
static volatile size_t huge = (size_t)1 << 33, negative = (size_t)-100;

static void *first_call(const char *how) {
    void *block = NULL;
    if (!strcmp(how, "strdup"))
        return strdup("a text of 27 bytes and zero");
    if (!strcmp(how, "strndup"))
        return strndup("a text of 27 bytes and zero, and more", 27);
    if (!strcmp(how, "posix_memalign"))
        return posix_memalign(&block, 64, 28) ? NULL : block;
    if (!strcmp(how, "aligned_alloc"))
        return aligned_alloc(4, 28);
    if (!strcmp(how, "memalign"))
        return memalign(64, 28);
    if (!strcmp(how, "valloc"))
        return valloc(28);
    if (!strcmp(how, "reallocarray"))
        return reallocarray(NULL, 7, 4);
    if (!strcmp(how, "calloc"))
        return calloc(7, 4);
    return realloc(NULL, 28);
}

static int fail(void) {
    char *block = malloc(321);
    strcpy(block, "stays");
    int failed = !malloc(negative) + !calloc(huge, huge) + !reallocarray(NULL, huge, huge) + !realloc(block, negative);
    kept = block;
    return failed == 4 && !strcmp(block, "stays") && malloc_usable_size(block) >= 321 &&
                   malloc_usable_size(block) < 400
               ? 0
               : 1;
}

// More lines of /proc/self/maps than a page has.
static int map(void) {
    char *pages = mmap(NULL, 2000 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 2000; i += 2)
        if (mprotect(pages + i * 4096, 4096, PROT_NONE))
            return 1;
    kept = malloc(1 << 20);
    kept = NULL; // lost
    return 0;
}

static int move(void) {
    if (chdir("/"))
        return 1;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (!child) {
            kept = malloc(1000 + (size_t)i);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    kept = malloc(999);
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "fail"))
        return fail();
    if (!strcmp(what, "map"))
        return map();
    if (!strcmp(what, "move"))
        return move();
    kept = first_call(what);
    return !kept;
}
