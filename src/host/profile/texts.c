// SPDX-License-Identifier: BSD-2-Clause
// A table of distinct texts, see texts.h.
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "profile/texts.h"

void seep_texts_deinit(struct seep_texts *names) {
    free(names->texts);
    seep_map_deinit(&names->ids);
    *names = (struct seep_texts){0};
}

// Equal hashes of different texts are told apart by looking on at the hash of the hash.
static uint64_t next_key(uint64_t key) {
    return seep_hash64(key + 1);
}

bool seep_texts_find(const struct seep_texts *names, const char *text, uint32_t *ret_id) {
    for (uint64_t key = seep_hash_bytes(text, strlen(text));; key = next_key(key)) {
        const uint64_t *slot = seep_map_find(&names->ids, key);
        if (!slot)
            return false;
        if (strcmp(names->texts[*slot], text) == 0) {
            *ret_id = (uint32_t)*slot;
            return true;
        }
    }
}

struct seep_error *seep_texts_add(struct seep_texts *names, const char *text, uint32_t *ret_id) {
    for (uint64_t key = seep_hash_bytes(text, strlen(text));; key = next_key(key)) {
        bool is_new;
        uint64_t *slot = seep_map_at(&names->ids, key, &is_new);
        if (!slot)
            return seep_error_no_memory();
        if (is_new) {
            // Out of memory leaves a slot that names no text; the caller gives up, so it is not looked at.
            *slot = names->nr;
            if (names->nr >= UINT32_MAX ||
                !seep_grow(&names->texts, &names->capacity, names->nr + 1, sizeof(*names->texts)))
                return seep_error_no_memory();
            names->texts[names->nr] = text;
            *ret_id = (uint32_t)names->nr++;
            return NULL;
        }
        if (strcmp(names->texts[*slot], text) == 0) {
            *ret_id = (uint32_t)*slot;
            return NULL;
        }
    }
}

// One path component more to the left; `at` itself when there is no more.
static const char *extend(const char *text, const char *at) {
    if (at > text)
        at--; // the slash
    while (at > text && at[-1] != '/')
        at--;
    return at;
}

// Lengthens all texts that look the same as another one. *ret_changed: there were such.
static struct seep_error *extend_equal(const struct seep_texts *names, const char **shown,
                                       bool *ret_changed) {
    struct seep_texts seen = {0};
    struct seep_error *error = NULL;
    bool *twice = calloc(names->nr, sizeof(*twice));
    uint32_t *look = calloc(names->nr, sizeof(*look));
    if (!twice || !look)
        error = seep_error_no_memory();
    for (size_t i = 0; !error && i < names->nr; i++) {
        size_t nr = seen.nr;
        error = seep_texts_add(&seen, shown[i], &look[i]);
        if (!error && seen.nr == nr)
            twice[look[i]] = true;
    }
    bool changed = false;
    for (size_t i = 0; !error && i < names->nr; i++) {
        if (!twice[look[i]])
            continue;
        const char *longer = extend(names->texts[i], shown[i]);
        changed |= longer != shown[i];
        shown[i] = longer;
    }
    free(twice);
    free(look);
    seep_texts_deinit(&seen);
    if (!error)
        *ret_changed = changed;
    return error;
}

struct seep_error *seep_texts_shorten(const struct seep_texts *names, bool full, const char ***ret_shown) {
    const char **shown = calloc(SEEP_MAX(names->nr, (size_t)1), sizeof(*shown));
    if (!shown)
        return seep_error_no_memory();
    for (size_t i = 0; i < names->nr; i++)
        shown[i] = full ? names->texts[i] : seep_file_name(names->texts[i]);
    // Distinct texts differ at the latest when they are whole; 64 rounds are more than any real path
    // has components, and a hostile one is then shown in a shorter form.
    bool changed = !full && names->nr > 1;
    for (int round = 0; changed && round < 64; round++) {
        struct seep_error *error = extend_equal(names, shown, &changed);
        if (error) {
            free(shown);
            return error;
        }
    }
    *ret_shown = shown;
    return NULL;
}
