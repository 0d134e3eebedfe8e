// SPDX-License-Identifier: BSD-2-Clause
// Makes the folder of a service's traces and keeps it within its bound, see output_folder.h.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "service/output_folder.h"

struct seep_error *seep_output_folder_name(const struct seep_unit *unit, char **ret_folder) {
    const char *home = getenv("HOME"), *state = getenv("XDG_STATE_HOME");
    bool from_home = unit->user && (!state || *state != '/');
    if (from_home && (!home || *home != '/'))
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND, "HOME is not set"),
                               "--folder DIR says where");
    int nr = !unit->user ? asprintf(ret_folder, "/var/lib/seep/%s", unit->id)
             : from_home ? asprintf(ret_folder, "%s/.local/state/seep/%s", home, unit->id)
                         : asprintf(ret_folder, "%s/seep/%s", state, unit->id);
    return nr < 0 ? seep_error_no_memory() : NULL;
}

// ---- making ----

static bool make_above(const char *folder) {
    char *path = strdup(folder);
    bool good = path;
    for (char *at = path ? path + 1 : NULL; good && (at = strchr(at, '/')); at++) {
        *at = 0;
        good = mkdir(path, 0755) == 0 || errno == EEXIST;
        *at = '/';
    }
    free(path);
    return good;
}

// What the service writes to. Of a user that is known only when the service runs it is for all to write to
// and for root to read.
static struct seep_error *give(const struct seep_unit *unit, int fd, const char *folder) {
    if (unit->user || (!*unit->run_as && !unit->dynamic_user))
        return NULL;
    if (unit->dynamic_user)
        return fchmod(fd, 01733) == 0 ? NULL
                                      : seep_error_system(errno, "%s/exit: cannot be made writable", folder);
    char *end;
    unsigned long number = strtoul(unit->run_as, &end, 10);
    const struct passwd *user = getpwnam(unit->run_as);
    if (!user && *end)
        return seep_error_hint(seep_error_create(SEEP_E_NOT_FOUND,
                                                 "%s runs as '%s', and there is no such user", unit->id,
                                                 unit->run_as),
                               "the service cannot start either until there is");
    if (fchown(fd, user ? user->pw_uid : (uid_t)number, user ? user->pw_gid : (gid_t)-1) != 0)
        return seep_error_system(errno, "%s/exit: cannot be given to %s", folder, unit->run_as);
    return NULL;
}

struct seep_error *seep_output_folder_make(const struct seep_unit *unit, const char *folder) {
    if (!make_above(folder) || (mkdir(folder, 0711) != 0 && errno != EEXIST))
        return seep_error_hint(seep_error_system(errno, "%s: cannot be made", folder),
                               "--folder DIR says where else");
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), exits = -1;
    struct seep_error *error = NULL;
    if (fd < 0 || (mkdirat(fd, "exit", 0700) != 0 && errno != EEXIST) ||
        (exits = openat(fd, "exit", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
        error = seep_error_system(errno, "%s/exit: cannot be made", folder);
    if (!error)
        error = give(unit, exits, folder);
    if (exits >= 0)
        close(exits);
    if (fd >= 0)
        close(fd);
    return error;
}

void seep_output_folder_drop(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    bool empty = unlinkat(fd, "exit", AT_REMOVEDIR) == 0;
    close(fd);
    if (empty)
        (void)rmdir(folder); // snapshots stay
}

// ---- its bound ----

struct trace_file {
    struct timespec changed;
    uint64_t nr_bytes;
    bool at_exit; // in the subfolder
    char name[256];
};

struct trace_files {
    struct trace_file *items;
    size_t nr_items;
    size_t capacity;
};

enum { FILES_MAX = 1 << 20 };

static bool list(struct trace_files *files, int fd, bool at_exit) {
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = copy >= 0 ? fdopendir(copy) : NULL;
    if (!folder) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool good = true;
    for (const struct dirent *entry; good && files->nr_items < FILES_MAX && (entry = readdir(folder));) {
        struct stat status;
        size_t length = strlen(entry->d_name);
        if (length < 5 || strcmp(entry->d_name + length - 5, ".seep") != 0 ||
            fstatat(fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
            continue;
        good = seep_grow(&files->items, &files->capacity, files->nr_items + 1, sizeof(*files->items));
        if (!good)
            break;
        struct trace_file *file = &files->items[files->nr_items++];
        *file = (struct trace_file){
            .changed = status.st_mtim, .nr_bytes = (uint64_t)status.st_blocks * 512, .at_exit = at_exit};
        snprintf(file->name, sizeof(file->name), "%s", entry->d_name);
    }
    closedir(folder);
    return good;
}

static int by_age(const void *a, const void *b) {
    const struct trace_file *x = a, *y = b;
    if (x->changed.tv_sec != y->changed.tv_sec)
        return x->changed.tv_sec < y->changed.tv_sec ? -1 : 1;
    if (x->changed.tv_nsec != y->changed.tv_nsec)
        return x->changed.tv_nsec < y->changed.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void trim(struct trace_files *files, const int *fds, uint64_t keep_bytes,
                 struct seep_output_folder_sum *sum) {
    if (files->nr_items)
        qsort(files->items, files->nr_items, sizeof(*files->items), by_age);
    for (size_t i = 0; i + 1 < files->nr_items && keep_bytes && sum->nr_bytes > keep_bytes; i++) {
        const struct trace_file *file = &files->items[i];
        if (unlinkat(fds[file->at_exit], file->name, 0) != 0)
            continue;
        sum->nr_bytes -= file->nr_bytes;
        sum->nr_files--;
    }
}

struct seep_error *seep_output_folder_trim(const char *folder, uint64_t keep_bytes,
                                           struct seep_output_folder_sum *ret_sum) {
    struct trace_files files = {NULL, 0, 0};
    int fds[2] = {open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), -1};
    struct seep_error *error = NULL;
    if (fds[0] < 0)
        return seep_error_system(errno, "%s: cannot be read", folder);
    fds[1] = openat(fds[0], "exit", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (!list(&files, fds[0], false) || (fds[1] >= 0 && !list(&files, fds[1], true)))
        error = seep_error_system(errno ? errno : ENOMEM, "%s: cannot be listed", folder);
    struct seep_output_folder_sum sum = {files.nr_items, 0};
    for (size_t i = 0; i < files.nr_items; i++)
        sum.nr_bytes += files.items[i].nr_bytes;
    if (!error) {
        trim(&files, fds, keep_bytes, &sum);
        *ret_sum = sum;
    }
    free(files.items);
    close(fds[0]);
    if (fds[1] >= 0)
        close(fds[1]);
    return error;
}
