// SPDX-License-Identifier: BSD-2-Clause
//
// Which processes are in the scope at the start of the tracing: those of a control group and of the groups
// below it, or all. See attach_parts.h.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "process/process_group.h"
#include "source/attach/attach_parts.h"

#define CGROUP2_MAGIC 0x63677270

static struct seep_error *add_all(struct seep_pids *pids) {
    DIR *entries = opendir("/proc");
    if (!entries)
        return seep_error_system(errno, "/proc");
    struct seep_error *err = NULL;
    const struct dirent *entry;
    while (!err && (entry = readdir(entries))) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (pid > 0 && pid != getpid())
            err = seep_pids_add(pids, pid);
    }
    closedir(entries);
    return err;
}

struct seep_error *seep_attach_members(const struct seep_attached *attached, struct seep_pids *ret_pids) {
    struct seep_pids pids = {NULL};
    struct seep_error *err = NULL;
    if (attached->scope == SEEP_BPF_SCOPE_CGROUP) {
        int folder = openat(attached->cgroup, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        err = folder < 0 ? seep_error_system(errno, "%s", attached->options.cgroup)
                         : seep_pids_add_group(&pids, folder);
    } else {
        err = add_all(&pids);
    }
    if (err) {
        seep_pids_deinit(&pids);
        return err;
    }
    *ret_pids = pids;
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
