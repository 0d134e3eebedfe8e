// SPDX-License-Identifier: BSD-2-Clause
//
// The whole graph, for those who draw or walk it: see profile/pointers.h.
#ifndef SEEP_SCAN_ALL_POINTERS_H
#define SEEP_SCAN_ALL_POINTERS_H

#include "scan/holders.h"

// Fills profile->pointers, in its arena. `chains` are of that profile, with a classified graph.
SEEP_MUST_CHECK struct seep_error *seep_pointers_keep(struct seep_profile *profile,
                                                      const struct seep_chains *chains,
                                                      const struct seep_holders *holders);

#endif
