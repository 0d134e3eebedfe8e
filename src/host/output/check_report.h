// SPDX-License-Identifier: BSD-2-Clause
//
// What a check found (analysis/check.h), for people, for CI servers and for code hosts. Nothing is
// decided here.
#ifndef SEEP_OUTPUT_CHECK_REPORT_H
#define SEEP_OUTPUT_CHECK_REPORT_H

#include <stdio.h>

#include "analysis/check.h"

// What breaks the budgets, with stacks: leaks beyond the baseline, frees in a wrong way, and what held the
// peak; of each the `top` first (0: all).
void seep_check_put_findings(FILE *out, const struct seep_check *check, uint64_t top);
// A line for each budget that is broken and each process of which too little is known; where there are
// none, one that says what was held.
void seep_check_put_verdict(FILE *out, const struct seep_check *check);
// A line with the user's suppressions that took nothing in any process, and one for each program whose own
// could not be read; nothing where there are none.
void seep_check_put_suppressions(FILE *out, const struct seep_check *check);

// JUnit's XML, as the common CI servers read it: a suite for each process.
SEEP_MUST_CHECK struct seep_error *seep_check_put_junit(FILE *out, const struct seep_check *check);
// SARIF 2.1.0. Source: OASIS, "Static Analysis Results Interchange Format Version 2.1.0".
SEEP_MUST_CHECK struct seep_error *seep_check_put_sarif(FILE *out, const struct seep_check *check);
// Of a program that could not be run, so that no server takes an earlier file, or none, for a result.
struct seep_check_not_run {
    const char *program;
    const char *why;
};
void seep_check_put_junit_not_run(FILE *out, const struct seep_check_not_run *not_run);
SEEP_MUST_CHECK struct seep_error *seep_check_put_sarif_not_run(FILE *out,
                                                                const struct seep_check_not_run *not_run);
// Workflow commands of GitHub Actions, which become annotations.
SEEP_MUST_CHECK struct seep_error *seep_check_put_github(FILE *out, const struct seep_check *check);

// ---- for the files of this room only ----

// "120 bytes in 3 blocks, lost, by malloc"
struct seep_leak_words {
    char text[160];
};
struct seep_leak_words seep_leak_words(const struct seep_leak *leak, struct seep_leaked amount);
// "120 bytes in 3 blocks leaked, more than --max-leaked 0"; empty where the budget holds.
struct seep_budget_words {
    char text[320];
};
// "3 blocks of operator new[] freed by operator delete"
struct seep_leak_words seep_wrong_free_words(const struct seep_wrong_free *wrong);
// "40,000 bytes in 1 block, 80.0% of it, by malloc"
struct seep_leak_words seep_peak_holder_words(const struct seep_check *check,
                                              const struct seep_peak_holder *holder);
// The one to point at: what held most by a line of the program. NULL: none is known.
const struct seep_peak_holder *seep_check_peak_culprit(const struct seep_check *check);
struct seep_budget_words seep_budget_words(const struct seep_check *check, enum seep_check_budget budget);

// "program" or, of several of that name, "program #2". malloc'ed; NULL: out of memory.
SEEP_MUST_CHECK char *seep_process_label(const struct seep_session *session, uint32_t index);

// One line for each frame: "  function (file:line) [module]".
void seep_put_check_stack(FILE *out, const struct seep_check_stack *stack, const char *indentation);
// The same for people: names are short, and frames of a library that follow one another are one line.
void seep_put_folded_stack(FILE *out, const struct seep_check_stack *stack, const char *indentation);
// A line for each other line of source. With `amounts`: also the bytes and blocks of that line.
void seep_put_leak_places(FILE *out, const struct seep_leak_places *places, bool amounts,
                          const char *indentation);
// "1,500 bytes in 3 blocks"
struct seep_leak_words seep_leak_place_words(const struct seep_leak_place *place);
// The frame to look at first. NULL: the stack has none.
const struct seep_leak_frame *seep_check_blamed(const struct seep_check_stack *stack);
// The folder from where GitHub, GitLab and readers of SARIF name a file: GITHUB_WORKSPACE or CI_PROJECT_DIR
// where the present folder is within one of them, else the nearest folder with a .git, the present one or one
// above it, else the present one. Found at the first call. Context: one thread. "": not known.
const char *seep_source_root(void);
// `path` from that folder, if `path` is in the folder; else `path`.
const char *seep_path_from_root(const char *path);

#endif
