// SPDX-License-Identifier: BSD-2-Clause
// Reads /proc/PID/smaps and /proc/PID/pagemap, see resident.h. Source: proc(5), and pagemap.rst of the
// kernel: bit 63 of an entry is "present", and PAGEMAP_SCAN passes by what is not.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"
#include "base/map_line.h"
#include "base/search.h"
#include "process/resident.h"

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
    resident->scans = true;
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
    free(resident->regions);
    seep_arena_deinit(&resident->arena);
    free(resident);
}

// Pages are looked for in windows of this many regions, or of this many entries of pagemap.
#define WINDOW_REGIONS 1024
#define WINDOW_ENTRIES 8192

static void add_page(struct seep_resident *resident, uint64_t page) {
    uint64_t start = page * resident->page_bytes;
    struct seep_page_region *last =
        resident->nr_regions ? &resident->regions[resident->nr_regions - 1] : NULL;
    if (last && last->end == start)
        last->end += resident->page_bytes;
    else
        resident->regions[resident->nr_regions++] =
            (struct seep_page_region){.start = start, .end = start + resident->page_bytes};
}

// A kernel before 6.7. Reads on until pages are found: `end` bounds it.
static bool read_entries(struct seep_resident *resident, uint64_t start, uint64_t end) {
    uint64_t entries[WINDOW_ENTRIES];
    uint64_t size = resident->page_bytes;
    resident->nr_regions = 0;
    resident->window_end = start;
    while (!resident->nr_regions && resident->window_end < end) {
        uint64_t first = resident->window_end / size;
        ssize_t got = pread(resident->pagemap_fd, entries, sizeof(entries), (off_t)(first * 8));
        resident->nr_reads++;
        if (got < 8)
            return false;
        uint64_t nr = (uint64_t)got / 8;
        for (uint64_t i = 0; i < nr; i++)
            if (entries[i] >> 63)
                add_page(resident, first + i);
        resident->window_end = (first + nr) * size;
    }
    return true;
}

// Learns what is in memory from `start`, a page, on. False: no more can be learned.
static bool move_window(struct seep_resident *resident, uint64_t start, uint64_t end) {
    if (!resident->regions)
        // An entry each, at most, for every other page of a window.
        resident->regions = malloc(sizeof(*resident->regions) * WINDOW_ENTRIES);
    if (!resident->regions)
        return false;
    // Up to the last area of the process itself: what comes next is known then. ([vsyscall] is the kernel's.)
    uint64_t last = end;
    for (size_t i = resident->nr_areas; i-- && last == end;)
        if (resident->areas[i].end >> 63 == 0)
            last = SEEP_MAX(resident->areas[i].end, end);
    resident->window_start = start;
    if (resident->scans) {
        int nr = seep_page_scan(resident->pagemap_fd, start, last, SEEP_PAGE_PRESENT, resident->regions,
                                WINDOW_REGIONS, &resident->window_end);
        resident->nr_reads++;
        resident->nr_regions = nr > 0 ? (size_t)nr : 0;
        resident->scans = nr >= 0;
        if (nr >= 0)
            return resident->window_end > start;
    }
    return read_entries(resident, start, end) && resident->window_end > start;
}

// The first region of the window that ends above `address`, by halves.
static size_t first_above(const struct seep_resident *resident, uint64_t address) {
    return SEEP_FIRST_WHERE(at, resident->nr_regions, resident->regions[at].end > address);
}

uint64_t seep_resident_bytes(struct seep_resident *resident, uint64_t start, uint64_t end) {
    if (start >= end)
        return 0;
    if (resident->pagemap_fd < 0)
        return end - start;
    uint64_t size = resident->page_bytes;
    uint64_t sum = 0;
    uint64_t at = start;
    while (at < end) {
        if (at < resident->window_start || at >= resident->window_end) {
            uint64_t page = at / size * size;
            // A page more: the next range may begin a little before this one (a block's header).
            if (!move_window(resident, page >= size ? page - size : page, (end + size - 1) / size * size))
                return sum;
        }
        uint64_t stop = SEEP_MIN(end, resident->window_end);
        for (size_t i = first_above(resident, at); i < resident->nr_regions; i++) {
            const struct seep_page_region *region = &resident->regions[i];
            if (region->start >= stop)
                break;
            sum += SEEP_MIN(region->end, stop) - SEEP_MAX(region->start, at);
        }
        at = stop;
    }
    return sum;
}
