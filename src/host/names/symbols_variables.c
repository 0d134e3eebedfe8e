// SPDX-License-Identifier: BSD-2-Clause
// Variables by their place: those of modules, and those of frames on a stack. See symbols.h.
#include <stdio.h>
#include <string.h>

#include <dwarf.h>

#include "names/debug_types.h"
#include "names/demangle.h"
#include "names/symbols_parts.h"

static struct seep_error *load_variables(struct seep_symbols_module *module) {
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

static struct seep_error *find_variable(struct seep_symbols_module *module, uint64_t offset,
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
    struct seep_symbols_module *module = NULL;
    const struct seep_range *found = NULL;
    struct seep_error *error = seep_symbols_find_module_files(symbols, module_id, &module);
    if (!error && module->is_far)
        return seep_untrusted_variable(symbols->far, &module->far, offset, ret_name, ret_variable_offset);
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
        seep_untrusted_close_files(symbols->far);
    for (size_t i = 0; i < symbols->nr_modules; i++) {
        struct seep_symbols_module *module = symbols->modules[i];
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

static struct seep_error *find_variables(struct seep_symbols_module *module,
                                         struct seep_debug_variables **ret_variables) {
    struct seep_error *error = NULL;
    if (module->debug_info && !module->debug_variables)
        error = seep_debug_variables_create(module->debug_info, &module->debug_variables);
    *ret_variables = module->debug_variables;
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
static struct seep_error *fill_variable(struct seep_symbols *symbols, struct seep_symbols_module *module,
                                        Dwarf_Die *entry, const char *base, uint64_t off, bool whole,
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
        error = seep_symbols_keep_type(symbols, module->debug_info, &type, &variable->type);
    return error ? error
                 : seep_debug_info_declared(module->debug_info, entry, &variable->file, &variable->line);
}

struct seep_error *seep_symbols_global(struct seep_symbols *symbols, unsigned module_id, uint64_t offset,
                                       bool whole, struct seep_variable *ret_variable) {
    struct seep_symbols_module *module = NULL;
    const struct seep_range *symbol = NULL;
    struct seep_debug_variables *variables = NULL;
    *ret_variable = (struct seep_variable){NULL};
    struct seep_error *error = seep_symbols_find_module_files(symbols, module_id, &module);
    if (!error && module->is_far) {
        struct seep_untrusted_type type = {NULL};
        error = seep_untrusted_global(symbols->far, &module->far, offset, whole, ret_variable, &type);
        return error ? error : seep_symbols_keep_far_type(symbols, &type, &ret_variable->type);
    }
    if (!error)
        error = find_variable(module, offset, &symbol);
    if (!error && symbol)
        error = seep_symbols_open_module(symbols, module);
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

static struct seep_error *find_frames(struct seep_symbols_module *module) {
    if (module->has_frames || !module->files.main)
        return NULL;
    module->has_frames = true;
    return seep_call_frames_create(module->files.main->elf, &module->frames);
}

struct seep_error *seep_symbols_caller(struct seep_symbols *symbols, unsigned module_id,
                                       const struct seep_thread_stack *stack, struct seep_call_frame *frame,
                                       bool *ret_there, struct seep_call_frame *ret_caller) {
    struct seep_symbols_module *module = NULL;
    struct seep_error *error = seep_symbols_find_module_files(symbols, module_id, &module);
    if (!error && module->is_far)
        return seep_untrusted_caller(symbols->far, &module->far, stack, frame, ret_there, ret_caller);
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
    struct seep_symbols_module *module = NULL;
    struct seep_debug_variables *variables = NULL;
    *ret_variable = (struct seep_variable){NULL};
    struct seep_error *error = seep_symbols_find_module(symbols, module_id, &module);
    if (!error && module->is_far) {
        struct seep_untrusted_type type = {NULL};
        error = seep_untrusted_local(symbols->far, &module->far, frame, stack, address, value, ret_variable,
                                     &type);
        return error ? error : seep_symbols_keep_far_type(symbols, &type, &ret_variable->type);
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
