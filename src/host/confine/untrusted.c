// SPDX-License-Identifier: BSD-2-Clause
// Whose file it is, see untrusted.h.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/statx_call.h"
#include "confine/opener.h"
#include "confine/untrusted.h"

// Members of the user's own group may write to many files of a user, not to those of root.
bool seep_status_is_untrusted(const struct stat *status, uid_t user, gid_t group) {
    bool is_ours = status->st_uid == 0 || status->st_uid == user;
    bool is_group_ours = status->st_gid == 0 || status->st_gid == group;
    return !is_ours || (status->st_mode & S_IWOTH) || ((status->st_mode & S_IWGRP) && !is_group_ours);
}

// A user may mount file systems whose owners are what the user says: by FUSE, or from a medium. The kernel
// and the set-uid programs that mount for users let such mounts have neither set-uid programs nor devices.
static bool is_on_users_mount(int fd) {
    struct statfs system;
    if (fstatfs(fd, &system) != 0)
        return true;
    return system.f_type == FUSE_SUPER_MAGIC ||
           ((unsigned long)system.f_flags & (ST_NOSUID | ST_NODEV)) == (ST_NOSUID | ST_NODEV);
}

bool seep_file_status(int fd, struct stat *ret_status) {
    struct seep_statx cached;
    if (!seep_is_handle(fd))
        return fstat(fd, ret_status) == 0;
    if (!seep_statx(fd, "", AT_EMPTY_PATH | SEEP_STATX_DONT_SYNC, &cached))
        return false;
    *ret_status = (struct stat){.st_dev = makedev(cached.dev_major, cached.dev_minor),
                                .st_ino = cached.ino,
                                .st_mode = cached.mode,
                                .st_nlink = cached.nlink,
                                .st_uid = cached.uid,
                                .st_gid = cached.gid,
                                .st_size = (off_t)cached.size,
                                .st_blocks = (blkcnt_t)cached.blocks,
                                .st_mtim = {cached.mtime.tv_sec, cached.mtime.tv_nsec},
                                .st_ctim = {cached.ctime.tv_sec, cached.ctime.tv_nsec}};
    return true;
}

bool seep_handle_is_untrusted(int fd) {
    struct stat status;
    return fstat(fd, &status) != 0 || seep_status_is_untrusted(&status, geteuid(), getegid()) ||
           (geteuid() == 0 && is_on_users_mount(fd));
}

bool seep_file_is_untrusted(int fd) {
    return seep_is_handle(fd) || seep_handle_is_untrusted(fd);
}

bool seep_folder_is_ours(const char *path) {
    char name[PATH_MAX];
    size_t length = strlen(path);
    if (path[0] != '/' || length >= sizeof(name))
        return false;
    memcpy(name, path, length + 1);
    for (char *at = name; at; at = strchr(at + 1, '/')) {
        char *end = at == name ? name + 1 : at, kept = *end;
        struct stat status;
        *end = 0;
        int got = lstat(name, &status);
        *end = kept;
        if (got != 0)
            return errno == ENOENT;
        // In a sticky folder (/tmp) users cannot remove the files of others, but any user can create a new
        // one.
        if (S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) && status.st_uid == 0) {
            if (lstat(path, &status) != 0)
                return false;
        } else if (!S_ISDIR(status.st_mode) || seep_status_is_untrusted(&status, geteuid(), getegid())) {
            return false;
        }
    }
    struct stat status;
    return lstat(path, &status) != 0
               ? errno == ENOENT
               : S_ISDIR(status.st_mode) && !seep_status_is_untrusted(&status, geteuid(), getegid());
}

bool seep_file_is_ours(const char *path) {
    int fd = seep_open_no_link(path);
    if (fd < 0)
        return errno == ENOENT;
    bool is_ours = !seep_file_is_untrusted(fd);
    close(fd);
    return is_ours;
}
