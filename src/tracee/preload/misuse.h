// SPDX-License-Identifier: BSD-2-Clause
//
// Blocks freed in a wrong way: through a function of another family (new[] and free), twice, or
// by an address inside of them. Counted by where the block came from and where it was freed.
// The program goes on to its own fate.
//
// What it costs where nothing is wrong: one branch a free. Whether a site's blocks may be freed
// so is kept as bits of the counters (SEEP_RELEASE_OK) once it has been looked up; a heap map entry
// whose block is gone keeps the site of it.
#ifndef SEEP_PRELOAD_MISUSE_H
#define SEEP_PRELOAD_MISUSE_H

#include "preload/stack.h"

// Functions that belong together: a block is freed by the family that allocated it. ANY: that is not known.
enum seep_family { SEEP_FAMILY_ANY, SEEP_FAMILY_MALLOC, SEEP_FAMILY_NEW, SEEP_FAMILY_NEW_ARRAY };

// Of an enum seep_via.
SEEP_INLINE enum seep_family family_of_via(uint32_t via) {
    return via == SEEP_VIA_NEW                                 ? SEEP_FAMILY_NEW
           : via == SEEP_VIA_NEW_ARRAY                         ? SEEP_FAMILY_NEW_ARRAY
           : via == SEEP_VIA_NONE || via >= SEEP_VIA_INHERITED ? SEEP_FAMILY_ANY
                                                               : SEEP_FAMILY_MALLOC;
}

// Of a function that frees.
SEEP_INLINE enum seep_family family_of_release(enum seep_release release) {
    return release == SEEP_RELEASE_DELETE         ? SEEP_FAMILY_NEW
           : release == SEEP_RELEASE_DELETE_ARRAY ? SEEP_FAMILY_NEW_ARRAY
                                                  : SEEP_FAMILY_MALLOC;
}

// A block of `site` was freed, and its counters do not say that this way is right. The stack of the release
// is walked only where it is wrong. Takes misuse_lock; what has no room in the table is counted as a loss.
void seep_misuse_check(struct seep_thread *thread, struct seep_image_counters *counters, uint32_t site,
                       uint64_t address, uint64_t size, enum seep_release release, struct seep_caller caller);
// A block that the map does not have was freed.
void seep_misuse_unknown(struct seep_thread *thread, uint64_t address, enum seep_release release,
                         struct seep_caller caller);

#endif
