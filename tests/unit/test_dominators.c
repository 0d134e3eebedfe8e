// SPDX-License-Identifier: BSD-2-Clause
// Retained sizes against their definition: what cannot be reached any more when one vertex is taken away.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/dominators.h"

enum { BLOCKS_MAX = 24, WORDS = 4, ROOTS_MAX = 6, HOLDERS = 3, SITES = 4 };

static uint64_t at(uint32_t block) {
    return 0x10000 + 64 * (uint64_t)block;
}

struct example {
    uint32_t nr_blocks;
    struct seep_block blocks[BLOCKS_MAX];
    uint64_t words[BLOCKS_MAX][WORDS];
    uint64_t roots[ROOTS_MAX];
    uint32_t holders[ROOTS_MAX];
    bool passing[HOLDERS];
    struct seep_graph *graph;
};

static void make(struct example *example) {
    for (uint32_t i = 0; i < example->nr_blocks; i++)
        example->blocks[i] = (struct seep_block){.address = at(i), .size = 32 + i % 5, .site = i % SITES};
    assert_null(seep_graph_create(example->blocks, example->nr_blocks, &example->graph));
    assert_true(seep_graph_feed_root(example->graph, 0, 0x1000, example->roots, sizeof(example->roots)));
    for (uint32_t i = 0; i < example->nr_blocks; i++)
        assert_true(
            seep_graph_feed_block(example->graph, i, 0, example->words[i], sizeof(example->words[i])));
    assert_null(seep_graph_classify(example->graph));
    for (size_t i = 0; i < example->graph->nr_roots; i++)
        example->holders[i] = (uint32_t)(i % HOLDERS);
}

static bool is_lost(const struct example *example, uint32_t block) {
    uint8_t kind = example->graph->kinds[block];
    return kind == SEEP_KIND_LOST || kind == SEEP_KIND_INDIRECT;
}

static void visit(const struct example *example, uint32_t block, uint32_t without, const bool *lasting,
                  bool *seen) {
    if (seen[block] || block == without)
        return;
    seen[block] = true;
    const struct seep_graph *graph = example->graph;
    for (uint64_t e = graph->first_edge[block]; e < graph->first_edge[block + 1]; e++)
        if ((!is_lost(example, block) || is_lost(example, graph->edges[e].target)) &&
            (lasting[block] || !lasting[graph->edges[e].target]))
            visit(example, graph->edges[e].target, without, lasting, seen);
}

// What holders that do or do not last lead to, without vertex `without`.
static void visit_holders(const struct example *example, bool passing, uint32_t without, const bool *lasting,
                          bool *seen) {
    const struct seep_graph *graph = example->graph;
    for (size_t i = 0; i < graph->nr_roots; i++)
        if (example->nr_blocks + example->holders[i] != without &&
            example->passing[example->holders[i]] == passing && !(passing && lasting[graph->roots[i].target]))
            visit(example, graph->roots[i].target, without, lasting, seen);
}

// What is reached without vertex `without`; `lasting` is what lasting holders lead to.
static void reach(const struct example *example, uint32_t without, const bool *lasting, bool *seen) {
    memset(seen, 0, BLOCKS_MAX);
    visit_holders(example, false, without, lasting, seen);
    visit_holders(example, true, without, lasting, seen);
    for (uint32_t i = 0; i < example->nr_blocks; i++)
        if (example->graph->kinds[i] == SEEP_KIND_LOST)
            visit(example, i, without, lasting, seen);
}

