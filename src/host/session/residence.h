// SPDX-License-Identifier: BSD-2-Clause
//
// How much of the larger blocks of a process is in memory, looked up while it is recorded: in
// /proc/PID/pagemap, which costs the process nothing. Looks take at most a fiftieth of the time.
#ifndef SEEP_SESSION_RESIDENCE_H
#define SEEP_SESSION_RESIDENCE_H

#include <sys/types.h>

#include "file/event_residence.h"
#include "profile/recorded_events.h"

struct seep_residence {
    pid_t pid;
    int pagemap_fd;            // -1: not opened, or may not be
    struct seep_map blocks_of; // address -> 1 + index in blocks
    struct tracked_block *blocks;
    size_t nr_blocks;
    size_t capacity;
    size_t next;                       // block to look at
    struct seep_resident_block *ended; // to be written
    size_t nr_ended;
    size_t ended_capacity;
    uint64_t cpu_ns;
    int64_t next_ns; // no look before
    bool failed;     // out of memory: nothing more is kept
};

// Does not open any file yet.
void seep_residence_init(struct seep_residence *residence, pid_t pid);
void seep_residence_deinit(struct seep_residence *residence);

// Events in their order.
void seep_residence_follow(struct seep_residence *residence, const struct seep_recorded *events, size_t nr);
// Looks, when it is time.
void seep_residence_look(struct seep_residence *residence, int64_t now_ns);
// The process has ended: what is tracked has.
void seep_residence_end(struct seep_residence *residence);

#endif
