// SPDX-License-Identifier: BSD-2-Clause
//
// Feeds files to a fuzz target without libFuzzer: each file on the command line, and each file in each
// directory on it. Exits with 1 when there was nothing to feed, so that a lost corpus is noticed.

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned nr_files;

static void fail(const char *path) {
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
}

// The copy has exactly the file's size, so that AddressSanitizer sees a read beyond it.
static void feed_file(const char *path, size_t size) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(size ? size : 1);
    if (!file || !bytes)
        fail(path);
    if (fread(bytes, 1, size, file) != size)
        fail(path);
    fclose(file);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    nr_files++;
}

static void feed(const char *path, int depth) {
    struct stat status;
    if (stat(path, &status))
        fail(path);
    if (!S_ISDIR(status.st_mode)) {
        feed_file(path, (size_t)status.st_size);
        return;
    }
    struct dirent **entries;
    int nr = depth ? scandir(path, &entries, NULL, alphasort) : 0;
    if (nr < 0)
        fail(path);
    for (int i = 0; i < nr; i++) {
        char *below = NULL;
        if (entries[i]->d_name[0] != '.') {
            if (asprintf(&below, "%s/%s", path, entries[i]->d_name) < 0)
                fail(path);
            feed(below, depth - 1);
        }
        free(below);
        free(entries[i]);
    }
    if (depth)
        free(entries);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        feed(argv[i], 4);
    if (!nr_files)
        fprintf(stderr, "no input: give files or directories\n");
    printf("%u files\n", nr_files);
    return !nr_files;
}
