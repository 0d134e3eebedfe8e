// SPDX-License-Identifier: BSD-2-Clause
// Descendants that only /proc knows of, see run_idle.h.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file_name.h"
#include "base/map_line.h"
#include "process/proc_fields.h"
#include "source/run/run_idle.h"

enum seep_run_named seep_run_names_socket(pid_t pid, const char *socket) {
    char path[64];
    char wanted[160];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    size_t length = (size_t)snprintf(wanted, sizeof(wanted), "SEEP_SOCKET=%s", socket) + 1;
    FILE *file = seep_proc_is_ours() ? fopen(path, "re") : NULL;
    if (!file)
        return SEEP_RUN_NAME_UNKNOWN;
    char *item = NULL;
    size_t room = 0;
    ssize_t got;
    bool found = false;
    bool any = false;
    while (!found && (got = getdelim(&item, &room, 0, file)) > 0) {
        any = true;
        found = (size_t)got == length && memcmp(item, wanted, length) == 0;
    }
    free(item);
    fclose(file);
    return found ? SEEP_RUN_NAMED : any ? SEEP_RUN_NOT_NAMED : SEEP_RUN_NAME_UNKNOWN;
}

bool seep_run_has_image(pid_t pid, const struct seep_map *image_files) {
    static const char name[] = "/memfd:seep-image", library[] = "libseep";
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    FILE *file = seep_proc_is_ours() ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    struct seep_map_line read;
    bool has_image = false, has_library = false;
    while (file && !(has_image && has_library) && getline(&line, &room, file) > 0) {
        if (!seep_map_line_read(line, &read))
            continue;
        has_image |= strncmp(read.path, name, strlen(name)) == 0 && seep_map_find(image_files, read.inode);
        has_library |= strncmp(seep_file_name(read.path), library, strlen(library)) == 0;
    }
    free(line);
    if (file)
        fclose(file);
    return has_image && has_library;
}

void seep_run_idle_name(pid_t pid, char ret_name[SEEP_RUN_IDLE_NAME_BYTES]) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = seep_proc_is_ours() ? fopen(path, "re") : NULL;
    *ret_name = 0;
    if (file && fgets(ret_name, SEEP_RUN_IDLE_NAME_BYTES, file))
        ret_name[strcspn(ret_name, "\n")] = 0;
    if (file)
        fclose(file);
}

static struct seep_error *add_idle(struct seep_run *run, pid_t pid) {
    if (!seep_grow(&run->idle, &run->idle_capacity, run->nr_idle + 1, sizeof(*run->idle)))
        return seep_error_no_memory();
    struct seep_run_idle *idle = &run->idle[run->nr_idle++];
    idle->pid = pid;
    seep_run_idle_name(pid, idle->name);
    return NULL;
}

static bool is_idle(const struct seep_run *run, pid_t pid) {
    size_t i = 0;
    while (i < run->nr_idle && run->idle[i].pid != pid)
        i++;
    return i < run->nr_idle;
}

// No machine starts more processes in a second.
#define STARTS_PER_S_MAX 1000000

// So many numbers can begin anew within a run. A larger machine has more, and a longer list of interrupts.
#define FEW_NUMBERS 65536

static long most_numbers(void) {
    long pid_max = 0;
    FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
    bool known = file && fscanf(file, "%ld", &pid_max) == 1;
    if (file)
        fclose(file);
    return known ? pid_max : 0;
}

