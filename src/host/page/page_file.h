// SPDX-License-Identifier: BSD-2-Clause
//
// The page as one file: the built page of web/, with the data in it, packed by gzip and as base64, which
// cannot hold `</script>`.
#ifndef SEEP_PAGE_PAGE_FILE_H
#define SEEP_PAGE_PAGE_FILE_H

#include <stdio.h>

#include "page/page_data.h"

// source->max_bytes is of all of it here. A failed write is for the caller to see on `out`.
SEEP_MUST_CHECK struct seep_error *seep_page_write(FILE *out, const struct seep_page_source *source);

// The page without data. Source: web/page.html, a part of the tool.
const char *seep_page_template(size_t *ret_nr_bytes);

#endif
