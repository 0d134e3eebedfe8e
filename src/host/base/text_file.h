// SPDX-License-Identifier: BSD-2-Clause
//
// A small text file as a whole: suppressions, baselines.
#ifndef SEEP_BASE_TEXT_FILE_H
#define SEEP_BASE_TEXT_FILE_H

#include "base/error.h"

// *ret_text is malloc'ed and not ended by a zero byte. `what` is for messages: "the suppressions". More
// than max_bytes is SEEP_E_FORMAT.
SEEP_MUST_CHECK struct seep_error *seep_text_file_read(const char *path, const char *what, size_t max_bytes,
                                                       char **ret_text, size_t *ret_nr_bytes);

#endif
