// SPDX-License-Identifier: BSD-2-Clause
// The graph of blocks on memory made by hand: finding blocks, and their classes.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scan/graph.h"

#define NR(array) (sizeof(array) / sizeof((array)[0]))

static void finds_what_halving_finds(void **state) {
    enum { NR_BLOCKS = 5000 };
    struct seep_block *blocks = calloc(NR_BLOCKS, sizeof(*blocks));
    uint64_t address = 0x555500000010;
    srandom(7);
    for (size_t i = 0; i < NR_BLOCKS; i++) {
        blocks[i] = (struct seep_block){.address = address, .size = (uint64_t)random() % 300};
        if (i % 1000 == 500)
            blocks[i].size = UINT64_C(100) << 20; // over several leaves
        address += (blocks[i].size + 32 + (uint64_t)random() % 64) & ~UINT64_C(15);
        if (i % 777 == 0)
            address += UINT64_C(1) << 36;
    }
    struct seep_graph *graph;
    assert_null(seep_graph_create(blocks, NR_BLOCKS, &graph));
    for (size_t i = 0; i < NR_BLOCKS; i++) {
        uint64_t probes[] = {blocks[i].address - 1, blocks[i].address, blocks[i].address + blocks[i].size / 2,
                             blocks[i].address + blocks[i].size - (blocks[i].size > 0),
                             blocks[i].address + blocks[i].size + (blocks[i].size == 0)};
        for (size_t p = 0; p < NR(probes); p++) {
            uint32_t block = UINT32_MAX;
            uint64_t off = 0;
            bool found = seep_graph_find(graph, probes[p], &block, &off);
            bool inside = p >= 1 && p <= 3;
            assert_int_equal(found && block == i, inside);
            if (inside)
                assert_int_equal(off, probes[p] - blocks[i].address);
        }
    }
    seep_graph_destroy(graph);
    free(blocks);
}

static void check_all(const struct seep_block *blocks, size_t nr) {
    struct seep_block_index index;
    assert_true(seep_block_index_init(&index, blocks, (uint32_t)nr));
    uint64_t first = blocks[0].address - 9, last = blocks[nr - 1].address + blocks[nr - 1].size + 9;
    size_t before = 0; // the latest block that starts at or before the address, + 1
    for (uint64_t address = first; address < last; address++) {
        while (before < nr && blocks[before].address <= address)
            before++;
        bool inside = before && address - blocks[before - 1].address <
                                    (blocks[before - 1].size ? blocks[before - 1].size : 1);
        uint32_t block = UINT32_MAX;
        uint64_t off = 0;
        assert_int_equal(seep_block_index_find(&index, address, &block, &off), inside);
        if (inside)
            assert_true(block == before - 1 && off == address - blocks[block].address);
    }
    seep_block_index_deinit(&index);
}

// Each address around blocks that lie as no allocator puts them: at odd places, dense, and more than one
// within 8 bytes, where the maps do not serve.
static void finds_blocks_at_odd_places(void **state) {
    enum { NR_BLOCKS = 3000 };
    struct seep_block *blocks = calloc(NR_BLOCKS, sizeof(*blocks));
    srandom(11);
    for (unsigned spacing = 1; spacing <= 64; spacing *= 4) {
        uint64_t address = 0x7f0000000ff1;
        for (size_t i = 0; i < NR_BLOCKS; i++) {
            blocks[i] = (struct seep_block){.address = address, .size = (uint64_t)random() % (spacing + 1)};
            address += spacing + (uint64_t)random() % spacing;
        }
        check_all(blocks, NR_BLOCKS);
        for (size_t i = 0; i < NR_BLOCKS; i++) // and where the maps need no block
            blocks[i].address = (blocks[i].address & ~UINT64_C(7)) + 8 * i;
        check_all(blocks, NR_BLOCKS);
    }
    check_all(blocks, 1);
    uint64_t address = 0x7f0000000fff;
    for (size_t i = 0; i < NR_BLOCKS / 10; i++) { // where a chunk names the few that start in it
        blocks[i] = (struct seep_block){.address = address, .size = (uint64_t)random() % 600};
        address += 600 + (uint64_t)random() % (i % 10 ? 1200 : 20000);
    }
    check_all(blocks, NR_BLOCKS / 10);
    blocks[NR_BLOCKS / 10 - 1].size = 100000; // behind all chunks
    check_all(blocks, NR_BLOCKS / 10);
    free(blocks);
}

