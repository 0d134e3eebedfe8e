// SPDX-License-Identifier: BSD-2-Clause
// Learning headers, see block_headers.h. First the pointers that each block has, as bits; then, from the
// nearest frame outwards, groups of sites that may have a header, with their votes by class of sizes.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/search.h"
#include "scan/block_headers.h"
#include "scan/graph.h"

#define HEADER_MAX    64u
#define HEADER_STEP   8u  // what a long header keeps aligned, in 32-bit programs too
#define HEADER_BYTES  24u // up to that any number of bytes
#define BLOCKS_LEAST  16u // that have a pointer behind the header: fewer are a chance
#define OBJECTS_LEAST 4u
#define POINTERS_MOST 32u // of a type and of its data
#define FRAMES        4u
#define WAYS          (FRAMES + 1) // the last one: three frames, of the nearest one only the module

// Bits of a block: a pointer to its start; so many bytes behind it; anywhere else.
enum {
    BIT_START = 0,
    BIT_ELSEWHERE = HEADER_BYTES + (HEADER_MAX - HEADER_BYTES) / HEADER_STEP + 1,
    NR_BITS = BIT_ELSEWHERE + 1,
    BIT_OBJECT = NR_BITS // to an object in the middle
};
_Static_assert(BIT_OBJECT < 32, "bits of a block");
#define ALL_HEADERS (((1u << BIT_ELSEWHERE) - 1) & ~(1u << BIT_START))

static unsigned bit_of(uint32_t off) {
    if (off <= HEADER_BYTES)
        return off;
    if (off <= HEADER_MAX && off % HEADER_STEP == 0)
        return HEADER_BYTES + (off - HEADER_BYTES) / HEADER_STEP;
    return BIT_ELSEWHERE;
}

static uint32_t off_of(unsigned bit) {
    return bit <= HEADER_BYTES ? bit : HEADER_BYTES + (bit - HEADER_BYTES) * HEADER_STEP;
}

// Below 1,024 each size is a class, above the five highest bits are.
#define SIZES_ALONE 1024u

static uint32_t class_of(uint64_t size) {
    if (size < SIZES_ALONE)
        return (uint32_t)size;
    unsigned shift = 59u - (unsigned)__builtin_clzll(size);
    return (SIZES_ALONE - 6 * 16 - 16) + shift * 16 + (uint32_t)(size >> shift);
}

static uint64_t least_of(uint32_t class) {
    if (class < SIZES_ALONE)
        return class;
    unsigned shift = (class - SIZES_ALONE) / 16 + 6;
    return (uint64_t)((class - SIZES_ALONE) % 16 + 16) << shift;
}

struct votes { // of the blocks of a group that have a pointer at all
    uint32_t group;
    uint32_t class; // of sizes
    uint32_t any;
    uint32_t texts; // blocks that begin with text
    uint32_t blocks[NR_BITS];
};

// A pointer behind "https://" is not behind a header.
static bool is_in_text(const struct votes *votes, unsigned bit) {
    return (off_of(bit) <= HEADER_STEP || off_of(bit) % HEADER_STEP) && votes->texts > votes->any / 2;
}

static bool is_header(const struct votes *votes, unsigned bit) {
    return votes->blocks[bit] >= BLOCKS_LEAST && votes->blocks[bit] >= votes->any - votes->any / 10 &&
           votes->blocks[BIT_START] <= votes->any / 10 && !is_in_text(votes, bit);
}

// `largest` is the class of the largest block.
static bool is_small(unsigned bit, uint32_t largest) {
    return off_of(bit) <= least_of(largest) / 4;
}

// The member behind a number of 4 bytes, if all blocks have one size.
static bool may_be_member(unsigned bit, size_t nr_classes) {
    return nr_classes == 1 && off_of(bit) % HEADER_STEP == 4;
}

static void add_votes(struct votes *sum, const struct votes *more) {
    sum->any += more->any;
    sum->texts += more->texts;
    for (unsigned bit = 0; bit < NR_BITS; bit++)
        sum->blocks[bit] += more->blocks[bit];
}

// ---- one length, or several ----

