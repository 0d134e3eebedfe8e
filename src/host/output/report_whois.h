// SPDX-License-Identifier: BSD-2-Clause
// The answer of `seep whois`, as text and as JSON.
#ifndef SEEP_OUTPUT_REPORT_WHOIS_H
#define SEEP_OUTPUT_REPORT_WHOIS_H

#include <stdio.h>

#include "view/whois.h"

// The two forms of `seep whois`.
void seep_whois_text(FILE *to, const struct seep_whois *whois);
SEEP_MUST_CHECK struct seep_error *seep_whois_json(FILE *out, const struct seep_whois *whois);

#endif
