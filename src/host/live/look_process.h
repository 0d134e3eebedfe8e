// SPDX-License-Identifier: BSD-2-Clause
//
// A look, a scan and a control (live.h) of a process of this machine. A server needs no more of this room; it
// knows nothing of links and files.
#ifndef SEEP_LIVE_LOOK_PROCESS_H
#define SEEP_LIVE_LOOK_PROCESS_H

#include "live/live.h"

uint64_t seep_look_started(pid_t pid); // see struct seep_live_source; 0: it is not there
// As seep_look_make(), of a source that is a process here.
void seep_look_make_here(const struct seep_live_source *source, const struct seep_look *before,
                         struct seep_look *ret_look);
void seep_look_end(struct seep_look *look,
                   int64_t begin_ns); // its times; a look with an error keeps nothing else
SEEP_MUST_CHECK struct seep_error *seep_look_scan(pid_t pid, struct seep_session **ret_session);
SEEP_MUST_CHECK struct seep_error *seep_look_control(const struct seep_look *look,
                                                     const struct seep_image_control *asked, bool *ret_done);

#endif
