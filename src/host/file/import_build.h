// SPDX-License-Identifier: BSD-2-Clause
//
// A recording that is made of what importers read. Ids are those of the profile that grows.
#ifndef SEEP_FILE_IMPORT_BUILD_H
#define SEEP_FILE_IMPORT_BUILD_H

#include "base/map.h"
#include "file/event_chunk.h"
#include "file/import.h"
#include "file/trace.h"
#include "profile/profile.h"

struct seep_import_names {
    struct seep_symbol_name *names; // malloc'ed
    size_t nr;
    size_t capacity;
    struct seep_symbol_place *places; // the same, of those with lines
    size_t nr_places;
    size_t places_capacity;
};

struct seep_importing {
    const char *name; // of the file, for messages
    struct seep_profile *profile;
    size_t modules_capacity, nodes_capacity, sites_capacity;
    struct seep_map modules;   // hash of the path, or what follows it where another path has it, to id
    uint64_t seed;             // of these hashes: a file cannot choose paths with one hash
    struct seep_map nodes;     // hash of (parent, module, offset) to id
    struct seep_map sites;     // node << 32 | via to id
    struct seep_map live;      // address to index + 1 of `blocks`
    struct seep_block *blocks; // address, size, site; of a free place the address is 0
    size_t nr_blocks;
    size_t blocks_capacity;
    size_t *free_places;
    size_t nr_free;
    size_t free_capacity;
    struct seep_import_names *names; // by module
    size_t names_capacity;
    struct seep_recorded *events;
    struct seep_chunk_packer *packer;
    uint64_t line;      // of the file, that is read
    uint64_t nr_events; // of the chunk
    int64_t first_ns;
    int64_t at_ns; // of what comes next, never less than before
    uint64_t stamp;
    uint64_t last; // the block that the latest event allocated, or 0
    struct seep_trace_writer *writer;
    int64_t live_bytes, peak_bytes;
    struct seep_imported counts;
};

SEEP_MUST_CHECK struct seep_error *seep_importing_begin(struct seep_importing *importing, const char *name,
                                                        const char *output);
// Writes what is left, the profile and the end of the trace.
SEEP_MUST_CHECK struct seep_error *seep_importing_end(struct seep_importing *importing, const char *output);
void seep_importing_deinit(struct seep_importing *importing);

// All false: out of memory.
SEEP_MUST_CHECK bool seep_import_module(struct seep_importing *importing, const char *path, size_t length,
                                        uint32_t *ret_module);
// `place` may be NULL: then the file of the module is asked. Its texts live as long as the profile.
SEEP_MUST_CHECK bool seep_import_node(struct seep_importing *importing, uint32_t parent, uint32_t module,
                                      uint64_t offset, const struct seep_symbol_place *place,
                                      uint32_t *ret_node);
SEEP_MUST_CHECK struct seep_error *seep_import_allocation(struct seep_importing *importing, uint64_t address,
                                                          uint64_t size, uint32_t node, uint32_t via);
// Counts the line that is read as one that the format does not have.
void seep_import_foreign(struct seep_importing *importing);
// `release`: enum seep_release.
SEEP_MUST_CHECK struct seep_error *seep_import_free(struct seep_importing *importing, uint64_t address,
                                                    uint32_t release);

#endif
