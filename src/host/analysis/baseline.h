// SPDX-License-Identifier: BSD-2-Clause
//
// A baseline: the leaks that are known and accepted, in a text file that people review and merge.
// Described in docs/ci.md. A file is hostile input; an error names file and line.
//
//     # seep baseline 1
//
//     278890 bytes in 10000 blocks, malloc
//         [libc.so]
//         read_order (shop.c) [program]
//         main (shop.c) [program]
//
// Where `main` has the name of a file in brackets, as older ones of seep wrote it, that name is read as
// "[program]" in all lines of the entry.
#ifndef SEEP_ANALYSIS_BASELINE_H
#define SEEP_ANALYSIS_BASELINE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"

#define SEEP_BASELINE_ANY UINT64_MAX // "any": of a number

struct seep_baseline_entry {
    const char *key; // "malloc\n" and the lines of the stack, without indentation, each ending with \n
    uint64_t bytes;
    uint64_t blocks;
    unsigned line; // in the file
};

struct seep_baseline {
    struct seep_arena arena;
    struct seep_baseline_entry *entries;
    size_t nr_entries;
    size_t capacity;
    struct seep_map by_key; // hash of the key to index + 1; where two share a hash, the next free one
    bool of_others;         // the file is no baseline, and must not be overwritten
};

// An empty one. _deinit frees what it holds, and may be called on an empty one.
#define SEEP_BASELINE_INIT                                                                                   \
    { SEEP_ARENA_INIT }
void seep_baseline_deinit(struct seep_baseline *baseline);

// Two entries of one key add up.
SEEP_MUST_CHECK struct seep_error *seep_baseline_parse(struct seep_baseline *baseline, const char *file,
                                                       const char *text, size_t nr_bytes);
SEEP_MUST_CHECK struct seep_error *seep_baseline_read(struct seep_baseline *baseline, const char *path);

// NULL: there is none.
const struct seep_baseline_entry *seep_baseline_find(const struct seep_baseline *baseline, const char *key);

// Replaces the file at `path` as a whole, or leaves it as it was. Entries are written in the order of
// their keys, so that a change of one is a change of its lines.
SEEP_MUST_CHECK struct seep_error *seep_baseline_write(const char *path, struct seep_baseline_entry *entries,
                                                       size_t nr_entries);

#endif