// Blocks of 32 bytes, 64 apart.
static uint64_t at(uint32_t block) {
    return 0x10000 + 64 * (uint64_t)block;
}

static void classes(void **state) {
    enum { REACHED, CHILD, MIDDLE, UNDER_MIDDLE, LOST, LOST_CHILD, RING_A, RING_B, COOKIE, LATE, NR_BLOCKS };
    struct seep_block blocks[NR_BLOCKS];
    for (uint32_t i = 0; i < NR_BLOCKS; i++)
        blocks[i] = (struct seep_block){.address = at(i), .size = 32};
    struct seep_graph *graph;
    assert_null(seep_graph_create(blocks, NR_BLOCKS, &graph));
    uint64_t roots[] = {0, at(REACHED), at(MIDDLE) + 16, at(COOKIE) + 8, at(LOST) + 32, 12345};
    assert_true(seep_graph_feed_root(graph, 3, 0x1000, roots, sizeof(roots)));
    uint64_t words[NR_BLOCKS][4] = {
        [REACHED] = {0, at(CHILD)},
        [CHILD] = {at(REACHED), at(MIDDLE) + 8},
        [MIDDLE] = {at(UNDER_MIDDLE)},
        [LOST] = {at(LOST_CHILD)},
        [LOST_CHILD] = {at(LOST) + 4},
        [RING_A] = {at(RING_B)},
        [RING_B] = {at(RING_A), at(RING_A)},
        [COOKIE] = {3},
        [LATE] = {at(LOST)},
    };
    for (uint32_t i = 0; i < NR_BLOCKS; i++)
        assert_true(seep_graph_feed_block(graph, i, 0, words[i], 32));
    assert_null(seep_graph_classify(graph));
    static const uint8_t expected[NR_BLOCKS] = {
        [REACHED] = SEEP_KIND_REACHABLE, [CHILD] = SEEP_KIND_REACHABLE,
        [MIDDLE] = SEEP_KIND_POSSIBLE,   [UNDER_MIDDLE] = SEEP_KIND_POSSIBLE,
        [LOST] = SEEP_KIND_INDIRECT,     [LOST_CHILD] = SEEP_KIND_INDIRECT,
        [RING_A] = SEEP_KIND_LOST,       [RING_B] = SEEP_KIND_INDIRECT,
        [COOKIE] = SEEP_KIND_REACHABLE,
        [LATE] = SEEP_KIND_LOST, // found after LOST, and leads to it
    };
    assert_memory_equal(graph->kinds, expected, sizeof(expected));
    assert_true(graph->held_by_root[REACHED]);
    assert_int_equal(graph->roots[graph->holder[REACHED]].address, 0x1008);
    assert_int_equal(graph->holder[CHILD], REACHED);
    assert_int_equal(graph->holder_off[CHILD], 8);
    assert_int_equal(graph->holder[LATE], SEEP_NO_BLOCK);
    seep_graph_destroy(graph);
}

