// SPDX-License-Identifier: BSD-2-Clause
// Reads /proc/PID/maps, see process_map.h.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"
#include "base/map_line.h"
#include "confine/opener.h"
#include "confine/untrusted.h"
#include "base/text_copy.h"
#include "process/gone.h"
#include "process/memory_copy.h"
#include "process/process_map.h"

// The most that the kernel returns for one read.
enum { LINES_BYTES = 4096 };

// A name that was removed since ends with this.
static const char deleted[] = " (deleted)";

static char *path_of(const char *text) {
    size_t nr = strlen(text), nr_deleted = sizeof(deleted) - 1;
    if (nr > nr_deleted && strcmp(text + nr - nr_deleted, deleted) == 0)
        nr -= nr_deleted;
    return seep_text_copy(text, nr);
}

struct seep_error *seep_process_map_add(struct seep_process_map *map, const struct seep_map_line *line) {
    if (strcmp(line->path, "[stack]") == 0) {
        map->stack_start_rt = line->start;
        map->stack_end_rt = line->end;
    }
    if (line->rights[2] != 'x' || strncmp(line->path, "[vsyscall]", 10) == 0 ||
        map->nr_areas >= SEEP_CODE_AREAS_MAX)
        return NULL;
    bool nameless = *line->path == '[' && strcmp(line->path, "[vdso]") != 0;
    char *path = path_of(nameless ? "" : line->path);
    if (!path || !seep_grow(&map->areas, &map->capacity, map->nr_areas + 1, sizeof(*map->areas))) {
        free(path);
        return seep_error_no_memory();
    }
    map->areas[map->nr_areas++] =
        (struct seep_code_area){.start = line->start,
                                .end = line->end,
                                .file_off = line->file_off,
                                .device = seep_kernel_device(line->device_major, line->device_minor),
                                .inode = line->inode,
                                .path = path};
    return NULL;
}

struct seep_error *seep_process_map_init(pid_t pid, struct seep_process_map *ret_map) {
    char name[64];
    snprintf(name, sizeof(name), "/proc/%d/maps", (int)seep_live_thread(pid));
    FILE *file = fopen(name, "re");
    if (!file && (errno == ENOENT || errno == ESRCH))
        return seep_process_gone(pid, "name a running process");
    if (!file)
        return seep_error_system(errno, "process %d", (int)pid);
    struct seep_process_map map = {NULL};
    struct seep_error *err = NULL;
    char *line = NULL, lines[LINES_BYTES];
    setvbuf(file, lines, _IOFBF, sizeof(lines));
    size_t room = 0;
    ssize_t nr;
    while (!err && map.nr_areas < SEEP_CODE_AREAS_MAX && (nr = getline(&line, &room, file)) > 0) {
        line[nr - 1] = 0;
        struct seep_map_line read;
        if (seep_map_line_read(line, &read) && read.end > read.start)
            err = seep_process_map_add(&map, &read);
    }
    free(line);
    fclose(file);
    if (err)
        seep_process_map_deinit(&map);
    else
        *ret_map = map;
    return err;
}

void seep_process_map_deinit(struct seep_process_map *map) {
    for (size_t i = 0; i < map->nr_areas; i++)
        free(map->areas[i].path);
    free(map->areas);
    *map = (struct seep_process_map){NULL};
}

#define VDSO_BYTES_MAX (1u << 20)

static int copy_vdso(pid_t pid, const struct seep_code_area *area) {
    return area->end - area->start <= VDSO_BYTES_MAX ? seep_memory_copy(pid, area->start, area->end) : -1;
}

struct seep_code_area seep_code_area_of_file(const struct stat *status, char *path) {
    return (struct seep_code_area){.device = seep_kernel_device(major(status->st_dev), minor(status->st_dev)),
                                   .inode = status->st_ino,
                                   .path = path};
}

// A name may mean another file for us than for the process; only an open file can be told.
static int open_same(const char *name, const struct seep_code_area *area, bool same_device) {
    struct stat status;
    int fd = seep_open_regular(-1, name);
    if (fd < 0)
        return -1;
    if (seep_file_status(fd, &status) && status.st_ino == area->inode &&
        (!same_device || seep_code_area_of_file(&status, NULL).device == area->device))
        return fd;
    close(fd);
    errno = ESTALE;
    return -1;
}

int seep_code_area_open(pid_t pid, const struct seep_code_area *area) {
    if (strcmp(area->path, "[vdso]") == 0)
        return copy_vdso(pid, area);
    if (!area->inode)
        return -1;
    char name[4200];
    pid_t tid = seep_live_thread(pid);
    // Needs a right that root has; then nothing can be mistaken.
    snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)tid, area->start, area->end);
    int fd = open_same(name, area, false);
    if (fd >= 0 || errno == ETIMEDOUT || errno == EINTR)
        return fd;
    // As the process sees it: it may live in another root (a container).
    snprintf(name, sizeof(name), "/proc/%d/root%s", (int)tid, area->path);
    fd = open_same(name, area, false);
    // As we see it, where the process is another user's and we may not see its root.
    return fd >= 0 ? fd : open_same(area->path, area, true);
}

bool seep_process_has_library(pid_t pid) {
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(pid, &map);
    bool found = false;
    if (err) {
        seep_error_destroy(err);
        return false;
    }
    for (size_t i = 0; i < map.nr_areas; i++) {
        const char *name = strrchr(map.areas[i].path, '/');
        found |= name && (strcmp(name, "/libseep.so") == 0 || strcmp(name, "/libseep-record.so") == 0);
    }
    seep_process_map_deinit(&map);
    return found;
}
