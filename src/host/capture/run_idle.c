// SPDX-License-Identifier: BSD-2-Clause
// Descendants that only /proc knows of, see run_idle.h.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture/run_idle.h"

// Whether the environment that a process began with names our socket.
static bool is_descendant(const char *pid, const char *socket) {
    char path[64];
    char wanted[160];
    snprintf(path, sizeof(path), "/proc/%.20s/environ", pid);
    size_t length = (size_t)snprintf(wanted, sizeof(wanted), "SEEP_SOCKET=%s", socket) + 1;
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    char *item = NULL;
    size_t room = 0;
    ssize_t got;
    bool found = false;
    while (!found && (got = getdelim(&item, &room, 0, file)) > 0)
        found = (size_t)got == length && memcmp(item, wanted, length) == 0;
    free(item);
    fclose(file);
    return found;
}

static struct seep_error *add_idle(struct seep_run *run, pid_t pid) {
    if (!seep_grow(&run->idle, &run->idle_capacity, run->nr_idle + 1, sizeof(*run->idle)))
        return seep_error_no_memory();
    struct seep_run_idle *idle = &run->idle[run->nr_idle++];
    idle->pid = pid;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *file = fopen(path, "re");
    if (file && fgets(idle->name, sizeof(idle->name), file))
        idle->name[strcspn(idle->name, "\n")] = 0;
    if (file)
        fclose(file);
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

// Descendants that run on and of which there is nothing yet: they may have been forked and made no heap
// operation. Nothing but /proc knows them.
struct seep_error *seep_run_find_idle(struct seep_run *run, const char *socket,
                                      const struct seep_map *with_image, const struct seep_map *with_notice) {
    struct seep_error *err = NULL;
    pid_t least = least_pid(run);
    DIR *all = opendir("/proc");
    for (struct dirent *entry; !err && all && (entry = readdir(all));) {
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (pid <= least || pid == getpid() || seep_map_find(with_image, (uint64_t)pid))
            continue;
        uint64_t *notice = seep_map_find(with_notice, (uint64_t)pid);
        if (!(notice && *notice) && is_descendant(entry->d_name, socket))
            err = add_idle(run, pid);
    }
    if (all)
        closedir(all);
    return err;
}
