// SPDX-License-Identifier: BSD-2-Clause
// The call tree by function, see call_tree.h.
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
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

static struct seep_error *add_call(struct seep_call_tree *tree, uint32_t parent, uint32_t frame,
                                   uint32_t *ret_call) {
    if (tree->nr_calls >= SEEP_NO_CALL ||
        !seep_grow(&tree->calls, &tree->capacity, tree->nr_calls + 1, sizeof(*tree->calls)))
        return seep_error_no_memory();
    tree->calls[tree->nr_calls] = (struct seep_call){parent, frame, 0, 0, SEEP_NO_CALL, SEEP_NO_CALL};
    *ret_call = (uint32_t)tree->nr_calls++;
    return NULL;
}

// ---- top-down: a node of the table is below the call of its caller ----

// Most calls have one child, which first_child names meanwhile; only others are looked up by what they are.
static struct seep_error *child_of(struct seep_call_tree *tree, const uint32_t *functions,
                                   struct seep_ids *ids, uint32_t parent, uint32_t frame,
                                   uint32_t *ret_call) {
    uint32_t first = tree->calls[parent].first_child;
    uint64_t hash = 0;
    if (first != SEEP_NO_CALL) {
        *ret_call = first;
        if (functions[tree->calls[first].frame] == functions[frame])
            return NULL;
        hash = seep_hash64((uint64_t)parent << 32 | functions[frame]);
        size_t at;
        for (uint32_t id = seep_ids_first(ids, hash, &at); id != SEEP_NO_ID;
             id = seep_ids_next(ids, hash, &at)) {
            *ret_call = id;
            if (tree->calls[id].parent == parent && functions[tree->calls[id].frame] == functions[frame])
                return NULL;
        }
    }
    struct seep_error *error = add_call(tree, parent, frame, ret_call);
    if (!error && first != SEEP_NO_CALL && !seep_ids_add(ids, hash, *ret_call))
        error = seep_error_no_memory();
    if (!error && first == SEEP_NO_CALL)
        tree->calls[parent].first_child = *ret_call;
    return error;
}

static struct seep_error *add_callees(struct seep_call_tree *tree, const uint32_t *functions,
                                      const uint32_t *nodes, const uint64_t *values, size_t nr) {
    const struct seep_stack_table *table = tree->table;
    size_t nr_nodes = SEEP_MAX(table->nr_nodes, (size_t)1);
    uint64_t *own = calloc(nr_nodes, sizeof(*own)), *total = calloc(nr_nodes, sizeof(*total));
    uint32_t *calls = calloc(nr_nodes, sizeof(*calls));
    struct seep_ids ids = SEEP_IDS_INIT;
    struct seep_error *error = own && total && calls ? NULL : seep_error_no_memory();
    for (size_t i = 0; !error && i < nr; i++)
        seep_add_up(nodes[i] == SEEP_NO_STACK ? &tree->calls[0].own : &own[nodes[i]], values[i]);
    for (size_t i = error ? 0 : table->nr_nodes; i > 0; i--) { // callers come first in the table
        uint32_t caller = table->nodes[i - 1].caller;
        seep_add_up(&total[i - 1], own[i - 1]);
        if (caller != SEEP_NO_STACK)
            seep_add_up(&total[caller], total[i - 1]);
    }
    for (size_t i = 0; !error && i < table->nr_nodes; i++) {
        uint32_t caller = table->nodes[i].caller;
        if (!total[i])
            continue;
        error = child_of(tree, functions, &ids, caller == SEEP_NO_STACK ? 0 : calls[caller],
                         table->nodes[i].frame, &calls[i]);
        if (!error) {
            seep_add_up(&tree->calls[calls[i]].total, total[i]);
            seep_add_up(&tree->calls[calls[i]].own, own[i]);
        }
    }
    seep_ids_deinit(&ids);
    free(own);
    free(total);
    free(calls);
    return error;
}

// ---- bottom-up: the sites below a call lie side by side, and are divided by their next callers ----

struct part {
    size_t from;
    size_t nr;
};

struct dividing {
    struct seep_call_tree *tree;
    const uint32_t *functions;
    const uint64_t *values;
    uint32_t *sites;    // those of one call lie side by side
    uint32_t *sorted;   // scratch of the same size
    uint32_t *next;     // by site: the node whose frame comes next
    uint32_t *child;    // by function: the child of the call that is being divided, or 0
    struct part *parts; // by call: where its sites are
    size_t parts_capacity;
};

static uint32_t *child_at(const struct dividing *d, uint32_t node) {
    return &d->child[d->functions[d->tree->table->nodes[node].frame]];
}

