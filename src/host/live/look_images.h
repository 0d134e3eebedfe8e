// SPDX-License-Identifier: BSD-2-Clause
//
// Looks of a server at a process and its descendants. Unlike in look_process.h, the images stay open between
// looks, and nodes and sites are not copied out of them (source/image/image_look.h).
#ifndef SEEP_LIVE_LOOK_IMAGES_H
#define SEEP_LIVE_LOOK_IMAGES_H

#include "live/live.h"
#include "source/image/image_look.h"

struct seep_images {
    struct seep_image_look **items; // the first process first, then its descendants
    size_t nr;
    int64_t at_ns;    // CLOCK_MONOTONIC at its end; 0: there was no look
    int64_t took_ns;  // processor time of the look
    int64_t noted_ns; // when the files of the processes were last read
    bool ended;       // the process has ended: the images are as it left them
    uint64_t rss_bytes;
    uint64_t used_bytes;
    uint64_t limit_bytes;
    char limit[160];
    uint32_t nr_threads;
    uint64_t nr_unseen; // descendants without an image, or beyond SEEP_LOOK_PROCESSES
};

void seep_images_deinit(struct seep_images *images); // of zeros, too

// Makes the look of `epoch`; *images has the look before, or zeros. After an error *images has the same
// images, some of them perhaps of the new epoch.
SEEP_MUST_CHECK struct seep_error *seep_images_take(const struct seep_live_source *source,
                                                    struct seep_images *images, uint64_t epoch);

// All that is in the images, as a session of its own.
SEEP_MUST_CHECK struct seep_error *seep_images_session(const struct seep_images *images,
                                                       struct seep_session **ret_session);

// *ret_done is false where a process has not done yet what was asked.
SEEP_MUST_CHECK struct seep_error *seep_images_control(const struct seep_images *images,
                                                       const struct seep_image_control *asked,
                                                       bool *ret_done);

#endif
