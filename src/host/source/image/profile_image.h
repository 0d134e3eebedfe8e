// SPDX-License-Identifier: BSD-2-Clause
//
// From an image to a profile. Ids stay those of the image. A reference that leads nowhere (the
// program may have overwritten its image) is left out and counted in a note: what is left is shown.
#ifndef SEEP_SOURCE_IMAGE_PROFILE_IMAGE_H
#define SEEP_SOURCE_IMAGE_PROFILE_IMAGE_H

#include "source/image/image_copy.h"
#include "profile/profile.h"

// The exit is what the image says: a code, running, or unknown; the caller knows better. is_main is
// left false. O(data of the image).
SEEP_MUST_CHECK struct seep_error *seep_profile_from_image(const struct seep_image_copy *copy,
                                                           struct seep_profile **ret_profile);

// The same of the image that `fd` (borrowed) leads to. `pid`: the process as we see it, also for messages; 0:
// as its image has it.
SEEP_MUST_CHECK struct seep_error *seep_profile_from_fd(int fd, pid_t pid, struct seep_profile **ret_profile);

// The block that `address` was in last, if it was freed and nothing is known to have come into its
// place: ret_freed->address 0 where there is none. `profile` is of the same copy.
void seep_image_find_freed(const struct seep_image_copy *copy, const struct seep_profile *profile,
                           uint64_t address, struct seep_freed *ret_freed);

// A session of the one process of a live image, or of a raw dump; `name` is for messages. It is the main one.
SEEP_MUST_CHECK struct seep_error *seep_session_from_image_pid(pid_t pid, struct seep_session **ret_session);
SEEP_MUST_CHECK struct seep_error *seep_session_from_raw(const void *bytes, size_t nr_bytes, const char *name,
                                                         struct seep_session **ret_session);

#endif
