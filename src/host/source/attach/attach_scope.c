// SPDX-License-Identifier: BSD-2-Clause
//
// Which processes are in the scope at the start of the tracing: those of a control group and of the groups
// below it, or all. See attach_parts.h. Source: Linux admin-guide/cgroup-v2.rst (cgroup.procs).
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "source/attach/attach_parts.h"

#define CGROUP2_MAGIC 0x63677270
#define DEPTH_MAX     64

struct members {
    pid_t *pids;
    size_t nr;
    size_t capacity;
};

static struct seep_error *add_member(struct members *members, pid_t pid) {
    if (pid <= 0 || pid == getpid())
        return NULL;
    if (!seep_grow(&members->pids, &members->capacity, members->nr + 1, sizeof(*members->pids)))
        return seep_error_no_memory();
    members->pids[members->nr++] = pid;
    return NULL;
}

// A group that goes while we look has no processes. Takes `folder`.
static struct seep_error *add_group(struct members *members, int folder, int depth) {
    int fd = openat(folder, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    struct seep_error *err = NULL;
    int pid;
    while (file && !err && fscanf(file, "%d", &pid) == 1)
        err = add_member(members, pid);
    if (file)
        fclose(file);
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
            err = add_group(members, below, depth + 1);
    }
    closedir(entries);
    return err;
}

static struct seep_error *add_all(struct members *members) {
    DIR *entries = opendir("/proc");
    if (!entries)
        return seep_error_system(errno, "/proc");
    struct seep_error *err = NULL;
    const struct dirent *entry;
    while (!err && (entry = readdir(entries)))
        if (isdigit((unsigned char)entry->d_name[0]))
            err = add_member(members, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(entries);
    return err;
}

struct seep_error *seep_attach_members(const struct seep_attached *attached, pid_t **ret_pids,
                                       size_t *ret_nr) {
    struct members members = {NULL};
    struct seep_error *err = NULL;
    if (attached->scope == SEEP_BPF_SCOPE_CGROUP) {
        int folder = openat(attached->cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        err = folder < 0 ? seep_error_system(errno, "%s", attached->options.cgroup)
                         : add_group(&members, folder, 0);
    } else {
        err = add_all(&members);
    }
    if (err) {
        free(members.pids);
        return err;
    }
    *ret_pids = members.pids;
    *ret_nr = members.nr;
    return NULL;
}

struct seep_error *seep_attach_open_cgroup(struct seep_attached *attached) {
    const char *path = attached->options.cgroup;
    struct statfs status;
    attached->cgroup = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (attached->cgroup < 0 || fstatfs(attached->cgroup, &status) != 0)
        return seep_error_hint(seep_error_system(errno, "--cgroup: %s", path),
                               "a folder below the mount of cgroup2, as in "
                               "/sys/fs/cgroup/system.slice/app.service");
    if (status.f_type == CGROUP2_MAGIC)
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "--cgroup: %s is no control group of version 2", path),
        "`findmnt -t cgroup2` says where those are");
}
