// SPDX-License-Identifier: BSD-2-Clause
//
// The table of modules, and the functions and lines that are kept, see symbols.h. A module's files are opened
// at its first frame.
#include <stdlib.h>
#include <string.h>

#include "names/call_target.h"
#include "names/constant_text.h"
#include "names/demangle.h"
#include "names/library_code.h"
#include "names/symbols_parts.h"

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
        error = seep_untrusted_symbols_create(&symbols->search, &symbols->names, &symbols->far);
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
        struct seep_symbols_module *module = symbols->modules[i];
        seep_call_frames_destroy(module->frames);
        seep_debug_variables_destroy(module->debug_variables);
        seep_debug_layouts_destroy(module->debug_layouts);
        seep_debug_info_destroy(module->debug_info);
        seep_symbol_table_deinit(&module->table);
        seep_ranges_deinit(&module->variables);
        seep_module_files_close(&module->files);
        seep_map_deinit(&module->results[0]);
        seep_map_deinit(&module->results[1]);
        seep_map_deinit(&module->imports);
    }
    free(symbols->modules);
    seep_untrusted_symbols_destroy(symbols->far);
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

static bool is_module(const struct seep_symbols_module *module, const char *path, struct seep_build_id id) {
    return module->id.nr_bytes == id.nr_bytes &&
           (!id.nr_bytes || memcmp(module->id.bytes, id.bytes, id.nr_bytes) == 0) &&
           strcmp(module->path, path) == 0;
}

struct seep_error *seep_symbols_module(struct seep_symbols *symbols, const char *path,
                                       const uint8_t *build_id, size_t build_id_bytes, unsigned *ret_module) {
    struct seep_build_id id = {build_id, build_id ? build_id_bytes : 0};
    if (id.nr_bytes > 256)
        return seep_error_create(SEEP_E_FORMAT, "%s: a build-id of %zu bytes", path, id.nr_bytes);
    if (symbols->nr_modules && is_module(symbols->modules[symbols->latest], path, id)) {
        *ret_module = (unsigned)symbols->latest;
        return NULL;
    }
    const char *key;
    struct seep_error *error = key_of(symbols, path, id, &key);
    if (error)
        return error;
    const uint64_t *known = seep_map_find(&symbols->ids, (uintptr_t)key);
    if (known) {
        *ret_module = (unsigned)*known;
        symbols->latest = (size_t)*known;
        return NULL;
    }
    struct seep_symbols_module *module = seep_arena_alloc(&symbols->names.arena, 1, sizeof(*module));
    uint8_t *id_copy = seep_arena_alloc(&symbols->names.arena, 1, id.nr_bytes + 1);
    if (!module || !id_copy ||
        !seep_grow(&symbols->modules, &symbols->modules_capacity, symbols->nr_modules + 1, sizeof(module)))
        return seep_error_no_memory();
    if (id.nr_bytes)
        memcpy(id_copy, id.bytes, id.nr_bytes);
    *module = (struct seep_symbols_module){.path = strchr(key, ' ') + 1, .id = {id_copy, id.nr_bytes}};
    module->far = (struct seep_untrusted_module){.path = module->path, .id = module->id};
    uint64_t *slot = seep_map_at(&symbols->ids, (uintptr_t)key, NULL);
    if (!slot)
        return seep_error_no_memory();
    *slot = symbols->nr_modules;
    *ret_module = (unsigned)symbols->nr_modules;
    symbols->modules[symbols->nr_modules++] = module;
    return NULL;
}

