// SPDX-License-Identifier: BSD-2-Clause
// The call tree against its definition: a call is a path of functions from the root on, its total the sum of the
// sites whose stacks begin with that path, or, bottom-up, end with it.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "view/call_tree.h"

enum { FRAMES = 7, FUNCTIONS = 4, NODES = 60, SITES = 40, DEPTH = NODES };

struct example {
    struct seep_stack_table table;
    struct seep_table_frame frames[FRAMES];
    struct seep_table_node nodes[NODES];
    uint32_t at[SITES];
    uint64_t values[SITES];
    uint64_t whole;
};

// Two frames may be of one function; frame 0 has no name.
static void make(struct example *e) {
    static const char *const names[FUNCTIONS] = {NULL, "a", "b", "c"};
    for (uint32_t i = 0; i < FRAMES; i++)
        e->frames[i].frame =
            (struct seep_view_frame){.function = names[i % FUNCTIONS], .module = "m", .offset = i};
    for (uint32_t i = 0; i < NODES; i++)
        e->nodes[i] = (struct seep_table_node){(uint32_t)rand() % FRAMES,
                                               i && rand() % 5 ? (uint32_t)rand() % i : SEEP_NO_STACK, 0};
    e->whole = 0;
    for (uint32_t i = 0; i < SITES; i++) {
        e->at[i] = rand() % 10 ? (uint32_t)rand() % NODES : SEEP_NO_STACK;
        e->values[i] = rand() % 4 ? (uint64_t)(rand() % 1000) : 0;
        e->whole += e->values[i];
    }
    e->table = (struct seep_stack_table){
        .frames = e->frames, .nr_frames = FRAMES, .nodes = e->nodes, .nr_nodes = NODES};
}

// Functions are known by their name, and without one by their frame.
static uint32_t function_of(const struct example *e, uint32_t frame) {
    return e->frames[frame].frame.function ? frame % FUNCTIONS : FUNCTIONS + frame;
}

// The functions of a stack from the root of the tree on.
static size_t stack_of(const struct example *e, uint32_t node, bool callers, uint32_t *functions) {
    size_t nr = 0;
    for (; node != SEEP_NO_STACK; node = e->nodes[node].caller)
        functions[nr++] = function_of(e, e->nodes[node].frame);
    for (size_t i = 0; !callers && i < nr / 2; i++) {
        uint32_t kept = functions[i];
        functions[i] = functions[nr - 1 - i];
        functions[nr - 1 - i] = kept;
    }
    return nr;
}

static void check_call(const struct example *e, const struct seep_call_tree *tree, uint32_t call,
                       bool callers) {
    uint32_t path[DEPTH], functions[DEPTH];
    size_t nr_path = 0;
    uint64_t total = 0, below = tree->calls[call].own, before = UINT64_MAX;
    for (uint32_t at = call; at; at = tree->calls[at].parent)
        path[nr_path++] = function_of(e, tree->calls[at].frame);
    for (uint32_t i = 0; i < SITES; i++) {
        size_t nr = stack_of(e, e->at[i], callers, functions), same = 0;
        while (same < nr_path && same < nr && functions[same] == path[nr_path - 1 - same])
            same++;
        total += same == nr_path ? e->values[i] : 0;
    }
    assert_int_equal(tree->calls[call].total, total);
    for (uint32_t child = tree->calls[call].first_child; child != SEEP_NO_CALL;
         child = tree->calls[child].next) {
        assert_int_equal(tree->calls[child].parent, call);
        assert_true(tree->calls[child].total && tree->calls[child].total <= before);
        before = tree->calls[child].total;
        below += before;
    }
    assert_int_equal(below, total);
}

// No call is missing: each site goes down from the root as far as the tree does.
static void check_site(const struct example *e, const struct seep_call_tree *tree, uint32_t site,
                       bool callers, size_t depth) {
    uint32_t functions[DEPTH], call = 0;
    size_t nr = stack_of(e, e->at[site], callers, functions);
    for (size_t i = 0; i < nr && i < depth && (!callers || tree->calls[call].total >= tree->least); i++) {
        uint32_t child = tree->calls[call].first_child;
        while (child != SEEP_NO_CALL && function_of(e, tree->calls[child].frame) != functions[i])
            child = tree->calls[child].next;
        assert_int_not_equal(child, SEEP_NO_CALL);
        call = child;
    }
}

static void check(const struct example *e, bool callers, size_t depth, unsigned least_per_mille) {
    struct seep_call_tree tree;
    assert_null(
        seep_call_tree_init(&tree, &e->table, e->at, e->values, SITES, callers, depth, least_per_mille));
    assert_int_equal(tree.calls[0].total, e->whole);
    assert_true(tree.least >= 1 && tree.least >= e->whole * least_per_mille / 1000);
    for (uint32_t call = 0; call < tree.nr_calls; call++)
        check_call(e, &tree, call, callers);
    for (uint32_t site = 0; site < SITES; site++)
        if (e->values[site])
            check_site(e, &tree, site, callers, depth);
    seep_call_tree_deinit(&tree);
}

static void test_against_the_definition(void **state) {
    struct example e;
    srand(1);
    for (int i = 0; i < 300; i++) {
        make(&e);
        check(&e, false, 0, 0);
        check(&e, true, SIZE_MAX, 0);
        check(&e, true, SIZE_MAX, 100);
        check(&e, true, 3, 10);
    }
}

static void test_nothing(void **state) {
    struct example e = {.at = {0}};
    make(&e);
    memset(e.values, 0, sizeof(e.values));
    e.whole = 0;
    check(&e, false, 0, 5);
    check(&e, true, 40, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_definition),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
