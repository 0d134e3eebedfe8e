// SPDX-License-Identifier: BSD-2-Clause
// Reads /proc/PID/smaps and /proc/PID/pagemap, see resident.h. Source: proc(5), and pagemap.rst of the
// kernel: bit 63 of an entry is "present".
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"
#include "base/map_line.h"
#include "capture/resident.h"

static uint64_t kib_after(const char *line, const char *key) {
    size_t length = strlen(key);
    return strncmp(line, key, length) == 0 ? strtoull(line + length, NULL, 10) * 1024 : 0;
}

static struct seep_error *take_line(struct seep_resident *resident, char *line) {
    struct seep_map_line read;
    line[strcspn(line, "\n")] = 0;
    if (seep_map_line_read(line, &read)) {
        if (!seep_grow(&resident->areas, &resident->capacity, resident->nr_areas + 1,
                       sizeof(*resident->areas)))
            return seep_error_no_memory();
        const char *name = seep_arena_strdup(&resident->arena, read.path);
        if (!name)
            return seep_error_no_memory();
        resident->areas[resident->nr_areas++] =
            (struct seep_memory_area){.start = read.start, .end = read.end, .name = name};
        return NULL;
    }
    if (!resident->nr_areas)
        return NULL;
    struct seep_memory_area *area = &resident->areas[resident->nr_areas - 1];
    area->rss_bytes += kib_after(line, "Rss:");
    area->pss_bytes += kib_after(line, "Pss:");
    area->swap_bytes += kib_after(line, "Swap:");
    return NULL;
}

static struct seep_error *read_areas(struct seep_resident *resident, pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)seep_live_thread(pid));
    FILE *file = fopen(path, "re");
    if (!file)
        return seep_error_system(errno, "process %d: cannot read %s", (int)pid, path);
    char *line = NULL;
    size_t room = 0;
    struct seep_error *error = NULL;
    while (!error && getline(&line, &room, file) > 0)
        error = take_line(resident, line);
    if (!error && ferror(file))
        error = seep_error_system(errno, "process %d: cannot read %s", (int)pid, path);
    free(line);
    fclose(file);
    return error;
}

struct seep_error *seep_resident_open(pid_t pid, struct seep_resident **ret_resident) {
    struct seep_resident *resident = calloc(1, sizeof(*resident));
    if (!resident)
        return seep_error_no_memory();
    resident->page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)seep_live_thread(pid));
    resident->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
    struct seep_error *error = read_areas(resident, pid);
    if (error) {
        seep_resident_close(resident);
        return error;
    }
    *ret_resident = resident;
    return NULL;
}

void seep_resident_close(struct seep_resident *resident) {
    if (!resident)
        return;
    if (resident->pagemap_fd >= 0)
        close(resident->pagemap_fd);
    free(resident->areas);
    seep_arena_deinit(&resident->arena);
    free(resident);
}

static bool is_present(struct seep_resident *resident, uint64_t page) {
    if (page - resident->cached_page >= resident->nr_cached) {
        ssize_t got =
            pread(resident->pagemap_fd, resident->cache, sizeof(resident->cache), (off_t)(page * 8));
        resident->cached_page = page;
        resident->nr_cached = got > 0 ? (uint64_t)got / 8 : 0;
        if (!resident->nr_cached)
            return false;
    }
    return resident->cache[page - resident->cached_page] >> 63;
}

uint64_t seep_resident_bytes(struct seep_resident *resident, uint64_t start, uint64_t end) {
    if (start >= end)
        return 0;
    if (resident->pagemap_fd < 0)
        return end - start;
    uint64_t size = resident->page_bytes;
    uint64_t sum = 0;
    for (uint64_t page = start / size; page * size < end; page++)
        if (is_present(resident, page))
            sum += SEEP_MIN(end, (page + 1) * size) - SEEP_MAX(start, page * size);
    return sum;
}
