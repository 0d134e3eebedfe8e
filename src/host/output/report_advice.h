// SPDX-License-Identifier: BSD-2-Clause
// What would make a program allocate less (`seep advise`), as text and as JSON.
#ifndef SEEP_OUTPUT_REPORT_ADVICE_H
#define SEEP_OUTPUT_REPORT_ADVICE_H

#include <stdio.h>

#include "replay/advice.h"

struct seep_advice_report {
    const struct seep_profile *profile;
    const struct seep_advices *advices;
    const char *const *places; // by group: "function (file:line)"
    const char *source;        // what the user named
};

// The two forms of `seep advise`.
void seep_advice_text(FILE *out, const struct seep_advice_report *report);
SEEP_MUST_CHECK struct seep_error *seep_advice_json(FILE *out, const struct seep_advice_report *report);

#endif
