// SPDX-License-Identifier: BSD-2-Clause
//
// The table of rules and the stack tree, as the library that is preloaded has them: what is put in is found
// again, before and after they grow; what looks alike is told apart; and rules of a module that was unloaded
// are gone until it is there again.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>

#include "preload/tree.h"

enum { PCS = 20000, NODES = 120000 };

static uint64_t code_of(void *library, uint64_t *ret_bias) {
    struct link_map *map;
    assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
    *ret_bias = map->l_addr;
    void *symbol = dlsym(library, "malloc");
    assert_non_null(symbol);
    return (uint64_t)symbol;
}

static struct seep_rule rule_said(const struct seep_module_at *at, uint64_t pc) {
    bool exact = pc & SEEP_PC_EXACT;
    pc &= ~SEEP_PC_EXACT;
    struct seep_rule rule = seep_rule_at(&at->object, exact ? pc : pc - 1);
    bool starts = !exact && seep_rule_kind(rule) == SEEP_RULE_NO_CFI && seep_starts_function(&at->object, pc);
    return starts ? seep_rule_make(SEEP_RULE_END, 0, false, 0) : rule;
}

// The rule is what its call-frame information says, the frame where it is in its module.
static void assert_known(uint64_t pc, uint64_t bias) {
    struct seep_walk_frame known = {.pc = pc};
    struct seep_module_at at;
    assert_true(rule_known(&known));
    assert_true(seep_module_find((pc & ~SEEP_PC_EXACT) - 1, &at));
    assert_int_equal(known.rule.bits, rule_said(&at, pc).bits);
    assert_int_equal(known.frame, SEEP_FRAME_MAKE(at.module, pc >> 63, (pc & ~SEEP_PC_EXACT) - bias));
}

static bool is_known(uint64_t pc) {
    return rule_known(&(struct seep_walk_frame){.pc = pc});
}

// Others that end in the same bits and are looked for in the same place: how many there were.
static unsigned assert_alike_unknown(uint64_t pc) {
    const struct seep_rule_table *table = atomic_load(&seep_g.rules);
    unsigned nr = 0;
    for (uint64_t high = 1; high < 1 << 16; high++) {
        uint64_t alike = pc ^ high << 32;
        if (rule_hash(alike) >> table->shift != rule_hash(pc) >> table->shift)
            continue;
        assert_false(is_known(alike));
        nr++;
    }
    return nr;
}

static void test_rules(void **state) {
    (void)state;
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    assert_non_null(libc);
    uint64_t bias, first = code_of(libc, &bias);
    assert_false(is_known(first));
    for (uint64_t i = 0; i < PCS; i++) {
        assert_true(seep_rule_learn(&(struct seep_walk_frame){.pc = first + i}));
        if (i % 8 == 0)
            assert_true(seep_rule_learn(&(struct seep_walk_frame){.pc = (first + i) | SEEP_PC_EXACT}));
    }
    unsigned nr_alike = 0;
    uint32_t nr_used = atomic_load(&seep_g.rules)->nr_used;
    for (uint64_t i = 0; i < PCS; i++) {
        assert_known(first + i, bias);
        if (i % 8 == 0)
            assert_known((first + i) | SEEP_PC_EXACT, bias);
        else
            assert_false(is_known((first + i) | SEEP_PC_EXACT));
        assert_false(is_known(first + PCS + i));
        nr_alike += i % 64 ? 0 : assert_alike_unknown(first + i);
    }
    assert_true(nr_alike > 0);
    assert_int_equal(atomic_load(&seep_g.rules)->nr_used, nr_used); // twice is once
    assert_true(nr_used >= PCS + PCS / 8);
}

// What no place can tell: it is asked for each time, and takes none.
static void test_rules_not_listed(void **state) {
    (void)state;
    for (unsigned bit = 32; bit < 63; bit++) {
        struct seep_walk_frame wild = {.pc = UINT64_C(1) << bit};
        assert_false(is_known(wild.pc));
        assert_true(seep_rule_learn(&wild));
        assert_int_equal(seep_rule_kind(wild.rule), SEEP_RULE_NO_CFI);
        assert_int_equal(SEEP_FRAME_MODULE(wild.frame), 0);
        assert_false(is_known(wild.pc));
    }
    assert_false(is_known(0));
    assert_false(is_known(1));
}

static void test_unloaded(void **state) {
    (void)state;
    uint32_t used = 0;
    for (int round = 0; round < 3; round++) {
        void *library = dlopen(getenv("SEEP_TEST_LIBRARY"), RTLD_NOW);
        assert_non_null(library);
        struct link_map *map;
        assert_int_equal(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
        uint64_t pc = (uint64_t)dlsym(library, "plugin_a_work"), bias = map->l_addr;
        assert_true(pc > bias);
        pc += 4;
        assert_false(is_known(pc));
        assert_true(seep_rule_learn(&(struct seep_walk_frame){.pc = pc}));
        assert_known(pc, bias);
        if (round > 0 && used)
            assert_true(atomic_load(&seep_g.rules)->nr_used <= used + 1);
        used = atomic_load(&seep_g.rules)->nr_used;
        dlclose(library);
        seep_modules_check();
        assert_false(is_known(pc));
    }
}

static void test_nodes(void **state) {
    (void)state;
    struct node {
        uint32_t parent, path, id;
        uint64_t frame;
    } *nodes = calloc(NODES, sizeof(*nodes));
    assert_non_null(nodes);
    uint64_t random = 88172645463325252;
    for (int i = 0; i < NODES; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        const struct node *parent = i ? &nodes[random % (unsigned)i] : NULL;
        struct node *node = &nodes[i];
        node->parent = parent ? parent->id : 0;
        node->frame = SEEP_FRAME_MAKE(1, false, (unsigned)i);
        node->path = seep_path_hash(parent ? parent->path : 0, seep_frame_hash(node->frame));
        node->id = seep_tree_child(node->parent, node->frame, node->path);
        assert_int_not_equal(node->id, 0);
    }
    for (int i = 0; i < NODES; i++) {
        assert_int_equal(seep_g.nodes[nodes[i].id].frame, nodes[i].frame);
        assert_int_equal(seep_g.nodes[nodes[i].id].parent, nodes[i].parent);
        assert_int_equal(seep_tree_child(nodes[i].parent, nodes[i].frame, nodes[i].path), nodes[i].id);
    }
    free(nodes);
}

int main(void) {
    if (!seep_start())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rules_not_listed),
        cmocka_unit_test(test_unloaded),
        cmocka_unit_test(test_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
