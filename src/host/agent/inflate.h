// SPDX-License-Identifier: BSD-2-Clause
// Unpacks what tools/embed_packed.py packed.
#ifndef SEEP_AGENT_INFLATE_H
#define SEEP_AGENT_INFLATE_H

#include "core/attr.h"

// Unpacks raw deflate (RFC 1951). false: the result is not exactly `nr` bytes.
SEEP_MUST_CHECK bool seep_inflate(unsigned char *to, size_t nr, const unsigned char *packed,
                                  size_t nr_packed);

#endif
