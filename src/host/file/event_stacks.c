// SPDX-License-Identifier: BSD-2-Clause
// Codec of what events refer to, see event_stacks.h.
#include <string.h>

#include "file/event_stacks.h"

static const char no_memory[] = "out of memory";
static const char out_of_range[] = "cut short, or a number is out of range";

// ---- writing ---------------------------------------------------------------------------------------

static void put_process(struct seep_put *put, const struct seep_recorded_stacks *stacks) {
    const struct seep_process *process = &stacks->process;
    seep_put_leb(put, process->pid);
    seep_put_zigzag(put, process->start_realtime_ns);
    seep_put_leb(put, process->ppid);
    seep_put_leb(put, process->forked_from);
    seep_put_leb(put, process->is_main);
    seep_put_leb(put, stacks->image_flags);
    seep_put_text(put, process->exe);
    seep_put_leb(put, process->nr_args);
    for (uint32_t i = 0; i < process->nr_args; i++)
        seep_put_text(put, process->args[i]);
}

void seep_recorded_stacks_put(struct seep_put *put, const struct seep_recorded_stacks *stacks) {
    put_process(put, stacks);
    seep_put_leb(put, stacks->first_module);
    seep_put_leb(put, stacks->nr_modules);
    for (uint32_t i = 0; i < stacks->nr_modules; i++) {
        const struct seep_module *module = &stacks->modules[i];
        seep_put_text(put, module->path);
        seep_put_leb(put, module->bias_rt);
        seep_put_leb(put, module->start_rt);
        seep_put_leb(put, module->end_rt);
        seep_put_zigzag(put, module->first_seen_ns);
        seep_put_leb(put, module->build_id_bytes);
        seep_put_bytes(put, module->build_id, module->build_id_bytes);
    }
    seep_put_leb(put, stacks->first_node);
    seep_put_leb(put, stacks->nr_nodes);
    for (uint32_t i = 0; i < stacks->nr_nodes; i++) {
        const struct seep_node *node = &stacks->nodes[i];
        seep_put_leb(put, stacks->first_node + i - 1 - node->parent);
        seep_put_leb(put, (uint64_t)node->module << 3 | (uint64_t)node->exact << 2 | node->kind);
        seep_put_leb(put, node->offset);
    }
    seep_put_leb(put, stacks->first_site);
    seep_put_leb(put, stacks->nr_sites);
    for (uint32_t i = 0; i < stacks->nr_sites; i++) {
        seep_put_leb(put, stacks->sites[i].node);
        seep_put_leb(put, stacks->sites[i].via);
    }
    seep_put_leb(put, stacks->first_thread);
    seep_put_leb(put, stacks->nr_threads);
    for (uint32_t i = 0; i < stacks->nr_threads; i++) {
        seep_put_leb(put, stacks->threads[i].tid);
        seep_put_text(put, stacks->threads[i].name);
    }
}

// ---- reading ---------------------------------------------------------------------------------------

// false: out of memory.
static bool take_text(struct seep_take *take, struct seep_arena *arena, const char **ret_text) {
    size_t length;
    const char *bytes = seep_take_text(take, &length);
    *ret_text = seep_arena_strndup(arena, bytes ? bytes : "", bytes ? length : 0);
    return *ret_text;
}

// How many elements follow, of at least so many bytes each, and room for them.
static void *take_array(struct seep_take *take, struct seep_arena *arena, uint32_t *ret_first,
                        uint32_t *ret_nr, size_t bytes_least, size_t element_bytes) {
    *ret_first = seep_take_u32(take);
    *ret_nr = seep_take_u32(take);
    if (*ret_nr > seep_take_left(take) / bytes_least || *ret_nr > UINT32_MAX - *ret_first)
        take->failed = true;
    return take->failed ? NULL : seep_arena_alloc(arena, *ret_nr ? *ret_nr : 1, element_bytes);
}

static const char *take_process(struct seep_take *take, struct seep_recorded_stacks *stacks) {
    struct seep_process *process = &stacks->process;
    process->pid = seep_take_u32(take);
    process->start_realtime_ns = seep_take_zigzag(take);
    process->ppid = seep_take_u32(take);
    process->forked_from = seep_take_u32(take);
    process->is_main = seep_take_bool(take);
    stacks->image_flags = seep_take_u32(take);
    if (!take_text(take, &stacks->arena, &process->exe))
        return no_memory;
    process->nr_args = process->nr_args_all = seep_take_u32(take);
    if (take->failed || process->nr_args > seep_take_left(take))
        return out_of_range;
    const char **args = seep_arena_alloc(&stacks->arena, process->nr_args + 1, sizeof(*args));
    if (!args)
        return no_memory;
    for (uint32_t i = 0; i < process->nr_args; i++)
        if (!take_text(take, &stacks->arena, &args[i]))
            return no_memory;
    process->args = args;
    return NULL;
}

