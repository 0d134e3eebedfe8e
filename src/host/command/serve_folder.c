// SPDX-License-Identifier: BSD-2-Clause
// A folder of traces, see serve_folder.h.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "command/serve_folder.h"
#include "output/json_build.h"

#define SUFFIX ".seep"
#define LISTED 10000u

bool seep_folder_is_one(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void id_of(const char *name, char id[SEEP_FOLDER_ID_CHARS + 1]) {
    snprintf(id, SEEP_FOLDER_ID_CHARS + 1, "%016" PRIx64, seep_hash_bytes(name, strlen(name)));
}

static struct seep_error *open_folder(const char *path, DIR **ret_folder) {
    *ret_folder = opendir(path);
    return *ret_folder ? NULL : seep_error_system(errno, "cannot read %s", path);
}

// The next trace of the folder; NULL: there is no other.
static const char *next_name(DIR *folder, struct stat *status) {
    for (const struct dirent *entry; (entry = readdir(folder));) {
        size_t nr = strlen(entry->d_name);
        if (entry->d_name[0] == '.' || nr <= strlen(SUFFIX) ||
            strcmp(entry->d_name + nr - strlen(SUFFIX), SUFFIX) != 0)
            continue;
        // Links are not followed: they may lead out of the folder.
        if (fstatat(dirfd(folder), entry->d_name, status, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(status->st_mode))
            return entry->d_name;
    }
    return NULL;
}

// ---- the list ----------------------------------------------------------------------------------------

struct item {
    char *name;
    int64_t bytes;
    int64_t at_s;
};

static int by_time(const void *left, const void *right) {
    const struct item *a = left, *b = right;
    return a->at_s != b->at_s ? (a->at_s < b->at_s ? 1 : -1) : strcmp(a->name, b->name);
}

static char *text_of(const char *path, const struct item *items, size_t nr) {
    json_t *root = json_object(), *traces = json_array();
    for (size_t i = 0; i < SEEP_MIN(nr, (size_t)LISTED); i++) {
        char id[SEEP_FOLDER_ID_CHARS + 1];
        id_of(items[i].name, id);
        json_t *trace = json_object();
        set(&trace, "id", string(id));
        set(&trace, "name", string(items[i].name));
        set(&trace, "bytes", json_integer(items[i].bytes));
        set(&trace, "at_s", json_integer(items[i].at_s));
        append(&traces, trace);
    }
    set(&root, "folder", string(path));
    set(&root, "traces", traces);
    set(&root, "left_out", integer(nr > LISTED ? nr - LISTED : 0));
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    return text;
}

struct seep_error *seep_folder_list(const char *path, char **ret_text) {
    DIR *folder;
    struct seep_error *error = open_folder(path, &folder);
    if (error)
        return error;
    struct item *items = NULL;
    size_t nr = 0, capacity = 0;
    struct stat status;
    for (const char *name; !error && (name = next_name(folder, &status));) {
        char *kept = seep_grow(&items, &capacity, nr + 1, sizeof(*items)) ? strdup(name) : NULL;
        if (kept)
            items[nr++] = (struct item){kept, (int64_t)status.st_size, (int64_t)status.st_mtime};
        else
            error = seep_error_no_memory();
    }
    closedir(folder);
    if (nr)
        qsort(items, nr, sizeof(*items), by_time);
    if (!error && !(*ret_text = text_of(path, items, nr)))
        error = seep_error_no_memory();
    for (size_t i = 0; i < nr; i++)
        free(items[i].name);
    free(items);
    return error;
}

// ---- one of them -------------------------------------------------------------------------------------

static struct seep_error *open_name(DIR *folder, const char *name, struct seep_folder_file *ret_file) {
    struct seep_folder_file file = {
        .fd = openat(dirfd(folder), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (file.fd < 0)
        return seep_error_system(errno, "cannot open %s", name);
    // The file may have been replaced since it was listed; a pipe would keep all clients waiting.
    struct stat status;
    if (fstat(file.fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        seep_folder_file_deinit(&file);
        return seep_error_create(SEEP_E_NOT_FOUND, "%s is no longer a regular file", name);
    }
    file.name = strdup(name);
    if (!file.name) {
        seep_folder_file_deinit(&file);
        return seep_error_no_memory();
    }
    snprintf(file.path, sizeof(file.path), "/proc/self/fd/%d", file.fd);
    *ret_file = file;
    return NULL;
}

struct seep_error *seep_folder_open(const char *path, const char *id, struct seep_folder_file *ret_file) {
    DIR *folder;
    struct seep_error *error = open_folder(path, &folder);
    if (error)
        return error;
    struct stat status;
    const char *name;
    char own[SEEP_FOLDER_ID_CHARS + 1];
    while ((name = next_name(folder, &status))) {
        id_of(name, own);
        if (strncmp(own, id, SEEP_FOLDER_ID_CHARS) == 0)
            break;
    }
    error = name ? open_name(folder, name, ret_file)
                 : seep_error_create(SEEP_E_NOT_FOUND, "%s has no such trace", path);
    closedir(folder);
    return error;
}

void seep_folder_file_deinit(struct seep_folder_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    free(file->name);
}
