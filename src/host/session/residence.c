// SPDX-License-Identifier: BSD-2-Clause
// Looks for the pages of blocks while a process is recorded, see residence.h.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/memory_limit.h"
#include "session/residence.h"

enum {
    PAGE_SHIFT = 12,
    BLOCKS_MOST = 1 << 20, // that is 8 GiB at least; a false image may claim any number
    PAGES_AT_ONCE = 512,
    LOOK_PAGES = 1 << 16, // of one look
    LOOK_EVERY_NS = 5000000,
    REST_TIMES = 50, // of what a look has taken
};
#define PAGE_PRESENT (UINT64_C(1) << 63) // Source: the kernel's Documentation/admin-guide/mm/pagemap.rst
#define PAGE_SWAPPED (UINT64_C(1) << 62)

struct tracked_block {
    uint64_t address;
    uint64_t size;
    uint64_t stamp;
    uint64_t pages; // most that were seen; UINT64_MAX: it was not looked at
    bool was_seen_once;
};

void seep_residence_init(struct seep_residence *residence, pid_t pid) {
    *residence = (struct seep_residence){.pid = pid, .pagemap_fd = -1, .blocks_of = SEEP_MAP_INIT};
}

void seep_residence_deinit(struct seep_residence *residence) {
    if (residence->pagemap_fd >= 0)
        close(residence->pagemap_fd);
    seep_map_deinit(&residence->blocks_of);
    free(residence->blocks);
    free(residence->ended);
}

// ---- blocks ----------------------------------------------------------------------------------------------

static void end_block(struct seep_residence *residence, const struct tracked_block *block) {
    if (block->pages == UINT64_MAX || (block->was_seen_once && block->size > SEEP_RESIDENCE_FILLED_BYTES))
        return;
    if (!seep_grow(&residence->ended, &residence->ended_capacity, residence->nr_ended + 1,
                   sizeof(*residence->ended))) {
        residence->failed = true;
        return;
    }
    residence->ended[residence->nr_ended++] =
        (struct seep_resident_block){.address = block->address, .stamp = block->stamp, .pages = block->pages};
}

// The last one takes its place.
static void drop(struct seep_residence *residence, uint64_t address) {
    const uint64_t *index = seep_map_find(&residence->blocks_of, address);
    if (!index)
        return;
    uint64_t at = *index;
    struct tracked_block *block = &residence->blocks[at - 1];
    seep_map_remove(&residence->blocks_of, address);
    end_block(residence, block);
    *block = residence->blocks[--residence->nr_blocks];
    uint64_t *moved = seep_map_find(&residence->blocks_of, block->address);
    if (moved)
        *moved = at;
}

static void track(struct seep_residence *residence, const struct seep_recorded *event) {
    drop(residence, event->address); // its free was not seen
    if (residence->nr_blocks == BLOCKS_MOST)
        return;
    uint64_t *index = seep_map_at(&residence->blocks_of, event->address, NULL);
    if (!index || !seep_grow(&residence->blocks, &residence->capacity, residence->nr_blocks + 1,
                             sizeof(*residence->blocks))) {
        residence->failed = true;
        return;
    }
    residence->blocks[residence->nr_blocks++] = (struct tracked_block){
        .address = event->address, .size = event->size, .stamp = event->stamp, .pages = UINT64_MAX};
    *index = residence->nr_blocks;
}

void seep_residence_follow(struct seep_residence *residence, const struct seep_recorded *events, size_t nr) {
    for (size_t i = 0; i < nr && !residence->failed; i++) {
        if (events[i].size < SEEP_RESIDENCE_LEAST_BYTES)
            continue;
        if (events[i].kind == SEEP_EVENT_ALLOCATION)
            track(residence, &events[i]);
        else if (seep_event_is_free(events[i].kind))
            drop(residence, events[i].address);
    }
}

void seep_residence_end(struct seep_residence *residence) {
    for (size_t i = 0; i < residence->nr_blocks && !residence->failed; i++)
        end_block(residence, &residence->blocks[i]);
    residence->nr_blocks = 0;
}

// ---- looking ---------------------------------------------------------------------------------------------

static bool is_in_memory(uint64_t entry) {
    return entry & (PAGE_PRESENT | PAGE_SWAPPED);
}

// Of a very large block a part is looked at, in pieces that lie evenly in it, and taken for the whole.
// A block that was seen with all of its pages is not looked at again, because the greatest figure counts.
// A last page that goes on behind the block counts only if all pages before it do: most such pages have what
// is behind the block, at least the header of the next one. The first page counts, because the block's own
// header is in it.
static bool count_pages(const struct seep_residence *residence, struct tracked_block *block,
                        uint64_t *ret_nr_read) {
    uint64_t first = block->address >> PAGE_SHIFT;
    uint64_t nr_all = ((block->address + block->size - 1) >> PAGE_SHIFT) - first + 1, nr = 0, nr_read = 0;
    if (block->pages == nr_all)
        return true;
    uint64_t stride = PAGES_AT_ONCE * (nr_all / LOOK_PAGES + 1);
    uint64_t entries[PAGES_AT_ONCE];
    bool has_last = false;
    for (uint64_t at = 0; at < nr_all; at += stride) {
        uint64_t want = SEEP_MIN(nr_all - at, (uint64_t)PAGES_AT_ONCE);
        ssize_t got = pread(residence->pagemap_fd, entries, (size_t)want * sizeof(*entries),
                            (off_t)((first + at) * sizeof(*entries)));
        if (got != (ssize_t)(want * sizeof(*entries)))
            return false;
        for (uint64_t i = 0; i < want; i++)
            nr += is_in_memory(entries[i]);
        has_last = at + want == nr_all && is_in_memory(entries[want - 1]);
        nr_read += want;
    }
    *ret_nr_read += nr_read;
    bool is_last_own = (block->address + block->size) % (1 << PAGE_SHIFT) == 0;
    nr -= has_last && !is_last_own && nr < nr_read;
    nr = nr_read == nr_all ? nr : (uint64_t)((double)nr * (double)nr_all / (double)nr_read);
    block->was_seen_once = block->pages == UINT64_MAX && nr < nr_all;
    block->pages = block->pages == UINT64_MAX ? nr : SEEP_MAX(block->pages, nr);
    return true;
}

void seep_residence_look(struct seep_residence *residence, int64_t now_ns) {
    if (now_ns < residence->next_ns || residence->failed)
        return;
    int64_t begin_cpu_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t cpu_ns = seep_process_cpu_ns(residence->pid);
    residence->cpu_ns = cpu_ns ? cpu_ns : residence->cpu_ns;
    if (residence->pagemap_fd < 0 && residence->nr_blocks) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)residence->pid);
        residence->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    uint64_t nr_read = 0;
    size_t nr = residence->pagemap_fd < 0 ? 0 : residence->nr_blocks;
    for (size_t i = 0; i < nr && nr_read < LOOK_PAGES; i++) {
        residence->next = residence->next + 1 < nr ? residence->next + 1 : 0;
        if (!count_pages(residence, &residence->blocks[residence->next], &nr_read))
            break;
    }
    // Not the time in which other work had the processor: the rest would be as many times longer.
    int64_t took_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns;
    residence->next_ns = now_ns + SEEP_MAX(took_ns * REST_TIMES, (int64_t)LOOK_EVERY_NS);
}