// Pointers at odd places, also across the places where pieces meet.
static void unaligned(void **state) {
    enum { PACKED, INSIDE, ACROSS, ROOTED, ROOTED_ACROSS, NR_BLOCKS };
    struct seep_block blocks[NR_BLOCKS];
    for (uint32_t i = 0; i < NR_BLOCKS; i++)
        blocks[i] = (struct seep_block){.address = at(i), .size = 32};
    unsigned char bytes[32] = {0}, root[32] = {0};
    uint64_t inside = at(INSIDE), across = at(ACROSS), rooted = at(ROOTED), rooted_across = at(ROOTED_ACROSS);
    uint64_t packed = at(PACKED);
    memcpy(bytes + 1, &inside, 8);
    memcpy(bytes + 13, &across, 8);
    memcpy(root, &packed, 8);
    memcpy(root + 19, &rooted_across, 8);
    memcpy(root + 9, &rooted, 8);
    for (int whole = 0; whole < 2; whole++) {
        for (int on = 0; on < 2; on++) {
            struct seep_graph *graph;
            assert_null(seep_graph_create(blocks, NR_BLOCKS, &graph));
            graph->unaligned = on;
            assert_true(seep_graph_feed_root(graph, 0, 0x1000, root, whole ? 32 : 24));
            assert_true(whole || seep_graph_feed_root(graph, 0, 0x1018, root + 24, 8));
            assert_true(seep_graph_feed_block(graph, PACKED, 0, bytes, whole ? 32 : 16));
            assert_true(whole || seep_graph_feed_block(graph, PACKED, 16, bytes + 16, 16));
            assert_null(seep_graph_classify(graph));
            for (uint32_t i = 0; i < NR_BLOCKS; i++)
                assert_int_equal(graph->kinds[i], on || i == PACKED ? SEEP_KIND_REACHABLE : SEEP_KIND_LOST);
            if (on) {
                assert_int_equal(graph->holder_off[ACROSS], 13);
                assert_int_equal(graph->roots[graph->holder[ROOTED_ACROSS]].address, 0x1013);
            }
            seep_graph_destroy(graph);
        }
    }
}

// Blocks full of pointers to few others, again and again: what is said twice makes no difference, and does
// not stay.
static void repeated(void **state) {
    enum { NR_BLOCKS = 200, NR_WORDS = 300 };
    static uint64_t words[NR_BLOCKS][NR_WORDS];
    struct seep_block *blocks = calloc(NR_BLOCKS, sizeof(*blocks));
    srandom(5);
    for (uint32_t i = 0; i < NR_BLOCKS; i++) {
        bool large = i % 3 == 0;
        blocks[i] = (struct seep_block){.address = 0x10000 + i * sizeof(words[0]) * 2,
                                        .size = large ? sizeof(words[0]) : 64};
    }
    for (uint32_t i = 0; i < NR_BLOCKS; i++)
        for (size_t w = 0; w < blocks[i].size / 8; w++) {
            uint64_t to = (i + 1 + (uint64_t)random() % 12) % (NR_BLOCKS + 40);
            if (to < NR_BLOCKS && random() % 4)
                words[i][w] = blocks[to].address + (uint64_t)(random() % 3) * 8;
        }
    struct seep_graph *graphs[2];
    for (int all = 0; all < 2; all++) {
        assert_null(seep_graph_create(blocks, NR_BLOCKS, &graphs[all]));
        graphs[all]->with_own = all;
        assert_true(seep_graph_feed_root(graphs[all], 0, 0x1000, &blocks[7].address, 8));
        for (uint32_t i = 0; i < NR_BLOCKS; i++)
            assert_true(seep_graph_feed_block(graphs[all], i, 0, words[i], blocks[i].size));
        assert_null(seep_graph_classify(graphs[all]));
    }
    assert_memory_equal(graphs[0]->kinds, graphs[1]->kinds, NR_BLOCKS);
    assert_memory_equal(graphs[0]->holder, graphs[1]->holder, NR_BLOCKS * sizeof(uint32_t));
    assert_memory_equal(graphs[0]->holder_off, graphs[1]->holder_off, NR_BLOCKS * sizeof(uint32_t));
    assert_true(graphs[0]->nr_edges * 5 < graphs[1]->nr_edges);
    for (uint32_t i = 0; i < NR_BLOCKS; i += 3) // 12 neighbours, their starts and their middles
        assert_true(graphs[0]->first_edge[i + 1] - graphs[0]->first_edge[i] <= 24);
    for (int all = 0; all < 2; all++)
        seep_graph_destroy(graphs[all]);
    free(blocks);
}

