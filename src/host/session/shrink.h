// SPDX-License-Identifier: BSD-2-Clause
//
// Recordings without what was allocated and freed again: what is left is what leaks, or waits. Parts of one
// recording, or shrunk ones, are taken together in their order, so that a block of one may be freed in the
// next.
#ifndef SEEP_SESSION_SHRINK_H
#define SEEP_SESSION_SHRINK_H

#include "base/error.h"

struct seep_shrunk {
    uint64_t nr_events; // that there were
    uint64_t nr_kept;
    uint64_t nr_repeated; // that an earlier file had too
    uint64_t nr_damaged;  // files that could not be read to their end
};

// `anonymize`: as seep_session_anonymize().
SEEP_MUST_CHECK struct seep_error *seep_shrink(const char *const *paths, size_t nr_paths, const char *output,
                                               bool anonymize, struct seep_shrunk *ret_shrunk);

#endif
