// SPDX-License-Identifier: BSD-2-Clause
// The tree of processes, see process_tree.h. Process ids come again: of several processes of one id the
// latest that was there before is meant.
#include <stdlib.h>

#include "analysis/process_tree.h"
#include "base/search.h"

// A profile by (pid, start, index).
struct place {
    int64_t start_ns;
    uint32_t pid;
    uint32_t index;
};

static int compare_places(const void *left, const void *right) {
    const struct place *a = left;
    const struct place *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_starts(const void *left, const void *right) {
    const struct place *a = left;
    const struct place *b = right;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

// The latest place of `pid` before `at`; NULL: none.
static const struct place *latest(const struct place *places, size_t nr, uint32_t pid,
                                  const struct place *at) {
    struct place key = {.start_ns = at->start_ns, .pid = pid, .index = at->index};
    const size_t low = SEEP_FIRST_WHERE(i, nr, compare_places(&places[i], &key) >= 0);
    return pid && low && places[low - 1].pid == pid ? &places[low - 1] : NULL;
}

static void find_parent(const struct seep_session *session, const struct place *places, size_t nr,
                        const struct place *at, struct seep_process_node *node) {
    const struct seep_profile *profile = session->profiles[at->index];
    const struct place *before = latest(places, nr, at->pid, at);
    bool forked = profile->health.flags & SEEP_FLAG_FORKED;
    node->parent = SEEP_NO_PROCESS;
    node->origin = SEEP_ORIGIN_START;
    if (!forked && before && session->profiles[before->index]->process.exit_kind == SEEP_EXIT_EXEC) {
        node->parent = before->index;
        node->origin = SEEP_ORIGIN_EXEC;
        return;
    }
    // What it was forked from is more than its parent: that may be gone, and be init now.
    const struct place *from = latest(places, nr, profile->process.forked_from, at);
    if (!from)
        from = latest(places, nr, profile->process.ppid, at);
    if (!from)
        return;
    node->parent = from->index;
    node->origin = forked ? SEEP_ORIGIN_FORK : SEEP_ORIGIN_SPAWN;
}

// Depth first without recursion: chains of processes may be long.
static void put_in_order(struct seep_process_tree *tree, uint32_t first_root) {
    uint32_t nr = 0;
    for (uint32_t at = first_root; at != SEEP_NO_PROCESS;) {
        struct seep_process_node *node = &tree->nodes[at];
        node->depth = node->parent == SEEP_NO_PROCESS ? 0 : tree->nodes[node->parent].depth + 1;
        tree->order[nr++] = at;
        if (node->first_child != SEEP_NO_PROCESS) {
            at = node->first_child;
            continue;
        }
        while (at != SEEP_NO_PROCESS && tree->nodes[at].next_sibling == SEEP_NO_PROCESS)
            at = tree->nodes[at].parent;
        if (at != SEEP_NO_PROCESS)
            at = tree->nodes[at].next_sibling;
    }
}

static void link_children(struct seep_process_tree *tree, const struct place *by_start) {
    uint32_t first_root = SEEP_NO_PROCESS;
    for (size_t i = tree->nr; i-- > 0;) { // backwards, each put in front: they end in order of start
        uint32_t index = by_start[i].index;
        uint32_t parent = tree->nodes[index].parent;
        uint32_t *head = parent == SEEP_NO_PROCESS ? &first_root : &tree->nodes[parent].first_child;
        tree->nodes[index].next_sibling = *head;
        *head = index;
    }
    put_in_order(tree, first_root);
}

struct seep_error *seep_process_tree_init(const struct seep_session *session,
                                          struct seep_process_tree *ret_tree) {
    size_t nr = session->nr_profiles;
    struct seep_process_tree tree = {.nr = (uint32_t)nr};
    tree.nodes = calloc(nr + 1, sizeof(*tree.nodes));
    tree.order = calloc(nr + 1, sizeof(*tree.order));
    struct place *places = calloc(nr + 1, sizeof(*places));
    if (nr >= SEEP_NO_PROCESS || !tree.nodes || !tree.order || !places) {
        seep_process_tree_deinit(&tree);
        free(places);
        return seep_error_no_memory();
    }
    for (size_t i = 0; i < nr; i++) {
        const struct seep_process *process = &session->profiles[i]->process;
        places[i] = (struct place){process->start_realtime_ns, process->pid, (uint32_t)i};
        tree.nodes[i].first_child = SEEP_NO_PROCESS;
    }
    qsort(places, nr, sizeof(*places), compare_places);
    for (size_t i = 0; i < nr; i++)
        find_parent(session, places, nr, &places[i], &tree.nodes[places[i].index]);
    qsort(places, nr, sizeof(*places), compare_starts);
    link_children(&tree, places);
    free(places);
    *ret_tree = tree;
    return NULL;
}

void seep_process_tree_deinit(struct seep_process_tree *tree) {
    free(tree->nodes);
    free(tree->order);
    *tree = (struct seep_process_tree){NULL};
}

const char *seep_origin_name(enum seep_origin origin) {
    static const char *const names[] = {"start", "fork", "spawn", "exec"};
    return (size_t)origin < SEEP_ARRAY_SIZE(names) ? names[origin] : "unknown";
}
