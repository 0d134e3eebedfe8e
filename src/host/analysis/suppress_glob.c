// SPDX-License-Identifier: BSD-2-Clause
// The two ways to match a name, see suppress_rules.h. Both take time in the order of pattern times
// text at worst, whatever the pattern.
#include <string.h>

#include "analysis/suppress_rules.h"

bool seep_suppress_glob(const char *pattern, const char *text) {
    const char *star = NULL, *from = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            from = text;
        } else if (*pattern == '?' || (*pattern && *pattern == *text)) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

// The first place of the piece [piece, piece + nr) in text, or NULL.
static const char *find_piece(const char *text, const char *piece, size_t nr) {
    return memmem(text, strlen(text), piece, nr);
}

// Pieces between stars are found one behind the other, each as early as can be; a piece that must be
// at the end is looked for there. Like LeakSanitizer, nothing matches an empty text, and what follows
// a $ is not looked at.
bool seep_suppress_search(const char *pattern, const char *text) {
    if (!*text)
        return false;
    bool at_start = *pattern == '^';
    pattern += at_start;
    for (;;) {
        size_t nr = strcspn(pattern, "*$");
        bool at_end = pattern[nr] == '$';
        if (at_end) {
            size_t left = strlen(text);
            if (nr > left || (at_start && nr != left))
                return false;
            return memcmp(text + left - nr, pattern, nr) == 0;
        }
        const char *found =
            at_start ? (strncmp(text, pattern, nr) == 0 ? text : NULL) : find_piece(text, pattern, nr);
        if (!found)
            return false;
        if (!pattern[nr])
            return true;
        text = found + nr;
        pattern += nr + strspn(pattern + nr, "*");
        at_start = false;
    }
}
