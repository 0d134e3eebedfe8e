// SPDX-License-Identifier: BSD-2-Clause
//
// The options on suppressions, the same on every command that reports:
//
//     struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
//     error = seep_suppress_read(arguments, &suppress);           // before the work starts
//     error = seep_suppress_apply(&suppress, session, symbols);
//     seep_suppress_deinit(&suppress);
#ifndef SEEP_COMMAND_SUPPRESS_OPTIONS_H
#define SEEP_COMMAND_SUPPRESS_OPTIONS_H

#include "command/options.h"
#include "analysis/suppress.h"

extern const struct seep_option_group seep_suppress_group;

// The rules of all --suppressions, and whether the built-in ones are left out.
struct seep_suppress {
    struct seep_suppress_rules rules;
    bool no_defaults;
};

// No rules. _deinit frees those that were read.
#define SEEP_SUPPRESS_INIT                                                                                   \
    { SEEP_SUPPRESS_RULES_INIT }
void seep_suppress_deinit(struct seep_suppress *suppress);

// Reads the files that the user named.
SEEP_MUST_CHECK struct seep_error *seep_suppress_read(const struct seep_arguments *arguments,
                                                      struct seep_suppress *suppress);
// Applies them, and the suppressions that need no option. Once for a session.
SEEP_MUST_CHECK struct seep_error *seep_suppress_apply(struct seep_suppress *suppress,
                                                       struct seep_session *session,
                                                       struct seep_symbols *symbols);
// Applies only the suppressions that need no option. Once for a session.
SEEP_MUST_CHECK struct seep_error *seep_suppress_apply_defaults(struct seep_session *session,
                                                                struct seep_symbols *symbols);

#endif
