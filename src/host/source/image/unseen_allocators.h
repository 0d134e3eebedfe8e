// SPDX-License-Identifier: BSD-2-Clause
//
// Allocators inside of a traced program's modules whose functions cannot be interposed. Each is a
// note that says what is missing, why, and what sees it.
#ifndef SEEP_SOURCE_IMAGE_UNSEEN_ALLOCATORS_H
#define SEEP_SOURCE_IMAGE_UNSEEN_ALLOCATORS_H

#include "base/map.h"
#include "process/process_map.h"
#include "profile/profile.h"

// What was found in files, so that many processes of one program read it once.
struct seep_unseen {
    struct seep_map ids;   // hash of device, inode, size and time to index of `found` + 1
    struct seep_map known; // hash of a path and what was loaded from it to the same
    struct seep_unseen_file *found;
    size_t nr_found;
    size_t capacity;
    struct seep_worker *worker; // reads files of other users; NULL: there was none yet
};

// Nothing found yet. _deinit frees it and ends the worker.
#define SEEP_UNSEEN_INIT                                                                                     \
    { .found = NULL }
void seep_unseen_deinit(struct seep_unseen *unseen);

// Looks into the files of the profile's modules as they are on this machine; those that are gone or are
// another build are left out. Paths are hostile: only regular files are read. The image knows the libraries
// of the start and those that were on a stack; `map` tells what else is loaded; NULL: not known.
SEEP_MUST_CHECK struct seep_error *seep_unseen_note_allocators(struct seep_unseen *unseen,
                                                               struct seep_profile *profile,
                                                               const struct seep_process_map *map);
// The same for one profile. `pid`: its process, which is still there; 0: it is not.
SEEP_MUST_CHECK struct seep_error *seep_profile_note_allocators(struct seep_profile *profile, pid_t pid);

#endif
