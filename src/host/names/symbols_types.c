// SPDX-License-Identifier: BSD-2-Clause
// Types of variables, their members, and what they point to. See symbols.h.
#include <inttypes.h>
#include <stdio.h>

#include "names/debug_types.h"
#include "names/symbols_parts.h"

struct seep_error *seep_symbols_keep_far_type(struct seep_symbols *symbols,
                                              const struct seep_untrusted_type *far,
                                              const struct seep_type **ret_type) {
    *ret_type = NULL;
    if (!far->number)
        return NULL;
    struct seep_type *type = seep_arena_alloc(&symbols->names.arena, 1, sizeof(*type));
    if (!type)
        return seep_error_no_memory();
    *type = (struct seep_type){.far = *far};
    *ret_type = type;
    return NULL;
}

struct seep_error *seep_symbols_keep_type(struct seep_symbols *symbols, struct seep_debug_info *info,
                                          Dwarf_Die *entry, const struct seep_type **ret_type) {
    struct seep_type *type = seep_arena_alloc(&symbols->names.arena, 1, sizeof(*type));
    if (!type)
        return seep_error_no_memory();
    *type = (struct seep_type){.info = info, .generation = seep_debug_info_generation(info), .entry = *entry};
    *ret_type = type;
    return NULL;
}

static bool is_usable(const struct seep_type *type) {
    return type && type->info && type->generation == seep_debug_info_generation(type->info);
}

static bool is_far(const struct seep_type *type) {
    return type && !type->info;
}

static struct seep_error *find_layouts(struct seep_symbols_module *module,
                                       struct seep_debug_layouts **ret_layouts) {
    struct seep_error *error = NULL;
    if (module->debug_info && !module->debug_layouts)
        error = seep_debug_layouts_create(module->debug_info, &module->debug_layouts);
    *ret_layouts = module->debug_layouts;
    return error;
}

struct seep_error *seep_symbols_declare(struct seep_symbols *symbols, const struct seep_type *type,
                                        const char *name, const char **ret_text) {
    *ret_text = NULL;
    if (is_far(type))
        return seep_untrusted_declare(symbols->far, &type->far, name, ret_text);
    if (!is_usable(type))
        return NULL;
    struct seep_type_text text = {.used = 0};
    Dwarf_Die entry = type->entry;
    seep_type_declare(&entry, name, &text);
    return seep_names_keep(&symbols->names, text.bytes, ret_text);
}

struct seep_error *seep_symbols_pointee(struct seep_symbols *symbols, const struct seep_type *type,
                                        const struct seep_type **ret_type) {
    Dwarf_Die entry, to;
    *ret_type = NULL;
    if (is_far(type)) {
        struct seep_untrusted_type far_to;
        struct seep_error *error = seep_untrusted_pointee(symbols->far, &type->far, &far_to);
        return error ? error : seep_symbols_keep_far_type(symbols, &far_to, ret_type);
    }
    if (!is_usable(type))
        return NULL;
    entry = type->entry;
    return seep_type_pointee(&entry, &to) ? seep_symbols_keep_type(symbols, type->info, &to, ret_type) : NULL;
}

bool seep_symbols_types_are_same(const struct seep_type *a, const struct seep_type *b) {
    if (a == b || !a || !b || a->info != b->info)
        return a == b;
    if (is_far(a))
        return a->far.generation == b->far.generation && a->far.number == b->far.number;
    return a->generation == b->generation && a->entry.addr == b->entry.addr;
}

