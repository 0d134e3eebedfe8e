// SPDX-License-Identifier: BSD-2-Clause
//
// Headers that a program's own allocator puts in front of its blocks, learnt from the places to which
// pointers lead.
//
// A place in the code has a header of N bytes if at least sixteen of its blocks, and nine of ten blocks that
// have pointers, have a pointer N bytes behind their start, and less than one of ten has a pointer to the
// start. A place is the return address into the code that called the allocator. If a function around malloc
// serves several callers, each of these is a place, up to four frames. If a compiler has unrolled the loop
// that calls the allocator, all calls of the function together are a place.
//
// If most blocks begin with text, only a multiple of 8 above 8 is a header: "https://" is no header, and code
// that has only a pointer to the host behind it cannot free the text. If all blocks have one size, a pointer
// 4, 12 or 20 bytes behind the start leads to a member.
//
// Headers that grow with the size of the block, as those of short strings, are learnt, too. The rule then
// holds for each of up to five ranges of sizes. A header is at most a quarter of the largest block of its
// range, because the offset of an old pointer near the end or in the middle of a buffer grows with the size,
// too.
//
// Objects of GLib have private data of each of their classes in front. Pointers lead to the object behind
// these data, which begins with a pointer to its class. A class begins with a pointer to its type. The data
// of the type point to the class, and to nothing else that begins with a pointer to the type. A place has
// objects if nine of ten of its blocks that have a pointer into their middle, and at least four, have a
// pointer to such an object. If one of the four nearest frames is in libgobject, one block is enough.
// Source: gobject/gtype.c of GLib (struct _TypeNode, g_type_create_instance).
//
// Proof: tests/unit/test_graph.c, tests/corpus/header_lengths.c, objects_private.c.
#ifndef SEEP_SCAN_BLOCK_HEADERS_H
#define SEEP_SCAN_BLOCK_HEADERS_H

#include "core/attr.h"

#define SEEP_HEADER_LENGTHS 5u

struct seep_graph;

struct seep_headers {
    uint32_t *of_site; // index in `ranges`, + 1; 0: none. NULL: none has
    struct seep_header_ranges {
        uint32_t nr;
        uint32_t from[SEEP_HEADER_LENGTHS]; // class of sizes, ascending
        uint8_t bytes[SEEP_HEADER_LENGTHS]; // 0: no header
        bool objects;                       // objects in the middle of the block, and no header
    } * ranges;
    size_t nr_ranges, ranges_capacity;
    bool *classes; // by block: it is a class of objects. NULL: none is
};

// After feeding, before classifying. false: out of memory.
SEEP_MUST_CHECK bool seep_headers_learn(struct seep_graph *graph);
void seep_headers_deinit(struct seep_headers *headers);

// Whether a pointer `off` bytes into the block holds the block. `off` is not 0.
bool seep_is_behind_header(const struct seep_graph *graph, uint32_t block, uint32_t off);

// Bytes in front of the place to which the block's pointers lead. 0: no header.
uint32_t seep_header_of(const struct seep_graph *graph, uint32_t block);

#endif
