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
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/stack_tree.h"

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

// What has gone is no rule of any word that may lie on a stack.
static unsigned assert_dead_are_nobodys(void) {
    const struct seep_rule_table *table = atomic_load(&seep_g.rules);
    unsigned nr = 0;
    for (uint64_t i = 0; i <= table->mask; i++) {
        uint64_t key = atomic_load(&table->entries[i].key);
        assert_true(!key || key > 4096);
        nr += key == SEEP_RULE_DEAD;
    }
    return nr;
}

static void test_unloaded(void **state) {
    (void)state;
    unsigned nr_dead = 0;
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
        dlclose(library);
        seep_modules_check();
        assert_false(is_known(pc));
        nr_dead += assert_dead_are_nobodys();
    }
    assert_true(nr_dead > 0);
}

static struct node {
    uint32_t parent, path, id;
    uint64_t frame;
} nodes[NODES];

static void test_nodes(void **state) {
    (void)state;
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
    const struct seep_node_table *table = atomic_load(&seep_g.node_index);
    int nr_in_line = 0;
    for (int i = 0; i < NODES; i++) {
        const struct node *node = &nodes[i];
        assert_int_equal(seep_g.nodes[node->id].frame, node->frame);
        assert_int_equal(seep_g.nodes[node->id].parent, node->parent);
        assert_int_equal(seep_tree_child(node->parent, node->frame, node->path), node->id);
        uint32_t found = find_node_in_line(table, node->parent, node->frame, node->path);
        assert_true(found == node->id || !found);
        nr_in_line += found != 0;
        assert_int_equal(find_node_in_line(table, node->parent, node->frame + 1, node->path), 0);
        assert_int_equal(find_node_in_line(table, node->id, node->frame, node->path), 0);
    }
    assert_true(nr_in_line > NODES * 9 / 10);
}

// A thread may look into an old index while its memory is freed: what it finds then is the node, or none.
static struct seep_node_table *old_index;
static atomic_bool is_over;

static void *look_up_for_ever(void *argument) {
    uint64_t random = (uintptr_t)argument;
    uintptr_t nr_wrong = 0;
    while (!is_over) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        const struct node *node = &nodes[(random >> 33) % NODES];
        uint32_t found = find_node_in_line(old_index, node->parent, node->frame, node->path);
        nr_wrong += found && found != node->id;
        found = find_node(old_index, node->parent, node->frame, node->path);
        nr_wrong += found && found != node->id;
    }
    return (void *)nr_wrong;
}

static void test_index_given_back(void **state) {
    (void)state;
    enum { LOOKING = 3, TIMES = 300, PAGE_BYTES = 4096 };
    const struct seep_node_table *index = atomic_load(&seep_g.node_index);
    size_t bytes = sizeof(*index) + ((size_t)index->mask + 1) * sizeof(index->entries[0]);
    old_index = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(old_index, MAP_FAILED);
    memcpy(old_index, index, bytes);
    pthread_t threads[LOOKING];
    for (uintptr_t i = 0; i < LOOKING; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up_for_ever, (void *)(i + 1)), 0);
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(madvise((char *)old_index + PAGE_BYTES, bytes - PAGE_BYTES, MADV_DONTNEED), 0);
        memcpy(old_index, index, bytes);
    }
    is_over = true;
    for (int i = 0; i < LOOKING; i++) {
        void *nr_wrong;
        pthread_join(threads[i], &nr_wrong);
        assert_null(nr_wrong);
    }
    munmap(old_index, bytes);
}

int main(void) {
    if (!seep_start())
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_rules_not_listed),
        cmocka_unit_test(test_unloaded),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_index_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
