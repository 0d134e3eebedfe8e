// SPDX-License-Identifier: BSD-2-Clause
// Descendants that only /proc knows of, see run_idle.h.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

// No machine starts more processes in a second.
#define STARTS_PER_S_MAX 1000000

// No descendant has a smaller number. Numbers are given in turn, and only after pid_max anew from the
// small ones on: after a short run, those of most of the machine's processes need no look at them.
static pid_t least_pid(const struct seep_run *run) {
    long pid_max = 0;
    FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
    bool known = file && fscanf(file, "%ld", &pid_max) == 1;
    if (file)
        fclose(file);
    int64_t nr_started = run->duration_ns / (INT64_C(1000000000) / STARTS_PER_S_MAX);
    return known && run->main_pid + nr_started < pid_max ? run->main_pid : 0;
}

// So many are asked for one by one, which costs less than the list of all processes.
enum { NUMBERS_FEW = 32 };

// The number that was given last, if that is not long after `least`; else 0. Source: proc(5), the last field.
static pid_t latest_pid(pid_t least) {
    int latest = 0;
    FILE *file = least ? fopen("/proc/loadavg", "re") : NULL;
    bool known = file && fscanf(file, "%*s %*s %*s %*s %d", &latest) == 1;
    if (file)
        fclose(file);
    return known && latest >= least && latest - least <= NUMBERS_FEW ? (pid_t)latest : 0;
}

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
};

// 0: not known.
static uint64_t start_of(pid_t pid) {
    struct seep_stat stat;
    return seep_stat_read(pid, 0, &stat) ? seep_stat_number(&stat, SEEP_STAT_STARTED) : 0;
}

// A process that began before this one is no descendant. That is asked first, because it costs least.
static struct seep_error *look_at(const struct search *search, pid_t pid) {
    if (pid == getpid() || seep_map_find(search->with_image, (uint64_t)pid))
        return NULL;
    uint64_t started = start_of(pid);
    if (started && started < search->started)
        return NULL;
    const uint64_t *notice = seep_map_find(search->with_notice, (uint64_t)pid);
    bool found = !(notice && *notice) &&
                 (seep_run_names_socket(pid, search->socket) == SEEP_RUN_NAMED ||
                  seep_run_has_image(pid, search->image_files)) &&
                 is_process(pid);
    return found ? add_idle(search->run, pid) : NULL;
}

static struct seep_error *look_at_listed(const struct search *search, pid_t least) {
    struct seep_error *err = NULL;
    DIR *all = opendir("/proc");
    for (struct dirent *entry; !err && all && (entry = readdir(all));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid > least)
            err = look_at(search, pid);
    }
    if (all)
        closedir(all);
    return err;
}

// Descendants that run on and of which there is nothing yet: they may have been forked and made no heap
// operation. Nothing but /proc knows them.
struct seep_error *seep_run_find_idle(struct seep_run *run, const char *socket,
                                      const struct seep_map *with_image, const struct seep_map *with_notice,
                                      const struct seep_map *image_files) {
    struct search search = {run, socket, with_image, with_notice, image_files, 0};
    if (!seep_proc_is_ours())
        return NULL;
    search.started = start_of(getpid());
    pid_t least = least_pid(run);
    pid_t latest = latest_pid(least);
    struct seep_error *err = NULL;
    if (!latest)
        return look_at_listed(&search, least);
    for (pid_t pid = least + 1; !err && pid <= latest; pid++)
        err = look_at(&search, pid);
    return err;
}
