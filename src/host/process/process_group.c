// SPDX-License-Identifier: BSD-2-Clause
// Lists of processes, see process_group.h.
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/map.h"
#include "process/process_group.h"

#define CHILDREN_MAX 32768u
#define TASKS_MAX    256u // whose children are asked for: a look has to be cheap
#define DEPTH_MAX    64

void seep_pids_deinit(struct seep_pids *pids) {
    free(pids->items);
    *pids = (struct seep_pids){NULL};
}

struct seep_error *seep_pids_add(struct seep_pids *pids, pid_t pid) {
    if (!seep_grow(&pids->items, &pids->capacity, pids->nr_items + 1, sizeof(*pids->items)))
        return seep_error_no_memory();
    pids->items[pids->nr_items++] = pid;
    return NULL;
}

static struct seep_error *add_children_of(struct seep_pids *pids, const char *path) {
    FILE *file = fopen(path, "re");
    struct seep_error *err = NULL;
    int child;
    while (file && !err && pids->nr_items < CHILDREN_MAX && fscanf(file, "%d", &child) == 1)
        err = seep_pids_add(pids, child);
    if (file)
        fclose(file);
    return err;
}

// The children of a process, from the list of each thread. Incomplete for hundreds of threads or thousands of
// children. Source: proc(5), /proc/PID/task/TID/children.
static struct seep_error *add_children(struct seep_pids *pids, pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder)
        return NULL;
    struct seep_error *err = NULL;
    unsigned nr = 0;
    for (const struct dirent *entry; !err && nr < TASKS_MAX && (entry = readdir(folder));) {
        int task = atoi(entry->d_name);
        if (task <= 0)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, task);
        err = add_children_of(pids, path);
        nr++;
    }
    closedir(folder);
    return err;
}

struct seep_error *seep_pids_add_family(struct seep_pids *pids, pid_t pid) {
    size_t first = pids->nr_items;
    struct seep_error *err = seep_pids_add(pids, pid);
    for (size_t i = first; !err && i < pids->nr_items; i++)
        err = add_children(pids, pids->items[i]);
    return err;
}

static struct seep_error *add_members(struct seep_pids *pids, int folder) {
    int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    struct seep_error *err = NULL;
    int pid;
    while (file && !err && fscanf(file, "%d", &pid) == 1)
        if (pid > 0 && pid != getpid()) // 0: of another pid namespace
            err = seep_pids_add(pids, pid);
    if (file)
        fclose(file);
    return err;
}

// A group that is removed meanwhile has no processes. Takes `folder`.
static struct seep_error *add_group(struct seep_pids *pids, int folder, int depth) {
    struct seep_error *err = add_members(pids, folder);
    DIR *entries = fdopendir(folder);
    if (!entries) {
        close(folder);
        return err;
    }
    const struct dirent *entry;
    while (!err && depth < DEPTH_MAX && (entry = readdir(entries))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        int below = openat(dirfd(entries), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (below >= 0)
            err = add_group(pids, below, depth + 1);
    }
    closedir(entries);
    return err;
}

struct seep_error *seep_pids_add_group(struct seep_pids *pids, int folder) {
    return add_group(pids, folder, 0);
}
