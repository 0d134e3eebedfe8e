// SPDX-License-Identifier: BSD-2-Clause
// Unpacks what tools/embed_packed.py packed.
#ifndef SEEP_AGENT_INFLATE_H
#define SEEP_AGENT_INFLATE_H

#include "core/attr.h"

// Raw deflate (RFC 1951) that makes exactly `nr` bytes; false: it does not.
SEEP_MUST_CHECK bool seep_inflate(unsigned char *to, size_t nr, const unsigned char *packed,
                                  size_t nr_packed);

#endif
