// SPDX-License-Identifier: BSD-2-Clause
// The stacks of several profiles in one tree, see stacks.h.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "names/library_code.h"
#include "names/short_name.h"
#include "view/stacks.h"

struct seep_error *seep_stacks_create(struct seep_symbols *symbols, struct seep_stacks **ret_stacks) {
    struct seep_stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks || !seep_grow(&stacks->nodes, &stacks->nodes_capacity, 1, sizeof(*stacks->nodes))) {
        free(stacks);
        return seep_error_no_memory();
    }
    stacks->symbols = symbols;
    stacks->nodes[0] = (struct seep_stack_node){0, SEEP_NO_FRAME, -1, 0};
    stacks->nr_nodes = 1;
    *ret_stacks = stacks;
    return NULL;
}

void seep_stacks_destroy(struct seep_stacks *stacks) {
    if (!stacks)
        return;
    for (size_t i = 0; i < stacks->nr_modules; i++)
        seep_jit_names_destroy(stacks->modules[i].jit_names);
    free(stacks->modules);
    free(stacks->frames);
    free(stacks->nodes);
    free(stacks->files_shown);
    seep_stacks_complete(stacks);
    seep_texts_deinit(&stacks->files);
    free(stacks->functions_shown);
    seep_texts_deinit(&stacks->functions);
    seep_map_deinit(&stacks->file_ids);
    seep_map_deinit(&stacks->function_ids);
    seep_arena_deinit(&stacks->names);
    free(stacks);
}

static void *copy_array(const void *from, size_t nr, size_t element_bytes) {
    void *copy = malloc(SEEP_MAX(nr, (size_t)1) * element_bytes);
    if (copy && nr)
        memcpy(copy, from, nr * element_bytes);
    return copy;
}

struct seep_error *seep_stacks_copy(const struct seep_stacks *from, struct seep_stacks **ret_stacks) {
    struct seep_stacks *stacks = calloc(1, sizeof(*stacks));
    if (!stacks)
        return seep_error_no_memory();
    stacks->symbols = from->symbols;
    stacks->modules = copy_array(from->modules, from->nr_modules, sizeof(*from->modules));
    stacks->frames = copy_array(from->frames, from->nr_frames, sizeof(*from->frames));
    stacks->nodes = copy_array(from->nodes, from->nr_nodes, sizeof(*from->nodes));
    if (!stacks->modules || !stacks->frames || !stacks->nodes) {
        seep_stacks_destroy(stacks);
        return seep_error_no_memory();
    }
    stacks->nr_modules = stacks->modules_capacity = from->nr_modules;
    stacks->nr_frames = stacks->frames_capacity = from->nr_frames;
    stacks->nr_nodes = stacks->nodes_capacity = from->nr_nodes;
    bool has_jit = false;
    for (size_t i = 0; i < stacks->nr_modules; i++) {
        struct seep_stack_module *module = &stacks->modules[i];
        has_jit |= module->jit_names != NULL;
        module->used = module->nameless = module->jit_asked = false;
        module->jit_names = NULL;
        module->shown = module->no_file ? "[jit]" : module->path;
    }
    for (size_t i = 0; has_jit && i < stacks->nr_frames; i++) // `from` owns those names
        if (stacks->modules[stacks->frames[i].module].no_file)
            stacks->frames[i].symbol = NULL, stacks->frames[i].nr_passed = 0;
    *ret_stacks = stacks;
    return NULL;
}

// ---- adding ----

static bool same_module(const struct seep_stack_module *a, const struct seep_module *b) {
    return strcmp(a->path, b->path) == 0 && a->build_id_bytes == b->build_id_bytes &&
           memcmp(a->build_id, b->build_id, a->build_id_bytes) == 0;
}

// `process`: of code without a file, whose addresses are those of one process; else NULL.
static struct seep_error *new_module(struct seep_stacks *stacks, const struct seep_module *module,
                                     const struct seep_process *process, bool kernel, uint32_t *ret_id) {
    bool no_file = process != NULL;
    if (stacks->nr_modules >= UINT32_MAX || !seep_grow(&stacks->modules, &stacks->modules_capacity,
                                                       stacks->nr_modules + 1, sizeof(*stacks->modules)))
        return seep_error_no_memory();
    stacks->modules[stacks->nr_modules] = (struct seep_stack_module){
        .path = no_file ? "[jit]" : module->path,
        .shown = no_file ? "[jit]" : module->path,
        .build_id = module->build_id,
        .build_id_bytes = SEEP_MIN(module->build_id_bytes, (uint32_t)sizeof(module->build_id)),
        .no_file = no_file,
        .process = process,
        .runtime = !no_file && !kernel && seep_module_is_runtime(module->path),
        .kernel = kernel,
        .tracer = !no_file && !kernel && seep_module_is_tracer(module->path),
    };
    *ret_id = (uint32_t)stacks->nr_modules++;
    return NULL;
}

