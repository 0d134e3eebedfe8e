// SPDX-License-Identifier: BSD-2-Clause
//
// Who points to whom. Memory is fed once, in large pieces: roots first, then the blocks in order of
// address; a word that leads into a block becomes an edge. Everything after that (classes, holders)
// is done on the edges, when the program runs again.
//
// Classes, as in Valgrind's memcheck: reachable by a chain of pointers to the starts of blocks that
// begins in a root; possibly lost where every chain has a pointer into the middle of a block on it;
// indirectly lost where only lost blocks point to it; else lost. A pointer into the middle counts as
// one to the start where it looks like what C++ compilers and libraries make: the elements behind the
// cookie of new[], the text behind the length of a string, the base class behind another one, an exception
// behind its header; or where it leads into a slab, a block that is aligned to its size. So does a pointer to
// a few bytes behind the start of a block if nearly all blocks of the same place in the code have such
// pointers: an allocator of the program has put its header there. So does a pointer one byte behind the
// start, if it is in a block of the same size and leads to no text: a link between nodes with a mark in its
// lowest bit, as the colour in trees of tsearch. Source: the Valgrind manual, "Memory leak detection",
// --leak-check-heuristics; misc/tsearch.c of glibc.
#ifndef SEEP_SCAN_GRAPH_H
#define SEEP_SCAN_GRAPH_H

#include "base/error.h"
#include "profile/profile.h"
#include "scan/block_headers.h"
#include "scan/block_index.h"

#define SEEP_NO_BLOCK       UINT32_MAX
#define SEEP_CANDIDATES_MAX 64u

// Whether `word` is the address of a vtable; may look into the program.
typedef bool (*seep_is_vtable)(void *data, uint64_t word);

struct seep_edge {
    uint32_t target;
    uint32_t from_off; // bytes from the start of the block that has it, or UINT32_MAX: at least that
    uint32_t to_off;   // bytes from the start of the target, in the same way
};

struct seep_root_edge {
    uint64_t address; // of the word; 0: a register
    uint32_t target;
    uint32_t to_off;
    uint32_t range; // whatever the feeder calls it
    bool outward;   // of several in one range that lead to a block the last one is its holder, not the first
};

struct seep_graph {
    const struct seep_block *blocks; // borrowed; sorted by address
    uint32_t nr_blocks;
    struct seep_block_index index;

    struct seep_root_edge *roots;
    size_t nr_roots;
    size_t roots_capacity;
    struct seep_edge *edges; // those of block i: [first_edge[i], first_edge[i + 1])
    size_t nr_edges;
    size_t edges_capacity;
    uint64_t *first_edge;
    uint32_t nr_fed; // blocks that have been fed to their end

    uint8_t *shapes; // by block: what its beginning looks like
    struct seep_map_of_places {
        uint32_t block;
        uint32_t off;
    } * vtables; // other places in a block that hold vtable addresses, in order
    size_t nr_vtables;
    size_t vtables_capacity;
    struct seep_object {
        uint64_t vtable; // what it begins with
        uint32_t block;
    } * objects; // blocks that begin with the address of a vtable, in order
    size_t nr_objects;
    size_t objects_capacity;
    seep_is_vtable is_vtable;
    void *is_vtable_data;

    struct seep_candidate { // words of blocks that wait to be looked up together
        uint64_t word;
        uint64_t from_off;
        uint32_t block;
    } candidates[SEEP_CANDIDATES_MAX];
    uint32_t nr_candidates;

    bool outward;   // what is fed now is a stack: functions further out own what those further in only use
    bool with_own;  // also pointers of a block into itself, which tell of no holder: set it before feeding
    bool unaligned; // pointers may lie anywhere: set it before feeding
    bool narrow;    // pointers have 4 bytes: set it before feeding
    struct {        // the last bytes of the latest piece, for words that reach over its end
        bool of_block;
        uint32_t owner; // block or range
        uint64_t end;   // offset in the block, or address
        unsigned char bytes[7];
    } carry;

    const struct seep_profile *profile; // of sites and stacks. Borrowed; set before classifying. NULL:
                                        // headers are not looked for

