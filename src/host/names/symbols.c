// SPDX-License-Identifier: BSD-2-Clause
//
// The table of modules and the results that are kept, see symbols.h. A module's files are opened at
// its first frame.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dwarf.h>

#include "base/map.h"
#include "names/constant_text.h"
#include "names/debug_info.h"
#include "names/debug_layouts.h"
#include "names/debug_types.h"
#include "names/debug_variables.h"
#include "names/demangle.h"
#include "names/foreign_symbols.h"
#include "names/library_code.h"
#include "names/module_file.h"
#include "names/names.h"
#include "names/symbol_table.h"
#include "names/symbols.h"

struct module {
    const char *path;
    struct seep_build_id id;
    bool found;  // its files were looked for
    bool closed; // and closed: only its variables are left
    bool opened; // functions and lines were read
    bool named;  // its functions were given, no file is asked
    bool is_far; // a file of it is another user's: see foreign_symbols.h
    struct seep_foreign_module far;
    enum seep_symbols_quality quality;
    const char *trouble; // static text
    struct seep_module_files files;
    struct seep_debug_info *debug_info;
    struct seep_symbol_table table;
    bool has_variables; // they have been read
    struct seep_ranges variables;
    struct seep_debug_variables *debug_variables; // made when they are first asked for
    struct seep_debug_layouts *debug_layouts;     // the same
    struct seep_call_frames *frames;              // the same
    bool has_frames;
    struct seep_map results[2]; // by `exact`: offset to const struct seep_symbol *
};

struct seep_symbols {
    struct seep_names names; // its arena also has the modules and the results
    struct seep_file_search search;
    struct seep_map ids; // kept text of path and build-id, as an address, to index in modules
    struct module **modules;
    size_t nr_modules;
    size_t modules_capacity;
    struct seep_place place; // of the frame being looked up: too large for the stack
    struct seep_foreign_symbols *far;
    bool met_foreign; // from then on the reader of foreign files reads all that it may
};

struct seep_error *seep_symbols_create(const struct seep_symbols_options *options,
                                       struct seep_symbols **ret_symbols) {
    struct seep_symbols *symbols = calloc(1, sizeof(*symbols));
    if (!symbols)
        return seep_error_no_memory();
    const struct seep_symbols_options defaults = {NULL};
    if (!options)
        options = &defaults;
    const char *debug_dir = options->debug_dir;
    if (!debug_dir && !options->sysroot && !options->giver)
        debug_dir = seep_debug_dir_of_user();
    struct seep_error *error =
        seep_file_search_init(&symbols->search, options->sysroot, debug_dir, options->giver);
    if (!error && !options->giver)
        error = seep_foreign_symbols_create(&symbols->search, &symbols->names, &symbols->far);
    if (error) {
        seep_symbols_destroy(symbols);
        return error;
    }
    symbols->search.hasty = options->hasty;
    symbols->search.copied_bytes = options->hasty ? UINT64_MAX / 2 : 0;
    symbols->names.no_demangle = options->no_demangle;
    symbols->search.plain_runtime = options->plain_runtime;
    seep_debug_server_init(&symbols->search.server, options->no_debuginfod, options->debuginfod_timeout_s);
    *ret_symbols = symbols;
    return NULL;
}

void seep_symbols_destroy(struct seep_symbols *symbols) {
    if (!symbols)
        return;
    for (size_t i = 0; i < symbols->nr_modules; i++) {
        struct module *module = symbols->modules[i];
        seep_call_frames_destroy(module->frames);
        seep_debug_variables_destroy(module->debug_variables);
        seep_debug_layouts_destroy(module->debug_layouts);
        seep_debug_info_destroy(module->debug_info);
        seep_symbol_table_deinit(&module->table);
        seep_ranges_deinit(&module->variables);
        seep_module_files_close(&module->files);
        seep_map_deinit(&module->results[0]);
        seep_map_deinit(&module->results[1]);
    }
    free(symbols->modules);
    seep_foreign_symbols_destroy(symbols->far);
    seep_map_deinit(&symbols->ids);
    seep_file_search_deinit(&symbols->search);
    seep_names_deinit(&symbols->names);
    free(symbols);
}

