// SPDX-License-Identifier: BSD-2-Clause
// The rows of a call tree on a screen, see screen_tree.h.
#include <stdlib.h>
#include <string.h>

#include "screen/screen_tree.h"

#define OPEN_PERCENT 10u // of the whole: what is as large is open by itself
#define BRANCHES_MAX 100000u
#define DEPTH_MAX    1000u // rows; deeper calls stay closed

const char *seep_branch_label(const struct seep_screen_tree *tree, const struct seep_branch *branch) {
    return tree->table.frames[tree->tree.calls[branch->call].frame].label;
}

static struct seep_error *add_branch(struct seep_screen_tree *tree, const struct seep_branch *branch) {
    if (!seep_grow(&tree->branches, &tree->capacity, tree->nr_branches + 1, sizeof(*tree->branches)))
        return seep_error_no_memory();
    tree->branches[tree->nr_branches++] = *branch;
    return NULL;
}

static struct seep_branch branch_of(const struct seep_screen_tree *tree, uint32_t call, uint64_t above,
                                    unsigned depth) {
    const struct seep_call *of = &tree->tree.calls[call];
    struct seep_branch branch = {.call = call, .depth = depth};
    const char *label = seep_branch_label(tree, &branch);
    branch.key = seep_hash64(above ^ seep_hash_bytes(label, strlen(label)));
    branch.has_more = of->first_child != SEEP_NO_CALL;
    uint64_t total = tree->tree.calls[0].total;
    branch.open = branch.has_more && of->total >= total / 100 * OPEN_PERCENT && of->total;
    const uint64_t *toggled = seep_map_find(&tree->toggled, branch.key);
    if (toggled && *toggled)
        branch.open = !branch.open && branch.has_more;
    return branch;
}

// Depth first, without recursion: as deep as stacks are.
static struct seep_error *list_branches(struct seep_screen_tree *tree) {
    struct level {
        uint32_t next;
        uint64_t above;
    } levels[DEPTH_MAX];
    unsigned depth = 0;
    tree->nr_branches = 0;
    levels[0] = (struct level){tree->tree.calls[0].first_child, 0};
    struct seep_error *error = NULL;
    while (!error && tree->nr_branches < BRANCHES_MAX) {
        if (levels[depth].next == SEEP_NO_CALL) {
            if (!depth)
                break;
            depth--;
            continue;
        }
        uint32_t call = levels[depth].next;
        levels[depth].next = tree->tree.calls[call].next;
        struct seep_branch branch = branch_of(tree, call, levels[depth].above, depth);
        if (depth + 1 == DEPTH_MAX)
            branch.open = false;
        error = add_branch(tree, &branch);
        if (branch.open)
            levels[++depth] = (struct level){tree->tree.calls[call].first_child, branch.key};
    }
    return error;
}

struct seep_error *seep_screen_tree_make(struct seep_screen_tree *tree, struct seep_view *view) {
    seep_screen_tree_clear(tree);
    uint32_t *nodes = NULL;
    uint64_t *values = calloc(SEEP_MAX(view->nr_rows, (size_t)1), sizeof(*values));
    if (!values)
        return seep_error_no_memory();
    for (size_t i = 0; i < view->nr_rows; i++)
        values[i] = view->rows[i].live_bytes > 0 ? (uint64_t)view->rows[i].live_bytes : 0;
    struct seep_error *error = seep_stack_table_of(&tree->table, view, &nodes);
    if (!error)
        error = seep_call_tree_init(&tree->tree, &tree->table, nodes, values, view->nr_rows, false, 0, 0);
    free(nodes);
    free(values);
    tree->made = !error;
    if (error)
        seep_screen_tree_clear(tree);
    return error;
}

struct seep_error *seep_screen_tree_take(struct seep_screen_tree *tree, struct seep_screen_tree *made) {
    seep_screen_tree_clear(tree);
    if (!made->made)
        return NULL;
    tree->table = made->table;
    tree->tree = made->tree;
    tree->tree.table = &tree->table;
    tree->made = true;
    *made = (struct seep_screen_tree){.made = false};
    struct seep_error *error = list_branches(tree);
    if (error)
        seep_screen_tree_clear(tree);
    return error;
}

struct seep_error *seep_screen_tree_toggle(struct seep_screen_tree *tree, size_t branch) {
    if (!tree->made || branch >= tree->nr_branches)
        return NULL;
    bool is_new;
    uint64_t *toggled = seep_map_at(&tree->toggled, tree->branches[branch].key, &is_new);
    if (!toggled)
        return seep_error_no_memory();
    *toggled = is_new || !*toggled;
    return list_branches(tree);
}

void seep_screen_tree_clear(struct seep_screen_tree *tree) {
    seep_call_tree_deinit(&tree->tree);
    seep_stack_table_deinit(&tree->table);
    tree->tree = (struct seep_call_tree){NULL};
    tree->table = (struct seep_stack_table)SEEP_STACK_TABLE_INIT;
    tree->nr_branches = 0;
    tree->made = false;
}

void seep_screen_tree_deinit(struct seep_screen_tree *tree) {
    seep_screen_tree_clear(tree);
    free(tree->branches);
    seep_map_deinit(&tree->toggled);
}
