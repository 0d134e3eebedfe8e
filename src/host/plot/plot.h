// SPDX-License-Identifier: BSD-2-Clause
//
// Pictures of a session: what was live over time, sizes and ages of blocks, the call tree; as SVG, as PNG, or
// in a terminal.
#ifndef SEEP_PLOT_PLOT_H
#define SEEP_PLOT_PLOT_H

#include <stdio.h>

#include "view/view.h"

enum seep_plot_what { SEEP_PLOT_TIMELINE, SEEP_PLOT_SIZES, SEEP_PLOT_AGES, SEEP_PLOT_FLAME, SEEP_PLOT_NR };
extern const char *const seep_plot_names[SEEP_PLOT_NR + 1]; // ends with NULL

// What a plot is written as.
enum seep_plot_form { SEEP_PLOT_TEXT, SEEP_PLOT_SVG, SEEP_PLOT_PNG };

struct seep_plot {
    const struct seep_session *session;
    struct seep_symbols *symbols;
    const struct seep_view_options *options; // filters; `by` is of timelines, `sort` of flame graphs
    const char *source;                      // how the user names the data
    enum seep_plot_what what;
    enum seep_plot_form form;
};

// Draws it. Data that a plot cannot be drawn of, and a missing cairo, are errors.
SEEP_MUST_CHECK struct seep_error *seep_plot_write(FILE *out, const struct seep_plot *plot);

#endif
