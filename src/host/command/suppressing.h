// SPDX-License-Identifier: BSD-2-Clause
//
// The options on suppressions, the same on every command that reports:
//
//     struct seep_suppress_rules rules = SEEP_SUPPRESS_RULES_INIT;
//     error = seep_suppress_read(arguments, &rules);           // before the work starts
//     error = seep_suppress_session(&rules, session, symbols);
//     seep_suppress_rules_deinit(&rules);
#ifndef SEEP_COMMAND_SUPPRESSING_H
#define SEEP_COMMAND_SUPPRESSING_H

#include "command/options.h"
#include "model/suppress.h"

extern const struct seep_option_group seep_suppress_group;

// Reads the files that the user named.
SEEP_MUST_CHECK struct seep_error *seep_suppress_read(const struct seep_arguments *arguments,
                                                      struct seep_suppress_rules *rules);

#endif
