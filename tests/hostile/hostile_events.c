// SPDX-License-Identifier: BSD-2-Clause
//
// A recorded program that writes false data into its own image, of one kind a run. The tool's memory must stay
// small. Status 99: it found no place to write to.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image/layout.h"
#include "image/ring.h"

static unsigned char *image;

static void find_image(void) {
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !image && fgets(line, sizeof(line), maps)) {
        uintptr_t start;
        uint64_t off;
        if (strstr(line, "memfd:seep-image") &&
            sscanf(line, "%" SCNxPTR "-%*x %*s %" SCNx64, &start, &off) == 2 && off == 0)
            image = (unsigned char *)start;
    }
    if (maps)
        fclose(maps);
    if (!image)
        _exit(99);
}

static struct seep_image_header *header(void) {
    return (struct seep_image_header *)image;
}

static unsigned char *page_of_image(uint64_t page) {
    return image + header()->areas[SEEP_AREA_PAGES].off + page * SEEP_IMAGE_PAGE;
}

static uint32_t *ring_pages(void) {
    return (uint32_t *)page_of_image(header()->ring_dir_page);
}

static struct seep_ring *ring(void) {
    return (struct seep_ring *)page_of_image(ring_pages()[0]);
}

static uint64_t beat(void) {
    return __atomic_load_n(&header()->ring_beat, __ATOMIC_ACQUIRE);
}

// Waits until the tool has looked at all rings. Its beat counts up when a look begins and when its events are written.
// A look may be under way now. Status 98: the tool looks no more.
static void wait_for_look(void) {
    uint64_t from = beat();
    for (int i = 0; beat() - from < 4; i++) {
        if (i == 60000)
            _exit(98);
        usleep(1000);
    }
}

static void put(uint64_t stamp, uint64_t address, uint64_t entry) {
    struct seep_event *events = (struct seep_event *)((unsigned char *)ring() + SEEP_IMAGE_PAGE);
    events[ring()->written & (ring()->capacity - 1)] =
        (struct seep_event){stamp << SEEP_EVENT_KIND_BITS | SEEP_EVENT_ALLOCATION, address, entry};
    __atomic_store_n(&ring()->written, ring()->written + 1, __ATOMIC_RELEASE);
}

// Events with stamps far in the future, again and again, so that the tool must keep them.
static void future(void) {
    struct seep_event *events = (struct seep_event *)((unsigned char *)ring() + SEEP_IMAGE_PAGE);
    for (uint64_t i = 0; i < ring()->capacity; i++)
        events[i] = (struct seep_event){(UINT64_C(1) << 58) << SEEP_EVENT_KIND_BITS | SEEP_EVENT_ALLOCATION,
                                        64 + 16 * i, SEEP_ENTRY_MAKE(1, 0, 16)};
    events[(ring()->written - 1) & (ring()->capacity - 1)].stamp_kind =
        UINT64_C(1) << SEEP_EVENT_KIND_BITS | SEEP_EVENT_ALLOCATION;
    for (int i = 0; i < 150; i++) {
        __atomic_fetch_add(&ring()->written, ring()->capacity, __ATOMIC_RELEASE);
        wait_for_look();
    }
}

// Rings of many threads, all in one place.
static void many(void) {
    for (uint32_t i = 1; i < 256; i++)
        ring_pages()[i] = ring_pages()[0];
    header()->areas[SEEP_AREA_THREADS].used = 256;
    wait_for_look();
    __atomic_fetch_add(&ring()->written, ring()->capacity, __ATOMIC_RELEASE);
    wait_for_look();
}

// Rings of many threads, far from one another, that claim to need all their pages soon. Status 97: the tool has
// allocated those pages.
static void far(void) {
    enum {
        RINGS = 128,
        FIRST = 2048,
        RING_PAGES = 1 + SEEP_RING_EVENTS * sizeof(struct seep_event) / SEEP_IMAGE_PAGE
    };
    const size_t nr_bytes = (size_t)(FIRST + RINGS * RING_PAGES) * SEEP_IMAGE_PAGE;
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    static unsigned char present[(FIRST + RINGS * RING_PAGES)];
    // With 0 bytes mremap maps the same pages once more, and those behind them.
    void *view = (void *)syscall(SYS_mremap, page_of_image(0), 0, nr_bytes, MREMAP_MAYMOVE);
    if (view == MAP_FAILED)
        _exit(99);
    for (uint32_t i = 0; i < RINGS; i++) {
        uint32_t page = FIRST + i * RING_PAGES;
        *(struct seep_ring *)((unsigned char *)view + (size_t)page * SEEP_IMAGE_PAGE) = (struct seep_ring){
            .capacity = SEEP_RING_EVENTS, .written = SEEP_RING_EVENTS / 4, .read = SEEP_RING_EVENTS / 4};
        ring_pages()[i + 1] = page;
    }
    header()->areas[SEEP_AREA_THREADS].used = RINGS + 1;
    wait_for_look();
    size_t nr_present = 0;
    if (mincore(view, nr_bytes, present))
        _exit(99);
    for (size_t i = 0; i < nr_bytes / page_bytes; i++)
        nr_present += present[i] & 1;
    if (nr_present * page_bytes >> 20 > 100)
        _exit(97);
}

// A site with the number four million, in an image with few sites.
static void site(void) {
    enum { SITES = 4 << 20 };
    header()->areas[SEEP_AREA_SITES].used = SITES;
    put(ring()->last_stamp, 64, SEEP_ENTRY_MAKE(SITES - 1, 0, 16));
    wait_for_look();
}

// Large blocks, each at a new address.
static void blocks(void) {
    const struct seep_event *events = (struct seep_event *)((unsigned char *)ring() + SEEP_IMAGE_PAGE);
    uint64_t stamp = SEEP_EVENT_STAMP(events[ring()->written - 1]);
    for (uint64_t i = 1; i <= 3000000; i++) {
        while (ring()->written - __atomic_load_n(&ring()->read, __ATOMIC_ACQUIRE) >= ring()->capacity)
            usleep(100);
        put(stamp, i << 14, SEEP_ENTRY_MAKE(1, 0, 9000));
    }
    wait_for_look();
}

int main(int argc, char **argv) {
    free(malloc(1));
    if (argc == 2 && strcmp(argv[1], "nothing") == 0)
        return 0;
    find_image();
    if (argc < 2 || !header()->ring_dir_page)
        return 99;
    if (strcmp(argv[1], "future") == 0)
        future();
    else if (strcmp(argv[1], "many") == 0)
        many();
    else if (strcmp(argv[1], "far") == 0)
        far();
    else if (strcmp(argv[1], "site") == 0)
        site();
    else if (strcmp(argv[1], "blocks") == 0)
        blocks();
    else
        return 99;
    return 0;
}
