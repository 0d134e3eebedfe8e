// SPDX-License-Identifier: BSD-2-Clause
//
// The page of seep html, for all commands that make one.
#ifndef SEEP_COMMAND_HTML_H
#define SEEP_COMMAND_HTML_H

#include "page/page_data.h"

#define SEEP_HTML_BYTES   (UINT64_C(32) << 20) // of a page, where nothing else is said
#define SEEP_HTML_MOMENTS 1000u                // of a recording, at most

// Writes the page to the file, or to standard output for "-". Half of a page does not stay.
SEEP_MUST_CHECK struct seep_error *seep_html_write(const struct seep_page_source *source, const char *path);

#endif
