// SPDX-License-Identifier: BSD-2-Clause
// Keeps the operations of a plan that is made, see plan_ops.h.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/map.h"
#include "base/read_at.h"
#include "replay/plan_ops.h"

#define BLOCK_BYTES (SEEP_PLAN_OPS_BLOCK * sizeof(struct seep_replay_op))

bool seep_plan_store_init(struct seep_plan_store *store) {
    *store = (struct seep_plan_store){.fd = memfd_create("seep-plan", MFD_CLOEXEC)};
    return store->fd >= 0;
}

void seep_plan_store_deinit(struct seep_plan_store *store) {
    if (store->fd >= 0)
        close(store->fd);
    store->fd = -1;
}

static uint64_t nr_in_blocks(const struct seep_plan_ops *ops) {
    return (uint64_t)ops->nr_blocks * SEEP_PLAN_OPS_BLOCK;
}

bool seep_plan_ops_put(struct seep_plan_store *store, struct seep_plan_ops *ops, struct seep_replay_op op) {
    size_t at = (size_t)(ops->nr - nr_in_blocks(ops));
    if (at == SEEP_PLAN_OPS_BLOCK) {
        if (!seep_grow(&ops->blocks, &ops->blocks_capacity, ops->nr_blocks + 1, sizeof(*ops->blocks)) ||
            !seep_write_memory_file(store->fd, store->nr_blocks * BLOCK_BYTES, ops->latest, BLOCK_BYTES))
            return false;
        ops->blocks[ops->nr_blocks++] = store->nr_blocks++;
        at = 0;
    }
    if (!seep_grow(&ops->latest, &ops->capacity, at + 1, sizeof(op)))
        return false;
    ops->latest[at] = op;
    ops->nr++;
    return true;
}

struct seep_replay_op *seep_plan_ops_last(const struct seep_plan_ops *ops) {
    return ops->nr ? &ops->latest[ops->nr - 1 - nr_in_blocks(ops)] : NULL;
}

bool seep_plan_ops_publish(struct seep_plan_ops *ops, uint64_t index) {
    if (index >= nr_in_blocks(ops)) {
        ops->latest[index - nr_in_blocks(ops)].flags |= SEEP_REPLAY_PUBLISH;
        return true;
    }
    if (!seep_grow(&ops->published, &ops->published_capacity, ops->nr_published + 1, sizeof(*ops->published)))
        return false;
    ops->published[ops->nr_published++] = index;
    return true;
}

static int by_number(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static bool write_numbered(struct seep_replay_op *some, size_t nr, const uint32_t *number, int fd,
                           uint64_t off) {
    for (size_t i = 0; i < nr; i++)
        if (some[i].kind == SEEP_REPLAY_WAIT)
            some[i].slot = number[some[i].slot];
    return seep_write_memory_file(fd, off, some, nr * sizeof(*some));
}

bool seep_plan_ops_write(struct seep_plan_store *store, struct seep_plan_ops *ops, const uint32_t *number,
                         int fd, uint64_t off) {
    struct seep_replay_op *some = malloc(BLOCK_BYTES);
    bool good = some != NULL;
    size_t at = 0; // in `published`
    if (ops->nr_published)
        qsort(ops->published, ops->nr_published, sizeof(*ops->published), by_number);
    for (size_t i = 0; good && i < ops->nr_blocks; i++) {
        uint64_t first = (uint64_t)i * SEEP_PLAN_OPS_BLOCK;
        good = seep_read_at(store->fd, ops->blocks[i] * BLOCK_BYTES, some, BLOCK_BYTES);
        for (; at < ops->nr_published && ops->published[at] < first + SEEP_PLAN_OPS_BLOCK; at++)
            some[ops->published[at] - first].flags |= SEEP_REPLAY_PUBLISH;
        // Where no hole can be made the block is in memory twice.
        (void)fallocate(store->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                        (off_t)(ops->blocks[i] * BLOCK_BYTES), BLOCK_BYTES);
        good = good && write_numbered(some, SEEP_PLAN_OPS_BLOCK, number, fd, off + (uint64_t)i * BLOCK_BYTES);
    }
    int trouble = errno;
    free(some);
    errno = trouble;
    return good && write_numbered(ops->latest, (size_t)(ops->nr - nr_in_blocks(ops)), number, fd,
                                  off + (uint64_t)ops->nr_blocks * BLOCK_BYTES);
}

void seep_plan_ops_deinit(struct seep_plan_ops *ops) {
    free(ops->latest);
    free(ops->blocks);
    free(ops->published);
}
