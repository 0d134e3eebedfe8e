// SPDX-License-Identifier: BSD-2-Clause
// The names of frames of stacks, and in which form they are shown. See stacks.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "names/short_name.h"
#include "view/stacks.h"

// ---- of frames ----

// How long after its last moment a process may still have been writing names.
#define JIT_NAMES_LATE_NS INT64_C(5000000000)

// *ret_symbol is NULL where it has no name.
static struct seep_error *resolve_jit(struct seep_stack_module *module, const struct seep_stack_frame *frame,
                                      const struct seep_symbol **ret_symbol) {
    const struct seep_process *process = module->process;
    struct seep_error *error = NULL;
    *ret_symbol = NULL;
    if (!module->jit_asked) {
        int64_t until_ns = INT64_MAX;
        if (process->exit_kind != SEEP_EXIT_RUNNING && process->duration_ns >= 0 &&
            __builtin_add_overflow(process->start_realtime_ns,
                                   seep_time_plus(process->duration_ns, JIT_NAMES_LATE_NS), &until_ns))
            until_ns = INT64_MAX;
        error = seep_jit_names_open(process->pid, process->start_realtime_ns, until_ns, &module->jit_names);
        module->jit_asked = true;
    }
    if (!error && module->jit_names)
        error = seep_jit_names_resolve(module->jit_names, frame->offset, frame->exact, ret_symbol);
    return error;
}

struct seep_error *seep_stacks_resolve(struct seep_stacks *stacks, uint32_t frame,
                                       const struct seep_symbol **ret_symbol) {
    static const struct seep_symbol_frame nameless_frame = {0};
    static const struct seep_symbol nameless = {&nameless_frame, 1};
    struct seep_stack_frame *f = &stacks->frames[frame];
    struct seep_stack_module *module = &stacks->modules[f->module];
    if (!f->symbol && module->no_file) {
        struct seep_error *error = resolve_jit(module, f, &f->symbol);
        if (error)
            return error;
        if (!f->symbol)
            f->symbol = &nameless;
    }
    if (!f->symbol && !module->asked) {
        struct seep_error *error = seep_symbols_module(stacks->symbols, module->path, module->build_id,
                                                       module->build_id_bytes, &module->symbols_id);
        if (error)
            return error;
        module->asked = true;
    }
    if (!f->symbol) {
        const struct seep_symbol *symbol = NULL;
        struct seep_error *error =
            seep_symbols_resolve(stacks->symbols, module->symbols_id, f->offset, f->exact, &symbol);
        if (error)
            return error;
        f->symbol = symbol->nr_frames ? symbol : &nameless;
    }
    *ret_symbol = f->symbol;
    return NULL;
}

// ---- shown ----

static struct seep_error *use_text(struct seep_map *ids, struct seep_texts *texts, const char *text) {
    bool is_new;
    uint32_t id;
    if (!text)
        return NULL;
    uint64_t *slot = seep_map_at(ids, (uintptr_t)text, &is_new);
    if (!slot)
        return seep_error_no_memory();
    struct seep_error *error = is_new ? seep_texts_add(texts, text, &id) : NULL;
    if (!error && is_new)
        *slot = id;
    return error;
}

static struct seep_error *use_frame(struct seep_stacks *stacks, uint32_t frame) {
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    stacks->modules[stacks->frames[frame].module].used = true;
    if (!error && !symbol->frames[symbol->nr_frames - 1].function)
        stacks->modules[stacks->frames[frame].module].nameless = true;
    for (unsigned i = 0; !error && i < symbol->nr_frames; i++) {
        error = use_text(&stacks->file_ids, &stacks->files, symbol->frames[i].file);
        if (!error)
            error = use_text(&stacks->function_ids, &stacks->functions, symbol->frames[i].function);
    }
    return error;
}

struct seep_error *seep_stacks_use(struct seep_stacks *stacks, const uint32_t *nodes, size_t nr_nodes) {
    bool *seen = calloc(stacks->nr_nodes, sizeof(*seen));
    bool *seen_frame = calloc(SEEP_MAX(stacks->nr_frames, (size_t)1), sizeof(*seen_frame));
    struct seep_error *error = seen && seen_frame ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr_nodes; i++) {
        for (uint32_t node = nodes[i]; !error && node && !seen[node]; node = stacks->nodes[node].parent) {
            seen[node] = true;
            uint32_t frame = stacks->nodes[node].frame;
            if (frame == SEEP_NO_FRAME || seen_frame[frame])
                continue;
            seen_frame[frame] = true;
            error = use_frame(stacks, frame);
        }
    }
    free(seen);
    free(seen_frame);
    return error;
}

// The forms of a name: as short as it can be, then with its first arguments, as overloads differ there most
// often, then less elided, then with a number.
static const struct {
    unsigned columns, nr_kept;
} forms_of_names[] = {{SEEP_SHORT_NAME_COLUMNS, 0},
                      {SEEP_SHORT_NAME_COLUMNS, 1},
                      {SEEP_SHORT_NAME_COLUMNS, 2},
                      {110, 3},
                      {110, 0},
                      {150, 0}};
