// SPDX-License-Identifier: BSD-2-Clause
//
// The reports: text for people, JSON and CSV for programs. They print what a view or session says
// and decide nothing themselves.
#ifndef SEEP_OUTPUT_REPORT_H
#define SEEP_OUTPUT_REPORT_H

#include <stdio.h>

#include "view/view.h"

// Writes a report of the session in the form that the options ask for. `source` is how the user
// names the data ("app.seep", a pid), for the last line; NULL: there is nothing to name.
// A failed write is an error, except on standard output, which main checks.
SEEP_MUST_CHECK struct seep_error *seep_report_write(FILE *out, const struct seep_session *session,
                                                     struct seep_symbols *symbols,
                                                     const struct seep_view_options *options,
                                                     const char *source);

// One line: that a snapshot was taken because memory came to a bound, and where it is. limit_bytes is 0 where
// the bound was no limit.
void seep_report_reached(FILE *out, const char *name, uint64_t bytes, uint64_t limit_bytes, const char *what);

#endif
