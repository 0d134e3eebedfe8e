// SPDX-License-Identifier: BSD-2-Clause
// What mtrace() of glibc writes: "@ prog:(main+0x14)[0x401150] + 0x1234 0x64", see import_format.h.
#include <string.h>

#include "file/import_format.h"

static struct seep_error *read_place(struct seep_import_reading *reading, char **at, uint32_t *ret_node) {
    *ret_node = 0;
    if (strncmp(*at, "@ ", 2) != 0)
        return NULL;
    char *where = *at + 2;
    char *end = strchr(where, ' ');
    char *colon = NULL; // the last one before the place in it
    for (char *c = where; end && c < end; c++)
        if (*c == ':')
            colon = c;
    if (!end)
        return NULL;
    *at = end + 1;
    if (!colon)
        return NULL;
    uint64_t offset = 0;
    char *plus = strstr(colon, "(+"), *bracket = strchr(colon, '[');
    char *number = plus && plus < end ? plus + 2 : bracket && bracket < end ? bracket + 1 : NULL;
    uint32_t module;
    if (!number || !seep_import_take_hex(&number, &offset))
        return NULL;
    if (!seep_import_module(&reading->importing, where, (size_t)(colon - where), &module) ||
        !seep_import_node(&reading->importing, 0, module, offset, NULL, ret_node))
        return seep_error_no_memory();
    return NULL;
}

static struct seep_error *read_line(struct seep_import_reading *reading, char *at, uint64_t line) {
    struct seep_importing *importing = &reading->importing;
    uint32_t node;
    seep_import_pass_time(reading, line);
    if (*at == '=' || !*at) { // "= Start"
        importing->counts.nr_skipped++;
        return NULL;
    }
    struct seep_error *error = read_place(reading, &at, &node);
    char what = *at;
    uint64_t address = 0, size = 0;
    if (error)
        return error;
    at += what != 0;
    if (!what || !strchr("+-<>!", what) || !seep_import_take_hex(&at, &address) ||
        (strchr("+>!", what) && !seep_import_take_hex(&at, &size)))
        return seep_import_damaged(reading, line);
    switch (what) {
    case '+':
        return seep_import_allocation(importing, address, size, node, SEEP_VIA_MALLOC);
    case '-':
        return seep_import_free(importing, address, SEEP_RELEASE_FREE);
    case '<':
        return seep_import_free(importing, address, SEEP_RELEASE_REALLOC);
    case '>':
        return seep_import_allocation(importing, address, size, node, SEEP_VIA_REALLOC);
    default: // a realloc that failed
        importing->profile->totals.failed++;
        return NULL;
    }
}

const struct seep_import_format seep_import_mtrace = {.name = "mtrace", .line = read_line};