// Processes and threads that the machine has started. 0: not known, or not read, because the
// file is long on a machine of so many numbers.
static uint64_t started_until_now(long pid_max) {
    unsigned long long nr = 0;
    FILE *file = pid_max && pid_max <= FEW_NUMBERS ? fopen("/proc/stat", "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    while (file && !nr && getline(&line, &room, file) > 0)
        if (sscanf(line, "processes %llu", &nr) != 1)
            nr = 0;
    free(line);
    if (file)
        fclose(file);
    return nr;
}

void seep_run_idle_begin(struct seep_run *run) {
    run->nr_started_before = started_until_now(most_numbers());
}

// Where descendants can be: numbers after `after` up to `last`, which may be smaller: then the numbers began
// anew. Numbers are given in turn, and only after pid_max anew from the small ones on: most of the machine's
// processes need no look at them.
struct numbers {
    pid_t after;
    pid_t last;
    bool all; // so many were given that a descendant can have any number
};

static bool is_among(const struct numbers *numbers, pid_t pid) {
    if (numbers->all)
        return true;
    return numbers->last >= numbers->after ? pid > numbers->after && pid <= numbers->last
                                           : pid > numbers->after || pid <= numbers->last;
}

// The number that was given last, and all threads of the machine. Source: proc(5), loadavg.
static bool read_latest(int *ret_pid, long *ret_nr_threads) {
    FILE *file = fopen("/proc/loadavg", "re");
    bool known = file && fscanf(file, "%*s %*s %*s %*d/%ld %d", ret_nr_threads, ret_pid) == 2;
    if (file)
        fclose(file);
    return known && *ret_pid > 0;
}

// A fork that fails late, at the limit of a cgroup for example, uses up a number and is not counted. Each
// such fork takes at least this time of the kernel.
#define FAILED_FORK_US 5

// Whether less than half of all numbers were used up: by processes and threads that the machine started, by
// forks of the program that failed, and by used numbers that were passed over.
static bool is_less_than_a_turn(const struct seep_run *run, long pid_max, long nr_threads) {
    int64_t nr_at_most = (seep_monotonic_ns() - run->start_ns) / (INT64_C(1000000000) / STARTS_PER_S_MAX);
    if (nr_at_most + nr_threads < pid_max / 2)
        return true;
    uint64_t now = run->nr_started_before ? started_until_now(pid_max) : 0;
    uint64_t nr_failed = run->system_us / FAILED_FORK_US;
    return now && now - run->nr_started_before + nr_failed + (uint64_t)nr_threads < (uint64_t)pid_max / 2;
}

static struct numbers numbers_of(const struct seep_run *run) {
    int latest = 0;
    long nr_threads;
    bool known = read_latest(&latest, &nr_threads);
    return (struct numbers){run->main_pid, latest,
                            !known || !is_less_than_a_turn(run, most_numbers(), nr_threads)};
}

// So many numbers are looked up one by one, because that costs less than the list of all processes.
enum { NUMBERS_FEW = 32 };
// A chain of processes that each start the next one and end is followed for this time. Other programs of the
// machine may make such a chain, too, so the wait has an end.
#define FOLLOWED_NS INT64_C(2000000000)
// The chain is followed for at least so many rounds. On a busy machine the first look alone may take the
// time above, because the tool gets no processor.
#define ROUNDS_LEAST 20
// So many numbers are looked up one by one if none of them may be passed over.
enum { NUMBERS_MAX = 4096 };

// /proc has a folder for each thread, too, though it does not list it.
static bool is_process(pid_t pid) {
    return seep_status_number(pid, 0, "Tgid:") == pid;
}

struct search {
    struct seep_run *run;
    const char *socket;
    const struct seep_map *with_image;
    const struct seep_map *with_notice;
    const struct seep_map *image_files;
    uint64_t started; // of this process, in ticks
    bool missed;      // in this round a process ended before it was looked at: it may have left another one
};

// Source: PF_EXITING of the kernel, the same since version 2.6. Such a process has no memory any more, so its
// environment and mappings say nothing.
#define IS_ENDING 4u

// When the process started, in ticks; 0: the process is gone. *ret_ending: it is gone, or will be soon.
static uint64_t start_of(pid_t pid, bool *ret_ending) {
    struct seep_stat stat;
    bool is_there = seep_stat_read(pid, 0, &stat);
    *ret_ending = !is_there || seep_stat_number(&stat, SEEP_STAT_FLAGS) & IS_ENDING;
    return is_there ? seep_stat_number(&stat, SEEP_STAT_STARTED) : 0;
}

// A process that began before this one is no descendant. That is asked first, because it costs least.
static struct seep_error *look_at(struct search *search, pid_t pid) {
    bool ending, ended_since = false;
    uint64_t started = start_of(pid, &ending);
    search->missed |= ending;
    if (!started || started < search->started || pid == getpid() ||
        seep_map_find(search->with_image, (uint64_t)pid))
        return NULL;
    const uint64_t *notice = seep_map_find(search->with_notice, (uint64_t)pid);
    bool found = !(notice && *notice) &&
                 (seep_run_names_socket(pid, search->socket) == SEEP_RUN_NAMED ||
                  seep_run_has_image(pid, search->image_files)) &&
                 is_process(pid);
    if (!found)
        start_of(pid, &ended_since);
    search->missed |= ended_since;
    return found && !is_idle(search->run, pid) ? add_idle(search->run, pid) : NULL;
}

static struct seep_error *look_at_listed(struct search *search, const struct numbers *numbers) {
    struct seep_error *err = NULL;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; !err && all && (entry = readdir(all));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > 0 && is_among(numbers, pid))
            err = look_at(search, pid);
    }
    if (all)
        closedir(all);
    return err;
}