// All the tables that add something: the full one, else what is exported and what .gnu_debugdata has.
static struct seep_error *load_table(struct seep_symbols_module *module) {
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

static struct seep_error *open_debug_info(struct seep_symbols *symbols, struct seep_symbols_module *module) {
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

static struct seep_error *find_files(struct seep_symbols *symbols, struct seep_symbols_module *module) {
    if (module->found || module->is_far)
        return NULL;
    module->found = true;
    symbols->search.met_untrusted = false;
    module->is_far = symbols->met_untrusted && seep_module_file_is_public(&symbols->search, module->path);
    if (module->is_far)
        return NULL;
    struct seep_error *error =
        seep_module_files_find(&symbols->search, module->path, module->id, &module->files);
    if (error || !symbols->search.met_untrusted)
        return error;
    symbols->met_untrusted = module->is_far = true;
    seep_module_files_close(&module->files);
    return NULL;
}

struct seep_error *seep_symbols_add_names(struct seep_symbols *symbols, unsigned module_id,
                                          const struct seep_symbol_name *names, size_t nr) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to name functions of", module_id);
    struct seep_symbols_module *module = symbols->modules[module_id];
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

static struct seep_error *add_place(struct seep_symbols *symbols, struct seep_symbols_module *module,
                                    const struct seep_symbol_place *place) {
    struct seep_names *names = &symbols->names;
    struct seep_symbol *symbol = seep_arena_alloc(&names->arena, 1, sizeof(*symbol));
    struct seep_symbol_frame *frames = seep_arena_alloc(&names->arena, place->nr_frames, sizeof(*frames));
    if (!symbol || !frames)
        return seep_error_no_memory();
    struct seep_error *error = NULL;
    for (uint32_t i = 0; !error && i < place->nr_frames; i++) {
        const struct seep_symbol_frame *from = &place->frames[i];
        frames[i] = (struct seep_symbol_frame){.line = from->line, .inlined = from->inlined};
        error = seep_names_function(names, from->function, NULL, &frames[i].function);
        if (!error)
            error = seep_names_linkage(names, from->function, &frames[i].linkage);
        if (!error && from->file)
            error = seep_names_keep(names, from->file, &frames[i].file);
    }
    if (error)
        return error;
    *symbol = (struct seep_symbol){.frames = frames, .nr_frames = place->nr_frames};
    uint64_t *slot = seep_map_at(&module->results[true], place->offset, NULL);
    if (!slot)
        return seep_error_no_memory();
    if (!*slot) // else what another process of the session has there
        *slot = (uintptr_t)symbol;
    return NULL;
}

struct seep_error *seep_symbols_add_places(struct seep_symbols *symbols, unsigned module_id,
                                           const struct seep_symbol_place *places, size_t nr) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to name lines of", module_id);
    struct seep_symbols_module *module = symbols->modules[module_id];
    struct seep_error *error = NULL;
    module->named = module->lined = true;
    for (size_t i = 0; !error && i < nr; i++)
        error = add_place(symbols, module, &places[i]);
    return error;
}

// The files that its debug information refers to may be another user's.
static void give_to_reader(struct seep_symbols *symbols, struct seep_symbols_module *module) {
    symbols->met_untrusted = module->is_far = true;
    seep_debug_info_destroy(module->debug_info);
    module->debug_info = NULL;
    seep_symbol_table_deinit(&module->table);
    seep_module_files_close(&module->files);
    module->quality = SEEP_SYMBOLS_NONE;
}

struct seep_error *seep_symbols_open_module(struct seep_symbols *symbols,
                                            struct seep_symbols_module *module) {
    if (module->named)
        module->quality = module->lined ? SEEP_SYMBOLS_DEBUG : SEEP_SYMBOLS_TABLE;
    if (module->opened || module->named)
        return NULL;
    module->opened = true;
    struct seep_error *error = find_files(symbols, module);
    if (error || module->is_far)
        return error;
    symbols->search.met_untrusted = false;
    error = load_table(module);
    if (!error)
        error = open_debug_info(symbols, module);
    if (!error && symbols->search.met_untrusted &&
        seep_module_file_is_public(&symbols->search, module->path)) {
        give_to_reader(symbols, module);
        return NULL;
    }
    if (!error && module->quality == SEEP_SYMBOLS_NONE)
        module->trouble = module->files.main ? SEEP_SYMBOLS_STRIPPED : module->files.trouble;
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
static struct seep_error *add_table_name(struct seep_symbols *symbols,
                                         const struct seep_symbols_module *module, uint64_t address,
                                         struct seep_place *place) {
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

static struct seep_error *look_up(struct seep_symbols *symbols, struct seep_symbols_module *module,
                                  uint64_t offset, bool exact, const struct seep_symbol **ret_symbol) {
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
    struct seep_symbols_module *module = symbols->modules[module_id];
    struct seep_error *error = seep_symbols_open_module(symbols, module);
    if (error)
        return error;
    const uint64_t *known = seep_map_find(&module->results[exact], offset);
    if (known) {
        *ret_symbol = (const struct seep_symbol *)(uintptr_t)*known;
        return NULL;
    }
    const struct seep_symbol *symbol = NULL;
    error = module->is_far ? seep_untrusted_resolve(symbols->far, &module->far, offset, exact, &symbol)
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

// Opened.
struct seep_error *seep_symbols_find_module(struct seep_symbols *symbols, unsigned module_id,
                                            struct seep_symbols_module **ret_module) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to look symbols up in", module_id);
    *ret_module = symbols->modules[module_id];
    return seep_symbols_open_module(symbols, *ret_module);
}

// With its files, neither functions nor lines.
struct seep_error *seep_symbols_find_module_files(struct seep_symbols *symbols, unsigned module_id,
                                                  struct seep_symbols_module **ret_module) {
    if (module_id >= symbols->nr_modules)
        return seep_error_create(SEEP_E_NOT_FOUND, "there is no module %u to look symbols up in", module_id);
    *ret_module = symbols->modules[module_id];
    return find_files(symbols, *ret_module);
}

struct seep_error *seep_symbols_returned_text(struct seep_symbols *symbols, unsigned module_id,
                                              const char *function, bool *ret_found, const char **ret_text) {
    struct seep_symbols_module *module = NULL;
    struct seep_error *error = seep_symbols_find_module(symbols, module_id, &module);
    *ret_found = false;
    *ret_text = NULL;
    if (!error && module->is_far)
        return seep_untrusted_returned_text(symbols->far, &module->far, function, ret_found, ret_text);
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

struct seep_error *seep_symbols_called_import(struct seep_symbols *symbols, unsigned module_id,
                                              uint64_t return_address, const char **ret_name) {
    struct seep_symbols_module *module = NULL;
    struct seep_error *error = seep_symbols_find_module_files(symbols, module_id, &module);
    *ret_name = NULL;
    if (error || module->is_far || !module->files.main)
        return error;
    uint64_t slot;
    if (!seep_call_slot(module->files.main, return_address, &slot))
        return NULL;
    bool is_new;
    uint64_t *known = seep_map_at(&module->imports, slot, &is_new);
    if (!known)
        return seep_error_no_memory();
    const char *name = is_new ? seep_slot_import(module->files.main, slot) : NULL, *kept = NULL;
    if (name)
        error = seep_names_keep(&symbols->names, name, &kept);
    if (is_new)
        *known = (uintptr_t)kept;
    *ret_name = (const char *)(uintptr_t)*known;
    return error;
}

struct seep_error *seep_symbols_has_cxx_runtime(struct seep_symbols *symbols, unsigned module_id,
                                                bool *ret_has) {
    struct seep_symbols_module *module = NULL;
    struct seep_error *error = seep_symbols_find_module_files(symbols, module_id, &module);
    if (!error && !module->asked_runtime && !module->is_far && module->files.main) {
        module->asked_runtime = true;
        module->has_cxx_runtime = seep_symbol_file_has_cxx_runtime(module->files.main);
    }
    *ret_has = !error && module->has_cxx_runtime;
    return error;
}

enum seep_symbols_quality seep_symbols_quality(const struct seep_symbols *symbols, unsigned module_id) {
    if (module_id >= symbols->nr_modules)
        return SEEP_SYMBOLS_NONE;
    const struct seep_symbols_module *module = symbols->modules[module_id];
    return module->is_far ? module->far.quality : module->quality;
}

const char *seep_symbols_trouble(const struct seep_symbols *symbols, unsigned module_id) {
    if (module_id >= symbols->nr_modules)
        return NULL;
    const struct seep_symbols_module *module = symbols->modules[module_id];
    return module->is_far ? module->far.trouble : module->trouble;
}
