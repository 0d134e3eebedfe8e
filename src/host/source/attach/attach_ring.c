// SPDX-License-Identifier: BSD-2-Clause
//
// Positions of the ring of events, which the kernel shows in the map's pages: first the page with that of the
// reader, then the page with that of the writers, then the events, twice. Source:
// Documentation/bpf/ringbuf.rst and kernel/bpf/ringbuf.c of Linux.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "source/attach/attach_parts.h"
#include "source/attach/heap.skel.h"

#define WAIT_MOST_MS 100

struct ring_pages {
    size_t page;
    uint64_t ring_bytes;
    const void *reader;  // MAP_FAILED: not known
    const void *writers; // the events follow one page behind
};

uint64_t seep_attach_ring_events(const unsigned char *data, uint64_t ring_bytes, uint64_t from, uint64_t to) {
    uint64_t nr = 0;
    while (from < to) {
        uint32_t header =
            __atomic_load_n((const uint32_t *)(data + (from & (ring_bytes - 1))), __ATOMIC_RELAXED);
        uint64_t bytes = header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
        nr += !(header & BPF_RINGBUF_DISCARD_BIT);
        from += (BPF_RINGBUF_HDR_SZ + bytes + 7) & ~UINT64_C(7);
    }
    return nr;
}

static struct ring_pages ring_pages(const struct seep_attached *attached) {
    int fd = bpf_map__fd(attached->bpf->maps.seep_events);
    struct ring_pages pages = {.page = (size_t)sysconf(_SC_PAGESIZE),
                               .ring_bytes = attached->options.ring_bytes};
    pages.reader = mmap(NULL, pages.page, PROT_READ, MAP_SHARED, fd, 0);
    pages.writers =
        mmap(NULL, pages.page + 2 * pages.ring_bytes, PROT_READ, MAP_SHARED, fd, (off_t)pages.page);
    return pages;
}

static void unmap(struct ring_pages *pages) {
    if (pages->reader != MAP_FAILED)
        (void)munmap((void *)pages->reader, pages->page);
    if (pages->writers != MAP_FAILED)
        (void)munmap((void *)pages->writers, pages->page + 2 * pages->ring_bytes);
}

static uint64_t position(const void *page) {
    return __atomic_load_n((const unsigned long *)page, __ATOMIC_ACQUIRE);
}

// An event that is being written keeps back all events behind it. The tool waits for a
// writer that was interrupted.
struct seep_error *seep_attach_drain_whole(struct seep_attached *attached, uint64_t *ret_nr_left) {
    struct ring_pages pages = ring_pages(attached);
    bool known = pages.reader != MAP_FAILED && pages.writers != MAP_FAILED;
    uint64_t end = known ? position(pages.writers) : 0;
    struct seep_error *err = seep_attach_drain(attached, INT64_MAX);
    uint64_t taken = known ? position(pages.reader) : 0;
    for (int ms = 0; !err && taken < end && ms < WAIT_MOST_MS; ms++) {
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        err = seep_attach_drain(attached, INT64_MAX);
        taken = position(pages.reader);
    }
    *ret_nr_left = !err && taken < end
                       ? seep_attach_ring_events((const unsigned char *)pages.writers + pages.page,
                                                 pages.ring_bytes, taken, end)
                       : 0;
    unmap(&pages);
    return err;
}
