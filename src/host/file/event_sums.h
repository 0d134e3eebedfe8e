// SPDX-License-Identifier: BSD-2-Clause
//
// The EVENT_SUMS section of a trace (docs/trace-format.md): what the sites of a process have done up to a
// place of its recording, so that who asks for a later moment need not read what is before. Some have all
// sites, the others those that changed since.
#ifndef SEEP_FILE_EVENT_SUMS_H
#define SEEP_FILE_EVENT_SUMS_H

#include "base/records.h"
#include "profile/profile.h"

struct seep_event_sums {
    uint32_t pid;
    int64_t start_realtime_ns; // with the pid it says of which process it is
    bool whole;                // all sites, not only those that changed since the section before
    uint64_t nr_events;
    int64_t most_ns;   // no event was later
    int64_t latest_ns; // when the last of them was
    int64_t live_bytes;
    int64_t peak_bytes;  // the highest that this ever was, and
    uint64_t peak_event; // after how many events
    uint64_t releases[SEEP_RELEASE_NR];
    uint64_t size_class[SEEP_IMAGE_SIZE_CLASSES];
    const uint64_t *last; // by slot: see struct seep_rebuilt_heap
    size_t nr_last;
    const uint32_t *sites;                // ids, rising
    const struct seep_counters *counters; // of each
    size_t nr_sites;
};

// Test put->failed.
void seep_event_sums_put(struct seep_put *put, const struct seep_event_sums *sums);
// false: damaged, or out of memory. The arrays are malloc'ed then: seep_event_sums_deinit().
SEEP_MUST_CHECK bool seep_event_sums_take(struct seep_take *take, struct seep_event_sums *ret_sums);
void seep_event_sums_deinit(struct seep_event_sums *sums);

#endif