static struct seep_error *add_module(struct seep_stacks *stacks, const struct seep_module *module,
                                     bool kernel, uint32_t *ret_id) {
    uint64_t key = seep_hash_bytes(module->path, strlen(module->path)) ^
                   seep_hash_bytes(module->build_id,
                                   SEEP_MIN(module->build_id_bytes, (uint32_t)sizeof(module->build_id)));
    for (;; key = seep_hash64(key + 1)) {
        bool is_new;
        uint64_t *slot = seep_map_at(&stacks->module_ids, key, &is_new);
        if (!slot)
            return seep_error_no_memory();
        if (is_new) {
            struct seep_error *error = new_module(stacks, module, NULL, kernel, ret_id);
            if (!error)
                *slot = *ret_id;
            return error;
        }
        if (same_module(&stacks->modules[*slot], module)) {
            *ret_id = (uint32_t)*slot;
            return NULL;
        }
    }
}

// What a module brings its own names for; each profile has those that it needs.
static struct seep_error *add_names(struct seep_stacks *stacks, const struct seep_module *module) {
    unsigned id;
    struct seep_error *error =
        seep_symbols_module(stacks->symbols, module->path, module->build_id, module->build_id_bytes, &id);
    if (!error && module->nr_names)
        error = seep_symbols_add_names(stacks->symbols, id, module->names, module->nr_names);
    if (!error && module->nr_places)
        error = seep_symbols_add_places(stacks->symbols, id, module->places, module->nr_places);
    return error;
}

static struct seep_error *add_frame(struct seep_stacks *stacks, uint32_t module, uint64_t offset, bool exact,
                                    uint32_t *ret_id) {
    uint64_t hash = seep_hash64(offset ^ seep_hash64((uint64_t)module << 1 | exact));
    size_t at;
    uint32_t id = seep_ids_first(&stacks->frame_ids, hash, &at);
    for (; id != SEEP_NO_ID; id = seep_ids_next(&stacks->frame_ids, hash, &at)) {
        const struct seep_stack_frame *frame = &stacks->frames[id];
        if (frame->module == module && frame->offset == offset && frame->exact == exact) {
            *ret_id = id;
            return NULL;
        }
    }
    if (stacks->nr_frames >= SEEP_NO_FRAME ||
        !seep_grow(&stacks->frames, &stacks->frames_capacity, stacks->nr_frames + 1,
                   sizeof(*stacks->frames)) ||
        !seep_ids_add(&stacks->frame_ids, hash, (uint32_t)stacks->nr_frames))
        return seep_error_no_memory();
    stacks->frames[stacks->nr_frames] = (struct seep_stack_frame){module, exact, 0, offset, NULL};
    *ret_id = (uint32_t)stacks->nr_frames++;
    return NULL;
}

static bool is_node(const struct seep_stack_node *node, uint32_t parent, uint32_t frame, int cut) {
    return node->parent == parent && node->frame == frame && (frame != SEEP_NO_FRAME || node->cut == cut);
}

// Most nodes have one child: only others are looked up by what they are.
static struct seep_error *add_node(struct seep_stacks *stacks, uint32_t parent, uint32_t frame, int cut,
                                   uint32_t *ret_id) {
    uint32_t first = stacks->nodes[parent].first_child;
    if (first && is_node(&stacks->nodes[first], parent, frame, cut)) {
        *ret_id = first;
        return NULL;
    }
    // Cut nodes take the keys of frames that cannot exist.
    uint64_t hash =
        seep_hash64((uint64_t)parent << 32 | (cut >= 0 ? SEEP_NO_FRAME - 1u - (uint32_t)cut : frame));
    size_t at;
    uint32_t id = first ? seep_ids_first(&stacks->node_ids, hash, &at) : SEEP_NO_ID;
    for (; id != SEEP_NO_ID; id = seep_ids_next(&stacks->node_ids, hash, &at)) {
        if (is_node(&stacks->nodes[id], parent, frame, cut)) {
            *ret_id = id;
            return NULL;
        }
    }
    if (stacks->nr_nodes >= SEEP_NO_ID ||
        !seep_grow(&stacks->nodes, &stacks->nodes_capacity, stacks->nr_nodes + 1, sizeof(*stacks->nodes)) ||
        (first && !seep_ids_add(&stacks->node_ids, hash, (uint32_t)stacks->nr_nodes)))
        return seep_error_no_memory();
    if (!first)
        stacks->nodes[parent].first_child = (uint32_t)stacks->nr_nodes;
    stacks->nodes[stacks->nr_nodes] =
        (struct seep_stack_node){parent, frame, cut >= 0 ? cut : stacks->nodes[parent].cut, 0};
    *ret_id = (uint32_t)stacks->nr_nodes++;
    return NULL;
}

