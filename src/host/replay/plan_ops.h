// SPDX-License-Identifier: BSD-2-Clause
//
// The operations of a plan while it is made. Threads take turns in a recording, and in a plan the operations
// of a thread lie together. So each thread fills blocks. Full blocks go into one memory file, in the order in
// which they became full. The end puts the blocks of each thread together, and frees each block of the memory
// file after it was copied. The heap has only blocks that are not full.
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
    struct seep_replay_op *latest; // behind the full blocks; not empty if there is any operation
    size_t capacity;
    uint64_t *blocks; // full blocks: their numbers in the memory file
    size_t nr_blocks;
    size_t blocks_capacity;
    uint64_t *published; // operations in full blocks that became SEEP_REPLAY_PUBLISH later
    size_t nr_published;
    size_t published_capacity;
};

// Each function returns false if memory is out, or if the memory file may not be so large (errno is EFBIG).
SEEP_MUST_CHECK bool seep_plan_store_init(struct seep_plan_store *store);
void seep_plan_store_deinit(struct seep_plan_store *store);

SEEP_MUST_CHECK bool seep_plan_ops_put(struct seep_plan_store *store, struct seep_plan_ops *ops,
                                       struct seep_replay_op op);
// The latest operation, which the caller may change. NULL: there is none. Valid until the next operation is
// put.
struct seep_replay_op *seep_plan_ops_last(const struct seep_plan_ops *ops);
SEEP_MUST_CHECK bool seep_plan_ops_publish(struct seep_plan_ops *ops, uint64_t index);
// Writes all operations to `fd` at `off`, once only: the store loses them. The thread in a slot that an
// operation waits for becomes `number[slot]`.
SEEP_MUST_CHECK bool seep_plan_ops_write(struct seep_plan_store *store, struct seep_plan_ops *ops,
                                         const uint32_t *number, int fd, uint64_t off);
void seep_plan_ops_deinit(struct seep_plan_ops *ops);

#endif
