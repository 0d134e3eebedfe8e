// SPDX-License-Identifier: BSD-2-Clause
// What `seep diff` prints: text for people, JSON and CSV for programs.
#ifndef SEEP_OUTPUT_REPORT_DIFF_H
#define SEEP_OUTPUT_REPORT_DIFF_H

#include <stdio.h>

#include "analysis/diff.h"

// How the user named the two.
struct seep_diff_names {
    const char *before;
    const char *after;
};

// Writes what the options ask for: text, CSV or JSON.
SEEP_MUST_CHECK struct seep_error *seep_diff_write(FILE *out, const struct seep_diff *diff,
                                                   const struct seep_diff_names *names,
                                                   const struct seep_view_options *options);

#endif