static bool one_length(const struct votes *votes, size_t nr, const struct votes *sum,
                       struct seep_header_ranges *ret_ranges) {
    for (unsigned bit = 1; bit < BIT_ELSEWHERE; bit++) {
        bool fits = off_of(bit) % HEADER_STEP == 0 || is_small(bit, votes[nr - 1].class);
        if (!is_header(sum, bit) || !fits || may_be_member(bit, nr))
            continue;
        *ret_ranges = (struct seep_header_ranges){.nr = 1, .bytes = {(uint8_t)off_of(bit)}};
        return true;
    }
    return false;
}

// The most frequent ones that are no chance, ascending.
static unsigned frequent(const struct votes *sum, unsigned *bits) {
    uint32_t chosen = 0;
    for (unsigned nr = 0; nr < SEEP_HEADER_LENGTHS; nr++) {
        unsigned best = 0;
        for (unsigned bit = 1; bit < BIT_ELSEWHERE; bit++)
            if (sum->blocks[bit] >= BLOCKS_LEAST && !(chosen >> bit & 1) &&
                (!best || sum->blocks[bit] > sum->blocks[best]))
                best = bit;
        if (best)
            chosen |= 1u << best;
    }
    unsigned nr = 0;
    for (unsigned bit = 1; bit < BIT_ELSEWHERE; bit++)
        if (chosen >> bit & 1)
            bits[nr++] = bit;
    return nr;
}

struct division { // of the classes so far, up to a range for each of the lengths; the least wrong one
    uint64_t wrong;
    size_t from[SEEP_HEADER_LENGTHS]; // SIZE_MAX: the length has no range
};

// Larger blocks have longer headers.
static struct division divide(const struct votes *votes, size_t nr, const unsigned *bits, unsigned nr_bits) {
    struct division best[SEEP_HEADER_LENGTHS]; // of those whose last range is that of the length
    for (unsigned at = 0; at < nr_bits; at++) {
        memset(best[at].from, 0xff, sizeof(best[at].from));
        best[at].wrong = 0;
        best[at].from[at] = 0;
    }
    for (size_t i = 0; i < nr; i++)
        for (unsigned at = nr_bits; at-- > 0;) {
            for (unsigned shorter = 0; shorter < at && i; shorter++)
                if (best[shorter].wrong < best[at].wrong) {
                    best[at] = best[shorter];
                    best[at].from[at] = i;
                }
            best[at].wrong += votes[i].any - votes[i].blocks[bits[at]];
        }
    unsigned least = 0;
    for (unsigned at = 1; at < nr_bits; at++)
        if (best[at].wrong < best[least].wrong)
            least = at;
    return best[least];
}

static bool several_lengths(const struct votes *votes, size_t nr, const struct votes *sum,
                            struct seep_header_ranges *ret_ranges) {
    unsigned bits[SEEP_HEADER_LENGTHS];
    unsigned nr_bits = frequent(sum, bits);
    if (nr_bits < 2)
        return false;
    struct division division = divide(votes, nr, bits, nr_bits);
    uint32_t right = 0;
    *ret_ranges = (struct seep_header_ranges){0};
    for (unsigned at = 0; at < nr_bits; at++) {
        size_t from = division.from[at], to = nr;
        if (from == SIZE_MAX)
            continue;
        for (unsigned longer = at + 1; longer < nr_bits; longer++)
            to = SEEP_MIN(to, division.from[longer]);
        struct votes of_range = {0};
        for (size_t i = from; i < to; i++)
            add_votes(&of_range, &votes[i]);
        bool good = to > from && is_header(&of_range, bits[at]) && is_small(bits[at], votes[to - 1].class) &&
                    !may_be_member(bits[at], to - from);
        right += good ? of_range.blocks[bits[at]] : 0;
        ret_ranges->from[ret_ranges->nr] = votes[from].class;
        ret_ranges->bytes[ret_ranges->nr++] = good ? (uint8_t)off_of(bits[at]) : 0;
    }
    return right >= sum->any - sum->any / 10;
}

// ---- groups of sites ----

