// SPDX-License-Identifier: BSD-2-Clause
// The watcher of a service, see watch_unit.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/account.h"
#include "base/clock.h"
#include "base/file_name.h"
#include "base/interrupt.h"
#include "base/map.h"
#include "base/own_limits.h"
#include "file/session_file.h"
#include "process/memory_limit.h"
#include "service/output_folder.h"
#include "service/watch_unit.h"
#include "source/image/profile_image.h"

#define SECOND INT64_C(1000000000)

// A traced process. What it wrote is ours as long as we hold its image, also when it is killed.
struct held {
    pid_t pid;
    int image;        // its memory file
    int process;      // a pidfd
    int64_t start_ns; // CLOCK_REALTIME, when its image was made
    uint64_t program; // program_of() it, before its image was opened
    bool passed;      // the process was seen to be another program, which is not traced, or not yet
    char name[64];
};

struct watching {
    const struct seep_unit_watch *watch;
    char group[512];
    struct held *held;
    size_t nr_held;
    size_t capacity;
    int64_t next_ns; // snapshot by time
    bool reached;    // the one by memory was made
};

static void tell(const struct watching *watching, struct seep_error *error) {
    if (error)
        watching->watch->trouble(watching->watch->data, error);
    seep_error_destroy(error);
}

// ---- whom we watch ----