static struct seep_error *add_nodes(struct seep_stacks *stacks, const struct seep_profile *profile,
                                    const uint32_t *modules, uint32_t *nodes) {
    // Of a first profile nearly every node is new.
    if (stacks->nr_nodes == 1 &&
        !seep_grow(&stacks->nodes, &stacks->nodes_capacity, profile->nr_nodes, sizeof(*stacks->nodes)))
        return seep_error_no_memory();
    for (uint32_t i = 1; i < profile->nr_nodes; i++) {
        const struct seep_node *node = &profile->nodes[i];
        uint32_t parent = nodes[node->parent];
        struct seep_error *error;
        if (node->kind == SEEP_NODE_CUT) {
            error = add_node(stacks, parent, SEEP_NO_FRAME,
                             (int)SEEP_MIN(node->offset, (uint64_t)SEEP_CUT_NR), &nodes[i]);
        } else if (parent && stacks->modules[modules[node->module]].tracer) {
            // Where it calls an operator of the program's, which calls malloc (hooks_cxx.c).
            nodes[i] = parent;
            continue;
        } else {
            uint32_t frame = 0;
            error = add_frame(stacks, modules[node->module], node->offset, node->exact, &frame);
            if (!error)
                error = add_node(stacks, parent, frame, -1, &nodes[i]);
        }
        if (error)
            return error;
    }
    return NULL;
}

struct seep_error *seep_stacks_add(struct seep_stacks *stacks, const struct seep_profile *profile,
                                   uint32_t **ret_nodes) {
    uint32_t *modules = calloc(SEEP_MAX(profile->nr_modules, 1u), sizeof(*modules));
    uint32_t *nodes = calloc(SEEP_MAX(profile->nr_nodes, 1u), sizeof(*nodes));
    bool kernel = seep_profile_is_kernel(profile);
    struct seep_error *error = modules && nodes ? NULL : seep_error_no_memory();
    for (uint32_t i = 0; !error && i < profile->nr_modules; i++) {
        error = i ? add_module(stacks, &profile->modules[i], kernel, &modules[i])
                  : new_module(stacks, &profile->modules[0], &profile->process, kernel, &modules[0]);
        if (!error && (profile->modules[i].nr_names || profile->modules[i].nr_places))
            error = add_names(stacks, &profile->modules[i]);
    }
    if (!error)
        error = add_nodes(stacks, profile, modules, nodes);
    free(modules);
    if (error) {
        free(nodes);
        return error;
    }
    *ret_nodes = nodes;
    return NULL;
}

void seep_stacks_complete(struct seep_stacks *stacks) {
    seep_map_deinit(&stacks->module_ids);
    seep_ids_deinit(&stacks->frame_ids);
    seep_ids_deinit(&stacks->node_ids);
}

// ---- names ----

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

// How many of the frame's functions, from the innermost out, are none of interest. Many stacks have the
// frame.
static struct seep_error *count_passed(struct seep_stacks *stacks, uint32_t frame, unsigned *ret_nr,
                                       unsigned *ret_nr_all) {
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    if (error)
        return error;
    uint16_t *known = &stacks->frames[frame].nr_passed;
    unsigned nr = *known ? *known - 1u : 0;
    while (!*known && nr < symbol->nr_frames &&
           seep_function_is_passed(symbol->frames[nr].function, symbol->frames[nr].file))
        nr++;
    *known = nr < UINT16_MAX ? (uint16_t)(nr + 1) : 0;
    *ret_nr = nr;
    *ret_nr_all = symbol->nr_frames;
    return NULL;
}