struct pointed { // how many blocks have a pointer
    uint32_t any;
    uint32_t start;
    uint32_t behind;
};

static bool may_have_header(const struct pointed *pointed, bool objects) {
    return pointed->behind >= (objects ? OBJECTS_LEAST : BLOCKS_LEAST) &&
           pointed->behind >= pointed->any - pointed->any / 10 && pointed->start <= pointed->any / 10;
}

struct learning {
    struct seep_graph *graph;
    const struct seep_profile *profile;
    bool objects;            // what is learnt now; else headers
    uint32_t *seen;          // by block: bits
    struct pointed *of_site; // by site, as are the following
    uint64_t *keys;          // of the frames so far
    uint32_t *nodes;         // of the next frame; 0: there is none
    uint32_t *groups;

    struct pointed *of_group;
    size_t groups_capacity;
    struct votes *votes;
    size_t nr_votes, votes_capacity;
};

static void see(struct learning *learning, uint32_t target, uint32_t off) {
    learning->seen[target] |= 1u << bit_of(off);
}

// Calls `see_one` with each pointer.
static void see_each(struct learning *learning,
                     void (*see_one)(struct learning *learning, uint32_t target, uint32_t off)) {
    const struct seep_graph *graph = learning->graph;
    for (size_t i = 0; i < graph->nr_roots; i++)
        see_one(learning, graph->roots[i].target, graph->roots[i].to_off);
    for (size_t i = 0; i < graph->nr_edges; i++)
        see_one(learning, graph->edges[i].target, graph->edges[i].to_off);
}

static void see_pointers(struct learning *learning) {
    const struct seep_graph *graph = learning->graph;
    see_each(learning, see);
    for (uint32_t b = 0; b < graph->nr_blocks; b++) {
        struct pointed *of = &learning->of_site[graph->blocks[b].site];
        of->any += learning->seen[b] != 0;
        of->start += (learning->seen[b] & 1u << BIT_START) != 0;
        of->behind += (learning->seen[b] & ALL_HEADERS) != 0;
    }
}

// ---- objects ----

// The first word of the block leads to the start of *ret_block.
static bool begins_with_pointer(const struct seep_graph *graph, uint32_t block, uint32_t *ret_block) {
    if (graph->first_edge[block] == graph->first_edge[block + 1])
        return false;
    const struct seep_edge *edge = &graph->edges[graph->first_edge[block]];
    if (edge->from_off || edge->to_off)
        return false;
    *ret_block = edge->target;
    return true;
}

static bool leads_to(const struct seep_graph *graph, uint32_t block, uint32_t target) {
    for (uint64_t e = graph->first_edge[block]; e < graph->first_edge[block + 1]; e++)
        if (graph->edges[e].target == target && !graph->edges[e].to_off)
            return true;
    return false;
}

// A registry's array leads to all that begins with a pointer to the registry.
static bool leads_to_others(const struct seep_graph *graph, uint32_t data, uint32_t class, uint32_t type) {
    uint32_t first;
    for (uint64_t e = graph->first_edge[data]; e < graph->first_edge[data + 1]; e++)
        if (graph->edges[e].target != class && begins_with_pointer(graph, graph->edges[e].target, &first) &&
            first == type)
            return true;
    return false;
}

// It begins with a pointer to its type, which begins with a number and leads to its data, which lead to it.
static bool is_class(const struct seep_graph *graph, uint32_t block) {
    uint32_t type, more;
    if (!begins_with_pointer(graph, block, &type) || begins_with_pointer(graph, type, &more))
        return false;
    const uint64_t first = graph->first_edge[type], end = graph->first_edge[type + 1];
    for (uint64_t e = first; e < SEEP_MIN(end, first + POINTERS_MOST); e++) {
        const uint32_t data = graph->edges[e].target;
        if (graph->first_edge[data + 1] - graph->first_edge[data] <= POINTERS_MOST &&
            leads_to(graph, data, block) && !leads_to_others(graph, data, block, type))
            return true;
    }
    return false;
}

