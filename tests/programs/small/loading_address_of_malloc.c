// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    void *(*volatile function)(size_t) = malloc; // by code: a word in data would need no symbol of the program's
    char *text = function(100);
    text = realloc(text, 300);
    strcpy(text, "text");
    printf("%s\n", text);
    free(text);
    return 0;
}
