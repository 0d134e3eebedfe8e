// SPDX-License-Identifier: BSD-2-Clause
// See new_file.h.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/text_copy.h"

// As long as an ending of own_path() is.
#define NO_ENDING    "......"
#define ENDING_BYTES (sizeof(NO_ENDING) - 1)
#define NAMES_MAX    100000u // that others have

// Other names than this one are tried from `number` on.
static void own_path(const struct seep_new_file *file, unsigned long number) {
    snprintf(strchr(file->path, 0) - ENDING_BYTES, ENDING_BYTES + 1, "%06lx", number & 0xfffffful);
}

static int open_named(struct seep_new_file *file, mode_t mode) {
    unsigned long number = (unsigned long)getpid();
    int fd = -1;
    for (unsigned i = 0; fd < 0 && (i == 0 || errno == EEXIST) && i < NAMES_MAX; i++) {
        own_path(file, number++);
        fd = open(file->path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode);
    }
    file->is_named = fd >= 0;
    return fd;
}

int seep_new_file_create(const char *target, mode_t mode, struct seep_new_file *ret_file) {
    const char *slash = strrchr(target, '/');
    int nr_folder = slash ? (int)(slash - target + 1) : 0;
    struct seep_new_file file = {NULL, false};
    char *folder = slash ? seep_text_copy(target, (size_t)nr_folder) : strdup(".");
    // Beside the target, as rename() cannot leave its file system.
    if (!folder || asprintf(&file.path, "%.*s.seep-" NO_ENDING, nr_folder, target) < 0) {
        free(folder);
        errno = ENOMEM;
        return -1;
    }
    // Before Linux 6.0 such a file has the mode as it is given, without the umask, where there are no ACLs.
    bool can_be_named = !(mode & 077) && access("/proc/self/fd", X_OK) == 0;
    int fd = can_be_named ? open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, mode) : -1;
    free(folder);
    if (fd < 0)
        fd = open_named(&file, mode);
    if (fd >= 0)
        *ret_file = file;
    else
        seep_new_file_forget(&file, false);
    return fd;
}

bool seep_new_file_give_name(struct seep_new_file *file, int fd) {
    char from[32];
    snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
    for (unsigned i = 0; !file->is_named && (i == 0 || errno == EEXIST) && i < NAMES_MAX; i++) {
        own_path(file, (unsigned long)getpid() + i);
        file->is_named = linkat(AT_FDCWD, from, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0;
    }
    return file->is_named;
}

void seep_new_file_forget(struct seep_new_file *file, bool taken) {
    int trouble = errno;
    if (file->is_named && !taken)
        unlink(file->path);
    free(file->path);
    *file = (struct seep_new_file){NULL, false};
    errno = trouble;
}
