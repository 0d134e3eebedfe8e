// SPDX-License-Identifier: BSD-2-Clause
//
// What is written, packed as gzip packs it.
#ifndef SEEP_BASE_GZIP_H
#define SEEP_BASE_GZIP_H

#include <stddef.h>
#include <stdio.h>

#include "base/error.h"

typedef void (*seep_gzip_sink)(void *data, const void *bytes, size_t nr_bytes);

// All of `bytes`, to the sink in pieces. Level: 1 to 9, as zlib has them.
SEEP_MUST_CHECK struct seep_error *seep_gzip(const void *bytes, size_t nr_bytes, int level,
                                             seep_gzip_sink sink, void *data);

// A stream whose content goes to `out` packed. Closing it writes the end and leaves `out` open: what failed
// to be written, that stream tells. NULL: out of memory.
FILE *seep_gzip_open(FILE *out, int level);

#endif