// A reference-counted string of old C++ libraries that begins where a piece of the memory ends: length,
// capacity, count, text; pointed to behind those.
static void begins_at_the_end_of_a_piece(void **state) {
    struct seep_block block = {.address = 0x10ff0, .size = 40};
    uint64_t words[5] = {10, 15, 0, 0x6f6c6c6568, 0}, root = block.address + 24;
    for (size_t first = 16; first <= 40; first += 8) {
        struct seep_graph *graph;
        assert_null(seep_graph_create(&block, 1, &graph));
        assert_true(seep_graph_feed_root(graph, 0, 0x1000, &root, 8));
        assert_true(seep_graph_feed_block(graph, 0, 0, words, first));
        assert_true(first == 40 || seep_graph_feed_block(graph, 0, first, words + first / 8, 40 - first));
        assert_null(seep_graph_classify(graph));
        assert_int_equal(graph->kinds[0], SEEP_KIND_REACHABLE);
        seep_graph_destroy(graph);
    }
}

static void nothing_and_absurd(void **state) {
    struct seep_graph *graph;
    uint64_t word = 0;
    assert_null(seep_graph_create(NULL, 0, &graph));
    assert_true(seep_graph_feed_root(graph, 0, 8, &word, 8));
    assert_null(seep_graph_classify(graph));
    seep_graph_destroy(graph);
    struct seep_block blocks[] = {
        {.address = 0}, {.address = 16, .size = UINT64_MAX}, {.address = UINT64_MAX - 7, .size = 4096}};
    assert_null(seep_graph_create(blocks, 3, &graph));
    uint32_t block;
    uint64_t off;
    assert_true(seep_graph_find(graph, 17, &block, &off));
    assert_int_equal(block, 1);
    assert_true(seep_graph_find(graph, UINT64_MAX - 1, &block, &off));
    assert_int_equal(block, 2);
    assert_null(seep_graph_classify(graph));
    assert_int_equal(graph->kinds[0], SEEP_KIND_LOST);
    seep_graph_destroy(graph);
}

enum { NR_LOST = 40, NR_SITES = 7, NR_ARROWS = 60 };

// Counts of lost and indirectly lost blocks by site, where block i of the program lies at place[i].
static void classes_of(const uint32_t *sites, const uint32_t *place, uint32_t (*arrows)[2],
                       size_t ret_nr[NR_SITES][2]) {
    struct seep_block blocks[NR_LOST];
    uint64_t words[NR_LOST][NR_ARROWS] = {{0}};
    size_t nr_words[NR_LOST] = {0};
    for (size_t i = 0; i < NR_LOST; i++)
        blocks[place[i]] = (struct seep_block){
            .address = 0x10000 + place[i] * 1024, .size = 512 + sites[i], .site = sites[i]};
    for (size_t a = 0; a < NR_ARROWS; a++) {
        uint32_t from = place[arrows[a][0]];
        words[from][nr_words[from]++] = blocks[place[arrows[a][1]]].address;
    }
    struct seep_graph *graph;
    assert_null(seep_graph_create(blocks, NR_LOST, &graph));
    for (uint32_t i = 0; i < NR_LOST; i++)
        assert_true(seep_graph_feed_block(graph, i, 0, words[i], sizeof(words[i])));
    assert_null(seep_graph_classify(graph));
    memset(ret_nr, 0, NR_SITES * sizeof(*ret_nr));
    for (uint32_t i = 0; i < NR_LOST; i++) {
        bool lost = graph->kinds[i] == SEEP_KIND_LOST;
        assert_true(lost || graph->kinds[i] == SEEP_KIND_INDIRECT);
        assert_true(lost == (graph->holder[i] == SEEP_NO_BLOCK));
        ret_nr[blocks[i].site][lost]++;
    }
    seep_graph_destroy(graph);
}