// false: out of memory.
static bool find_classes(struct seep_graph *graph) {
    struct seep_headers *headers = &graph->headers;
    for (uint32_t b = 0; b < graph->nr_blocks; b++) {
        if (!is_class(graph, b))
            continue;
        if (!headers->classes)
            headers->classes = calloc(graph->nr_blocks, sizeof(*headers->classes));
        if (!headers->classes)
            return false;
        headers->classes[b] = true;
    }
    return true;
}

// At `off` there is a pointer to a class.
static bool is_object(const struct seep_graph *graph, uint32_t block, uint32_t off) {
    const size_t nr = (size_t)(graph->first_edge[block + 1] - graph->first_edge[block]);
    if (!nr)
        return false;
    const struct seep_edge *edges = &graph->edges[graph->first_edge[block]];
    const size_t found = SEEP_FIRST_WHERE(at, nr, edges[at].from_off >= off);
    return found < nr && edges[found].from_off == off && !edges[found].to_off &&
           graph->headers.classes[edges[found].target];
}

static void see_object(struct learning *learning, uint32_t target, uint32_t off) {
    uint32_t site = learning->graph->blocks[target].site;
    if (off && !learning->graph->headers.of_site[site] && is_object(learning->graph, target, off))
        learning->seen[target] |= 1u << BIT_OBJECT;
}

static bool is_near_gobject(const struct seep_profile *profile, uint32_t site) {
    uint32_t node = profile->sites[site].node;
    for (unsigned frame = 0; frame < FRAMES; frame++, node = profile->nodes[node].parent)
        if (strstr(profile->modules[profile->nodes[node].module].path, "libgobject-2.0"))
            return true;
    return false;
}

// From here on counts are of blocks that have a pointer into their middle at all, and that have one to such a
// place. One object near GObject counts as if it were enough of them.
static void see_objects(struct learning *learning) {
    const struct seep_graph *graph = learning->graph;
    see_each(learning, see_object);
    memset(learning->of_site, 0, learning->profile->nr_sites * sizeof(*learning->of_site));
    for (uint32_t b = 0; b < graph->nr_blocks; b++) {
        struct pointed *of = &learning->of_site[graph->blocks[b].site];
        of->any += (learning->seen[b] & ~(1u << BIT_START)) != 0;
        of->behind += learning->seen[b] >> BIT_OBJECT & 1;
    }
    for (uint32_t site = 0; site < learning->profile->nr_sites; site++)
        if (learning->of_site[site].behind && is_near_gobject(learning->profile, site)) {
            learning->of_site[site].any *= OBJECTS_LEAST;
            learning->of_site[site].behind *= OBJECTS_LEAST;
        }
    learning->objects = true;
}

// ---- groups of sites: in each way ----

static void take_frame(struct learning *learning, uint32_t site, bool whole) {
    const struct seep_node *node = &learning->profile->nodes[learning->nodes[site]];
    if (!learning->nodes[site])
        return;
    uint64_t frame = (uint64_t)node->module << 48 ^ (whole ? node->offset : 0);
    learning->keys[site] = seep_hash64(learning->keys[site] ^ frame);
    learning->nodes[site] = node->parent;
}

static void take_frames(struct learning *learning, uint32_t site, unsigned way) {
    if (way > 0 && way < FRAMES) {
        take_frame(learning, site, true);
        return;
    }
    learning->keys[site] = 0;
    learning->nodes[site] = learning->profile->sites[site].node;
    take_frame(learning, site, way == 0);
    for (unsigned frame = 1; way == FRAMES && frame < 3; frame++)
        take_frame(learning, site, true);
}

