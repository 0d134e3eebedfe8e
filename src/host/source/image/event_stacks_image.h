// SPDX-License-Identifier: BSD-2-Clause
//
// The stacks that events of a live image refer to, as they come: what has been added since the last look. As
// with the rings the image is hostile: it is read and never mapped, and every number of it is checked.
#ifndef SEEP_SOURCE_IMAGE_EVENT_STACKS_IMAGE_H
#define SEEP_SOURCE_IMAGE_EVENT_STACKS_IMAGE_H

#include "profile/recorded_stacks.h"

struct seep_image_stacks {
    int fd;                                              // borrowed
    uint32_t nr_modules, nr_nodes, nr_sites, nr_threads; // what was seen so far; 0: nothing
};

// What came since the last time, up to that site and that thread slot: those are complete, because events
// refer to them. *ret_new is empty (nr_sites 0 and nr_threads 0) where there is nothing new, or no image any
// more.
SEEP_MUST_CHECK struct seep_error *seep_image_stacks_look(struct seep_image_stacks *stacks, uint32_t site,
                                                          uint32_t thread,
                                                          struct seep_recorded_stacks *ret_new);
// The process alone, before any of its events.
SEEP_MUST_CHECK struct seep_error *seep_image_stacks_process(const struct seep_image_stacks *stacks,
                                                             struct seep_recorded_stacks *ret_stacks);

#endif
