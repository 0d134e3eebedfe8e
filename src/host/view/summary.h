// SPDX-License-Identifier: BSD-2-Clause
//
// What an output says of a view as a whole. It is made once, below the outputs, which only print it.
#ifndef SEEP_VIEW_SUMMARY_H
#define SEEP_VIEW_SUMMARY_H

#include "view/view.h"

// The questions that a report answers first, in this order.
enum seep_finding_kind {
    SEEP_FINDING_LEAKS, // does it leak?
    SEEP_FINDING_GROWS, // what grows without bound?
    SEEP_FINDING_FREES, // was something freed in a wrong way?
    SEEP_FINDING_HOLDS, // what does it hold now?
    SEEP_FINDING_PEAK,  // what did it hold when it held most?
    SEEP_FINDING_CHURN, // what was allocated only to be freed at once?
    SEEP_FINDING_NR
};

struct seep_finding {
    enum seep_finding_kind kind;
    bool bad;             // somebody should do something
    const char *text;     // one line without a full stop; it has foreign names, which outputs escape
    uint64_t value;       // bytes; of FREES and CHURN a count
    const char *place;    // "function (file:line)" that has most of it; NULL: nothing has, or not known
    uint64_t place_value; // what it has of `value`
    // The command that shows the evidence, its options ("": none), and what it shows. NULL: the report itself
    // shows the evidence.
    const char *command;
    const char *options;
    const char *shows;
};

struct seep_summary {
    const char *source; // how the user names the data ("app.seep", a pid); NULL: there is nothing to name
    struct seep_finding findings[SEEP_FINDING_NR];
    size_t nr_findings; // 0 but with SEEP_BY_SITE
};

const char *seep_finding_name(enum seep_finding_kind kind); // "leaks", "grows", ...

// Texts live as long as the view.
SEEP_MUST_CHECK struct seep_error *seep_summary_make(struct seep_view *view, const char *source,
                                                     struct seep_summary *ret_summary);

// "function (file:line)" of a node of the view's stacks: where the program itself allocated. NULL: not known.
// Lives as long as the view.
SEEP_MUST_CHECK struct seep_error *seep_summary_place(struct seep_view *view, uint32_t node,
                                                      const char **ret_place);

// The same of a row: "buffers of stdio" for those of the standard streams.
SEEP_MUST_CHECK struct seep_error *seep_summary_place_of(struct seep_view *view, uint32_t node,
                                                         uint64_t allocations, const char **ret_place);

// These tell two sites of one place apart. The caller of the place; NULL: it is main, or not known.
SEEP_MUST_CHECK struct seep_error *seep_summary_caller(struct seep_view *view, uint32_t node,
                                                       const char **ret_place);
// The function of a library that the place called, which allocated for it. NULL: it called the allocator
// itself, or the function is not known.
SEEP_MUST_CHECK struct seep_error *seep_summary_called(struct seep_view *view, uint32_t node,
                                                       const char **ret_name);

// Why it is not known what is lost: there was no scan. NULL: there was one, a note says why not, or no block
// is live. Lives as long as the view.
SEEP_MUST_CHECK struct seep_error *seep_summary_why_not_known(struct seep_view *view, const char **ret_why);

#endif
