// SPDX-License-Identifier: BSD-2-Clause
// Function and file names, see names.h.
#include <string.h>

#include "names/demangle.h"
#include "names/names.h"

#define TEXT_BYTES 16384u

void seep_names_deinit(struct seep_names *names) {
    seep_map_deinit(&names->texts);
    seep_arena_deinit(&names->arena);
}

static struct seep_error *keep(struct seep_names *names, const char *text, size_t length,
                               const char **ret_text) {
    for (uint64_t key = seep_hash_bytes(text, length);; key++) {
        uint64_t *value = seep_map_at(&names->texts, key, NULL);
        if (!value)
            return seep_error_no_memory();
        const char *known = (const char *)(uintptr_t)*value;
        if (!known) {
            known = seep_arena_strndup(&names->arena, text, length);
            if (!known)
                return seep_error_no_memory();
            *value = (uintptr_t)known;
        } else if (strncmp(known, text, length) || known[length]) {
            continue;
        }
        *ret_text = known;
        return NULL;
    }
}

struct seep_error *seep_names_keep(struct seep_names *names, const char *text, const char **ret_text) {
    return keep(names, text, strnlen(text, TEXT_BYTES), ret_text);
}

struct seep_error *seep_names_keep_part(struct seep_names *names, const char *text, size_t nr_bytes,
                                        const char **ret_text) {
    return keep(names, text, strnlen(text, SEEP_MIN(nr_bytes, (size_t)TEXT_BYTES)), ret_text);
}

struct seep_error *seep_names_function(struct seep_names *names, const char *mangled, const char *plain,
                                       const char **ret_text) {
    const char *text = plain ? plain : mangled;
    if (!text) {
        *ret_text = NULL;
        return NULL;
    }
    if (names->no_demangle && mangled)
        text = mangled;
    char readable[SEEP_DEMANGLED_BYTES];
    if (!names->no_demangle && mangled && seep_is_mangled(mangled)) {
        // A version would make the name one that is not mangled.
        char bare[TEXT_BYTES];
        size_t length = strcspn(mangled, "@");
        if (length < sizeof(bare)) {
            memcpy(bare, mangled, length);
            bare[length] = '\0';
            if (seep_demangle(bare, readable))
                return seep_names_keep(names, readable, ret_text);
        }
    }
    size_t length = strnlen(text, TEXT_BYTES);
    const char *version = text == mangled ? memchr(text, '@', length) : NULL;
    if (version && version > text)
        length = (size_t)(version - text);
    return keep(names, text, length, ret_text);
}

struct seep_error *seep_names_linkage(struct seep_names *names, const char *mangled, const char **ret_text) {
    *ret_text = NULL;
    if (!mangled || !seep_is_mangled(mangled))
        return NULL;
    return keep(names, mangled, SEEP_MIN(strcspn(mangled, "@"), (size_t)TEXT_BYTES), ret_text);
}

static bool ends_in_parent(const char *start, const char *end) {
    return end - start >= 2 && end[-1] == '.' && end[-2] == '.' && (end - start == 2 || end[-3] == '/');
}

// The result is never longer than what was read so far.
size_t seep_names_normalise(char *path) {
    char *start = path + (path[0] == '/');
    char *out = start;
    const char *at = start;
    while (*at) {
        size_t length = strcspn(at, "/");
        const char *part = at;
        at += length + (at[length] == '/');
        if (!length || (length == 1 && part[0] == '.'))
            continue;
        if (length == 2 && part[0] == '.' && part[1] == '.') {
            if (out > start && !ends_in_parent(start, out)) {
                while (out > start && out[-1] != '/')
                    out--;
                out -= out > start;
                continue;
            }
            if (start > path)
                continue; // above the root is the root
        }
        if (out > start)
            *out++ = '/';
        memmove(out, part, length);
        out += length;
    }
    *out = '\0';
    return (size_t)(out - path);
}

struct seep_error *seep_names_file(struct seep_names *names, const char *directory, const char *file,
                                   const char **ret_text) {
    char path[TEXT_BYTES];
    bool joined = directory && directory[0] && file[0] != '/';
    size_t head = joined ? strnlen(directory, sizeof(path)) : 0;
    size_t tail = strnlen(file, sizeof(path));
    if (!tail || head + tail + 2 > sizeof(path))
        return seep_names_keep(names, file, ret_text);
    if (joined) {
        memcpy(path, directory, head);
        path[head++] = '/';
    }
    memcpy(path + head, file, tail);
    path[head + tail] = '\0';
    return keep(names, path, seep_names_normalise(path), ret_text);
}
