// SPDX-License-Identifier: BSD-2-Clause
//
// What each site had when the live bytes of the process were highest. It is not known at the time that a peak
// is one; so the figures are copied when the process first falls below it: when live bytes have grown beyond
// the latest copy by a share of it, and then fall by a share of the peak. Both shares together are less than
// 1 %. Operations pay nothing for that: the slow half of counting net bytes asks, which each thread enters
// now and then (net_most, net_above in preload.h).
#ifndef SEEP_PRELOAD_AT_PEAK_H
#define SEEP_PRELOAD_AT_PEAK_H

#include "preload/preload.h"

// How far the thread's net bytes may go until it must ask again.
struct seep_peak_room {
    int64_t up;   // a new peak of the thread may be higher by this
    int64_t down; // and its net bytes lower
};

// `net`: the bytes of the thread, of which slot->flushed_bytes are in header.live_bytes_flushed. The
// operation that led here, where it is a release, must not be in the counters of its site yet. Context: a
// hook is at work; no lock is held.
struct seep_peak_room seep_peak_look(const struct seep_image_thread *slot, int64_t net);

// A fresh image, or a fork child's: there is no copy, and no other thread.
void seep_peak_begin(void);

#endif