// One text for each pair of path and build-id, at one address for equal pairs.
static struct seep_error *key_of(struct seep_symbols *symbols, const char *path, struct seep_build_id id,
                                 const char **ret_key) {
    size_t path_bytes = strlen(path);
    char *text = malloc(2 * id.nr_bytes + path_bytes + 2);
    if (!text)
        return seep_error_no_memory();
    for (size_t i = 0; i < id.nr_bytes; i++) {
        text[2 * i] = "0123456789abcdef"[id.bytes[i] >> 4];
        text[2 * i + 1] = "0123456789abcdef"[id.bytes[i] & 15];
    }
    text[2 * id.nr_bytes] = ' ';
    memcpy(text + 2 * id.nr_bytes + 1, path, path_bytes + 1);
    struct seep_error *error = seep_names_keep(&symbols->names, text, ret_key);
    free(text);
    return error;
}

struct seep_error *seep_symbols_module(struct seep_symbols *symbols, const char *path,
                                       const uint8_t *build_id, size_t build_id_bytes, unsigned *ret_module) {
    struct seep_build_id id = {build_id, build_id ? build_id_bytes : 0};
    if (id.nr_bytes > 256)
        return seep_error_create(SEEP_E_FORMAT, "%s: a build-id of %zu bytes", path, id.nr_bytes);
    const char *key;
    struct seep_error *error = key_of(symbols, path, id, &key);
    if (error)
        return error;
    const uint64_t *known = seep_map_find(&symbols->ids, (uintptr_t)key);
    if (known) {
        *ret_module = (unsigned)*known;
        return NULL;
    }
    struct module *module = seep_arena_alloc(&symbols->names.arena, 1, sizeof(*module));
    uint8_t *id_copy = seep_arena_alloc(&symbols->names.arena, 1, id.nr_bytes + 1);
    if (!module || !id_copy ||
        !seep_grow(&symbols->modules, &symbols->modules_capacity, symbols->nr_modules + 1, sizeof(module)))
        return seep_error_no_memory();
    if (id.nr_bytes)
        memcpy(id_copy, id.bytes, id.nr_bytes);
    *module = (struct module){.path = strchr(key, ' ') + 1, .id = {id_copy, id.nr_bytes}};
    module->far = (struct seep_foreign_module){.path = module->path, .id = module->id};
    uint64_t *slot = seep_map_at(&symbols->ids, (uintptr_t)key, NULL);
    if (!slot)
        return seep_error_no_memory();
    *slot = symbols->nr_modules;
    *ret_module = (unsigned)symbols->nr_modules;
    symbols->modules[symbols->nr_modules++] = module;
    return NULL;
}

// All the tables that add something: the full one, else what is exported and what .gnu_debugdata has.
static struct seep_error *load_table(struct module *module) {
    const struct seep_module_files *files = &module->files;
    struct seep_symbol_table *table = &module->table;
    struct seep_error *error = NULL;
    if (files->debug)
        error = seep_symbol_table_add(table, files->debug, SHT_SYMTAB);
    bool full = table->sized.nr > 0;
    if (!error && !full && files->main)
        error = seep_symbol_table_add(table, files->main, SHT_SYMTAB);
    full = table->sized.nr > 0;
    if (!error && !full && files->mini)
        error = seep_symbol_table_add(table, files->mini, SHT_SYMTAB);
    bool whole = full || table->sized.nr > 0;
    if (!error && !full && files->main)
        error = seep_symbol_table_add(table, files->main, SHT_DYNSYM);
    seep_symbol_table_seal(table);
    if (whole)
        module->quality = SEEP_SYMBOLS_TABLE;
    else if (table->sized.nr || table->unsized.nr)
        module->quality = SEEP_SYMBOLS_DYNAMIC;
    return error;
}

