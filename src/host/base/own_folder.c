// SPDX-License-Identifier: BSD-2-Clause
// See own_folder.h.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own_folder.h"

// In a user namespace that does not map root, files of root have another uid: that of the folder /.
static bool is_roots(uid_t owner) {
    struct stat root;
    return owner == 0 || (stat("/", &root) == 0 && owner == root.st_uid);
}

bool seep_place_is_safe(const char *place) {
    struct stat about;
    if (stat(place, &about) != 0 || (about.st_uid != geteuid() && !is_roots(about.st_uid)))
        return false;
    bool shared = about.st_mode & S_IWOTH || (about.st_mode & S_IWGRP && about.st_gid != getegid());
    return !shared || about.st_mode & S_ISVTX;
}

// The id of the mount that a descriptor is in; -1: not known. The kernel answers; the file system is not
// asked.
static long mount_of(int fd) {
    char path[64], line[128];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    FILE *file = fd < 0 ? NULL : fopen(path, "re");
    long mount = -1;
    while (file && mount < 0 && fgets(line, sizeof(line), file))
        if (sscanf(line, "mnt_id: %ld", &mount) != 1)
            mount = -1;
    if (file)
        fclose(file);
    return mount;
}

bool seep_is_own_folder(int place, const char *name) {
    int fd = openat(place, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    long mount = mount_of(fd);
    struct stat status;
    bool ours = mount >= 0 && mount == mount_of(place) && fstat(fd, &status) == 0 &&
                S_ISDIR(status.st_mode) && status.st_uid == geteuid();
    if (fd >= 0)
        close(fd);
    return ours;
}
