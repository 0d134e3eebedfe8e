// SPDX-License-Identifier: BSD-2-Clause
// Splits lines into words, each in a block of its own for a moment.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t longest;

static void look_at(const char *word, size_t length) {
    char *copy = malloc(length + 1);
    memcpy(copy, word, length);
    copy[length] = 0;
    if (strlen(copy) > longest)
        longest = strlen(copy);
    free(copy);
}

static void split(const char *line) {
    while (*line) {
        size_t length = strcspn(line, " ");
        look_at(line, length);
        line += length + strspn(line + length, " ");
    }
}

int main(void) {
    for (int i = 0; i < 2000; i++)
        split("many words in a line of text that is read again and again");
    printf("%zu\n", longest);
    return 0;
}
