// SPDX-License-Identifier: BSD-2-Clause
//
// What a replay found, or runs of a program itself, as a table, JSON or CSV.
#ifndef SEEP_OUTPUT_REPORT_REPLAY_H
#define SEEP_OUTPUT_REPORT_REPLAY_H

#include <stdio.h>

#include "replay/compare.h"

// The two forms of `seep replay`.
void seep_replay_text(FILE *out, const struct seep_plan *plan, const struct seep_comparison *comparison);
SEEP_MUST_CHECK struct seep_error *seep_replay_json(FILE *out, const struct seep_plan *plan,
                                                    const struct seep_comparison *comparison);
void seep_replay_csv(FILE *out, const struct seep_plan *plan, const struct seep_comparison *comparison);

// Of seep_compare_runs(); `program` as it was named.
void seep_runs_text(FILE *out, const char *program, const struct seep_comparison *comparison);
SEEP_MUST_CHECK struct seep_error *seep_runs_json(FILE *out, const char *program,
                                                  const struct seep_comparison *comparison);
void seep_runs_csv(FILE *out, const struct seep_comparison *comparison);

#endif
