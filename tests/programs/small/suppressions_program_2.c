// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <search.h>
#include <stddef.h>
static int compare(const void *a, const void *b) { return *(const char *)a - *(const char *)b; }
static const char letters[] = "abcdefgh";
void *held, *lost;
int main(void) {
    for (const char *at = letters; *at; at++) tsearch(at, &held, compare);
    for (const char *at = letters; *at; at++) tsearch(at, &lost, compare);
    lost = NULL;
    return 0;
}