static struct seep_error *open_debug_info(struct seep_symbols *symbols, struct module *module) {
    struct seep_symbol_file *file = module->files.debug;
    if (symbols->search.plain_runtime && module->quality == SEEP_SYMBOLS_TABLE &&
        seep_module_is_runtime(module->path))
        return NULL;
    if (!file || !seep_symbol_file_has_debug_info(file))
        file = module->files.main;
    if (!file || !seep_symbol_file_has_debug_info(file))
        return NULL;
    struct seep_error *error =
        seep_debug_info_create(file, &symbols->search, &symbols->names, &module->debug_info);
    if (!error && module->debug_info)
        module->quality = SEEP_SYMBOLS_DEBUG;
    return error;
}

static struct seep_error *find_files(struct seep_symbols *symbols, struct module *module) {
    if (module->found || module->is_far)
        return NULL;
    module->found = true;
    symbols->search.met_foreign = false;
    module->is_far = symbols->met_foreign && seep_module_file_is_public(&symbols->search, module->path);
    if (module->is_far)
        return NULL;
    struct seep_error *error =
        seep_module_files_find(&symbols->search, module->path, module->id, &module->files);
    if (error || !symbols->search.met_foreign)
        return error;
    symbols->met_foreign = module->is_far = true;
    seep_module_files_close(&module->files);
    return NULL;
}

struct seep_error *seep_symbols_add_names(struct seep_symbols *symbols, unsigned module_id,
                                          const struct seep_symbol_name *names, size_t nr) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to name functions of", module_id);
    struct module *module = symbols->modules[module_id];
    module->named = true;
    for (size_t i = 0; i < nr; i++) {
        const char *name;
        uint64_t end;
        if (__builtin_add_overflow(names[i].offset, names[i].bytes, &end))
            continue;
        struct seep_error *error = seep_names_keep(&symbols->names, names[i].name, &name);
        if (error)
            return error;
        if (!seep_ranges_add(&module->table.sized, names[i].offset, end, (uintptr_t)name, 0))
            return seep_error_no_memory();
    }
    seep_symbol_table_seal(&module->table);
    return NULL;
}

// The files that its debug information refers to may be another user's.
static void give_to_reader(struct seep_symbols *symbols, struct module *module) {
    symbols->met_foreign = module->is_far = true;
    seep_debug_info_destroy(module->debug_info);
    module->debug_info = NULL;
    seep_symbol_table_deinit(&module->table);
    seep_module_files_close(&module->files);
    module->quality = SEEP_SYMBOLS_NONE;
}

static struct seep_error *open_module(struct seep_symbols *symbols, struct module *module) {
    if (module->named)
        module->quality = SEEP_SYMBOLS_TABLE;
    if (module->opened || module->named)
        return NULL;
    module->opened = true;
    struct seep_error *error = find_files(symbols, module);
    if (error || module->is_far)
        return error;
    symbols->search.met_foreign = false;
    error = load_table(module);
    if (!error)
        error = open_debug_info(symbols, module);
    if (!error && symbols->search.met_foreign && seep_module_file_is_public(&symbols->search, module->path)) {
        give_to_reader(symbols, module);
        return NULL;
    }
    if (!error && module->quality == SEEP_SYMBOLS_NONE)
        module->trouble = module->files.main ? "file has no symbols" : module->files.trouble;
    return error;
}

// Of a copy that the compiler made of a function, "f.isra.0" or "f.cold", the debug information has the
// function's own name.
static bool is_clone(const char *name, const struct seep_symbol_frame *frame) {
    const char *own = frame->linkage ? frame->linkage : frame->function;
    size_t nr = own ? strlen(own) : 0;
    return nr && strncmp(name, own, nr) == 0 && name[nr] == '.';
}

// Fills the last frame from the symbol table where that knows more than the debug information.
static struct seep_error *add_table_name(struct seep_symbols *symbols, const struct module *module,
                                         uint64_t address, struct seep_place *place) {
    uint64_t start;
    const char *name = seep_symbol_table_find(&module->table, address, &start);
    if (!place->nr_frames) {
        place->frames[0] = (struct seep_symbol_frame){NULL};
        place->nr_frames = 1;
    }
    struct seep_symbol_frame *last = &place->frames[place->nr_frames - 1];
    // A C++ function may have only its bare name in the debug information.
    bool better = place->has_function && place->is_plain && name && start == place->function_start &&
                  seep_is_mangled(name);
    if (name && place->has_function && is_clone(name, last))
        return seep_names_keep_part(&symbols->names, name, strcspn(name, "@"), &last->linkage);
    if (!name || (place->has_function && last->function && !better))
        return NULL;
    if (!place->has_function)
        place->function_start = start;
    place->has_function = true;
    struct seep_error *error = seep_names_linkage(&symbols->names, name, &last->linkage);
    return error ? error : seep_names_function(&symbols->names, name, NULL, &last->function);
}

