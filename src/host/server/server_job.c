// SPDX-License-Identifier: BSD-2-Clause
// Jobs in processes of their own, see server_job.h.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/records.h"
#include "server/server_job.h"

enum { DONE, FAILED };

// What went wrong, in the place of the result.
static void tell(int fd, const struct seep_error *error) {
    struct seep_put put = {NULL};
    seep_put_leb(&put, error->code);
    seep_put_text(&put, error->message);
    seep_put_text(&put, error->hint);
    if (ftruncate(fd, 0) != 0 || put.failed || pwrite(fd, put.bytes, put.used, 0) != (ssize_t)put.used)
        _exit(2);
    _exit(FAILED);
}

static struct seep_error *told(int fd) {
    unsigned char bytes[4096];
    ssize_t nr = pread(fd, bytes, sizeof(bytes), 0);
    struct seep_take take = {bytes, bytes + SEEP_MAX(nr, (ssize_t)0), false};
    size_t length = 0, hint_length = 0;
    uint64_t code = seep_take_leb(&take);
    const char *text = seep_take_text(&take, &length), *hint = seep_take_text(&take, &hint_length);
    if (take.failed || !text)
        return seep_error_create(SEEP_E_UNSUPPORTED, "it could not be done");
    struct seep_error *error = seep_error_create((enum seep_error_code)code, "%.*s", (int)length, text);
    return hint ? seep_error_hint(error, "%.*s", (int)hint_length, hint) : error;
}

struct seep_error *seep_server_job_start(struct seep_error *(*work)(void *data, int result_fd), void *data,
                                         struct seep_server_job *ret_job) {
    int ends[2];
    int fd = memfd_create("seep-answer", MFD_CLOEXEC);
    if (fd < 0)
        return seep_error_system(errno, "no memory file for an answer");
    if (pipe2(ends, O_CLOEXEC) != 0) {
        struct seep_error *error = seep_error_system(errno, "no pipe for an answer");
        close(fd);
        return error;
    }
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_IGN); // who asked for it ends it
        close(ends[0]);
        struct seep_error *error = work(data, fd);
        if (error)
            tell(fd, error);
        _exit(DONE);
    }
    int trouble = errno;
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        close(fd);
        return seep_error_system(trouble, "no process for an answer");
    }
    *ret_job = (struct seep_server_job){pid, ends[0], fd};
    return NULL;
}

static int wait_for(pid_t pid) {
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

struct seep_error *seep_server_job_end(struct seep_server_job *job, int *ret_result_fd) {
    struct seep_server_job ended = *job;
    *job = SEEP_SERVER_NO_JOB;
    int status = wait_for(ended.pid);
    close(ended.done_fd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == DONE) {
        *ret_result_fd = ended.result_fd;
        return NULL;
    }
    struct seep_error *error = WIFEXITED(status) && WEXITSTATUS(status) == FAILED
                                   ? told(ended.result_fd)
                                   : seep_error_create(SEEP_E_UNSUPPORTED, "what was at it was killed");
    close(ended.result_fd);
    return error;
}

void seep_server_job_kill(struct seep_server_job *job) {
    if (!job->pid)
        return;
    kill(job->pid, SIGKILL);
    wait_for(job->pid);
    close(job->done_fd);
    close(job->result_fd);
    *job = SEEP_SERVER_NO_JOB;
}
