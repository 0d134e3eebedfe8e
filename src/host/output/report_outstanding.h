// SPDX-License-Identifier: BSD-2-Clause
//
// Outstanding allocations in the shape that users of bcc's memleak and their scripts know: a line with the
// time, then for each stack its bytes and allocations, and its frames. Whether to trust it follows.
#ifndef SEEP_OUTPUT_REPORT_OUTSTANDING_H
#define SEEP_OUTPUT_REPORT_OUTSTANDING_H

#include <stdio.h>

#include "view/view.h"

// Views of `options` are made by site; what is not live is left out. Of the kernel's session
// (source/kernel/profile_kernel.h) the pages have a list of their own, because they overlap with the rest.
SEEP_MUST_CHECK struct seep_error *seep_report_outstanding(FILE *out, const struct seep_session *session,
                                                           struct seep_symbols *symbols,
                                                           const struct seep_view_options *options);
SEEP_MUST_CHECK struct seep_error *seep_report_kernel_outstanding(FILE *out,
                                                                  const struct seep_session *session,
                                                                  struct seep_symbols *symbols,
                                                                  const struct seep_view_options *options);

#endif
