// SPDX-License-Identifier: BSD-2-Clause
//
// What a diff answers first: what changed most, by how much, and where. The text report and JSON say the
// same.
#ifndef SEEP_ANALYSIS_DIFF_FINDINGS_H
#define SEEP_ANALYSIS_DIFF_FINDINGS_H

#include "analysis/diff.h"

// Of which figure.
enum seep_diff_finding_kind {
    SEEP_DIFF_LOST, // what is lost and was not
    SEEP_DIFF_LIVE,
    SEEP_DIFF_ALLOCATIONS,
    SEEP_DIFF_BYTES,
    SEEP_DIFF_TEMPORARY,
};

struct seep_diff_finding {
    enum seep_diff_finding_kind kind;
    bool bad;
    const char *text;    // one line without a full stop; it has foreign names, which outputs escape
    int64_t value;       // the change: bytes, or a count
    const char *place;   // "function (file:line)", or the key of a row, that changed most; NULL: none
    int64_t place_value; // by how much
};

#define SEEP_DIFF_FINDINGS_MOST 3u

// In the order in which they are said.
struct seep_diff_findings {
    struct seep_diff_finding items[SEEP_DIFF_FINDINGS_MOST];
    size_t nr;
};

// "lost", "live", "allocations", "bytes", "temporary"
const char *seep_diff_finding_name(enum seep_diff_finding_kind kind);

// `sort`: of the options, enum seep_view_sort. Texts live as long as the diff.
SEEP_MUST_CHECK struct seep_error *seep_diff_findings_make(const struct seep_diff *diff, int sort,
                                                           struct seep_diff_findings *ret_findings);

#endif
