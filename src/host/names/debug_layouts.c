// SPDX-License-Identifier: BSD-2-Clause
// Classes by name, and types that begin others, see debug_layouts.h.
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/map.h"
#include "names/debug_layouts.h"
#include "names/debug_types.h"

#define DEPTH_MAX   64u
#define LEADING_MAX 8u                   // types within types at one place
#define ENTRIES_MAX ((uint64_t)16 << 20) // looked at in a module
#define FAR_MOST    8u                   // where an embedded type is of interest: behind the count of new[]

struct seep_debug_layouts {
    struct seep_debug_info *info;
    unsigned generation;
    bool is_read;
    uint64_t budget;
    struct seep_map by_name; // hash of the name with its scopes to index in classes, + 1
    Dwarf_Die *classes;
    size_t nr_classes;
    size_t capacity;
    struct seep_map embedded; // hash of type and offset
};

struct seep_error *seep_debug_layouts_create(struct seep_debug_info *info,
                                             struct seep_debug_layouts **ret_layouts) {
    struct seep_debug_layouts *layouts = calloc(1, sizeof(*layouts));
    if (!layouts)
        return seep_error_no_memory();
    layouts->info = info;
    *ret_layouts = layouts;
    return NULL;
}

void seep_debug_layouts_destroy(struct seep_debug_layouts *layouts) {
    if (!layouts)
        return;
    seep_map_deinit(&layouts->by_name);
    seep_map_deinit(&layouts->embedded);
    free(layouts->classes);
    free(layouts);
}

// ---- types that begin others ----

// Of one type in all units: by its name, or where it is declared.
static uint64_t key_of(Dwarf_Die *type, uint64_t off) {
    const char *name = dwarf_diename(type);
    int line = 0;
    if (!name && dwarf_decl_line(type, &line) != 0)
        line = 0;
    uint64_t hash = name ? seep_hash_bytes(name, strlen(name)) : seep_hash64((uint64_t)line);
    return seep_hash64(hash ^ seep_hash64(seep_type_bytes(type) << 4 | off));
}

// The structure that is meant behind typedefs and arrays; false: it is none.
static bool aggregate_of(Dwarf_Die *type, Dwarf_Die *ret_type) {
    Dwarf_Die at = *type;
    for (unsigned depth = 0; depth < DEPTH_MAX && seep_type_plain(&at, ret_type); depth++) {
        if (dwarf_tag(ret_type) != DW_TAG_array_type)
            return seep_type_is_aggregate(dwarf_tag(ret_type));
        if (!seep_type_of(ret_type, &at))
            return false;
    }
    return false;
}

// What `type`, which lies at `off`, has at its own beginning, and what that has.
static bool add_leading(struct seep_debug_layouts *layouts, Dwarf_Die *type, uint64_t off, unsigned depth) {
    Dwarf_Die child, inner;
    int got = depth < LEADING_MAX ? dwarf_child(type, &child) : 1;
    for (; got == 0 && layouts->budget; got = dwarf_siblingof(&child, &child)) {
        layouts->budget--;
        uint64_t at;
        if (!seep_type_member_place(&child, &at, &inner) || at > FAR_MOST - off ||
            !aggregate_of(&inner, &inner))
            continue;
        if (!seep_map_at(&layouts->embedded, key_of(&inner, off + at), NULL) ||
            !add_leading(layouts, &inner, off + at, depth + 1))
            return false;
    }
    return true;
}

// ---- all types ----

// Compilers and the demangler do not write the arguments of a template alike: "Box<long unsigned int>" is
// "Box<unsigned long>", "Box<char *>" is "Box<char*>". Words are taken for themselves, those of integers in
// one order, and spaces not at all.
enum { WORD_UNSIGNED, WORD_SHORT, WORD_LONG, WORD_SIGNED, WORD_INT, WORD_NR };
static const char *const integer_words[WORD_NR] = {"unsigned", "short", "long", "signed", "int"};

static size_t word_bytes(const char *at, const char *end) {
    size_t nr = 0;
    while (at + nr < end && (isalnum((unsigned char)at[nr]) || at[nr] == '_'))
        nr++;
    return nr;
}

static int integer_word(const char *word, size_t nr_bytes) {
    int i = 0;
    while (i < WORD_NR &&
           (strlen(integer_words[i]) != nr_bytes || memcmp(integer_words[i], word, nr_bytes) != 0))
        i++;
    return i;
}

static uint64_t with_integer(uint64_t hash, unsigned counts[WORD_NR]) {
    bool only_int = true;
    for (int i = 0; i <= WORD_LONG; i++) {
        for (; counts[i]; counts[i]--, only_int = false)
            hash = seep_hash64(hash ^ (uint64_t)i);
    }
    if (counts[WORD_INT] + counts[WORD_SIGNED] && only_int)
        hash = seep_hash64(hash ^ WORD_INT);
    counts[WORD_INT] = counts[WORD_SIGNED] = 0;
    return hash;
}

