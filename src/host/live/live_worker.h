// SPDX-License-Identifier: BSD-2-Clause
//
// A thread that looks, scans, and tells the process what it is to do, for a screen, so that a key is answered
// at once however large the image is. One job at a time.
#ifndef SEEP_LIVE_LIVE_WORKER_H
#define SEEP_LIVE_LIVE_WORKER_H

#include "live/live.h"

enum seep_live_job { SEEP_LIVE_LOOK, SEEP_LIVE_SCAN, SEEP_LIVE_MARK, SEEP_LIVE_CONTROL };
struct seep_live_order {
    enum seep_live_job job;
    const struct seep_look *before;    // borrowed until the job is done; not of a scan and a mark
    char mark[64];                     // of a mark: its name
    struct seep_image_control control; // what is to be recorded
};

struct seep_live_worker;
// `source` is borrowed.
SEEP_MUST_CHECK struct seep_error *seep_live_worker_create(const struct seep_live_source *source,
                                                           struct seep_live_worker **ret_worker);
void seep_live_worker_destroy(struct seep_live_worker *worker); // takes NULL; waits for the job at work

// false: there is a job already.
bool seep_live_worker_start(struct seep_live_worker *worker, const struct seep_live_order *order);
bool seep_live_worker_is_busy(const struct seep_live_worker *worker);
int seep_live_worker_fd(const struct seep_live_worker *worker); // readable when the job is done

// The result, once the descriptor is readable; the caller takes it. Of a scan the look has a session and an
// error only, of a mark an error, of a control an error or `obeyed`. false: there is none.
struct seep_live_result {
    enum seep_live_job job;
    struct seep_look look;
    struct seep_image_control control; // what was to be recorded
    bool obeyed;                       // it is done already
};
bool seep_live_worker_take(struct seep_live_worker *worker, struct seep_live_result *ret_result);

#endif
