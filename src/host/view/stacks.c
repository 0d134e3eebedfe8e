// SPDX-License-Identifier: BSD-2-Clause
// The stacks of several profiles in one tree, see stacks.h.
#include <stdlib.h>
#include <string.h>

#include "names/library_code.h"
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
            stacks->frames[i].symbol = NULL, stacks->frames[i].nr_passed = 0, stacks->frames[i].blame = 0;
    *ret_stacks = stacks;
    return NULL;
}

// ---- adding ----

// Where /lib is a link to /usr/lib, the loader names libc.so.6 by either path, because of the other
// libraries.
static const char *below_usr(const struct seep_module *module) {
    bool is_known = module->build_id_bytes && strncmp(module->path, "/usr/", 5) == 0;
    return module->path + (is_known ? 4 : 0);
}

static bool same_module(const struct seep_stack_module *a, const struct seep_module *b) {
    const struct seep_module known = {.path = a->path, .build_id_bytes = a->build_id_bytes};
    return strcmp(below_usr(&known), below_usr(b)) == 0 && a->build_id_bytes == b->build_id_bytes &&
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
    const char *path = below_usr(module);
    uint64_t key = seep_hash_bytes(path, strlen(path)) ^
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
    stacks->frames[stacks->nr_frames] =
        (struct seep_stack_frame){.module = module, .exact = exact, .offset = offset};
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