static struct seep_error *look_up(struct seep_symbols *symbols, struct module *module, uint64_t offset,
                                  bool exact, const struct seep_symbol **ret_symbol) {
    struct seep_place *place = &symbols->place;
    place->nr_frames = 0;
    place->has_function = false;
    uint64_t address = exact || !offset ? offset : offset - 1;
    struct seep_error *error = NULL;
    if (module->debug_info)
        error = seep_debug_info_find(module->debug_info, address, place);
    if (!error)
        error = add_table_name(symbols, module, address, place);
    // No call precedes what a signal or a coroutine returns to: such a function begins at the address.
    uint64_t start;
    if (!error && !place->has_function && address != offset &&
        seep_symbol_table_find(&module->table, offset, &start) && start == offset)
        error = add_table_name(symbols, module, offset, place);
    if (error)
        return error;
    if (place->has_function)
        place->frames[place->nr_frames - 1].function_offset = offset - place->function_start;
    struct seep_arena *arena = &symbols->names.arena;
    struct seep_symbol *symbol = seep_arena_alloc(arena, 1, sizeof(*symbol));
    struct seep_symbol_frame *frames = seep_arena_alloc(arena, place->nr_frames, sizeof(*frames));
    if (!symbol || !frames)
        return seep_error_no_memory();
    memcpy(frames, place->frames, place->nr_frames * sizeof(*frames));
    *symbol = (struct seep_symbol){.frames = frames, .nr_frames = place->nr_frames};
    *ret_symbol = symbol;
    return NULL;
}

struct seep_error *seep_symbols_resolve(struct seep_symbols *symbols, unsigned module_id, uint64_t offset,
                                        bool exact, const struct seep_symbol **ret_symbol) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to look symbols up in", module_id);
    struct module *module = symbols->modules[module_id];
    struct seep_error *error = open_module(symbols, module);
    if (error)
        return error;
    const uint64_t *known = seep_map_find(&module->results[exact], offset);
    if (known) {
        *ret_symbol = (const struct seep_symbol *)(uintptr_t)*known;
        return NULL;
    }
    const struct seep_symbol *symbol = NULL;
    error = module->is_far ? seep_foreign_resolve(symbols->far, &module->far, offset, exact, &symbol)
                           : look_up(symbols, module, offset, exact, &symbol);
    if (error)
        return error;
    uint64_t *slot = seep_map_at(&module->results[exact], offset, NULL);
    if (!slot)
        return seep_error_no_memory();
    *slot = (uintptr_t)symbol;
    *ret_symbol = symbol;
    return NULL;
}

static struct seep_error *load_variables(struct module *module) {
    const struct seep_module_files *files = &module->files;
    struct seep_error *error = NULL;
    if (module->has_variables)
        return NULL;
    module->has_variables = true;
    if (files->debug)
        error = seep_symbol_variables_add(&module->variables, files->debug, SHT_SYMTAB);
    if (!error && !module->variables.nr && files->main)
        error = seep_symbol_variables_add(&module->variables, files->main, SHT_SYMTAB);
    if (!error && !module->variables.nr && files->main)
        error = seep_symbol_variables_add(&module->variables, files->main, SHT_DYNSYM);
    seep_ranges_seal(&module->variables);
    return error;
}

// Opened.
static struct seep_error *find_module(struct seep_symbols *symbols, unsigned module_id,
                                      struct module **ret_module) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to look symbols up in", module_id);
    *ret_module = symbols->modules[module_id];
    return open_module(symbols, *ret_module);
}