static void check(const struct example *example) {
    struct seep_dominators *dominators;
    assert_null(
        seep_dominators_create(example->graph, example->holders, example->passing, HOLDERS, &dominators));
    const bool none[BLOCKS_MAX] = {false};
    bool lasting[BLOCKS_MAX] = {false}, all[BLOCKS_MAX], rest[BLOCKS_MAX];
    visit_holders(example, false, UINT32_MAX, none, lasting);
    reach(example, UINT32_MAX, lasting, all);
    for (uint32_t v = 0; v < dominators->nr_vertices; v++) {
        uint64_t bytes = 0;
        uint32_t blocks = 0;
        reach(example, v, lasting, rest);
        for (uint32_t i = 0; i < example->nr_blocks; i++) {
            if (all[i] && !rest[i]) {
                bytes += example->blocks[i].size;
                blocks++;
            }
        }
        assert_int_equal(dominators->items[v].bytes, bytes);
        assert_int_equal(dominators->items[v].blocks, blocks);
        if (v < example->nr_blocks)
            assert_true(all[v] && dominators->items[v].idom != SEEP_NO_BLOCK);
    }
    // Sites of a few blocks each: what goes when all of their blocks do, and only they.
    uint64_t by_site[SITES] = {0};
    assert_null(seep_dominators_by_site(dominators, example->blocks, SITES, by_site));
    for (uint32_t site = 0; site < SITES; site++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < example->nr_blocks; i++) {
            bool counts = false;
            for (uint32_t v = i; v < example->nr_blocks && !counts; v = dominators->items[v].idom)
                counts = example->blocks[v].site == site;
            bytes += counts ? example->blocks[i].size : 0;
        }
        assert_int_equal(by_site[site], bytes);
    }
    seep_dominators_destroy(dominators);
}

static void random_graphs(void **state) {
    srandom(11);
    for (int round = 0; round < 3000; round++) {
        struct example example = {.nr_blocks = 1 + (uint32_t)random() % BLOCKS_MAX};
        uint32_t density = 1 + (uint32_t)random() % 6;
        for (uint32_t i = 0; i < example.nr_blocks; i++)
            for (int w = 0; w < WORDS; w++)
                if ((uint32_t)random() % 6 < density)
                    example.words[i][w] =
                        at((uint32_t)random() % example.nr_blocks) + (random() % 8 == 0 ? 8 : 0);
        for (int r = 0; r < ROOTS_MAX; r++)
            if (random() % 3 == 0)
                example.roots[r] = at((uint32_t)random() % example.nr_blocks);
        for (int h = 0; h < HOLDERS; h++)
            example.passing[h] = random() % 2;
        make(&example);
        check(&example);
        seep_graph_destroy(example.graph);
    }
}

// A list of a million blocks must not need a deep stack.
static void long_list(void **state) {
    enum { NR = 1000000 };
    struct seep_block *blocks = calloc(NR, sizeof(*blocks));
    for (uint32_t i = 0; i < NR; i++)
        blocks[i] = (struct seep_block){.address = at(i), .size = 10};
    struct seep_graph *graph;
    assert_null(seep_graph_create(blocks, NR, &graph));
    uint64_t root = at(0);
    assert_true(seep_graph_feed_root(graph, 0, 0x1000, &root, sizeof(root)));
    for (uint32_t i = 0; i < NR; i++) {
        uint64_t words[2] = {i + 1 < NR ? at(i + 1) : 0, i ? at(i - 1) : 0}; // and back
        assert_true(seep_graph_feed_block(graph, i, 0, words, sizeof(words)));
    }
    assert_null(seep_graph_classify(graph));
    uint32_t holder = 0;
    bool passing = false;
    struct seep_dominators *dominators;
    assert_null(seep_dominators_create(graph, &holder, &passing, 1, &dominators));
    assert_int_equal(dominators->items[NR].bytes, 10 * (uint64_t)NR);
    assert_int_equal(dominators->items[NR].idom, NR + 1);
    assert_int_equal(dominators->items[0].idom, NR);
    for (uint32_t i = 1; i < NR; i++)
        assert_true(dominators->items[i].idom == i - 1 && dominators->items[i].blocks == NR - i);
    seep_dominators_destroy(dominators);
    seep_graph_destroy(graph);
    free(blocks);
}

static void nothing(void **state) {
    struct seep_graph *graph;
    struct seep_dominators *dominators;
    assert_null(seep_graph_create(NULL, 0, &graph));
    assert_null(seep_graph_classify(graph));
    assert_null(seep_dominators_create(graph, NULL, NULL, 0, &dominators));
    assert_int_equal(dominators->nr_vertices, 0);
    seep_dominators_destroy(dominators);
    seep_graph_destroy(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(long_list),
        cmocka_unit_test(nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