static const char *take_modules(struct seep_take *take, struct seep_recorded_stacks *stacks) {
    stacks->modules = take_array(take, &stacks->arena, &stacks->first_module, &stacks->nr_modules, 6,
                                 sizeof(*stacks->modules));
    for (uint32_t i = 0; stacks->modules && i < stacks->nr_modules; i++) {
        struct seep_module *module = &stacks->modules[i];
        *module = (struct seep_module){.unloaded_ns = -1};
        if (!take_text(take, &stacks->arena, &module->path))
            return no_memory;
        take->failed |= !*module->path;
        module->bias_rt = seep_take_leb(take);
        module->start_rt = seep_take_leb(take);
        module->end_rt = seep_take_leb(take);
        module->first_seen_ns = seep_take_zigzag(take);
        module->build_id_bytes = seep_take_u32(take);
        take->failed |= module->build_id_bytes > sizeof(module->build_id);
        const unsigned char *id = take->failed ? NULL : seep_take_bytes(take, module->build_id_bytes);
        if (id)
            memcpy(module->build_id, id, module->build_id_bytes);
    }
    return take->failed ? out_of_range : stacks->modules ? NULL : no_memory;
}

static const char *take_nodes(struct seep_take *take, struct seep_recorded_stacks *stacks) {
    uint32_t nr_modules = stacks->first_module + stacks->nr_modules;
    stacks->nodes =
        take_array(take, &stacks->arena, &stacks->first_node, &stacks->nr_nodes, 3, sizeof(*stacks->nodes));
    for (uint32_t i = 0; stacks->nodes && i < stacks->nr_nodes; i++) {
        uint64_t id = (uint64_t)stacks->first_node + i;
        uint64_t back = seep_take_leb(take), word = seep_take_leb(take);
        stacks->nodes[i] = (struct seep_node){.offset = seep_take_leb(take),
                                              .module = (uint32_t)(word >> 3),
                                              .exact = word & 4,
                                              .kind = (uint8_t)(word & 3)};
        if (!id || back >= id || word >> 3 >= SEEP_MAX(nr_modules, 1u) || (word & 3) > SEEP_NODE_CUT ||
            ((word & 3) == SEEP_NODE_CUT && back != id - 1))
            take->failed = true;
        else
            stacks->nodes[i].parent = (uint32_t)(id - 1 - back);
    }
    return take->failed ? out_of_range : stacks->nodes ? NULL : no_memory;
}

static const char *take_sites(struct seep_take *take, struct seep_recorded_stacks *stacks) {
    uint32_t nr_nodes = stacks->first_node + stacks->nr_nodes;
    stacks->sites =
        take_array(take, &stacks->arena, &stacks->first_site, &stacks->nr_sites, 2, sizeof(*stacks->sites));
    for (uint32_t i = 0; stacks->sites && i < stacks->nr_sites; i++) {
        stacks->sites[i] = (struct seep_site){.node = seep_take_u32(take), .via = seep_take_u32(take)};
        stacks->sites[i].counters.size_min = UINT64_MAX;
        take->failed |= stacks->sites[i].node >= SEEP_MAX(nr_nodes, 1u);
    }
    return take->failed ? out_of_range : stacks->sites ? NULL : no_memory;
}

static const char *take_threads(struct seep_take *take, struct seep_recorded_stacks *stacks) {
    stacks->threads = take_array(take, &stacks->arena, &stacks->first_thread, &stacks->nr_threads, 2,
                                 sizeof(*stacks->threads));
    for (uint32_t i = 0; stacks->threads && i < stacks->nr_threads; i++) {
        size_t length;
        stacks->threads[i] = (struct seep_thread){.tid = seep_take_u32(take), .nr_owners = 1};
        const char *name = seep_take_text(take, &length);
        if (name)
            memcpy(stacks->threads[i].name, name, SEEP_MIN(length, sizeof(stacks->threads[i].name) - 1));
    }
    return take->failed ? out_of_range : stacks->threads ? NULL : no_memory;
}

const char *seep_recorded_stacks_take(struct seep_take *take, struct seep_recorded_stacks *ret_stacks) {
    struct seep_recorded_stacks stacks = {.first_module = 0};
    const char *wrong = take_process(take, &stacks);
    if (!wrong)
        wrong = take_modules(take, &stacks);
    if (!wrong)
        wrong = take_nodes(take, &stacks);
    if (!wrong)
        wrong = take_sites(take, &stacks);
    if (!wrong)
        wrong = take_threads(take, &stacks);
    if (!wrong && seep_take_left(take))
        wrong = "bytes left over";
    if (wrong)
        seep_recorded_stacks_deinit(&stacks);
    else
        *ret_stacks = stacks;
    return wrong;
}
