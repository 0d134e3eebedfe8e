// SPDX-License-Identifier: BSD-2-Clause
// Where the files behind shared mappings have data, see shared_data.h.
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/opener.h"
#include "scan/memory.h"
#include "scan/shared_data.h"
#include "scan/spans.h"

// A file in more pieces is asked for what each of its mappings has.
#define PIECES_MOST ((size_t)1 << 16)

struct seep_shared_file {
    uint64_t device;
    uint64_t inode;
    bool is_open; // else nothing is known of it
    int fd;       // -1: all of it is in `data`
    struct seep_spans data;
};

// -1: another file has the name, or it is one that the tool does not read itself.
static int open_file_of(const char *path, const struct seep_memory_area *area) {
    struct stat status;
    int fd = seep_open_regular(-1, path);
    if (fd < 0 || (!seep_is_handle(fd) && fstat(fd, &status) == 0 && status.st_ino == area->inode &&
                   status.st_dev == area->device))
        return fd;
    close(fd);
    return -1;
}

// The file behind a mapping: as the kernel has it, which takes rights; under its name; or open in the
// process (a memory file). -1: not to be had.
static int open_shared(const struct seep_memory *memory, const struct seep_memory_area *area) {
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)memory->tid,
             (unsigned long long)area->start, (unsigned long long)area->end);
    int fd = open_file_of(path, area);
    int length = snprintf(path, sizeof(path), "/proc/%d/root%s", (int)memory->tid, area->path);
    if (fd < 0 && *area->path == '/' && length < (int)sizeof(path))
        fd = open_file_of(path, area);
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)memory->tid);
    DIR *folder = fd < 0 ? opendir(path) : NULL;
    for (const struct dirent *entry; folder && fd < 0 && (entry = readdir(folder)) != NULL;) {
        snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)memory->tid, entry->d_name);
        if (*entry->d_name != '.')
            fd = open_file_of(path, area);
    }
    if (folder)
        closedir(folder);
    return fd;
}

// false: out of memory. *ret_all: there were not more than `most`.
static bool add_pieces(int fd, uint64_t first, uint64_t last, size_t most, struct seep_spans *data,
                       bool *ret_all) {
    *ret_all = true;
    for (uint64_t at = first; at < last;) {
        off_t start = lseek(fd, (off_t)at, SEEK_DATA);
        if (start < 0 || (uint64_t)start < at || (uint64_t)start >= last)
            return true;
        *ret_all = data->nr_items < most;
        off_t hole = *ret_all ? lseek(fd, start, SEEK_HOLE) : start;
        uint64_t end = hole < 0 ? last : SEEP_MIN((uint64_t)hole, last);
        if (end <= (uint64_t)start)
            return true;
        if (!seep_spans_add(data, (uint64_t)start, end))
            return false;
        at = end;
    }
    return true;
}

static void forget(struct seep_shared_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    seep_spans_deinit(&file->data);
}

static bool ask(const struct seep_memory *memory, const struct seep_memory_area *area,
                struct seep_shared_file *file) {
    bool all = true;
    forget(file);
    *file = (struct seep_shared_file){.device = area->device, .inode = area->inode};
    file->fd = open_shared(memory, area);
    file->is_open = file->fd >= 0;
    if (file->is_open && !add_pieces(file->fd, 0, INT64_MAX, PIECES_MOST, &file->data, &all))
        return false;
    if (file->is_open && all) {
        close(file->fd);
        file->fd = -1;
    }
    return true;
}

bool seep_shared_data(struct seep_memory *memory, const struct seep_memory_area *area, uint64_t first,
                      uint64_t last, const struct seep_spans **ret_data) {
    struct seep_shared_files *files = &memory->shared;
    bool all;
    uint64_t *place = seep_map_at(&files->places, seep_hash64(area->device) ^ area->inode, NULL);
    if (!place)
        return false;
    if (!*place) {
        if (!seep_grow(&files->items, &files->capacity, files->nr_items + 1, sizeof(*files->items)))
            return false;
        files->items[files->nr_items].fd = -1;
        *place = ++files->nr_items;
    }
    struct seep_shared_file *file = &files->items[*place - 1];
    // One that is new, or another one with the same hash.
    if ((file->device != area->device || file->inode != area->inode) && !ask(memory, area, file))
        return false;
    if (file->is_open && file->fd >= 0) {
        file->data.nr_items = 0;
        if (!add_pieces(file->fd, first, last, SIZE_MAX, &file->data, &all))
            return false;
    }
    *ret_data = file->is_open ? &file->data : NULL;
    return true;
}

void seep_shared_files_deinit(struct seep_shared_files *files) {
    for (size_t i = 0; i < files->nr_items; i++)
        forget(&files->items[i]);
    free(files->items);
    seep_map_deinit(&files->places);
    *files = (struct seep_shared_files){.items = NULL};
}