// Our own control group, which is the service's.
static bool own_group(char *ret_group, size_t room) {
    char line[1024];
    FILE *file = fopen("/proc/self/cgroup", "re");
    bool found = false;
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        char *path = strchr(line, '/');
        bool named = strstr(line, ":name=systemd:") != NULL;
        if (path && (named || (!found && strncmp(line, "0::", 3) == 0))) {
            snprintf(ret_group, room, "%s", path);
            found = true;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static struct held *held_of(const struct watching *watching, pid_t pid) {
    for (size_t i = 0; i < watching->nr_held; i++)
        if (watching->held[i].pid == pid)
            return &watching->held[i];
    return NULL;
}

static void let_go(struct watching *watching, struct held *held) {
    close(held->image);
    close(held->process);
    *held = watching->held[--watching->nr_held];
}

// A number that differs after each exec, because the auxiliary vector has random addresses. 0: not known.
static uint64_t program_of(pid_t pid) {
    char path[64], vector[1024];
    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t nr = fd >= 0 ? read(fd, vector, sizeof(vector)) : -1;
    if (fd >= 0)
        close(fd);
    return nr > 0 ? seep_hash_bytes(vector, (size_t)nr) : 0;
}

// Whether the held image is of a program before the last exec.
static bool went_on_by_exec(const struct held *held) {
    uint64_t program = program_of(held->pid);
    return program && program != held->program;
}

// A process that is not traced, or not yet, is no trouble: it is asked again.
static struct seep_error *hold(struct watching *watching, pid_t pid) {
    uint64_t program = program_of(pid);
    int image = seep_image_open_pid(pid);
    int process = image >= 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
    if (process < 0) {
        if (image >= 0)
            close(image);
        return NULL;
    }
    struct held held = {.pid = pid, .image = image, .process = process, .program = program};
    struct seep_profile *profile = NULL;
    struct seep_error *error = seep_profile_from_fd(held.image, held.pid, &profile);
    if (!error && !seep_grow(&watching->held, &watching->capacity, watching->nr_held + 1, sizeof(held)))
        error = seep_error_no_memory();
    if (error) {
        close(image);
        close(process);
    } else {
        const char *exe = profile->process.exe ? profile->process.exe : "program";
        snprintf(held.name, sizeof(held.name), "%s", seep_file_name(exe));
        held.start_ns = profile->process.start_realtime_ns;
        watching->held[watching->nr_held++] = held;
    }
    seep_profile_destroy(profile);
    return error;
}

// The program before the exec gets no snapshot. Its image is held until the new program has an image.
static void hold_again(struct watching *watching, size_t i) {
    size_t nr_held = watching->nr_held;
    watching->held[i].passed = true;
    tell(watching, hold(watching, watching->held[i].pid));
    if (watching->nr_held > nr_held)
        let_go(watching, &watching->held[i]);
}

static void find_processes(struct watching *watching) {
    for (size_t i = watching->nr_held; i-- > 0;)
        if (went_on_by_exec(&watching->held[i]))
            hold_again(watching, i);
    pid_t *pids = NULL;
    size_t nr = 0;
    struct seep_error *error = seep_unit_processes(watching->group, &pids, &nr);
    for (size_t i = 0; !error && i < nr; i++)
        if (pids[i] != getpid() && !held_of(watching, pids[i]))
            error = hold(watching, pids[i]);
    free(pids);
    tell(watching, error);
}

// ---- saving ----

static struct seep_error *save(const struct watching *watching, const struct held *held, const char *what) {
    struct seep_profile *profile = NULL;
    struct seep_session *session = NULL;
    struct seep_error *error = seep_profile_from_fd(held->image, held->pid, &profile);
    if (error)
        return error;
    profile->process.is_main = true;
    seep_error_destroy(seep_account_take(profile, held->pid)); // what the kernel counts is of use, no more
    error = seep_session_of(profile, &session);
    if (error)
        return error;
    char when[32], *path = NULL, *saved = NULL;
    time_t now = time(NULL);
    struct tm parts;
    strftime(when, sizeof(when), "%Y%m%d-%H%M%S", gmtime_r(&now, &parts));
    if (asprintf(&path, "%s/%s.%d.%s.%s.seep", watching->watch->folder, held->name, (int)held->pid, when,
                 what) < 0)
        error = seep_error_no_memory();
    if (!error)
        error = seep_session_save_beside(session, path, &saved);
    free(saved);
    free(path);
    seep_session_destroy(session);
    return error;
}

static void trim(const struct watching *watching) {
    struct seep_output_folder_sum sum;
    tell(watching, seep_output_folder_trim(watching->watch->folder, watching->watch->keep_bytes, &sum));
}

static void save_all(struct watching *watching, const char *what) {
    for (size_t i = 0; i < watching->nr_held; i++)
        if (!went_on_by_exec(&watching->held[i]))
            tell(watching, save(watching, &watching->held[i], what));
    trim(watching);
}

// What the library left by itself when the process ended in an orderly way.
static bool left_by_itself(const struct watching *watching, const struct held *held) {
    char path[4096];
    struct stat status;
    snprintf(path, sizeof(path), "%s/exit/%s.%d.seep", watching->watch->folder, held->name, (int)held->pid);
    return lstat(path, &status) == 0 && S_ISREG(status.st_mode) &&
           status.st_mtim.tv_sec * SECOND + status.st_mtim.tv_nsec > held->start_ns;
}

static bool has_ended(const struct held *held) {
    struct pollfd poll_one = {.fd = held->process, .events = POLLIN};
    return poll(&poll_one, 1, 0) > 0;
}

static void put_away_ended(struct watching *watching) {
    bool any = false;
    for (size_t i = watching->nr_held; i-- > 0;) {
        if (!has_ended(&watching->held[i]))
            continue;
        if (!watching->held[i].passed && !left_by_itself(watching, &watching->held[i]))
            tell(watching, save(watching, &watching->held[i], "end"));
        let_go(watching, &watching->held[i]);
        any = true;
    }
    if (any)
        trim(watching);
}

// ---- the time between ----

static bool memory_is_reached(const struct watching *watching) {
    const struct seep_unit_watch *watch = watching->watch;
    if (watching->reached || !watching->nr_held)
        return false;
    if (watch->at_percent) {
        struct seep_memory_limit limit;
        seep_memory_limit_find(watching->held[0].pid, "", &limit);
        return (double)seep_memory_limit_used(&limit) >= (double)limit.bytes / 100 * watch->at_percent;
    }
    uint64_t sum = 0;
    for (size_t i = 0; watch->at_bytes && i < watching->nr_held; i++)
        sum += seep_process_rss(watching->held[i].pid);
    return watch->at_bytes && sum >= watch->at_bytes;
}

// Until one of them ends, and not longer than `most_ns`.
static struct seep_error *wait_for_end(const struct watching *watching, int main_process, int64_t most_ns) {
    struct pollfd *polls = calloc(watching->nr_held + 1, sizeof(*polls));
    if (!polls)
        return seep_error_no_memory();
    for (size_t i = 0; i < watching->nr_held; i++)
        polls[i] = (struct pollfd){.fd = watching->held[i].process, .events = POLLIN};
    polls[watching->nr_held] = (struct pollfd){.fd = main_process, .events = POLLIN};
    struct timespec most = seep_timespec(most_ns);
    int nr = ppoll(polls, watching->nr_held + 1, &most, NULL);
    free(polls);
    return nr < 0 && errno != EINTR ? seep_error_system(errno, "cannot wait for processes") : NULL;
}

static bool is_over(const struct watching *watching, int main_process) {
    struct pollfd poll_one = {.fd = main_process, .events = POLLIN};
    if (seep_interrupted)
        return true;
    return main_process >= 0 ? poll(&poll_one, 1, 0) > 0 : watching->nr_held == 0;
}

struct seep_error *seep_unit_watch(const struct seep_unit_watch *watch) {
    struct watching watching = {.watch = watch};
    bool by_memory = watch->at_bytes || watch->at_percent;
    if (!own_group(watching.group, sizeof(watching.group)))
        return seep_error_create(SEEP_E_NOT_FOUND,
                                 "this process has no control group: systemd did not start it");
    int main_process = watch->main_pid ? (int)syscall(SYS_pidfd_open, watch->main_pid, 0) : -1;
    if (watch->main_pid && main_process < 0)
        return NULL; // it has ended already
    // The manager of a user sets the limits of the service for us, too. That of the system does not, because
    // we have all rights there (ExecStartPost=+).
    seep_raise_own_limits();
    watching.next_ns = watch->every_ns ? seep_monotonic_ns() + watch->every_ns : INT64_MAX;
    trim(&watching);
    struct seep_error *error = NULL;
    do {
        find_processes(&watching);
        int64_t most = by_memory && !watching.reached ? SECOND / 5 : SECOND; // new processes are looked for
        int64_t left = watching.next_ns - seep_monotonic_ns();
        error = wait_for_end(&watching, main_process, SEEP_MAX(SEEP_MIN(most, left), INT64_C(0)));
        if (memory_is_reached(&watching)) {
            save_all(&watching, "memory");
            watching.reached = true;
        }
        if (seep_monotonic_ns() >= watching.next_ns) {
            save_all(&watching, "snap");
            watching.next_ns = seep_monotonic_ns() + watch->every_ns;
        }
        put_away_ended(&watching);
    } while (!error && !is_over(&watching, main_process));
    // The others end with the main one, or soon after: what they leave is waited for a moment.
    for (int i = 0; i < 20 && watching.nr_held && !error; i++) {
        error = wait_for_end(&watching, -1, SECOND / 10);
        put_away_ended(&watching);
    }
    while (watching.nr_held)
        let_go(&watching, &watching.held[0]);
    free(watching.held);
    if (main_process >= 0)
        close(main_process);
    return error;
}