// Groups of the sites of which no header is known; *ret_nr is 0 where none may have one.
static bool group_sites(struct learning *learning, unsigned way, uint32_t *ret_nr) {
    struct seep_map ids = SEEP_MAP_INIT;
    uint32_t nr = 0, nr_hopeful = 0;
    bool fits = true;
    for (uint32_t site = 0; fits && site < learning->profile->nr_sites; site++) {
        take_frames(learning, site, way);
        if (!learning->of_site[site].any || learning->graph->headers.of_site[site])
            continue;
        uint64_t *id = seep_map_at(&ids, learning->keys[site], NULL);
        fits = id && seep_grow(&learning->of_group, &learning->groups_capacity, nr + 1u,
                               sizeof(*learning->of_group));
        if (!fits)
            break;
        if (!*id) {
            learning->of_group[nr] = (struct pointed){0};
            *id = ++nr;
        }
        learning->groups[site] = (uint32_t)*id - 1;
        struct pointed *of = &learning->of_group[*id - 1];
        of->any += learning->of_site[site].any;
        of->start += learning->of_site[site].start;
        of->behind += learning->of_site[site].behind;
    }
    for (uint32_t group = 0; fits && group < nr; group++)
        nr_hopeful += may_have_header(&learning->of_group[group], learning->objects);
    seep_map_deinit(&ids);
    *ret_nr = nr_hopeful ? nr : 0;
    return fits;
}

static bool count_votes(struct learning *learning) {
    const struct seep_graph *graph = learning->graph;
    struct seep_map ids = SEEP_MAP_INIT; // by group and class
    bool fits = true;
    learning->nr_votes = 0;
    for (uint32_t b = 0; fits && b < graph->nr_blocks; b++) {
        uint32_t site = graph->blocks[b].site, group = learning->groups[site];
        if (!learning->seen[b] || graph->headers.of_site[site] ||
            !may_have_header(&learning->of_group[group], learning->objects))
            continue;
        uint32_t class = class_of(graph->blocks[b].size);
        uint64_t *id = seep_map_at(&ids, (uint64_t)group << 32 | class, NULL);
        fits = id && seep_grow(&learning->votes, &learning->votes_capacity, learning->nr_votes + 1,
                               sizeof(*learning->votes));
        if (!fits)
            break;
        if (!*id) {
            learning->votes[learning->nr_votes] = (struct votes){.group = group, .class = class};
            *id = ++learning->nr_votes;
        }
        struct votes *votes = &learning->votes[*id - 1];
        votes->any++;
        votes->texts += (graph->shapes[b] & SHAPE_TEXT) != 0;
        for (uint32_t left = learning->seen[b]; left; left &= left - 1)
            votes->blocks[__builtin_ctz(left)]++;
    }
    seep_map_deinit(&ids);
    return fits;
}

static int compare_votes(const void *left, const void *right) {
    const struct votes *one = left, *other = right;
    if (one->group != other->group)
        return one->group < other->group ? -1 : 1;
    return one->class < other->class ? -1 : one->class > other->class;
}

static bool add_ranges(struct seep_headers *headers, const struct seep_header_ranges *ranges) {
    if (!seep_grow(&headers->ranges, &headers->ranges_capacity, headers->nr_ranges + 1,
                   sizeof(*headers->ranges)))
        return false;
    headers->ranges[headers->nr_ranges++] = *ranges;
    return true;
}

// ret_of_group: by group, the index of its ranges + 1.
static bool judge_groups(struct learning *learning, uint32_t *ret_of_group) {
    struct seep_headers *headers = &learning->graph->headers;
    if (learning->nr_votes)
        qsort(learning->votes, learning->nr_votes, sizeof(*learning->votes), compare_votes);
    for (size_t from = 0, to; from < learning->nr_votes; from = to) {
        struct votes sum = {.group = learning->votes[from].group};
        for (to = from; to < learning->nr_votes && learning->votes[to].group == sum.group; to++)
            add_votes(&sum, &learning->votes[to]);
        struct seep_header_ranges ranges;
        if (!one_length(&learning->votes[from], to - from, &sum, &ranges) &&
            !several_lengths(&learning->votes[from], to - from, &sum, &ranges))
            continue;
        if (!add_ranges(headers, &ranges))
            return false;
        ret_of_group[sum.group] = (uint32_t)headers->nr_ranges;
    }
    return true;
}

static bool take_objects(struct learning *learning, uint32_t nr_groups, uint32_t *ret_of_group) {
    struct seep_headers *headers = &learning->graph->headers;
    for (uint32_t group = 0; group < nr_groups; group++) {
        if (!may_have_header(&learning->of_group[group], learning->objects))
            continue;
        if (!add_ranges(headers, &(struct seep_header_ranges){.objects = true}))
            return false;
        ret_of_group[group] = (uint32_t)headers->nr_ranges;
    }
    return true;
}

