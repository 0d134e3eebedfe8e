// SPDX-License-Identifier: BSD-2-Clause
//
// The RESIDENCE section of a trace (docs/trace-format.md): what the tool saw of a process while it recorded
// it. How many pages of its larger blocks were in memory, and its processor time.
#ifndef SEEP_FILE_EVENT_RESIDENCE_H
#define SEEP_FILE_EVENT_RESIDENCE_H

#include "base/map.h"
#include "base/records.h"

#define SEEP_RESIDENCE_LEAST_BYTES 8192u // smaller blocks are not looked at
// A block up to this is filled long before the first look, because its page faults take some ten
// microseconds. A larger one may be looked at while it is filled, so that one look says little.
#define SEEP_RESIDENCE_FILLED_BYTES (UINT64_C(128) << 10)
#define SEEP_RESIDENCE_MAX          32768u // blocks of a section

struct seep_resident_block {
    uint64_t address;
    uint64_t stamp; // of the event that allocated it
    uint64_t pages; // of 4 KiB: the most that were seen
};

struct seep_residence_head {
    uint32_t pid;
    int64_t start_realtime_ns;
    uint64_t cpu_ns; // so far
    uint64_t nr_blocks;
};

// Test put->failed.
void seep_residence_put(struct seep_put *put, const struct seep_residence_head *head,
                        const struct seep_resident_block *blocks);
// The head, then its blocks one by one. false: damaged.
SEEP_MUST_CHECK bool seep_residence_take_head(struct seep_take *take, struct seep_residence_head *ret_head);
SEEP_MUST_CHECK bool seep_residence_take_block(struct seep_take *take, struct seep_resident_block *block);

// Of all sections of one process.
struct seep_residences {
    struct seep_map pages; // seep_residence_key() -> pages + 1
    uint64_t cpu_ns;       // 0: not known
    uint64_t nr_blocks;
};

// A hash of the allocation at this address and stamp.
static inline uint64_t seep_residence_key(uint64_t address, uint64_t stamp) {
    return seep_hash64(address) ^ stamp;
}

// A file without such sections gives none. Damage ends them.
SEEP_MUST_CHECK struct seep_error *seep_residences_read(const char *path, uint32_t pid,
                                                        int64_t start_realtime_ns,
                                                        struct seep_residences *ret_residences);
void seep_residences_deinit(struct seep_residences *residences);

#endif
