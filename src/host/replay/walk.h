// SPDX-License-Identifier: BSD-2-Clause
//
// The events of one process of a recording, one after the other.
#ifndef SEEP_REPLAY_WALK_H
#define SEEP_REPLAY_WALK_H

#include "file/event_file.h"
#include "profile/profile.h"

// `step` gets each event with its time; its errors end the walk.
SEEP_MUST_CHECK struct seep_error *seep_walk_events(
    const char *path, struct seep_profile *profile, void *data,
    struct seep_error *(*step)(void *data, const struct seep_recorded *event, int64_t at_ns));

// The process `pid` of the session, 0: its first one.
SEEP_MUST_CHECK struct seep_error *seep_walk_choose(const struct seep_session *session, uint64_t pid,
                                                    const char *path, struct seep_profile **ret_profile);

#endif