// false: all sites together have too few blocks with such a pointer, so no group has enough of them.
static bool has_hope(const struct learning *learning) {
    uint32_t behind = 0;
    for (uint32_t site = 0; site < learning->profile->nr_sites; site++)
        behind += learning->of_site[site].behind;
    return behind >= (learning->objects ? OBJECTS_LEAST : BLOCKS_LEAST);
}

static bool learn_in_way(struct learning *learning, unsigned way) {
    uint32_t nr_groups;
    if (!group_sites(learning, way, &nr_groups))
        return false;
    if (!nr_groups)
        return true;
    uint32_t *of_group = calloc(nr_groups, sizeof(*of_group));
    bool fits = of_group && (learning->objects ? take_objects(learning, nr_groups, of_group)
                                               : count_votes(learning) && judge_groups(learning, of_group));
    uint32_t *of_site = learning->graph->headers.of_site;
    for (uint32_t site = 0; fits && site < learning->profile->nr_sites; site++)
        if (!of_site[site] && learning->of_site[site].any)
            of_site[site] = of_group[learning->groups[site]];
    free(of_group);
    return fits;
}

bool seep_headers_learn(struct seep_graph *graph) {
    if (!graph->profile)
        return true;
    size_t nr_sites = SEEP_MAX(graph->profile->nr_sites, 1u);
    struct learning learning = {.graph = graph,
                                .profile = graph->profile,
                                .seen = calloc(SEEP_MAX(graph->nr_blocks, 1u), sizeof(*learning.seen)),
                                .of_site = calloc(nr_sites, sizeof(*learning.of_site)),
                                .keys = calloc(nr_sites, sizeof(*learning.keys)),
                                .nodes = calloc(nr_sites, sizeof(*learning.nodes)),
                                .groups = calloc(nr_sites, sizeof(*learning.groups))};
    graph->headers.of_site = calloc(nr_sites, sizeof(*graph->headers.of_site));
    bool fits = learning.seen && learning.of_site && learning.keys && learning.nodes && learning.groups &&
                graph->headers.of_site;
    if (fits)
        see_pointers(&learning);
    for (unsigned way = 0, ways = fits && has_hope(&learning) ? WAYS : 0; fits && way < ways; way++)
        fits = learn_in_way(&learning, way);
    fits = fits && find_classes(graph);
    const bool has_classes = graph->headers.classes;
    if (fits && has_classes)
        see_objects(&learning);
    for (unsigned way = 0; fits && has_classes && way < WAYS; way++)
        fits = learn_in_way(&learning, way);
    free(learning.seen);
    free(learning.of_site);
    free(learning.keys);
    free(learning.nodes);
    free(learning.groups);
    free(learning.of_group);
    free(learning.votes);
    return fits;
}

void seep_headers_deinit(struct seep_headers *headers) {
    free(headers->of_site);
    free(headers->ranges);
    free(headers->classes);
    *headers = (struct seep_headers){NULL};
}

static const struct seep_header_ranges *ranges_of(const struct seep_graph *graph, uint32_t block) {
    const struct seep_headers *headers = &graph->headers;
    uint32_t known = headers->of_site ? headers->of_site[graph->blocks[block].site] : 0;
    return known ? &headers->ranges[known - 1] : NULL;
}

bool seep_is_behind_header(const struct seep_graph *graph, uint32_t block, uint32_t off) {
    const struct seep_header_ranges *ranges = ranges_of(graph, block);
    return ranges && (ranges->objects ? is_object(graph, block, off) : off == seep_header_of(graph, block));
}

uint32_t seep_header_of(const struct seep_graph *graph, uint32_t block) {
    const struct seep_header_ranges *ranges = ranges_of(graph, block);
    if (!ranges)
        return 0;
    uint32_t class = class_of(graph->blocks[block].size), at = 0;
    while (at + 1 < ranges->nr && ranges->from[at + 1] <= class)
        at++;
    return ranges->bytes[at];
}
