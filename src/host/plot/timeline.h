// SPDX-License-Identifier: BSD-2-Clause
//
// What was live over time, by the rows of a view: the biggest rows one above the other, and the others
// together. Of one process.
#ifndef SEEP_PLOT_TIMELINE_H
#define SEEP_PLOT_TIMELINE_H

#include "plot/pen.h"
#include "view/view.h"

#define SEEP_TIMELINE_LAYERS 7u

struct seep_timeline_layer {
    const char *label; // of the view; NULL: the others
    uint64_t *bytes;   // by moment
    uint64_t most;
};

struct seep_timeline {
    const struct seep_profile *profile; // borrowed, as is the view
    const char *by;
    uint64_t *totals;                                             // by moment: of all that is in the view
    struct seep_timeline_layer layers[SEEP_TIMELINE_LAYERS + 1u]; // by most, the others last
    size_t nr_layers;
    size_t nr_others; // rows in the last layer; 0: it is not there
    size_t highest;   // moment
    bool filtered;
};

// `view` is of one process with snapshots, has all its rows, and is not by thread or size.
SEEP_MUST_CHECK struct seep_error *seep_timeline_make(const struct seep_view *view,
                                                      struct seep_timeline *ret_timeline);
void seep_timeline_deinit(struct seep_timeline *timeline); // of zeros, too

// "64 moments in 3.2 s, at most 12 MiB live at 2.1 s"; the caller frees it. NULL: out of memory.
SEEP_MUST_CHECK char *seep_timeline_words(const struct seep_timeline *timeline);

// In pixels.
void seep_timeline_size(const struct seep_timeline *timeline, double *ret_width, double *ret_height);
void seep_timeline_draw(const struct seep_timeline *timeline, const char *title, struct seep_pen *pen);

#endif
