// SPDX-License-Identifier: BSD-2-Clause
//
// Profiles that wait on disk, for runs of thousands of processes: of each that has ended only what it
// is and what it came to stays in memory. In the store they are as they will be in the trace, so
// that saving the session copies them.
#ifndef SEEP_SESSION_SESSION_STORE_H
#define SEEP_SESSION_SESSION_STORE_H

#include "profile/profile.h"
#include "file/trace.h"

struct seep_store;
// No file is made before the first profile is put.
SEEP_MUST_CHECK struct seep_error *seep_store_create(struct seep_store **ret_store);
void seep_store_destroy(struct seep_store *store); // takes NULL

// Puts a profile away and replaces it by one that has its process, health and totals only, and
// `stored`. Where the store takes nothing (no room on disk) the profile stays as it is: no error.
// Context: nothing but saving and seep_store_complete() may use such a profile's arrays.
SEEP_MUST_CHECK struct seep_error *seep_store_put(struct seep_store *store, struct seep_profile **profile);

// Brings back what was put away of a session.
SEEP_MUST_CHECK struct seep_error *seep_store_complete(struct seep_session *session);

#endif
