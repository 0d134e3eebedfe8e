// SPDX-License-Identifier: BSD-2-Clause
//
// Pools of the program and their pieces, as it tells of them through seep.h. Tables in the image, and
// in private memory an index of them; sixteen parts by pool, each under a lock of its own, so that
// threads with pools of their own do not meet. The counters are those of (thread, site), as of malloc,
// at sites of SEEP_VIA_POOL_*.
#ifndef SEEP_PRELOAD_CUSTOM_POOL_H
#define SEEP_PRELOAD_CUSTOM_POOL_H

#include "preload/stack.h"

// The thread is entered. `pool` 0: none.
void seep_pool_begins(struct seep_thread *thread, uint64_t pool, const char *name, struct seep_caller caller);
// All pieces of the pool are freed. `stays`: the pool itself is not, and may have others.
void seep_pool_ends(struct seep_thread *thread, uint64_t pool, bool stays);
// A piece of the pool (0: of none) was allocated, or freed. Context: as above. A piece without room is
// counted as lost (SEEP_LOST_NO_PIECE).
void seep_piece_taken(struct seep_thread *thread, uint64_t pool, uint64_t address, uint64_t bytes,
                      enum seep_via via, struct seep_caller caller);
void seep_piece_freed(struct seep_thread *thread, uint64_t pool, uint64_t address);

// A hook of this thread was left by longjmp: what it held is mended and released.
void seep_custom_pools_recover(uint32_t tid);
// In a child of fork, which has a copy of the tables.
void seep_custom_pools_in_child(void);

#endif
