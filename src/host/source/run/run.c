// SPDX-License-Identifier: BSD-2-Clause
//
// Watches over the program: one poll loop over a signalfd (the program's end, signals to forward), the
// listener, and peers that have yet to speak. See run.h.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "confine/opener.h"
#include "source/run/environment.h"
#include "source/run/program.h"
#include "source/run/run_parts.h"

// How long peers that connected have to say hello when the program has ended.
#define LAST_WORDS_MS 200

void seep_run_destroy(struct seep_run *run) {
    if (!run)
        return;
    for (size_t i = 0; i < run->nr_images; i++)
        seep_run_image_close(&run->images[i]);
    for (size_t i = 0; i < run->nr_notices; i++) {
        free(run->notices[i].path);
        free(run->notices[i].why);
    }
    free(run->images);
    free(run->notices);
    free(run->idle);
    free(run->path);
    free(run->why_untraced);
    free(run);
}

// One scale for all of a run: the wall clock of its start, and CLOCK_MONOTONIC from there on. A clock that is
// set meanwhile does not put children before their parents.
// ---- watching -------------------------------------------------------------------------------------

void seep_run_read_signals(struct seep_run_supervisor *supervisor) {
    struct signalfd_siginfo info;
    while (read(supervisor->signals.fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        seep_run_signals_took(&supervisor->signals, (int)info.ssi_signo);
        if (info.ssi_signo == SIGCHLD) {
            int status;
            struct rusage usage = {0};
            pid_t pid = wait4(supervisor->run->main_pid, &status, WNOHANG, &usage);
            if (pid > 0)
                supervisor->run->most_resident_bytes = (uint64_t)usage.ru_maxrss << 10;
            if (pid == supervisor->run->main_pid) {
                supervisor->run->wait_status = status;
                supervisor->run->system_us =
                    (uint64_t)usage.ru_stime.tv_sec * 1000000 + (uint64_t)usage.ru_stime.tv_usec;
                supervisor->ended = supervisor->run->main_ended = true;
            }
        } else if (!supervisor->ended) {
            kill(supervisor->run->main_pid, (int)info.ssi_signo);
        } else {
            supervisor->stopped = true;
        }
    }
}

struct seep_error *seep_run_poll_once(struct seep_run_supervisor *supervisor, int timeout_ms, int *ret_nr) {
    size_t nr = supervisor->listener.nr_peers + 2 + supervisor->nr_left_fds;
    if (!seep_grow(&supervisor->polls, &supervisor->polls_capacity, nr, sizeof(*supervisor->polls)))
        return seep_error_no_memory();
    supervisor->polls[0] = (struct pollfd){.fd = supervisor->signals.fd, .events = POLLIN};
    seep_listener_polls(&supervisor->listener, supervisor->polls + 1);
    for (size_t i = 0; i < supervisor->nr_left_fds; i++)
        supervisor->polls[nr - 1 - i] = (struct pollfd){.fd = supervisor->left_fds[i], .events = POLLIN};
    bool again = supervisor->listener.out_of_descriptors ||
                 (supervisor->events->holds && supervisor->events->holds(supervisor->events->data));
    if (again && (timeout_ms < 0 || timeout_ms > 20))
        timeout_ms = 20; // then ask again
    int ready = poll(supervisor->polls, nr, timeout_ms);
    if (ready < 0 && errno != EINTR)
        return seep_error_system(errno, "cannot wait for the program");
    *ret_nr = ready;
    return NULL;
}

int seep_run_until(int64_t then_ns) {
    int64_t left_ns = then_ns - seep_monotonic_ns();
    if (then_ns == INT64_MAX)
        return -1;
    return left_ns <= 0 ? 0 : (int)SEEP_MIN((left_ns + 999999) / 1000000, (int64_t)INT32_MAX);
}

void seep_run_look_on(struct seep_run_supervisor *supervisor, int64_t *next_ns) {
    int64_t now_ns = seep_monotonic_ns();
    if (now_ns < *next_ns)
        return;
    *next_ns = INT64_MAX;
    supervisor->events->look_on(supervisor->events->data, supervisor->run, now_ns, next_ns);
}

// An error here must not end the watch: the program is still running and its exit status is owed.
// The first one is kept and returned when it has ended.
static struct seep_error *watch(struct seep_run_supervisor *supervisor) {
    struct seep_error *first = NULL;
    int64_t look_ns = supervisor->events->look_on ? 0 : INT64_MAX;
    while (!supervisor->ended) {
        int ready;
        struct seep_error *err = seep_run_poll_once(supervisor, seep_run_until(look_ns), &ready);
        if (err) {
            seep_error_destroy(first);
            return err;
        }
        seep_run_read_signals(supervisor);
        err = first ? NULL : seep_run_read_listener(supervisor);
        if (err) {
            first = err;
            seep_listener_deinit(&supervisor->listener); // who knocks from now on goes on alone
        }
        if (!supervisor->ended)
            seep_run_look_on(supervisor, &look_ns);
    }
    return first;
}

static struct seep_error *last_words(struct seep_run_supervisor *supervisor) {
    int64_t end = seep_monotonic_ns() + LAST_WORDS_MS * INT64_C(1000000);
    struct seep_error *err = seep_run_read_listener(supervisor);
    while (!err && supervisor->listener.nr_peers) {
        int64_t left = (end - seep_monotonic_ns()) / 1000000;
        int ready;
        if (left <= 0)
            break;
        err = seep_run_poll_once(supervisor, (int)left, &ready);
        if (!err)
            err = seep_run_read_listener(supervisor);
    }
    return err;
}

// The path is a process's word: a file that only comes when its file system likes is not looked into.
static bool is_at_hand(const char *path) {
    int fd = strchr(path, '/') ? seep_open_regular(-1, path) : -1;
    bool is = fd >= 0 ? !seep_is_handle(fd) : errno != ETIMEDOUT;
    if (fd >= 0)
        close(fd);
    return is;
}

// What nothing came of: why.
static struct seep_error *finish_notices(struct seep_run_supervisor *supervisor, const char *library) {
    struct seep_run *run = supervisor->run;
    for (size_t i = 0; i < run->nr_notices; i++) {
        struct seep_run_notice *notice = &run->notices[i];
        if (notice->answered)
            continue;
        struct seep_program program = {NULL};
        int status;
        struct seep_error *err = NULL;
        if (*notice->path && is_at_hand(notice->path))
            err = seep_program_find(notice->path, &program, &status);
        program.as_other = notice->foreign; // whom a file raises or not
        program.uid = notice->uid;
        program.gid = notice->gid;
        if (!err && program.path)
            err = seep_program_inspect(&program, library);
        notice->is_unfound = err && err->code == SEEP_E_NOT_FOUND;
        if (!err) {
            notice->why = program.why_untraced;
            program.why_untraced = NULL;
        }
        seep_error_destroy(err); // it may be gone: then nothing is known of it
        seep_program_deinit(&program);
    }
    return NULL;
}

static void mark_main(struct seep_run *run) {
    for (size_t i = run->nr_images; i-- > 0;) {
        if (run->images[i].pid == run->main_pid) {
            run->images[i].is_main = true;
            return;
        }
    }
}

// Between the start of the program and its end; *ret_status is set where it cannot be run.
static struct seep_error *supervise(struct seep_run_supervisor *supervisor,
                                    const struct seep_run_options *options,
                                    const struct seep_program *program, const char *library,
                                    char *const *environment, int *ret_status) {
    int trouble = 0;
    struct seep_error *err = seep_run_start(supervisor, program->path, options->argv, environment, &trouble);
    if (err)
        return err;
    if (trouble)
        return seep_program_exec_error(program, trouble, ret_status);
    seep_run_raise_own_limit();
    err = watch(supervisor);
    supervisor->run->duration_ns = seep_monotonic_ns() - supervisor->run->start_ns;
    if (!err && options->wait && !supervisor->ignore_children)
        err = seep_run_wait_for_left(supervisor);
    supervisor->run->nr_idle = 0;
    supervisor->run->watched_ns = seep_monotonic_ns() - supervisor->run->start_ns;
    if (!err)
        err = last_words(supervisor);
    if (!err)
        err = finish_notices(supervisor, library);
    if (!err && !supervisor->ignore_children && !supervisor->none_left)
        err = seep_run_find_idle(supervisor->run, supervisor->listener.path, &supervisor->last_of_pid,
                                 &supervisor->notice_of_pid, &supervisor->image_files);
    supervisor->run->nr_refused = supervisor->listener.nr_refused;
    supervisor->run->descriptors_ran_out |= supervisor->listener.lost_a_file;
    mark_main(supervisor->run);
    return err;
}

static struct seep_error *run_prepared(struct seep_run *run, const struct seep_run_options *options,
                                       const struct seep_program *program, const char *library,
                                       const struct seep_run_events *events, int *ret_status) {
    struct seep_run_supervisor supervisor = {.run = run,
                                             .events = events,
                                             .sweep_at = SEEP_RUN_IMAGES_HELD,
                                             .ignore_children = options->ignore_children};
    struct seep_error *err = seep_run_signals_init(&supervisor.signals);
    if (err)
        return err;
    err = seep_listener_init(&supervisor.listener);
    supervisor.listener.is_known = seep_run_is_known;
    supervisor.listener.data = &supervisor;
    if (!err) {
        struct seep_environment environment;
        err = seep_environment_init(options,
                                    program->cannot_preload ? NULL
                                    : program->library      ? program->library
                                                            : library,
                                    program->is_emulator, supervisor.listener.path, &environment);
        if (!err) {
            err = supervise(&supervisor, options, program, library, environment.items, ret_status);
            seep_environment_deinit(&environment);
        }
        seep_listener_deinit(&supervisor.listener);
    }
    seep_run_signals_restore(&supervisor.signals);
    close(supervisor.signals.fd);
    seep_map_deinit(&supervisor.last_of_pid);
    seep_map_deinit(&supervisor.image_files);
    seep_map_deinit(&supervisor.notice_of_pid);
    free(supervisor.polls);
    free(supervisor.left);
    return err;
}

struct seep_error *seep_run_program(const struct seep_run_options *options,
                                    const struct seep_run_events *events, struct seep_run **ret_run,
                                    int *ret_status) {
    struct seep_program program = {NULL};
    char *library = NULL;
    struct seep_run *run = calloc(1, sizeof(*run));
    if (!run)
        return seep_error_no_memory();
    struct seep_error *err = seep_program_find(options->argv[0], &program, ret_status);
    if (!err) {
        *ret_status = 1;
        err = seep_library_find(options->mode && strcmp(options->mode, "live") != 0, &library);
    }
    if (!err)
        err = seep_program_inspect(&program, library);
    if (!err)
        err = run_prepared(run, options, &program, library, events, ret_status);
    free(library);
    run->path = program.path;
    run->why_untraced = program.why_untraced;
    program.path = program.why_untraced = NULL;
    seep_program_deinit(&program);
    if (err) {
        seep_run_destroy(run);
        return err;
    }
    *ret_run = run;
    return NULL;
}
