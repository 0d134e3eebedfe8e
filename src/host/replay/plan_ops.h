// SPDX-License-Identifier: BSD-2-Clause
//
// The operations of a plan while it is made. Threads take turns in a recording, and in a plan the operations
// of a thread lie together. So each thread fills blocks, which go into one memory file in the order in which
// they are full, and are put together at the end, each block of the memory file freed as it is copied. In the
// heap are only the blocks that are not full.
#ifndef SEEP_REPLAY_PLAN_OPS_H
#define SEEP_REPLAY_PLAN_OPS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/attr.h"
#include "plan/stream.h"

#define SEEP_PLAN_OPS_BLOCK 1024u // operations

// Full blocks of all threads.
struct seep_plan_store {
    int fd; // a memory file
    uint64_t nr_blocks;
};

struct seep_plan_ops {
    uint64_t nr;
    struct seep_replay_op *latest; // behind the full blocks, at least one if there is any
    size_t capacity;
    uint64_t *blocks; // the full ones: numbers in the memory file
    size_t nr_blocks;
    size_t blocks_capacity;
    uint64_t *published; // operations in full blocks that became SEEP_REPLAY_PUBLISH later
    size_t nr_published;
    size_t published_capacity;
};

// All false: out of memory, or the memory file may not be so large (errno is EFBIG).
SEEP_MUST_CHECK bool seep_plan_store_init(struct seep_plan_store *store);
void seep_plan_store_deinit(struct seep_plan_store *store);

SEEP_MUST_CHECK bool seep_plan_ops_put(struct seep_plan_store *store, struct seep_plan_ops *ops,
                                       struct seep_replay_op op);
// The latest one, which may be changed; NULL: there is none. Valid until the next one is put.
struct seep_replay_op *seep_plan_ops_last(const struct seep_plan_ops *ops);
SEEP_MUST_CHECK bool seep_plan_ops_publish(struct seep_plan_ops *ops, uint64_t index);
// Writes them all to `fd` at `off`. Threads are waited for by `number[slot]`. Once only: the store loses
// them.
SEEP_MUST_CHECK bool seep_plan_ops_write(struct seep_plan_store *store, struct seep_plan_ops *ops,
                                         const uint32_t *number, int fd, uint64_t off);
void seep_plan_ops_deinit(struct seep_plan_ops *ops);

#endif