struct seep_error *seep_stacks_self(struct seep_stacks *stacks, uint32_t node, bool by_name,
                                    uint32_t *ret_frame, unsigned *ret_inlined) {
    uint32_t innermost = SEEP_NO_FRAME;
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t frame = stacks->nodes[node].frame;
        if (frame == SEEP_NO_FRAME)
            continue;
        if (innermost == SEEP_NO_FRAME)
            innermost = frame;
        if (stacks->modules[stacks->frames[frame].module].runtime)
            continue;
        unsigned inlined = 0;
        if (by_name) {
            unsigned nr_all;
            struct seep_error *error = count_passed(stacks, frame, &inlined, &nr_all);
            if (error)
                return error;
            if (inlined == nr_all)
                continue;
        }
        *ret_frame = frame;
        *ret_inlined = inlined;
        return NULL;
    }
    *ret_inlined = 0;
    *ret_frame = innermost;
    if (!by_name || innermost == SEEP_NO_FRAME)
        return NULL;
    const struct seep_symbol *symbol;
    return seep_stacks_resolve(stacks, innermost, &symbol);
}

struct seep_error *seep_stacks_blamed(struct seep_stacks *stacks, uint32_t node, uint32_t *ret_frame,
                                      unsigned *ret_inlined) {
    enum seep_blame best = SEEP_BLAME_NR;
    *ret_frame = SEEP_NO_FRAME;
    *ret_inlined = 0;
    for (; node && best != SEEP_BLAME_LINE; node = stacks->nodes[node].parent) {
        uint32_t frame = stacks->nodes[node].frame;
        if (frame == SEEP_NO_FRAME)
            continue;
        const struct seep_symbol *symbol;
        struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
        if (error)
            return error;
        const struct seep_stack_module *module = &stacks->modules[stacks->frames[frame].module];
        bool allocator = module->kernel && strcmp(module->path, SEEP_KERNEL_ALLOCATORS) == 0;
        for (unsigned i = 0; i < symbol->nr_frames; i++) {
            const struct seep_symbol_frame *f = &symbol->frames[i];
            enum seep_blame blame = module->kernel
                                        ? seep_blame_of_kernel(allocator ? NULL : f->function)
                                        : seep_blame_of(f->function, f->file, f->line, module->runtime);
            if (blame >= best)
                continue;
            best = blame;
            *ret_frame = frame;
            *ret_inlined = i;
        }
    }
    return NULL;
}

struct seep_error *seep_stacks_caller(struct seep_stacks *stacks, uint32_t node, uint32_t frame,
                                      unsigned inlined, uint32_t *ret_frame, unsigned *ret_inlined) {
    const char *called = NULL;
    *ret_frame = SEEP_NO_FRAME;
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t at = stacks->nodes[node].frame;
        if (at == SEEP_NO_FRAME || (!called && at != frame))
            continue;
        const struct seep_symbol *symbol;
        struct seep_error *error = seep_stacks_resolve(stacks, at, &symbol);
        if (error)
            return error;
        bool runtime = stacks->modules[stacks->frames[at].module].runtime;
        unsigned first = called ? 0 : inlined + 1;
        called = called ? called : symbol->frames[inlined].function;
        if (!called)
            return NULL;
        for (unsigned i = first; i < symbol->nr_frames; i++) {
            const struct seep_symbol_frame *f = &symbol->frames[i];
            if (seep_blame_of(f->function, f->file, f->line, runtime) != SEEP_BLAME_LINE ||
                strcmp(f->function, called) == 0)
                continue;
            *ret_frame = at;
            *ret_inlined = i;
            return NULL;
        }
    }
    return NULL;
}

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

static struct seep_error *shorten_functions(struct seep_stacks *stacks) {
    struct seep_texts *functions = &stacks->functions;
    struct seep_map taken = SEEP_MAP_INIT; // hash of a shown name: who has it, + 1
    struct seep_error *error = NULL;
    stacks->functions_shown = calloc(functions->nr + 1, sizeof(*stacks->functions_shown));
    if (!stacks->functions_shown)
        return seep_error_no_memory();
    for (size_t i = 0; !error && i < functions->nr; i++) {
        char *shorter = NULL;
        error = seep_name_shorten(functions->texts[i], &shorter);
        const char *kept = shorter ? seep_arena_strdup(&stacks->names, shorter) : functions->texts[i];
        free(shorter);
        uint64_t *slot = kept ? seep_map_at(&taken, seep_hash_bytes(kept, strlen(kept)), NULL) : NULL;
        if (!error && !slot)
            error = seep_error_no_memory();
        if (error)
            break;
        stacks->functions_shown[i] = *slot ? functions->texts[i] : kept;
        if (*slot) // the first that had it keeps its own name, too
            stacks->functions_shown[*slot - 1] = functions->texts[*slot - 1];
        *slot = *slot ? *slot : i + 1;
    }
    seep_map_deinit(&taken);
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
