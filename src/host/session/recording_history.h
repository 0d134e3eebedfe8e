// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the history of each process of a session out of the events of its recording, in one pass; with pages
// in two. Of a trace with snapshots only what was live over time. Memory goes with live blocks, sites and
// bins.
#ifndef SEEP_SESSION_RECORDING_HISTORY_H
#define SEEP_SESSION_RECORDING_HISTORY_H

#include "profile/history.h"

struct seep_history_options {
    uint32_t nr_bins; // at least 1
    bool pages;       // how full pages and regions are; each event takes longer
};

// *ret_histories: one for each profile of the session, malloc'ed, for seep_history_deinit() and free().
// SEEP_E_UNSUPPORTED where the file has neither events nor snapshots.
SEEP_MUST_CHECK struct seep_error *seep_histories_make(struct seep_session *session, const char *path,
                                                       const struct seep_history_options *options,
                                                       struct seep_history **ret_histories);

// Gives the profiles of a recording that have no snapshots some of its events, for what shows those: at the
// end of each of at most nr_bins parts of the run; fewer where there are so many sites that what changed in
// all of them would not fit. *ret_histories, where it is asked for: as those of seep_histories_make, NULL of
// what is no recording.
SEEP_MUST_CHECK struct seep_error *seep_history_snapshots(struct seep_session *session, const char *path,
                                                          uint32_t nr_bins,
                                                          struct seep_history **ret_histories);

// Frees what seep_histories_make gave; takes NULL.
void seep_histories_destroy(struct seep_history *histories, const struct seep_session *session);

#endif