static void shuffle(uint32_t *numbers, size_t nr) {
    for (size_t i = nr - 1; i > 0; i--) {
        size_t other = (size_t)random() % (i + 1);
        uint32_t kept = numbers[i];
        numbers[i] = numbers[other];
        numbers[other] = kept;
    }
}

// However the heap lies: the same figures for each site.
static void lost_does_not_depend_on_addresses(void **state) {
    srandom(1);
    for (int round = 0; round < 200; round++) {
        uint32_t sites[NR_LOST], place[NR_LOST], arrows[NR_ARROWS][2];
        size_t first[NR_SITES][2], now[NR_SITES][2];
        for (uint32_t i = 0; i < NR_LOST; i++) {
            sites[i] = (uint32_t)random() % NR_SITES;
            place[i] = i;
        }
        for (size_t a = 0; a < NR_ARROWS; a++)
            for (int end = 0; end < 2; end++)
                arrows[a][end] = (uint32_t)random() % (10 + (uint32_t)round % (NR_LOST - 10));
        classes_of(sites, place, arrows, first);
        for (int i = 0; i < 5; i++) {
            shuffle(place, NR_LOST);
            classes_of(sites, place, arrows, now);
            assert_memory_equal(now, first, sizeof(now));
        }
    }
}

// One that points into a ring leads all of it, whichever block of the ring that is.
static void a_ring_has_no_leader_of_its_own(void **state) {
    for (uint32_t first = 0; first < 3; first++) {
        for (uint32_t target = 1; target < 3; target++) {
            uint32_t place[3] = {first, (first + 1) % 3, (first + 2) % 3}; // holder, a, b
            struct seep_block blocks[3];
            uint64_t words[3][2] = {{0}};
            for (uint32_t i = 0; i < 3; i++)
                blocks[i] = (struct seep_block){.address = 0x10000 + i * 64, .size = 16};
            words[place[0]][0] = blocks[place[target]].address;
            words[place[1]][0] = blocks[place[2]].address;
            words[place[2]][0] = blocks[place[1]].address;
            struct seep_graph *graph;
            assert_null(seep_graph_create(blocks, 3, &graph));
            for (uint32_t i = 0; i < 3; i++)
                assert_true(seep_graph_feed_block(graph, i, 0, words[i], sizeof(words[i])));
            assert_null(seep_graph_classify(graph));
            for (uint32_t i = 0; i < 3; i++)
                assert_int_equal(graph->kinds[place[i]], i ? SEEP_KIND_INDIRECT : SEEP_KIND_LOST);
            seep_graph_destroy(graph);
        }
    }
}

enum { NR_HEADED = 200, NR_FRAMES = 3 };

// The kinds of 200 blocks of these sizes; pointers so many bytes behind their starts are in a root. Each is of one of
// `nr_calls` calls of one function, by turns, which is called from one place.
static void headed(const uint64_t *sizes, const uint64_t *offs, uint32_t nr_calls,
                   uint8_t ret_kinds[NR_HEADED]) {
    struct seep_node nodes[NR_FRAMES + 4] = {{0}};
    struct seep_site sites[4] = {{0}};
    assert_true(nr_calls <= 4);
    for (uint32_t i = 1; i < NR_FRAMES; i++)
        nodes[i] = (struct seep_node){.parent = i - 1, .module = 1, .offset = i * 0x100};
    for (uint32_t i = 0; i < nr_calls; i++) {
        nodes[NR_FRAMES + i] =
            (struct seep_node){.parent = NR_FRAMES - 1, .module = 1, .offset = 0x900 + i * 0x10};
        sites[i].node = NR_FRAMES + i;
    }
    struct seep_profile profile = {
        .nodes = nodes, .nr_nodes = NR_FRAMES + nr_calls, .sites = sites, .nr_sites = nr_calls};
    struct seep_block *blocks = calloc(NR_HEADED, sizeof(*blocks));
    uint64_t *words = calloc(NR_HEADED, sizeof(*words)), address = 0x10000;
    for (uint32_t i = 0; i < NR_HEADED; i++) {
        blocks[i] = (struct seep_block){.address = address, .size = sizes[i], .site = i % nr_calls};
        words[i] = address + offs[i];
        address += (sizes[i] + 31) & ~UINT64_C(15);
    }
    struct seep_graph *graph;
    assert_null(seep_graph_create(blocks, NR_HEADED, &graph));
    graph->profile = &profile;
    assert_true(seep_graph_feed_root(graph, 0, 0x1000, words, NR_HEADED * sizeof(*words)));
    assert_null(seep_graph_classify(graph));
    memcpy(ret_kinds, graph->kinds, NR_HEADED);
    seep_graph_destroy(graph);
    free(words);
    free(blocks);
}

