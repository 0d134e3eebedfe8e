// SPDX-License-Identifier: BSD-2-Clause
//
// What all reporting commands share: the options (the same everywhere) and the report itself.
//
//     static const struct seep_option_group *const groups[] = {&own_group, &seep_report_group,
//                                                              &seep_suppress_group, NULL};
//     const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
//     error = seep_report_check(view);                 // before the work starts
//     error = seep_suppress_read(arguments, &suppress);
//     error = seep_report_session(stderr, session, &suppress, view, "app.seep");
#ifndef SEEP_COMMAND_REPORT_OPTIONS_H
#define SEEP_COMMAND_REPORT_OPTIONS_H

#include <stdio.h>

#include "command/options.h"
#include "command/suppress_options.h"
#include "view/view.h"

// Values: struct seep_view_options.
extern const struct seep_option_group seep_report_group;

// SEEP_E_USAGE where options contradict one another.
SEEP_MUST_CHECK struct seep_error *seep_report_check(const struct seep_view_options *options);

// Names of functions as the options want them. `source`: what the user named; of a PID the files are those
// that the process sees. NULL: ours.
SEEP_MUST_CHECK struct seep_error *seep_report_symbols(const struct seep_view_options *options,
                                                       const char *source, struct seep_symbols **ret_symbols);
// The same for a report that is text: without the lines of the C and C++ runtime, unless the options ask for
// them.
SEEP_MUST_CHECK struct seep_error *seep_report_symbols_of_text(const struct seep_view_options *options,
                                                               const char *source,
                                                               struct seep_symbols **ret_symbols);

// The report of the processes that --pid and --program select.
SEEP_MUST_CHECK struct seep_error *seep_report_selected(FILE *out, const struct seep_session *session,
                                                        struct seep_symbols *symbols,
                                                        const struct seep_view_options *options,
                                                        const char *source);

// Gives blocks of a recording their ages and threads, if the options ask for these.
SEEP_MUST_CHECK struct seep_error *seep_report_births(struct seep_session *session,
                                                      const struct seep_view_options *options,
                                                      const char *source);

// Makes symbols, applies the suppressions, writes the report. `source` as in output/report.h.
SEEP_MUST_CHECK struct seep_error *seep_report_session(FILE *out, struct seep_session *session,
                                                       struct seep_suppress *suppress,
                                                       const struct seep_view_options *options,
                                                       const char *source);

// Part of the help of commands that take addresses of a server.
#define SEEP_HELP_ADDRESS                                                                                    \
    "ADDR is where 'seep serve' or seep-agent answers:\n"                                                    \
    "  unix:PATH                     on this machine\n"                                                      \
    "  ssh://[USER@]HOST[:PORT]/PID  on another machine; ssh starts the server there\n"                      \
    "  tcp:HOST:PORT                 on a network, with --key FILE\n"                                        \
    "  exec:COMMAND                  what COMMAND reads and writes, which runs 'serve --listen stdio PID'\n"

#endif