struct seep_error *seep_symbols_class(struct seep_symbols *symbols, unsigned module_id, const char *name,
                                      const struct seep_type **ret_type) {
    struct seep_symbols_module *module = NULL;
    struct seep_debug_layouts *layouts = NULL;
    *ret_type = NULL;
    struct seep_error *error = seep_symbols_find_module(symbols, module_id, &module);
    if (!error && module->is_far) {
        struct seep_untrusted_type type;
        error = seep_untrusted_class(symbols->far, &module->far, name, &type);
        return error ? error : seep_symbols_keep_far_type(symbols, &type, ret_type);
    }
    if (!error)
        error = find_layouts(module, &layouts);
    if (error || !layouts)
        return error;
    bool found;
    Dwarf_Die entry;
    error = seep_debug_layouts_class(layouts, name, &found, &entry);
    return error || !found ? error : seep_symbols_keep_type(symbols, module->debug_info, &entry, ret_type);
}

// Whether a type that is known has a `type` there. Of one module's type another one may make a larger one.
static struct seep_error *is_embedded(struct seep_symbols *symbols, Dwarf_Die *type, uint64_t off,
                                      bool *ret_may) {
    struct seep_error *error = NULL;
    *ret_may = false;
    for (size_t i = 0; !error && !*ret_may && i < symbols->nr_modules; i++) {
        struct seep_debug_layouts *layouts = NULL;
        error = find_layouts(symbols->modules[i], &layouts);
        if (!error && layouts)
            error = seep_debug_layouts_embed(layouts, type, off, ret_may);
    }
    return error;
}

// Whether elements follow the one that the pointer leads to, as far as can be known: the rest of the block is
// made of whole ones, and it is not the beginning of something larger. In C++ new[] may have put their number
// before them.
static struct seep_error *is_array(struct seep_symbols *symbols, const struct seep_pointed *pointed,
                                   bool *ret_is) {
    Dwarf_Die entry = pointed->type->entry, plain;
    uint64_t bytes = seep_type_bytes(&entry), number_bytes = sizeof(uint64_t);
    *ret_is = false;
    if (pointed->is_object || !bytes || pointed->at >= pointed->bytes ||
        (pointed->bytes - pointed->at) % bytes || !seep_type_plain(&entry, &plain))
        return NULL;
    if (!seep_type_is_aggregate(dwarf_tag(&plain))) {
        *ret_is = pointed->at == 0;
        return NULL;
    }
    if (pointed->at && (pointed->at != number_bytes || seep_type_is_of_c(&plain)))
        return NULL;
    bool may = true;
    struct seep_error *error = is_embedded(symbols, &plain, pointed->at, &may);
    *ret_is = !may;
    return error;
}

struct seep_error *seep_symbols_member(struct seep_symbols *symbols, const struct seep_pointed *pointed,
                                       uint64_t off, struct seep_variable *ret_member) {
    *ret_member = (struct seep_variable){NULL};
    if (is_far(pointed->type)) {
        struct seep_untrusted_type type = {NULL};
        struct seep_error *failed =
            seep_untrusted_member(symbols->far, &pointed->type->far, pointed, off, ret_member, &type);
        return failed ? failed : seep_symbols_keep_far_type(symbols, &type, &ret_member->type);
    }
    if (!is_usable(pointed->type) || off < pointed->at)
        return NULL;
    struct seep_type_text text = {.used = 0};
    Dwarf_Die entry = pointed->type->entry, found;
    uint64_t bytes = seep_type_bytes(&entry), from = off - pointed->at, left;
    struct seep_error *error = NULL;
    bool is_known = bytes && seep_type_member(&entry, from, &text, &found, &left);
    if (bytes && from >= bytes && !is_known) {
        char index[32];
        snprintf(index, sizeof(index), "[%" PRIu64 "]", from / bytes);
        text = (struct seep_type_text){.used = 0};
        seep_type_text_put(&text, index);
        is_known = seep_type_member(&entry, from % bytes, &text, &found, &left);
        if (is_known)
            error = is_array(symbols, pointed, &is_known);
    }
    if (error || !is_known)
        return error;
    ret_member->off = left;
    error = seep_names_keep(&symbols->names, text.bytes, &ret_member->name);
    return error ? error : seep_symbols_keep_type(symbols, pointed->type->info, &found, &ret_member->type);
}