static size_t nr_reachable(const uint8_t *kinds) {
    size_t nr = 0;
    for (size_t i = 0; i < NR_HEADED; i++) {
        assert_true(kinds[i] == SEEP_KIND_REACHABLE || kinds[i] == SEEP_KIND_POSSIBLE);
        nr += kinds[i] == SEEP_KIND_REACHABLE;
    }
    return nr;
}

static uint64_t text_header(uint64_t length) {
    return length < 32 ? 1 : length < 256 ? 3 : length < 65536 ? 5 : length < 1 << 20 ? 9 : 17;
}

static void headers_that_grow_with_the_size(void **state) {
    static const uint64_t lengths[] = {3, 100, 1000, 70000, 3 << 20};
    uint64_t sizes[NR_HEADED], offs[NR_HEADED];
    uint8_t kinds[NR_HEADED];
    for (uint64_t i = 0; i < NR_HEADED; i++) {
        uint64_t length = lengths[i % NR(lengths)] + i / 10;
        offs[i] = text_header(length);
        sizes[i] = offs[i] + length + 1;
    }
    headed(sizes, offs, 1, kinds);
    assert_int_equal(nr_reachable(kinds), NR_HEADED);
    // Three have another header than their size says: those are old words.
    sizes[0] = sizes[1];
    sizes[2] = sizes[3] = sizes[4];
    headed(sizes, offs, 1, kinds);
    assert_int_equal(nr_reachable(kinds), NR_HEADED - 3);
    assert_true(kinds[0] == SEEP_KIND_POSSIBLE && kinds[2] == SEEP_KIND_POSSIBLE);
}

// Near the end, in the middle, anywhere in two ways; and two good ranges beside more that is anywhere.
static void old_pointers_are_no_headers(void **state) {
    uint64_t sizes[NR_HEADED], offs[NR_HEADED];
    uint8_t kinds[NR_HEADED];
    for (int what = 0; what < 5; what++) {
        for (uint64_t i = 0; i < NR_HEADED; i++) {
            sizes[i] = what == 3 ? 48 + i % 7 * 10 : 24 + i % 5 * 8;
            offs[i] = what == 0   ? sizes[i] - 8
                      : what == 1 ? sizes[i] / 2
                      : what == 2 ? 8 + i / 40 * 3
                                  : 8 + i % 5 * 8;
            if (what == 4) {
                sizes[i] = i % 10 == 0 ? 30 : i % 10 == 1 ? 100 : 200;
                offs[i] = i % 10 == 0 ? 1 : i % 10 == 1 ? 3 : 5 + i / 10;
            }
        }
        headed(sizes, offs, 1, kinds);
        assert_int_equal(nr_reachable(kinds), 0);
    }
}