#define FORM_NUMBERED SEEP_ARRAY_SIZE(forms_of_names)

// `numbers`: how many names of a form, by its hash, have one.
static struct seep_error *make_form(struct seep_stacks *stacks, const char *name, unsigned form,
                                    struct seep_map *numbers, const char **ret_shown) {
    char *shorter = NULL;
    unsigned at = form < FORM_NUMBERED ? form : 0;
    struct seep_error *error =
        seep_name_shorten_to(name, forms_of_names[at].columns, forms_of_names[at].nr_kept, &shorter);
    const char *shown = shorter ? shorter : name;
    if (!error && form >= FORM_NUMBERED) {
        uint64_t *number = seep_map_at(numbers, seep_hash_bytes(shown, strlen(shown)), NULL);
        *ret_shown = number ? seep_arena_printf(&stacks->names, "%s #%" PRIu64, shown, ++*number) : NULL;
    } else if (!error) {
        *ret_shown = shorter ? seep_arena_strdup(&stacks->names, shorter) : name;
    }
    free(shorter);
    return error || *ret_shown ? error : seep_error_no_memory();
}

// All names that come to the same get the next form. *ret_nr: how many names did.
static struct seep_error *tell_apart(struct seep_stacks *stacks, uint8_t *forms, struct seep_map *numbers,
                                     size_t *ret_nr) {
    const struct seep_texts *functions = &stacks->functions;
    struct seep_map taken = SEEP_MAP_INIT; // hash of a shown name: who has it, + 1
    bool *is_same = calloc(functions->nr + 1, sizeof(*is_same));
    struct seep_error *error = is_same ? NULL : seep_error_no_memory();
    *ret_nr = 0;
    for (size_t i = 0; !error && i < functions->nr; i++) {
        const char *shown = stacks->functions_shown[i];
        uint64_t *slot = seep_map_at(&taken, seep_hash_bytes(shown, strlen(shown)), NULL);
        if (!slot)
            error = seep_error_no_memory();
        else if (*slot)
            is_same[i] = is_same[*slot - 1] = true;
        else
            *slot = i + 1;
    }
    for (size_t i = 0; !error && i < functions->nr; i++) {
        if (!is_same[i] || forms[i] == FORM_NUMBERED)
            continue;
        error = make_form(stacks, functions->texts[i], ++forms[i], numbers, &stacks->functions_shown[i]);
        ++*ret_nr;
    }
    free(is_same);
    seep_map_deinit(&taken);
    return error;
}

static struct seep_error *shorten_functions(struct seep_stacks *stacks) {
    const struct seep_texts *functions = &stacks->functions;
    struct seep_map numbers = SEEP_MAP_INIT;
    uint8_t *forms = calloc(functions->nr + 1, sizeof(*forms));
    stacks->functions_shown = calloc(functions->nr + 1, sizeof(*stacks->functions_shown));
    struct seep_error *error = forms && stacks->functions_shown ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < functions->nr; i++)
        error = make_form(stacks, functions->texts[i], 0, &numbers, &stacks->functions_shown[i]);
    size_t nr = 1;
    while (!error && nr)
        error = tell_apart(stacks, forms, &numbers, &nr);
    seep_map_deinit(&numbers);
    free(forms);
    return error;
}

// The shown form of a text: most are known by their address.
static const char *find_shown(const struct seep_map *ids, const struct seep_texts *texts, const char **shown,
                              const char *text) {
    const uint64_t *known = shown ? seep_map_find(ids, (uintptr_t)text) : NULL;
    uint32_t id;
    if (known)
        return shown[*known];
    return shown && seep_texts_find(texts, text, &id) ? shown[id] : text;
}

const char *seep_stacks_name_shown(const struct seep_stacks *stacks, const char *function) {
    return function ? find_shown(&stacks->function_ids, &stacks->functions, stacks->functions_shown, function)
                    : NULL;
}

struct seep_error *seep_stacks_shorten(struct seep_stacks *stacks, bool full, bool full_names) {
    struct seep_texts paths = {0};
    const char **shown = NULL;
    stacks->full_names = full_names;
    struct seep_error *error = seep_texts_shorten(&stacks->files, full, &stacks->files_shown);
    uint32_t id;
    for (size_t i = 0; !error && i < stacks->nr_modules; i++)
        if (stacks->modules[i].used)
            error = seep_texts_add(&paths, stacks->modules[i].path, &id);
    if (!error)
        error = seep_texts_shorten(&paths, full, &shown);
    for (size_t i = 0; !error && i < stacks->nr_modules; i++)
        if (stacks->modules[i].used && seep_texts_find(&paths, stacks->modules[i].path, &id))
            stacks->modules[i].shown = shown[id];
    free(shown);
    seep_texts_deinit(&paths);
    if (!error && !full_names)
        error = shorten_functions(stacks);
    return error;
}

const char *seep_stacks_file_shown(const struct seep_stacks *stacks, const char *file) {
    return find_shown(&stacks->file_ids, &stacks->files, stacks->files_shown, file);
}
