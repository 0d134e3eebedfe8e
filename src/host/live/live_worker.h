// SPDX-License-Identifier: BSD-2-Clause
//
// A thread that looks and scans for a screen, so that a key is answered at once however large the image is.
// One job at a time.
#ifndef SEEP_LIVE_LIVE_WORKER_H
#define SEEP_LIVE_LIVE_WORKER_H

#include "live/live.h"

enum seep_live_job { SEEP_LIVE_LOOK, SEEP_LIVE_SCAN };

struct seep_live_worker;
// `source` is borrowed.
SEEP_MUST_CHECK struct seep_error *seep_live_worker_create(const struct seep_live_source *source,
                                                           struct seep_live_worker **ret_worker);
void seep_live_worker_destroy(struct seep_live_worker *worker); // takes NULL; waits for the job at work

// false: there is a job already. `before` is borrowed until the job is done.
bool seep_live_worker_start(struct seep_live_worker *worker, enum seep_live_job job,
                            const struct seep_look *before);
bool seep_live_worker_is_busy(const struct seep_live_worker *worker);
int seep_live_worker_fd(const struct seep_live_worker *worker); // readable when the job is done

// The result, once the descriptor is readable; the caller takes it. Of a scan the look has a session and an
// error only. false: there is none.
bool seep_live_worker_take(struct seep_live_worker *worker, enum seep_live_job *ret_job,
                           struct seep_look *ret_look);

#endif