// A link with a mark in its lowest bit holds: from a node of the same size, and not from a variable, from a block of
// another size, into a text, or with more than that bit. Where a block has many links, too.
static void links_with_a_mark(void **state) {
    enum { FROM, NODE, KEY, BY_ROOT, OTHER, SIZE, TEXT, FAR, NR_BLOCKS };
    enum { NR_WORDS = 40 };
    for (int many = 0; many < 2; many++) {
        struct seep_block blocks[NR_BLOCKS];
        for (uint32_t b = 0; b < NR_BLOCKS; b++)
            blocks[b] =
                (struct seep_block){.address = 0x10000 + 1024 * b, .size = b == SIZE ? 24 : NR_WORDS * 8};
        struct seep_graph *graph;
        assert_null(seep_graph_create(blocks, NR_BLOCKS, &graph));
        uint64_t roots[] = {blocks[FROM].address, blocks[BY_ROOT].address + 1};
        assert_true(seep_graph_feed_root(graph, 0, 0x1000, roots, sizeof(roots)));
        uint64_t words[NR_BLOCKS][NR_WORDS] = {[FROM] = {7, blocks[NODE].address + 1,
                                                         blocks[SIZE].address + 1, blocks[TEXT].address + 1,
                                                         blocks[FAR].address + 3},
                                               [NODE] = {blocks[KEY].address},
                                               [OTHER] = {1}};
        for (size_t i = 5; many && i < NR_WORDS; i++)
            words[FROM][i] = words[FROM][1 + i % 4];
        memset(words[TEXT], 'x', sizeof(words[TEXT]));
        for (uint32_t b = 0; b < NR_BLOCKS; b++)
            assert_true(seep_graph_feed_block(graph, b, 0, words[b], blocks[b].size));
        assert_null(seep_graph_classify(graph));
        static const uint8_t expected[NR_BLOCKS] = {
            [FROM] = SEEP_KIND_REACHABLE,   [NODE] = SEEP_KIND_REACHABLE, [KEY] = SEEP_KIND_REACHABLE,
            [BY_ROOT] = SEEP_KIND_POSSIBLE, [OTHER] = SEEP_KIND_LOST,     [SIZE] = SEEP_KIND_POSSIBLE,
            [TEXT] = SEEP_KIND_POSSIBLE,    [FAR] = SEEP_KIND_POSSIBLE,
        };
        assert_memory_equal(graph->kinds, expected, sizeof(expected));
        seep_graph_destroy(graph);
    }
}

// The addresses in a node of a 32-bit program look like characters.
static void links_with_a_mark_of_32_bits(void **state) {
    enum { FROM, NODE, NR_BLOCKS };
    const struct seep_block blocks[NR_BLOCKS] = {
        [FROM] = {.address = 0x56565640, .size = 12}, [NODE] = {.address = 0x56565660, .size = 12}};
    struct seep_graph *graph;
    assert_null(seep_graph_create(blocks, NR_BLOCKS, &graph));
    graph->narrow = true;
    const uint32_t root = 0x56565640,
                   words[NR_BLOCKS][3] = {
                       [FROM] = {0x56557788, 0x56565661}, [NODE] = {0x56557788, 0x56565640}};
    assert_true(seep_graph_feed_root(graph, 0, 0x1000, &root, sizeof(root)));
    for (uint32_t b = 0; b < NR_BLOCKS; b++)
        assert_true(seep_graph_feed_block(graph, b, 0, words[b], sizeof(words[b])));
    assert_null(seep_graph_classify(graph));
    assert_int_equal(graph->kinds[NODE], SEEP_KIND_REACHABLE);
    seep_graph_destroy(graph);
}

// One call has too few blocks, all together have enough; 16 bytes and, where a tag is in a pointer, 1.
static void one_header_from_several_calls(void **state) {
    uint64_t sizes[NR_HEADED], offs[NR_HEADED];
    uint8_t kinds[NR_HEADED];
    for (uint64_t off = 1; off <= 16; off += 15) {
        for (uint64_t i = 0; i < NR_HEADED; i++) {
            sizes[i] = 40 + i % 2;
            offs[i] = i < 60 ? off : sizes[i] - 1; // 15 of each call
        }
        headed(sizes, offs, 4, kinds);
        assert_int_equal(nr_reachable(kinds), 0); // not nine of ten
        for (uint64_t i = 60; i < NR_HEADED; i++)
            offs[i] = UINT64_MAX / 2; // no pointer to these at all
        headed(sizes, offs, 4, kinds);
        for (size_t i = 0; i < 60; i++)
            assert_int_equal(kinds[i], SEEP_KIND_REACHABLE);
    }
}

