// SPDX-License-Identifier: BSD-2-Clause
// What a program did with its heap over time (`seep history`), as text and as JSON.
#ifndef SEEP_OUTPUT_REPORT_HISTORY_H
#define SEEP_OUTPUT_REPORT_HISTORY_H

#include <stdio.h>

#include "profile/history.h"
#include "view/view.h"

struct seep_history_report {
    struct seep_view *view;               // of all processes, by site
    const struct seep_history *histories; // by profile of the view's session
    uint32_t top;                         // rows of each table; 0: all
    bool pages;                           // they were asked for
};

// The two forms of `seep history`.
SEEP_MUST_CHECK struct seep_error *seep_history_text(FILE *out, const struct seep_history_report *report);
SEEP_MUST_CHECK struct seep_error *seep_history_json(FILE *out, const struct seep_history_report *report);

#endif
