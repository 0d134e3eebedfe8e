// SPDX-License-Identifier: BSD-2-Clause
//
// What the rules of suppress_rules.h take out of a session: live blocks of sites whose stack a rule
// matches leave the sums of leaks, and it is kept which rule took how much. The first rule that
// matches counts, in the order in which the rules were read.
//
// Stacks are matched from the allocation function outward, inlined frames included, by the readable
// and by the mangled name of each function. Of the C library a function matches without its leading
// underscores too: `fun:strdup` is there, though the symbol may be __strdup.
#ifndef SEEP_ANALYSIS_SUPPRESS_H
#define SEEP_ANALYSIS_SUPPRESS_H

#include "profile/profile.h"
#include "analysis/suppress_rules.h"
#include "names/symbols.h"

// Fills suppressed of the profiles, and suppressions of the session, and makes the sums of leaks
// again. Once for a session. The rules may go afterwards; the saved form of a session does not know
// of them.
SEEP_MUST_CHECK struct seep_error *seep_suppress_session(const struct seep_suppress_rules *rules,
                                                         struct seep_session *session,
                                                         struct seep_symbols *symbols);

// Adds the rules that count without being asked for, behind those that are there: what the program itself
// says (the C function __lsan_default_suppressions of the executable, which is read and not run), and
// what is built in. What cannot be read of it is a note of its process.
SEEP_MUST_CHECK struct seep_error *seep_suppress_add_defaults(struct seep_suppress_rules *rules,
                                                              struct seep_session *session,
                                                              struct seep_symbols *symbols);

#endif
