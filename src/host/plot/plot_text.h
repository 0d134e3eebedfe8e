// SPDX-License-Identifier: BSD-2-Clause
// Plots in a terminal, by block characters: what pens draw of the same figures.
#ifndef SEEP_PLOT_PLOT_TEXT_H
#define SEEP_PLOT_PLOT_TEXT_H

#include <stdio.h>

#include "plot/bars.h"
#include "plot/timeline.h"

// As wide as the terminal that `out` is, else as a text of the usual width.
SEEP_MUST_CHECK struct seep_error *seep_timeline_print(FILE *out, const struct seep_timeline *timeline,
                                                       const char *title);
SEEP_MUST_CHECK struct seep_error *seep_bars_print(FILE *out, const struct seep_bars *bars,
                                                   const char *title);

#endif