// Whether it may start a process from now on, or is one already. The first thread may end before the others.
static bool is_running(pid_t pid) {
    struct seep_stat stat;
    return seep_stat_read(pid, 0, &stat) && (!(seep_stat_number(&stat, SEEP_STAT_FLAGS) & IS_ENDING) ||
                                             seep_stat_number(&stat, SEEP_STAT_THREADS) > 1);
}

// A process that ends before look_at() is most often of another program. If a descendant had ended at
// is_running(), it had made its children before. The numbers of these children are among `numbers` if the
// kernel gave no number since. Then only a process that ended between is_running() and look_at() may have
// been missed.
static struct seep_error *look_at_numbers(struct search *search, const struct numbers *numbers, int nr_few) {
    struct seep_error *err = NULL;
    bool ran[NUMBERS_MAX];
    search->missed = false;
    if (numbers->all || numbers->last < numbers->after || numbers->last - numbers->after > nr_few) {
        err = look_at_listed(search, numbers);
        search->missed = true;
        return err;
    }
    int nr = numbers->last - numbers->after, latest;
    long nr_threads;
    for (int i = 0; i < nr; i++)
        ran[i] = is_running(numbers->after + 1 + i);
    bool none_came = read_latest(&latest, &nr_threads) && latest == numbers->last;
    for (int i = 0; !err && i < nr; i++)
        if (ran[i] || !none_came)
            err = look_at(search, numbers->after + 1 + i);
    return err;
}

// Descendants that run on and of which there is nothing yet: they may have been forked and made no heap
// operation. Nothing but /proc knows them.
struct seep_error *seep_run_find_idle(struct seep_run *run, const char *socket,
                                      const struct seep_map *with_image, const struct seep_map *with_notice,
                                      const struct seep_map *image_files) {
    struct search search = {run, socket, with_image, with_notice, image_files, 0, false};
    run->outrun = false;
    if (!seep_proc_is_ours())
        return NULL;
    bool ending;
    search.started = start_of(getpid(), &ending);
    struct numbers numbers = numbers_of(run);
    int64_t until_ns = seep_monotonic_ns() + FOLLOWED_NS;
    struct seep_error *err = look_at_numbers(&search, &numbers, NUMBERS_FEW);
    // A process may have ended before the look at it and left another one with a later number. No descendant
    // is left if a round missed no process and found no descendant.
    search.missed = true;
    for (int round = 0; !err && search.missed; round++) {
        int latest;
        long nr_threads;
        if (round >= ROUNDS_LEAST && seep_monotonic_ns() >= until_ns)
            break;
        if (!read_latest(&latest, &nr_threads) || latest == numbers.last)
            return NULL;
        numbers = (struct numbers){numbers.last, latest, false};
        err = look_at_numbers(&search, &numbers, NUMBERS_MAX);
    }
    run->outrun = search.missed && !run->nr_idle;
    return err;
}
