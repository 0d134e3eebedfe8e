// SPDX-License-Identifier: BSD-2-Clause
// The call tree by function, see call_tree.h.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "view/call_tree.h"

void seep_call_tree_deinit(struct seep_call_tree *tree) {
    free(tree->calls);
    tree->calls = NULL;
}

// Frames of one function have one number: the first such frame. Those without a name are alone.
static struct seep_error *number_functions(const struct seep_stack_table *table, uint32_t **ret_functions) {
    uint32_t *functions = calloc(SEEP_MAX(table->nr_frames, (size_t)1), sizeof(*functions));
    struct seep_map first = SEEP_MAP_INIT;
    bool failed = !functions;
    for (size_t i = 0; !failed && i < table->nr_frames; i++) {
        const struct seep_view_frame *frame = &table->frames[i].frame;
        functions[i] = (uint32_t)i;
        if (!frame->function)
            continue;
        const char *const key[] = {frame->function, frame->module}; // the table has each text once
        uint64_t *slot = seep_map_at(&first, seep_hash_bytes(key, sizeof(key)), NULL);
        failed = !slot;
        if (slot && !*slot)
            *slot = i + 1;
        functions[i] = slot ? (uint32_t)*slot - 1 : 0;
    }
    seep_map_deinit(&first);
    if (failed) {
        free(functions);
        return seep_error_no_memory();
    }
    *ret_functions = functions;
    return NULL;
}

struct growing {
    struct seep_call_tree *tree;
    const uint32_t *functions;
    struct seep_map ids; // parent and function to node
};

static struct seep_error *child_of(struct growing *growing, uint32_t parent, uint32_t frame,
                                   uint32_t *ret_call) {
    struct seep_call_tree *tree = growing->tree;
    uint64_t *slot = seep_map_at(&growing->ids, (uint64_t)parent << 32 | growing->functions[frame], NULL);
    if (!slot)
        return seep_error_no_memory();
    if (!*slot) {
        if (tree->nr_calls >= SEEP_NO_CALL ||
            !seep_grow(&tree->calls, &tree->capacity, tree->nr_calls + 1, sizeof(*tree->calls)))
            return seep_error_no_memory();
        tree->calls[tree->nr_calls] = (struct seep_call){parent, frame, 0, 0, SEEP_NO_CALL, SEEP_NO_CALL};
        *slot = tree->nr_calls++;
    }
    *ret_call = (uint32_t)*slot;
    return NULL;
}

static struct seep_error *add_stack(struct growing *growing, const uint32_t *frames, size_t nr, bool callers,
                                    size_t depth, uint64_t value) {
    struct seep_error *error = NULL;
    uint32_t call = 0;
    seep_add_up(&growing->tree->calls[0].total, value);
    for (size_t i = 0; !error && i < nr && i < depth; i++) { // `frames` are innermost first
        error = child_of(growing, call, frames[callers ? i : nr - 1 - i], &call);
        if (!error)
            seep_add_up(&growing->tree->calls[call].total, value);
    }
    if (!error)
        seep_add_up(&growing->tree->calls[call].own, value);
    return error;
}

static int compare_calls(const void *left, const void *right, void *calls) {
    const struct seep_call *ordered = calls;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (ordered[a].total != ordered[b].total)
        return ordered[a].total < ordered[b].total ? 1 : -1;
    return (a > b) - (a < b);
}

// The biggest comes to stand first in each list, as nodes are put in front from the smallest on.
static struct seep_error *link_children(struct seep_call_tree *tree) {
    uint32_t *order = calloc(tree->nr_calls, sizeof(*order));
    if (!order)
        return seep_error_no_memory();
    for (size_t i = 0; i < tree->nr_calls; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, tree->nr_calls, sizeof(*order), compare_calls, tree->calls);
    for (size_t i = tree->nr_calls; i > 0; i--) {
        struct seep_call *call = &tree->calls[order[i - 1]];
        if (order[i - 1] == 0)
            continue;
        call->next = tree->calls[call->parent].first_child;
        tree->calls[call->parent].first_child = order[i - 1];
    }
    free(order);
    return NULL;
}

struct seep_error *seep_call_tree_init(struct seep_call_tree *tree, const struct seep_stack_table *table,
                                       const uint32_t *nodes, const uint64_t *values, size_t nr, bool callers,
                                       size_t depth) {
    *tree = (struct seep_call_tree){.table = table};
    uint32_t *functions = NULL, *frames = NULL;
    size_t capacity = 0;
    struct seep_error *error = number_functions(table, &functions);
    if (error)
        return error;
    struct growing growing = {tree, functions, SEEP_MAP_INIT};
    if (!seep_grow(&tree->calls, &tree->capacity, 1, sizeof(*tree->calls)))
        error = seep_error_no_memory();
    else
        tree->calls[tree->nr_calls++] = (struct seep_call){0, 0, 0, 0, SEEP_NO_CALL, SEEP_NO_CALL};
    for (size_t i = 0; !error && i < nr; i++) {
        size_t nr_frames = 0;
        for (uint32_t node = values[i] ? nodes[i] : SEEP_NO_STACK; !error && node != SEEP_NO_STACK;
             node = table->nodes[node].caller) {
            if (!seep_grow(&frames, &capacity, nr_frames + 1, sizeof(*frames)))
                error = seep_error_no_memory();
            else
                frames[nr_frames++] = table->nodes[node].frame;
        }
        if (!error && values[i])
            error = add_stack(&growing, frames, nr_frames, callers, depth, values[i]);
    }
    if (!error)
        error = link_children(tree);
    seep_map_deinit(&growing.ids);
    free(functions);
    free(frames);
    if (error)
        seep_call_tree_deinit(tree);
    return error;
}
