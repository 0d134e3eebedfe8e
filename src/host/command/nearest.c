// SPDX-License-Identifier: BSD-2-Clause
//
// Which known name was meant by a mistyped one: optimal string alignment distance (insert, delete,
// change, swap of neighbours, each 1).
// Source: the recurrence is the one of the restricted Damerau-Levenshtein distance.
#include <string.h>

#include "command/options.h"

#define LONGEST 40 // longer than any name we have; longer texts have no near name

static unsigned distance(const char *a, size_t na, const char *b, size_t nb) {
    unsigned row[3][LONGEST + 1];
    for (size_t j = 0; j <= nb; j++)
        row[0][j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        unsigned *now = row[i % 3];
        const unsigned *last = row[(i + 2) % 3];
        const unsigned *before = row[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = SEEP_MIN(best, last[j] + 1);
            best = SEEP_MIN(best, now[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = SEEP_MIN(best, before[j - 2] + 1);
            now[j] = best;
        }
    }
    return row[na % 3][nb];
}

// Whether all letters of `text` are in `name`, in this order.
static bool is_within(const char *text, const char *name) {
    for (; *text && *name; name++)
        text += *text == *name;
    return !*text;
}

// Of two names that are as near, the one that has all letters of `text` is taken: a missing letter is a
// commoner mistake than a wrong one.
const char *seep_nearest(const char *text, const char *const *names) {
    size_t nr_text = strlen(text);
    if (nr_text == 0 || nr_text > LONGEST)
        return NULL;
    const char *nearest = NULL;
    // One wrong letter, or a third of the letters wrong, is a typing error. More is another word.
    unsigned best = SEEP_MAX((unsigned)nr_text / 3, 1u) + 1;
    for (; *names; names++) {
        size_t nr_name = strlen(*names);
        if (nr_name > LONGEST)
            continue;
        unsigned d = distance(text, nr_text, *names, nr_name);
        // The beginning of a name is the commonest way to mean it.
        if (nr_text >= 2 && nr_text < nr_name && strncmp(text, *names, nr_text) == 0)
            d = 1;
        if (d > best || (d == best && !(nearest && is_within(text, *names) && !is_within(text, nearest))))
            continue;
        best = d;
        nearest = *names;
    }
    return nearest;
}
