// SPDX-License-Identifier: BSD-2-Clause
//
// Small helpers to build JSON with jansson. All take what they are given, and carry "out of memory"
// along as NULL, so that it is checked once, at the end. For the .c files of this room.
#ifndef SEEP_OUTPUT_JSON_BUILD_H
#define SEEP_OUTPUT_JSON_BUILD_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/json_text.h"

// A number; jansson has none above INT64_MAX. NULL: out of memory.
static inline json_t *integer(uint64_t value) {
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

// Valid UTF-8 of any text; NULL gives null.
static inline json_t *string(const char *text) {
    if (!text)
        return json_null();
    json_t *whole = json_string(text);
    if (whole)
        return whole;
    char *fixed = malloc(strlen(text) * 3 + 1); // a byte becomes at most the three of U+FFFD
    if (!fixed)
        return NULL;
    size_t nr = 0;
    while (*text) {
        uint32_t code;
        unsigned length = seep_utf8_next(text, &code);
        if (length) {
            memcpy(fixed + nr, text, length);
            nr += length;
        } else {
            memcpy(fixed + nr, "\xef\xbf\xbd", 3);
            nr += 3;
        }
        text += SEEP_MAX(length, 1u);
    }
    json_t *result = json_stringn(fixed, nr);
    free(fixed);
    return result;
}

// json_object_set_new, but remembers failures in *object: NULL from then on.
static inline void set(json_t **object, const char *key, json_t *value) {
    if (!*object) {
        json_decref(value);
    } else if (!value || json_object_set_new(*object, key, value) != 0) {
        json_decref(*object);
        *object = NULL;
    }
}

// Appends to *array and takes `value`. Without memory for either, *array is freed and becomes NULL, which it
// stays.
static inline void append(json_t **array, json_t *value) {
    if (!*array) {
        json_decref(value);
    } else if (!value || json_array_append_new(*array, value) != 0) {
        json_decref(*array);
        *array = NULL;
    }
}

// The text of `root`, which it takes; NULL: out of memory.
static inline char *text_of_json(json_t *root, size_t flags) {
    char *text = root ? seep_json_harmless(json_dumps(root, flags)) : NULL;
    json_decref(root);
    return text;
}

// Writes and takes `root`, for people to read too.
static inline struct seep_error *put_document(FILE *out, json_t *root) {
    char *text = text_of_json(root, JSON_INDENT(1));
    if (!text)
        return seep_error_no_memory();
    fprintf(out, "%s\n", text);
    free(text);
    return NULL;
}

#endif
