// SPDX-License-Identifier: BSD-2-Clause
//
// Figures of a few classes (sizes, ages) as bars: a row for each class, a panel for each figure. Rows without
// anything are there between those that have something.
#ifndef SEEP_PLOT_BARS_H
#define SEEP_PLOT_BARS_H

#include "plot/pen.h"
#include "view/view.h"

#define SEEP_BARS_PANELS 3u
#define SEEP_BARS_ROWS   80u

struct seep_bars {
    const char *what; // of the rows: "size of a block"
    size_t nr_panels;
    struct {
        const char *title;
        bool bytes; // else a count
        uint64_t most;
        uint64_t all;
    } panels[SEEP_BARS_PANELS];
    size_t nr_rows;
    struct {
        char label[48];
        uint64_t values[SEEP_BARS_PANELS];
    } rows[SEEP_BARS_ROWS];
};

// `view` is by size and has all its rows.
void seep_bars_of_sizes(struct seep_bars *bars, const struct seep_view *view);
// The live blocks of a view that has its blocks, by age. SEEP_E_UNSUPPORTED where no age is known.
SEEP_MUST_CHECK struct seep_error *seep_bars_of_ages(struct seep_bars *bars, const struct seep_view *view);

// In pixels.
void seep_bars_size(const struct seep_bars *bars, double *ret_width, double *ret_height);
void seep_bars_draw(const struct seep_bars *bars, const char *title, struct seep_pen *pen);

#endif