    // After seep_graph_classify.
    struct seep_headers headers;
    uint8_t *kinds;   // enum seep_kind
    uint32_t *holder; // a block, or (where held_by_root) an index in roots; SEEP_NO_BLOCK: none
    uint32_t *holder_off;
    bool *held_by_root;
};

// SEEP_E_UNSUPPORTED for more blocks than ids.
SEEP_MUST_CHECK struct seep_error *seep_graph_create(const struct seep_block *blocks, size_t nr_blocks,
                                                     struct seep_graph **ret_graph);
void seep_graph_destroy(struct seep_graph *graph); // takes NULL

// Before feeding: the block may be new T[0] of a class with a destructor, and has one byte more than it was
// asked for.
void seep_graph_may_be_empty_array(struct seep_graph *graph, uint32_t block);

// Before feeding: the block was allocated at a multiple of a power of two that is its size, or little more.
void seep_graph_is_slab(struct seep_graph *graph, uint32_t block);

// The block that `address` leads into; a block of size 0 has one byte. O(1).
bool seep_graph_find(const struct seep_graph *graph, uint64_t address, uint32_t *ret_block,
                     uint64_t *ret_off);

// Words of a root. `address` is a multiple of 8, or 0 for registers. false: out of memory.
SEEP_MUST_CHECK bool seep_graph_feed_root(struct seep_graph *graph, uint32_t range, uint64_t address,
                                          const void *bytes, size_t nr_bytes);
// A root that counts as a pointer to the start of what it leads into.
SEEP_MUST_CHECK bool seep_graph_feed_start(struct seep_graph *graph, uint32_t range, uint64_t address,
                                           uint64_t word);
// The part of block `block` that begins `off` bytes into it (a multiple of 8). Blocks in ascending
// order, parts of a block too; what is not fed is taken as zero.
SEEP_MUST_CHECK bool seep_graph_feed_block(struct seep_graph *graph, uint32_t block, uint64_t off,
                                           const void *bytes, size_t nr_bytes);

// The address of a vtable that the block begins with; 0: none.
uint64_t seep_graph_vtable_of(const struct seep_graph *graph, uint32_t block);

// Once, after the last feeding. Edges are not whole before.
SEEP_MUST_CHECK struct seep_error *seep_graph_classify(struct seep_graph *graph); // leak_classes.c

// How many lost blocks are in a cycle: another block that they lead to points to their start. Pointers into
// the middle do not count, because they lead to a part (the nodes of a std::map to its head). A block that
// points to itself does not count either (the head of an empty list). After seep_graph_classify. false: out
// of memory.
SEEP_MUST_CHECK bool seep_graph_count_cycles(const struct seep_graph *graph, uint64_t *ret_nr);

// Of this room: ends feeding. false: out of memory.
SEEP_MUST_CHECK bool seep_graph_close(struct seep_graph *graph);
// What the beginning of a block looks like (bits of shapes).
enum {
    SHAPE_ARRAY = 1,  // 8 bytes that may be the number of equal elements behind them
    SHAPE_LENGTH = 2, // 8 bytes that say how many bytes follow
    SHAPE_STRING = 4, // length, capacity and count of a reference-counted std::string
    SHAPE_VTABLE = 8,
    SHAPE_EMPTY = 16,     // the number of elements alone, which is 0: the pointer is to just behind
    SHAPE_EXCEPTION = 32, // what C++ has thrown: a header, and the object behind it
    SHAPE_SLAB =
        64, // aligned to its size: an allocator of the program finds its start from any address in it
    SHAPE_TEXT = 128, // characters alone
};

// The header of an exception ends with what the unwinder needs, which begins with the class of the exception.
// Source: Itanium C++ ABI, exception handling, 1.2, 2.2.1; unwind-cxx.h of libstdc++, cxa_exception.h of
// libc++abi.
#define EXCEPTION_COUNT_BYTES 16u // libstdc++'s count of references, in front of the header proper
#define EXCEPTION_UNWIND_OFF  96u
#define EXCEPTION_OBJECT_OFF  128u

#endif