// With its files, neither functions nor lines.
static struct seep_error *find_module_files(struct seep_symbols *symbols, unsigned module_id,
                                            struct module **ret_module) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to look symbols up in", module_id);
    *ret_module = symbols->modules[module_id];
    return find_files(symbols, *ret_module);
}

static struct seep_error *find_variable(struct module *module, uint64_t offset,
                                        const struct seep_range **ret_found) {
    struct seep_error *error = load_variables(module);
    if (error)
        return error;
    size_t at = seep_ranges_upto(&module->variables, offset);
    *ret_found = seep_ranges_next(&module->variables, offset, &at);
    return NULL;
}

struct seep_error *seep_symbols_variable(struct seep_symbols *symbols, unsigned module_id, uint64_t offset,
                                         const char **ret_name, uint64_t *ret_variable_offset) {
    struct module *module = NULL;
    const struct seep_range *found = NULL;
    struct seep_error *error = find_module_files(symbols, module_id, &module);
    if (!error && module->is_far)
        return seep_foreign_variable(symbols->far, &module->far, offset, ret_name, ret_variable_offset);
    if (!error)
        error = find_variable(module, offset, &found);
    if (error)
        return error;
    const char *name = NULL;
    if (found)
        error = seep_names_function(&symbols->names, (const char *)(uintptr_t)found->value, NULL, &name);
    if (error)
        return error;
    *ret_name = name;
    *ret_variable_offset = found ? offset - found->low : 0;
    return NULL;
}

// More than that of one module are read again when they are asked for: 40 bytes each.
#define VARIABLES_KEPT 262144u

void seep_symbols_close_files(struct seep_symbols *symbols) {
    if (symbols->far)
        seep_foreign_close_files(symbols->far);
    for (size_t i = 0; i < symbols->nr_modules; i++) {
        struct module *module = symbols->modules[i];
        bool is_used = module->opened || module->has_frames || module->debug_variables;
        if (!module->found || module->closed || module->is_far || is_used)
            continue;
        module->closed = module->id.nr_bytes && module->files.main && module->has_variables &&
                         module->variables.nr <= VARIABLES_KEPT;
        seep_module_files_close(&module->files);
        for (size_t j = 0; module->closed && j < module->variables.nr; j++)
            module->variables.items[j].value = (uintptr_t) "";
        if (!module->closed) {
            seep_ranges_deinit(&module->variables);
            module->found = module->has_variables = false;
        }
    }
}

// ---- variables and types ----

struct seep_type {
    struct seep_debug_info *info;
    unsigned generation; // of info, that the entry is of
    Dwarf_Die entry;
    struct seep_foreign_type far; // where info is NULL
};

