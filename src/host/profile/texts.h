// SPDX-License-Identifier: BSD-2-Clause
//
// A table of distinct texts, and the shortest form of paths that does not mix two of them up.
#ifndef SEEP_PROFILE_TEXTS_H
#define SEEP_PROFILE_TEXTS_H

#include "base/error.h"
#include "base/map.h"

// Texts are borrowed. Ids are 0, 1, 2, ... in the order of arrival.
struct seep_texts {
    const char **texts;
    size_t nr;
    size_t capacity;
    struct seep_map ids;
};

void seep_texts_deinit(struct seep_texts *names);
// The id of `text`, which is added when it is new.
SEEP_MUST_CHECK struct seep_error *seep_texts_add(struct seep_texts *names, const char *text,
                                                  uint32_t *ret_id);
// false: not in the table.
bool seep_texts_find(const struct seep_texts *names, const char *text, uint32_t *ret_id);

// ret_shown[i] points into names->texts[i]: its last component, or as many of the last components
// as tell it apart from all other texts. `full`: the texts themselves. O(texts * components).
SEEP_MUST_CHECK struct seep_error *seep_texts_shorten(const struct seep_texts *names, bool full,
                                                      const char ***ret_shown);

#endif