static struct seep_error *divide(struct dividing *d, uint32_t call) {
    struct seep_call_tree *tree = d->tree;
    const struct seep_table_node *nodes = tree->table->nodes;
    const struct part whole = d->parts[call];
    size_t first = tree->nr_calls, nr_left = 0, at = whole.from;
    struct seep_error *error = NULL;
    for (size_t i = whole.from; !error && i < whole.from + whole.nr; i++) {
        uint32_t site = d->sites[i], node = d->next[site];
        if (node == SEEP_NO_STACK) {
            seep_add_up(&tree->calls[call].own, d->values[site]);
            continue;
        }
        uint32_t *child = child_at(d, node);
        if (!*child) {
            error = add_call(tree, call, nodes[node].frame, child);
            if (!error && !seep_grow(&d->parts, &d->parts_capacity, tree->nr_calls, sizeof(*d->parts)))
                error = seep_error_no_memory();
        }
        if (error)
            break;
        seep_add_up(&tree->calls[*child].total, d->values[site]);
        d->parts[*child].nr++;
        d->sites[whole.from + nr_left++] = site;
    }
    for (size_t i = first; !error && i < tree->nr_calls; i++) {
        d->parts[i].from = at;
        at += d->parts[i].nr;
        d->parts[i].nr = 0;
    }
    for (size_t i = whole.from; !error && i < whole.from + nr_left; i++) {
        uint32_t site = d->sites[i], node = d->next[site];
        struct part *part = &d->parts[*child_at(d, node)];
        d->sorted[part->from + part->nr++] = site;
        d->next[site] = nodes[node].caller;
    }
    if (error)
        return error;
    memcpy(d->sites + whole.from, d->sorted + whole.from, nr_left * sizeof(*d->sites));
    for (size_t i = first; i < tree->nr_calls; i++)
        d->child[d->functions[tree->calls[i].frame]] = 0;
    return NULL;
}

// Breadth first: when the first call of a depth comes, all of that depth are there.
static struct seep_error *divide_all(struct dividing *d, size_t depth) {
    struct seep_call_tree *tree = d->tree;
    struct seep_error *error = NULL;
    size_t end_of_depth = 1, at_depth = 0;
    for (size_t i = 0; !error && i < tree->nr_calls; i++) {
        if (i == end_of_depth) {
            end_of_depth = tree->nr_calls;
            at_depth++;
        }
        if (at_depth < depth && tree->calls[i].total >= tree->least)
            error = divide(d, (uint32_t)i);
        else
            tree->calls[i].own = tree->calls[i].total;
    }
    return error;
}

static struct seep_error *add_callers(struct seep_call_tree *tree, const uint32_t *functions,
                                      const uint32_t *nodes, const uint64_t *values, size_t nr,
                                      size_t depth) {
    size_t room = SEEP_MAX(nr, (size_t)1);
    struct dividing d = {.tree = tree, .functions = functions, .values = values};
    d.sites = calloc(room, sizeof(*d.sites));
    d.sorted = calloc(room, sizeof(*d.sorted));
    d.next = calloc(room, sizeof(*d.next));
    d.child = calloc(SEEP_MAX(tree->table->nr_frames, (size_t)1), sizeof(*d.child));
    struct seep_error *error = NULL;
    if (!d.sites || !d.sorted || !d.next || !d.child ||
        !seep_grow(&d.parts, &d.parts_capacity, 1, sizeof(*d.parts)))
        error = seep_error_no_memory();
    for (size_t i = 0; !error && i < nr; i++) {
        d.next[i] = nodes[i];
        if (values[i])
            d.sites[d.parts[0].nr++] = (uint32_t)i;
    }
    if (!error)
        error = divide_all(&d, depth);
    free(d.sites);
    free(d.sorted);
    free(d.next);
    free(d.child);
    free(d.parts);
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
    for (size_t i = 0; i < tree->nr_calls; i++) {
        order[i] = (uint32_t)i;
        tree->calls[i].first_child = SEEP_NO_CALL;
    }
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
                                       size_t depth, unsigned least_per_mille) {
    *tree = (struct seep_call_tree){.table = table};
    uint32_t *functions = NULL, root;
    struct seep_error *error = number_functions(table, &functions);
    if (!error)
        error = add_call(tree, 0, 0, &root);
    if (!error) {
        uint64_t *total = &tree->calls[root].total;
        for (size_t i = 0; i < nr; i++)
            seep_add_up(total, values[i]);
        tree->least = *total / 1000 * least_per_mille + *total % 1000 * least_per_mille / 1000;
        tree->least = SEEP_MAX(tree->least, (uint64_t)1);
        error = callers ? add_callers(tree, functions, nodes, values, nr, depth)
                        : add_callees(tree, functions, nodes, values, nr);
    }
    if (!error)
        error = link_children(tree);
    free(functions);
    if (error)
        seep_call_tree_deinit(tree);
    return error;
}
