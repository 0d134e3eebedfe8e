// SPDX-License-Identifier: BSD-2-Clause
// Stacks that look alike, see stacks_alike.h.
#include <stdlib.h>
#include <string.h>

#include "base/text_same.h"
#include "view/stacks_alike.h"

#define NEAR_BYTES    512u // copies of a loop's body follow one another
#define SIBLINGS_MOST 32u  // that a node is compared with
#define RESOLVED_MOST 20000u

struct alike {
    struct seep_stacks *stacks;
    uint32_t *of;         // by node: the first that is alike
    uint32_t *next;       // by node: the one before it with the same caller and module, + 1
    uint32_t *first;      // by node: the first of its children, in `last` once there are two; 0: none
    struct seep_map last; // by caller and module: the last of them, + 1
    size_t nr_resolved;
};

static bool same_symbol(const struct seep_symbol *a, const struct seep_symbol *b) {
    if (a->nr_frames != b->nr_frames)
        return false;
    for (unsigned i = 0; i < a->nr_frames; i++) {
        const struct seep_symbol_frame *x = &a->frames[i], *y = &b->frames[i];
        if (!x->function || !x->file || !x->line || x->line != y->line ||
            !seep_text_same(x->function, y->function) || !seep_text_same(x->file, y->file))
            return false;
    }
    return true;
}

static struct seep_error *compare(struct alike *alike, uint32_t one, uint32_t other, bool *ret_same) {
    const struct seep_stack_node *a = &alike->stacks->nodes[one], *b = &alike->stacks->nodes[other];
    *ret_same = a->frame == b->frame && a->cut == b->cut;
    if (*ret_same || a->frame == SEEP_NO_FRAME || b->frame == SEEP_NO_FRAME)
        return NULL;
    const struct seep_stack_frame *x = &alike->stacks->frames[a->frame],
                                  *y = &alike->stacks->frames[b->frame];
    uint64_t gap = x->offset > y->offset ? x->offset - y->offset : y->offset - x->offset;
    if (x->exact != y->exact || gap > NEAR_BYTES || alike->nr_resolved > RESOLVED_MOST)
        return NULL;
    const struct seep_symbol *of_x = NULL, *of_y = NULL;
    alike->nr_resolved += !x->symbol + !y->symbol;
    struct seep_error *error = seep_stacks_resolve(alike->stacks, a->frame, &of_x);
    if (!error)
        error = seep_stacks_resolve(alike->stacks, b->frame, &of_y);
    if (!error)
        *ret_same = same_symbol(of_x, of_y);
    return error;
}

// The last node with the caller and the module of `node`.
static uint64_t *last_of(struct alike *alike, uint32_t node) {
    const struct seep_stack_node *n = &alike->stacks->nodes[node];
    uint64_t module = n->frame == SEEP_NO_FRAME ? UINT32_MAX : alike->stacks->frames[n->frame].module;
    return seep_map_at(&alike->last, (uint64_t)alike->of[n->parent] << 32 | module, NULL);
}

#define IN_LAST UINT32_MAX

static struct seep_error *find(struct alike *alike, uint32_t node) {
    uint32_t *first = &alike->first[alike->of[alike->stacks->nodes[node].parent]];
    if (!*first) { // most have no sibling
        *first = node;
        return NULL;
    }
    if (*first != IN_LAST) {
        uint64_t *last = last_of(alike, *first);
        if (!last)
            return seep_error_no_memory();
        *last = (uint64_t)*first + 1;
        *first = IN_LAST;
    }
    uint64_t *last = last_of(alike, node);
    struct seep_error *error = last ? NULL : seep_error_no_memory();
    uint32_t other = error ? 0 : (uint32_t)*last;
    for (unsigned i = 0; !error && other && i < SIBLINGS_MOST; i++, other = alike->next[other - 1]) {
        bool same = false;
        error = compare(alike, node, other - 1, &same);
        if (same) {
            alike->of[node] = other - 1;
            return error;
        }
    }
    if (error)
        return error;
    alike->next[node] = (uint32_t)*last;
    *last = (uint64_t)node + 1;
    return NULL;
}

struct seep_error *seep_stacks_alike(struct seep_stacks *stacks, uint32_t **ret_of) {
    struct alike alike = {.stacks = stacks, .last = SEEP_MAP_INIT};
    alike.of = malloc(stacks->nr_nodes * sizeof(*alike.of));
    alike.next = calloc(stacks->nr_nodes, sizeof(*alike.next));
    alike.first = calloc(stacks->nr_nodes, sizeof(*alike.first));
    struct seep_error *error = alike.of && alike.next && alike.first ? NULL : seep_error_no_memory();
    for (uint32_t i = 0; !error && i < stacks->nr_nodes; i++) { // callers first
        alike.of[i] = i;
        if (i)
            error = find(&alike, i);
    }
    seep_map_deinit(&alike.last);
    free(alike.next);
    free(alike.first);
    if (error)
        free(alike.of);
    else
        *ret_of = alike.of;
    return error;
}