// One object in the middle of its block, of which only the pointer to its class tells what it is.
static void one_object_of_gobject(void **state) {
    enum { TYPE, DATA, CLASS, OBJECT, NR_BLOCKS };
    enum { CALLER = 1, GOBJECT, GLIB, NR_NODES };
    static const struct {
        const char *inner, *outer;
        enum seep_kind kind;
    } cases[] = {{"/lib/libglib-2.0.so.0", "/lib/libgobject-2.0.so.0.7400", SEEP_KIND_REACHABLE},
                 {"libgobject-2.0.so.0", "/usr/bin/caller", SEEP_KIND_REACHABLE},
                 {"/lib/libglib-2.0.so.0", "/usr/bin/caller", SEEP_KIND_POSSIBLE}};
    for (size_t i = 0; i < NR(cases); i++) {
        struct seep_module modules[] = {{.path = ""}, {.path = cases[i].inner}, {.path = cases[i].outer}};
        struct seep_node nodes[NR_NODES] = {[CALLER] = {.parent = 0, .module = 2, .offset = 0x100},
                                            [GOBJECT] = {.parent = CALLER, .module = 2, .offset = 0x200},
                                            [GLIB] = {.parent = GOBJECT, .module = 1, .offset = 0x300}};
        struct seep_site sites[] = {{0}, {.node = CALLER}, {.node = GLIB}};
        struct seep_profile profile = {.modules = modules,
                                       .nr_modules = NR(modules),
                                       .nodes = nodes,
                                       .nr_nodes = NR_NODES,
                                       .sites = sites,
                                       .nr_sites = NR(sites)};
        struct seep_block blocks[NR_BLOCKS];
        for (uint32_t b = 0; b < NR_BLOCKS; b++)
            blocks[b] = (struct seep_block){.address = at(b), .size = 32, .site = b == OBJECT ? 2 : 1};
        struct seep_graph *graph;
        assert_null(seep_graph_create(blocks, NR_BLOCKS, &graph));
        graph->profile = &profile;
        uint64_t roots[] = {at(TYPE), at(OBJECT) + 16};
        assert_true(seep_graph_feed_root(graph, 0, 0x1000, roots, sizeof(roots)));
        uint64_t words[NR_BLOCKS][4] = {[TYPE] = {1, at(DATA)},
                                        [DATA] = {16, at(CLASS)},
                                        [CLASS] = {at(TYPE)},
                                        [OBJECT] = {7, 7, at(CLASS)}};
        for (uint32_t b = 0; b < NR_BLOCKS; b++)
            assert_true(seep_graph_feed_block(graph, b, 0, words[b], 32));
        assert_null(seep_graph_classify(graph));
        assert_int_equal(graph->kinds[OBJECT], cases[i].kind);
        seep_graph_destroy(graph);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_that_grow_with_the_size),
        cmocka_unit_test(old_pointers_are_no_headers),
        cmocka_unit_test(links_with_a_mark),
        cmocka_unit_test(links_with_a_mark_of_32_bits),
        cmocka_unit_test(one_header_from_several_calls),
        cmocka_unit_test(one_object_of_gobject),
        cmocka_unit_test(finds_what_halving_finds),
        cmocka_unit_test(finds_blocks_at_odd_places),
        cmocka_unit_test(classes),
        cmocka_unit_test(unaligned),
        cmocka_unit_test(repeated),
        cmocka_unit_test(begins_at_the_end_of_a_piece),
        cmocka_unit_test(nothing_and_absurd),
        cmocka_unit_test(lost_does_not_depend_on_addresses),
        cmocka_unit_test(a_ring_has_no_leader_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