static struct seep_error *keep_far_type(struct seep_symbols *symbols, const struct seep_foreign_type *far,
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

static struct seep_error *keep_type(struct seep_symbols *symbols, struct seep_debug_info *info,
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

static struct seep_error *find_variables(struct module *module, struct seep_debug_variables **ret_variables) {
    struct seep_error *error = NULL;
    if (module->debug_info && !module->debug_variables)
        error = seep_debug_variables_create(module->debug_info, &module->debug_variables);
    *ret_variables = module->debug_variables;
    return error;
}

static struct seep_error *find_layouts(struct module *module, struct seep_debug_layouts **ret_layouts) {
    struct seep_error *error = NULL;
    if (module->debug_info && !module->debug_layouts)
        error = seep_debug_layouts_create(module->debug_info, &module->debug_layouts);
    *ret_layouts = module->debug_layouts;
    return error;
}

// "table[]" for what is declared as an array: with its number of elements it would look like one of them.
static void put_elements(struct seep_type_text *text, Dwarf_Die *type) {
    Dwarf_Die element;
    while (dwarf_tag(type) == DW_TAG_array_type && seep_type_of(type, &element)) {
        for (unsigned nr = seep_type_dimensions(type); nr; nr--)
            seep_type_text_put(text, "[]");
        *type = element;
    }
}

// Fills `variable` from its entry. `base` is its name; the word lies `off` bytes into it.
static struct seep_error *fill_variable(struct seep_symbols *symbols, struct module *module, Dwarf_Die *entry,
                                        const char *base, uint64_t off, bool whole,
                                        struct seep_variable *variable) {
    struct seep_type_text text = {.used = 0};
    Dwarf_Die type;
    seep_type_text_put(&text, base);
    bool typed = seep_type_of(entry, &type);
    if (typed && !whole)
        seep_type_member(&type, off, &text, &type, &off);
    else if (typed)
        put_elements(&text, &type);
    variable->off = off;
    struct seep_error *error = seep_names_keep(&symbols->names, text.bytes, &variable->name);
    if (!error && typed)
        error = keep_type(symbols, module->debug_info, &type, &variable->type);
    return error ? error
                 : seep_debug_info_declared(module->debug_info, entry, &variable->file, &variable->line);
}

struct seep_error *seep_symbols_global(struct seep_symbols *symbols, unsigned module_id, uint64_t offset,
                                       bool whole, struct seep_variable *ret_variable) {
    struct module *module = NULL;
    const struct seep_range *symbol = NULL;
    struct seep_debug_variables *variables = NULL;
    *ret_variable = (struct seep_variable){NULL};
    struct seep_error *error = find_module_files(symbols, module_id, &module);
    if (!error && module->is_far) {
        struct seep_foreign_type type = {NULL};
        error = seep_foreign_global(symbols->far, &module->far, offset, whole, ret_variable, &type);
        return error ? error : keep_far_type(symbols, &type, &ret_variable->type);
    }
    if (!error)
        error = find_variable(module, offset, &symbol);
    if (!error && symbol)
        error = open_module(symbols, module);
    if (!error && symbol)
        error = find_variables(module, &variables);
    if (error || !symbol || !variables)
        return error;
    bool found;
    Dwarf_Die entry;
    const char *function, *name;
    error = seep_debug_variables_global(variables, symbol->low, &found, &entry, &function);
    if (error || !found)
        return error;
    // The symbol of a C++ variable says where it is declared; that of a static one of C has a number behind
    // it.
    const char *mangled = (const char *)(uintptr_t)symbol->value, *plain = dwarf_diename(&entry);
    error = seep_names_function(&symbols->names, seep_is_mangled(mangled) || !plain ? mangled : plain, NULL,
                                &name);
    if (error)
        return error;
    char base[SEEP_TYPE_TEXT_BYTES];
    bool is_of_function = function && !seep_is_mangled(mangled);
    snprintf(base, sizeof(base), "%s%s%s", is_of_function ? function : "", is_of_function ? "::" : "", name);
    return fill_variable(symbols, module, &entry, base, offset - symbol->low, whole, ret_variable);
}

static struct seep_error *find_frames(struct module *module) {
    if (module->has_frames || !module->files.main)
        return NULL;
    module->has_frames = true;
    return seep_call_frames_create(module->files.main->elf, &module->frames);
}

struct seep_error *seep_symbols_caller(struct seep_symbols *symbols, unsigned module_id,
                                       const struct seep_thread_stack *stack, struct seep_call_frame *frame,
                                       bool *ret_there, struct seep_call_frame *ret_caller) {
    struct module *module = NULL;
    struct seep_error *error = find_module_files(symbols, module_id, &module);
    if (!error && module->is_far)
        return seep_foreign_caller(symbols->far, &module->far, stack, frame, ret_there, ret_caller);
    if (!error)
        error = find_frames(module);
    if (error)
        return error;
    *ret_there =
        module->frames && seep_call_frames_step(module->frames, frame->address, stack, frame, ret_caller);
    return NULL;
}

struct seep_error *seep_symbols_local(struct seep_symbols *symbols, unsigned module_id,
                                      const struct seep_call_frame *frame,
                                      const struct seep_thread_stack *stack, uint64_t address, uint64_t value,
                                      struct seep_variable *ret_variable) {
    struct module *module = NULL;
    struct seep_debug_variables *variables = NULL;
    *ret_variable = (struct seep_variable){NULL};
    struct seep_error *error = find_module(symbols, module_id, &module);
    if (!error && module->is_far) {
        struct seep_foreign_type type = {NULL};
        error =
            seep_foreign_local(symbols->far, &module->far, frame, stack, address, value, ret_variable, &type);
        return error ? error : keep_far_type(symbols, &type, &ret_variable->type);
    }
    if (!error)
        error = find_variables(module, &variables);
    if (error || !variables)
        return error;
    const struct seep_wanted_word wanted = {address, value};
    bool found;
    Dwarf_Die entry, function;
    uint64_t off;
    error = seep_debug_variables_local(variables, frame, stack, &wanted, &found, &entry, &function, &off);
    const char *name = !error && found ? dwarf_diename(&entry) : NULL;
    if (error || !name)
        return error;
    error = seep_debug_info_function_name(module->debug_info, &function, &ret_variable->function);
    return error ? error : fill_variable(symbols, module, &entry, name, off, false, ret_variable);
}

struct seep_error *seep_symbols_declare(struct seep_symbols *symbols, const struct seep_type *type,
                                        const char *name, const char **ret_text) {
    *ret_text = NULL;
    if (is_far(type))
        return seep_foreign_declare(symbols->far, &type->far, name, ret_text);
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
        struct seep_foreign_type far_to;
        struct seep_error *error = seep_foreign_pointee(symbols->far, &type->far, &far_to);
        return error ? error : keep_far_type(symbols, &far_to, ret_type);
    }
    if (!is_usable(type))
        return NULL;
    entry = type->entry;
    return seep_type_pointee(&entry, &to) ? keep_type(symbols, type->info, &to, ret_type) : NULL;
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
    struct module *module = NULL;
    struct seep_debug_layouts *layouts = NULL;
    *ret_type = NULL;
    struct seep_error *error = find_module(symbols, module_id, &module);
    if (!error && module->is_far) {
        struct seep_foreign_type type;
        error = seep_foreign_class(symbols->far, &module->far, name, &type);
        return error ? error : keep_far_type(symbols, &type, ret_type);
    }
    if (!error)
        error = find_layouts(module, &layouts);
    if (error || !layouts)
        return error;
    bool found;
    Dwarf_Die entry;
    error = seep_debug_layouts_class(layouts, name, &found, &entry);
    return error || !found ? error : keep_type(symbols, module->debug_info, &entry, ret_type);
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
        struct seep_foreign_type type = {NULL};
        struct seep_error *failed =
            seep_foreign_member(symbols->far, &pointed->type->far, pointed, off, ret_member, &type);
        return failed ? failed : keep_far_type(symbols, &type, &ret_member->type);
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
    return error ? error : keep_type(symbols, pointed->type->info, &found, &ret_member->type);
}

struct seep_error *seep_symbols_returned_text(struct seep_symbols *symbols, unsigned module_id,
                                              const char *function, bool *ret_found, const char **ret_text) {
    struct module *module = NULL;
    struct seep_error *error = find_module(symbols, module_id, &module);
    *ret_found = false;
    *ret_text = NULL;
    if (!error && module->is_far)
        return seep_foreign_returned_text(symbols->far, &module->far, function, ret_found, ret_text);
    if (error || !module->files.main)
        return error;
    uint64_t address;
    const struct seep_module_files *files = &module->files;
    *ret_found = seep_function_find(files->main, function, &address) ||
                 (files->debug && seep_function_find(files->debug, function, &address));
    const char *text;
    size_t nr_bytes;
    if (!*ret_found || !seep_constant_text(files->main, address, &text, &nr_bytes))
        return NULL;
    *ret_text = seep_arena_strndup(&symbols->names.arena, text, nr_bytes);
    return *ret_text ? NULL : seep_error_no_memory();
}

enum seep_symbols_quality seep_symbols_quality(const struct seep_symbols *symbols, unsigned module_id) {
    if (module_id >= symbols->nr_modules)
        return SEEP_SYMBOLS_NONE;
    const struct module *module = symbols->modules[module_id];
    return module->is_far ? module->far.quality : module->quality;
}

const char *seep_symbols_trouble(const struct seep_symbols *symbols, unsigned module_id) {
    if (module_id >= symbols->nr_modules)
        return NULL;
    const struct module *module = symbols->modules[module_id];
    return module->is_far ? module->far.trouble : module->trouble;
}
