// SPDX-License-Identifier: BSD-2-Clause
//
// A look, a scan and a control (live.h) of a process of this machine. A server needs no more of this room; it
// knows nothing of links and files.
#ifndef SEEP_LIVE_LOOK_PROCESS_H
#define SEEP_LIVE_LOOK_PROCESS_H

#include "live/live.h"
#include "process/process_group.h"

uint64_t seep_look_started(pid_t pid); // see struct seep_live_source; 0: it is not there
// Whether the process of `source` has ended. One with the same pid that began later is another.
bool seep_look_is_gone(const struct seep_live_source *source);
uint32_t seep_look_nr_threads(pid_t pid);
// As seep_look_make(), of a source that is a process here.
void seep_look_make_here(const struct seep_live_source *source, const struct seep_look *before,
                         struct seep_look *ret_look);
void seep_look_end(struct seep_look *look,
                   int64_t begin_ns); // its times; a look with an error keeps nothing else
SEEP_MUST_CHECK struct seep_error *seep_look_scan(pid_t pid, struct seep_session **ret_session);
// Releases threads that did not stop for a scan in time and have stopped since. Returns how long the scanning
// thread may sleep: rest_ms, or less while such threads are left.
int seep_look_rest_ms(int rest_ms);
SEEP_MUST_CHECK struct seep_error *seep_look_control(const struct seep_look *look,
                                                     const struct seep_image_control *asked, bool *ret_done);

// ---- for look_images.h, too ----

#define SEEP_LOOK_PROCESSES 4096u                // at most so many are looked at
#define SEEP_LOOK_NOTED_NS  INT64_C(30000000000) // files are read again after this time

// How many of `nr` processes a look takes if it keeps `each` descriptors for one process: so many that some
// descriptors are left for other things. Raises the soft limit of descriptors if it is too low.
size_t seep_look_most(size_t nr, unsigned each);

// Notes about the files of a process. Files do not change between looks, and reading them takes longer than
// the rest of a look. So they are read when a stack has a new file, and every SEEP_LOOK_NOTED_NS for loaded
// files that are on no stack. `old`: the look before, whose notes are kept; NULL: the files are read.
SEEP_MUST_CHECK struct seep_error *seep_look_note_files(struct seep_profile *profile,
                                                        const struct seep_profile *old);
SEEP_MUST_CHECK struct seep_error *seep_look_keep_notes(struct seep_profile *profile,
                                                        const struct seep_profile *old);
// Tells the processes what to record, and waits half a second at most until all of them do so. Takes `pids`.
// A failure is an error only for the first process; the others may have ended.
SEEP_MUST_CHECK struct seep_error *seep_look_control_pids(struct seep_pids *pids,
                                                          const struct seep_image_control *asked,
                                                          bool *ret_done);

#endif
