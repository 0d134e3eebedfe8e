// SPDX-License-Identifier: BSD-2-Clause
//
// What all reporting commands share: the options (the same everywhere) and the report itself.
//
//     static const struct seep_option_group *const groups[] = {&own_group, &seep_report_group, NULL};
//     const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
//     error = seep_report_check(view);                 // before the work starts
//     error = seep_report_session(stderr, session, view, "app.seep");
#ifndef SEEP_COMMAND_REPORTING_H
#define SEEP_COMMAND_REPORTING_H

#include <stdio.h>

#include "command/options.h"
#include "model/view.h"

// Values: struct seep_view_options.
extern const struct seep_option_group seep_report_group;

// SEEP_E_USAGE where options contradict one another.
SEEP_MUST_CHECK struct seep_error *seep_report_check(const struct seep_view_options *options);

// Makes symbols, writes the report. `source` as in ui/report.h.
SEEP_MUST_CHECK struct seep_error *seep_report_session(FILE *out, const struct seep_session *session,
                                                       const struct seep_view_options *options,
                                                       const char *source);

#endif
