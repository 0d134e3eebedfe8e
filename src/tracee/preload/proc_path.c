// SPDX-License-Identifier: BSD-2-Clause
// Paths in /proc, see proc_path.h.
#include "preload/proc_path.h"

static char *append(char *at, const char *end, const char *text) {
    while (*text && at < end)
        *at++ = *text++;
    return at;
}

struct seep_proc_path seep_proc_path(const char *before, uint32_t number, const char *after) {
    struct seep_proc_path path;
    char digits[sizeof("4294967295")];
    char *first = digits + sizeof(digits) - 1;
    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    const char *end = path.text + sizeof(path.text) - 1;
    char *at = append(path.text, end, before);
    at = append(at, end, first);
    *append(at, end, after) = 0;
    return path;
}
