// SPDX-License-Identifier: BSD-2-Clause
// Headers in front of a program's blocks (scan/block_headers.h), of one length for each return address into
// the code that called the allocator, and of a multiple of 8 bytes.
#include <stdlib.h>

#include "base/map.h"
#include "scan/graph.h"

#define HEADER_MAX   64u
#define HEADER_STEP  8u
#define BLOCKS_LEAST 16u

struct header_votes {
    uint32_t blocks[HEADER_MAX / HEADER_STEP + 1]; // with a pointer so many words behind the start
    uint32_t any;                                  // blocks with a pointer at all
};

// The lowest bits of an offset become the highest, so an offset that is no multiple of 8 becomes a large
// number.
static void note_pointer(uint16_t *seen, uint32_t target, uint32_t off) {
    enum { ELSEWHERE = HEADER_MAX / HEADER_STEP + 1 };
    uint32_t word = off << 29 | off >> 3;
    seen[target] |= (uint16_t)(1u << SEEP_MIN(word, (uint32_t)ELSEWHERE));
}

static uint32_t header_of(const struct header_votes *votes) {
    for (uint32_t word = 1; word <= HEADER_MAX / HEADER_STEP; word++)
        if (votes->blocks[word] >= BLOCKS_LEAST && (votes->any - votes->blocks[word]) * 10 <= votes->any &&
            votes->blocks[0] * 10 <= votes->any)
            return word * HEADER_STEP;
    return 0;
}

// The group of each site, in of_site.
static bool group_sites(struct seep_graph *graph) {
    const struct seep_profile *profile = graph->profile;
    struct seep_map ids = SEEP_MAP_INIT;
    uint64_t *id = &(uint64_t){0};
    uint32_t nr = 0;
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        const struct seep_node *node = &profile->nodes[profile->sites[i].node];
        id = seep_map_at(&ids, (uint64_t)node->module << 48 ^ node->offset, NULL);
        if (!id)
            break;
        if (!*id)
            *id = ++nr;
        graph->headers.of_site[i] = (uint32_t)*id;
    }
    seep_map_deinit(&ids);
    return id;
}

static void learn(const struct seep_graph *graph, uint16_t *seen, struct header_votes *votes) {
    uint32_t *of_site = graph->headers.of_site;
    for (size_t i = 0; i < graph->nr_roots; i++)
        note_pointer(seen, graph->roots[i].target, graph->roots[i].to_off);
    for (size_t i = 0; i < graph->nr_edges; i++)
        note_pointer(seen, graph->edges[i].target, graph->edges[i].to_off);
    for (uint32_t b = 0; b < graph->nr_blocks; b++) {
        struct header_votes *of = &votes[of_site[graph->blocks[b].site]];
        of->any += seen[b] != 0;
        for (uint32_t word = 0; word <= HEADER_MAX / HEADER_STEP; word++)
            of->blocks[word] += seen[b] >> word & 1;
    }
    for (size_t i = 0; i < graph->profile->nr_sites; i++)
        of_site[i] = header_of(&votes[of_site[i]]);
}

bool seep_headers_learn(struct seep_graph *graph) {
    const size_t nr_votes = (size_t)graph->profile->nr_sites + 1;         // groups have numbers from 1 on
    uint16_t *seen = calloc((size_t)graph->nr_blocks + 1, sizeof(*seen)); // by block: a bit for each word
    struct header_votes *votes = calloc(nr_votes, sizeof(*votes));
    graph->headers.of_site = calloc(nr_votes, sizeof(*graph->headers.of_site));
    bool fits = seen && votes && graph->headers.of_site && group_sites(graph);
    if (fits)
        learn(graph, seen, votes);
    free(seen);
    free(votes);
    return fits;
}

void seep_headers_deinit(struct seep_headers *headers) {
    free(headers->of_site);
}

uint32_t seep_header_of(const struct seep_graph *graph, uint32_t block) {
    return graph->headers.of_site[graph->blocks[block].site];
}

bool seep_is_behind_header(const struct seep_graph *graph, uint32_t block, uint32_t off) {
    return off == seep_header_of(graph, block);
}
