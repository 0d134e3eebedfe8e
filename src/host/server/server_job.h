// SPDX-License-Identifier: BSD-2-Clause
//
// What takes long is done by a process of its own, so that other clients are answered meanwhile, and so that
// it can be ended: a process that is stopped for a scan goes on when its tracer is gone.
#ifndef SEEP_SERVER_SERVER_JOB_H
#define SEEP_SERVER_SERVER_JOB_H

#include <sys/types.h>

#include "base/error.h"

struct seep_server_job {
    pid_t pid;     // 0: there is none
    int done_fd;   // readable when it has ended
    int result_fd; // a memory file: what it wrote
};
#define SEEP_SERVER_NO_JOB ((struct seep_server_job){0, -1, -1})

// `work` runs in the new process: it writes its result to the memory file.
SEEP_MUST_CHECK struct seep_error *seep_server_job_start(struct seep_error *(*work)(void *data,
                                                                                    int result_fd),
                                                         void *data, struct seep_server_job *ret_job);
// Once done_fd is readable. NULL: the result is whole; its descriptor is for the caller to close. The job is
// none after this.
SEEP_MUST_CHECK struct seep_error *seep_server_job_end(struct seep_server_job *job, int *ret_result_fd);
void seep_server_job_kill(struct seep_server_job *job); // of none, too

#endif
