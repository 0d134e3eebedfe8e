// SPDX-License-Identifier: BSD-2-Clause
//
// Headers that a program's own allocator puts in front of what it hands out, learnt from where pointers lead.
//
// A place in the code has a header of so many bytes if at least sixteen of its blocks, and nine of ten of
// those that have pointers, have one so many bytes behind their start, and not one in ten has one to the
// start. A place is the return address into the code that called the allocator. Where that place serves
// others (a function around malloc), each of its callers is a place, up to four frames; and where a compiler
// has unrolled the loop that calls it, all calls of that function together are one.
//
// Where most blocks begin with text, only a multiple of 8 above 8 is a header: "https://"
// is no header, and who has only the host behind it cannot free the text. Where all blocks have one size, a
// member lies 4, 12 or 20 bytes behind the start.
//
// Headers that grow with the length of what is behind them, as of short strings, are learnt, too: then the
// rule holds for each of up to five ranges of sizes, and a header is at most a quarter of the largest block
// of its range, because a pointer that was left near the end of a buffer or in its middle grows with the
// size, too.
//
// Objects of GLib have private data in front, as much as each of their classes wants. Pointers lead behind
// it, where the pointer to the class is. A class begins with a pointer to its type, and the data of the type
// have one to the class, and to nothing else that begins with a pointer to the type. Nine of ten blocks of a
// place, and at least four, that have a pointer into their middle have to have one to such an object. Source:
// gobject/gtype.c of GLib (struct _TypeNode, g_type_create_instance).
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
        bool objects;                       // in its middle, and no header
    } * ranges;
    size_t nr_ranges, ranges_capacity;
    bool *classes; // by block: it is a class of objects. NULL: none is
};

// After feeding, before classifying. false: out of memory.
SEEP_MUST_CHECK bool seep_headers_learn(struct seep_graph *graph);
void seep_headers_deinit(struct seep_headers *headers);

// Whether a pointer so many bytes into the block, which are not 0, holds it.
bool seep_is_behind_header(const struct seep_graph *graph, uint32_t block, uint32_t off);

// The header in front of what a block's pointers lead to; 0: none.
uint32_t seep_header_of(const struct seep_graph *graph, uint32_t block);

#endif