static uint64_t within(uint64_t scope, const char *name, size_t nr_bytes) {
    uint64_t hash = seep_hash64(scope + 1);
    unsigned counts[WORD_NR] = {0};
    for (const char *end = name + nr_bytes; name < end;) {
        size_t length = word_bytes(name, end);
        int word = integer_word(name, length);
        if (length && word < WORD_NR) {
            counts[word]++;
        } else if (*name != ' ') {
            hash = with_integer(hash, counts);
            hash = seep_hash64(hash ^ seep_hash_bytes(name, SEEP_MAX(length, (size_t)1)));
        }
        name += SEEP_MAX(length, (size_t)1);
    }
    return with_integer(hash, counts);
}

static bool add_class(struct seep_debug_layouts *layouts, Dwarf_Die *type, uint64_t hash) {
    uint64_t *known = seep_map_at(&layouts->by_name, hash, NULL);
    if (!known ||
        !seep_grow(&layouts->classes, &layouts->capacity, layouts->nr_classes + 1, sizeof(*layouts->classes)))
        return false;
    if (*known)
        return true;
    layouts->classes[layouts->nr_classes++] = *type;
    *known = layouts->nr_classes;
    return true;
}

// `is_named`: everything around `parent` has a name. false: out of memory.
static bool add_below(struct seep_debug_layouts *layouts, Dwarf_Die *parent, uint64_t scope, bool is_named,
                      unsigned depth) {
    Dwarf_Die child;
    int got = depth < DEPTH_MAX ? dwarf_child(parent, &child) : 1;
    for (; got == 0 && layouts->budget; got = dwarf_siblingof(&child, &child)) {
        layouts->budget--;
        int tag = dwarf_tag(&child);
        enum seep_debug_scope kind = seep_debug_scope(tag);
        if (kind == SEEP_DEBUG_SCOPE_NONE || tag == DW_TAG_enumeration_type || dwarf_haschildren(&child) <= 0)
            continue;
        const char *name = kind == SEEP_DEBUG_SCOPE_CODE ? NULL : dwarf_diename(&child);
        uint64_t hash = name ? within(scope, name, strlen(name)) : scope;
        bool is_type = seep_type_is_aggregate(tag);
        bool is_defined = is_type && !dwarf_hasattr(&child, DW_AT_declaration);
        if (is_defined && name && is_named && !add_class(layouts, &child, hash))
            return false;
        if (is_defined && !add_leading(layouts, &child, 0, 0))
            return false;
        if (!add_below(layouts, &child, hash, is_named && name, depth + 1))
            return false;
    }
    return true;
}

static void forget(struct seep_debug_layouts *layouts) {
    seep_map_deinit(&layouts->by_name);
    seep_map_deinit(&layouts->embedded);
    layouts->by_name = layouts->embedded = (struct seep_map)SEEP_MAP_INIT;
    layouts->nr_classes = 0;
    layouts->budget = ENTRIES_MAX;
    layouts->is_read = false;
}

static struct seep_error *read_all(struct seep_debug_layouts *layouts) {
    unsigned now = seep_debug_info_generation(layouts->info);
    if (layouts->is_read && layouts->generation == now)
        return NULL;
    forget(layouts);
    layouts->generation = now;
    Dwarf_Die unit;
    uint64_t budget;
    for (size_t i = 0; seep_debug_info_unit(layouts->info, i, &unit, &budget) && layouts->budget; i++)
        if (unit.addr && !add_below(layouts, &unit, 0, true, 0))
            return seep_error_no_memory();
    layouts->is_read = true;
    return NULL;
}

// The end of the first part of a name: "app" of "app::Cache<int, std::less<int> >".
static const char *part_end(const char *name) {
    unsigned depth = 0;
    for (; *name; name++) {
        if (strchr("<({[", *name))
            depth++;
        else if (strchr(">)}]", *name) && depth)
            depth--;
        else if (!depth && name[0] == ':' && name[1] == ':')
            break;
    }
    return name;
}

struct seep_error *seep_debug_layouts_class(struct seep_debug_layouts *layouts, const char *name,
                                            bool *ret_found, Dwarf_Die *ret_type) {
    uint64_t hash = 0;
    *ret_found = false;
    struct seep_error *error = read_all(layouts);
    if (error)
        return error;
    for (const char *end; *name; name = *end ? end + 2 : end) {
        end = part_end(name);
        hash = within(hash, name, (size_t)(end - name));
    }
    const uint64_t *known = seep_map_find(&layouts->by_name, hash);
    *ret_found = known && *known;
    if (*ret_found)
        *ret_type = layouts->classes[*known - 1];
    return NULL;
}

struct seep_error *seep_debug_layouts_embed(struct seep_debug_layouts *layouts, Dwarf_Die *type, uint64_t off,
                                            bool *ret_may) {
    Dwarf_Die plain;
    struct seep_error *error = read_all(layouts);
    if (error)
        return error;
    *ret_may = off > FAR_MOST || !layouts->budget || !aggregate_of(type, &plain) ||
               seep_debug_info_has_other_types(layouts->info) ||
               seep_map_find(&layouts->embedded, key_of(&plain, off));
    return NULL;
}
