// SPDX-License-Identifier: BSD-2-Clause
// Reading: bytes by /proc/PID/mem or process_vm_readv, see memory.h.
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/large.h"
#include "base/page_scan.h"
#include "confine/opener.h"
#include "scan/core_file.h"
#include "scan/memory.h"
#include "scan/spans.h"

#define PAGE_BYTES 4096u // the least there is: presence is asked for by pages of the machine
// Below this a range whose pages all come is read without asking which pages are there.
#define ASK_BYTES ((uint64_t)256 << 10)

// Small reads are of few pages: headers of modules, the loader's lists, control blocks of threads.
#define PAGES_KEPT     64u
#define PLACES_OF_PAGE 8u // for each key: first pages of modules often share one

struct seep_memory_pages {
    uint64_t addresses[PAGES_KEPT]; // with bit 0 set, where there is one
    unsigned char bytes[PAGES_KEPT][PAGE_BYTES];
};

// Small mappings that are walked one after the other are read together: a process may have 65,000 of them. A
// batch doubles with each that was of use, so what is read in vain is never more than that.
#define AHEAD_MOST  256u
#define AHEAD_BYTES ((size_t)16 << 10) // the largest that is small
#define AHEAD_ROOM  ((size_t)1 << 20)
#define AHEAD_FIRST 4u // mappings in a row are read alone

struct seep_memory_ahead {
    uint64_t starts[AHEAD_MOST]; // ascending
    size_t offsets[AHEAD_MOST + 1];
    size_t nr;
    size_t at;     // what is before it has been walked
    size_t latest; // mapping that was walked
    size_t in_row;
    unsigned char bytes[AHEAD_ROOM];
};

// ---- bytes ----

// Up to here /proc/PID/mem takes no longer than process_vm_readv.
#define FEW_BYTES ((size_t)16 << 10)

// Source: Documentation/admin-guide/mm/pagemap.rst of Linux: bit 63 present, 61 of a file or shared, 56 in
// one page table only.
static bool is_shared_page(uint64_t entry) {
    return entry >> 63 && !(entry >> 61 & 1) && !(entry >> 56 & 1);
}

// Whether parent and child of a fork share a page of [address, address + nr_bytes).
static bool has_shared_pages(const struct seep_memory *memory, uint64_t address, size_t nr_bytes) {
    uint64_t entries[SEEP_PIECE_BYTES / PAGE_BYTES + 1], page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    size_t nr = SEEP_MIN((nr_bytes + address % page_bytes - 1) / page_bytes + 1, SEEP_ARRAY_SIZE(entries));
    ssize_t got = memory->pagemap_fd < 0 || address > INT64_MAX
                      ? 0
                      : pread(memory->pagemap_fd, entries, nr * 8, (off_t)(address / page_bytes * 8));
    for (ssize_t i = 0; i < got / 8; i++)
        if (is_shared_page(entries[i]))
            return true;
    return false;
}

static bool read_by_file(const struct seep_memory *memory, uint64_t address, void *ret_bytes,
                         size_t nr_bytes) {
    return memory->mem_fd >= 0 && address <= INT64_MAX &&
           pread(memory->mem_fd, ret_bytes, nr_bytes, (off_t)address) == (ssize_t)nr_bytes;
}

static bool read_by_call(const struct seep_memory *memory, uint64_t address, void *ret_bytes,
                         size_t nr_bytes) {
    struct iovec here = {ret_bytes, nr_bytes};
    struct iovec there = {(void *)(uintptr_t)address, nr_bytes};
    return process_vm_readv(memory->tid, &here, 1, &there, 1, 0) == (ssize_t)nr_bytes;
}

// process_vm_readv is the faster one, and pins pages: from Linux 5.19 on that gives the process a copy of
// each page that it shares with its parent or child.
static bool read_bytes(const struct seep_memory *memory, uint64_t address, void *ret_bytes, size_t nr_bytes) {
    if (memory->core)
        return seep_core_read(memory->core, address, ret_bytes, nr_bytes);
    if (nr_bytes > FEW_BYTES && !has_shared_pages(memory, address, nr_bytes) &&
        read_by_call(memory, address, ret_bytes, nr_bytes))
        return true;
    return read_by_file(memory, address, ret_bytes, nr_bytes) ||
           (memory->mem_fd < 0 && read_by_call(memory, address, ret_bytes, nr_bytes));
}

// File systems that answer: those of block devices, and that of the tool's own root. Other device numbers may
// be given to another file system later.
static _Atomic uint64_t sound_devices[8];

static bool is_sound(uint64_t device) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sound_devices); i++)
        if (device && atomic_load_explicit(&sound_devices[i], memory_order_relaxed) == device)
            return true;
    return false;
}

static void note_sound(int fd, uint64_t device) {
    struct statfs system;
    struct stat root;
    bool lasts = major(device) || (stat("/", &root) == 0 && root.st_dev == device);
    if (!lasts || fstatfs(fd, &system) != 0 || system.f_type == FUSE_SUPER_MAGIC)
        return;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(sound_devices); i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong_explicit(&sound_devices[i], &none, device, memory_order_relaxed,
                                                    memory_order_relaxed) ||
            none == device)
            return;
    }
}

// A page of a file that the process has not touched is read from the file.
static bool pages_come(const struct seep_memory *memory, struct seep_memory_area *area) {
    char path[64];
    if (area->of_monitor)
        return false;
    if (!area->inode || area->pages != SEEP_PAGES_UNKNOWN)
        return area->pages != SEEP_PAGES_WAIT;
    if (is_sound(area->device)) {
        area->pages = SEEP_PAGES_COME;
        return true;
    }
    snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)memory->tid,
             (unsigned long long)area->start, (unsigned long long)area->end);
    int fd = seep_open_regular(-1, path);
    area->pages = fd >= 0 ? seep_is_handle(fd) : errno == ETIMEDOUT || errno == EINTR;
    area->pages = area->pages ? SEEP_PAGES_WAIT : SEEP_PAGES_COME;
    if (fd >= 0) {
        if (area->pages == SEEP_PAGES_COME)
            note_sound(fd, area->device);
        close(fd);
    }
    return area->pages == SEEP_PAGES_COME;
}

// Whether no file system can hold back a page of [address, end). Then the tool need not know which pages are
// in memory.
static bool all_come(const struct seep_memory *memory, uint64_t address, uint64_t end) {
    while (address < end) {
        const struct seep_memory_area *area = seep_memory_find(memory, address);
        if (!area || area->of_monitor ||
            (area->inode && area->pages != SEEP_PAGES_COME && !is_sound(area->device)))
            return false;
        address = area->end;
    }
    return true;
}

static bool read_checked(const struct seep_memory *memory, uint64_t address, void *ret_bytes,
                         size_t nr_bytes) {
    uint64_t entries[64], page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), end;
    bool fits = !__builtin_add_overflow(address, nr_bytes, &end) && end <= INT64_MAX;
    bool asks = fits && !memory->core && memory->pagemap_fd >= 0 && !all_come(memory, address, end);
    for (uint64_t at = address; asks && at < end;) {
        uint64_t page = at / page_bytes;
        size_t nr = SEEP_MIN((end + page_bytes - 1) / page_bytes - page, SEEP_ARRAY_SIZE(entries));
        if (pread(memory->pagemap_fd, entries, nr * 8, (off_t)(page * 8)) != (ssize_t)(nr * 8))
            break; // there is nothing: that is found soon
        struct seep_memory_area *area = NULL;
        for (size_t i = 0; i < nr; i++, page++) {
            if (entries[i] >> 62 || (area && page * page_bytes < area->end))
                continue;
            area = (struct seep_memory_area *)seep_memory_find(memory, SEEP_MAX(page * page_bytes, address));
            if (area && !pages_come(memory, area))
                return false;
        }
        at = page * page_bytes;
    }
    return read_bytes(memory, address, ret_bytes, nr_bytes);
}

void seep_memory_is_still(struct seep_memory *memory) {
    if (memory->core || memory->pages)
        return;
    memory->pages = malloc(sizeof(*memory->pages)); // without memory none is kept
    if (memory->pages)
        memset(memory->pages->addresses, 0, sizeof(memory->pages->addresses));
}

// NULL: not all of it can be read.
static const unsigned char *page_at(const struct seep_memory *memory, uint64_t address) {
    uint64_t *addresses = memory->pages->addresses;
    size_t first = address / PAGE_BYTES % PAGES_KEPT, i = PAGES_KEPT;
    for (size_t k = 0; k < PLACES_OF_PAGE; k++) {
        size_t at = (first + k) % PAGES_KEPT;
        if (addresses[at] == (address | 1))
            return memory->pages->bytes[at];
        if (!addresses[at] && i == PAGES_KEPT)
            i = at;
    }
    i = i == PAGES_KEPT ? first : i;
    unsigned char *page = memory->pages->bytes[i];
    addresses[i] = 0;
    if (!read_checked(memory, address, page, PAGE_BYTES))
        return NULL;
    addresses[i] = address | 1;
    return page;
}

bool seep_memory_read(const struct seep_memory *memory, uint64_t address, void *ret_bytes, size_t nr_bytes) {
    if (!memory->pages || !nr_bytes || nr_bytes > PAGE_BYTES || address > INT64_MAX)
        return read_checked(memory, address, ret_bytes, nr_bytes);
    for (size_t done = 0; done < nr_bytes;) {
        uint64_t off = (address + done) % PAGE_BYTES;
        size_t part = (size_t)SEEP_MIN(nr_bytes - done, PAGE_BYTES - off);
        const unsigned char *page = page_at(memory, address + done - off);
        if (!page)
            return read_checked(memory, address, ret_bytes, nr_bytes);
        memcpy((unsigned char *)ret_bytes + done, page + off, part);
        done += part;
    }
    return true;
}

// What the core has of [start, end), segment by segment; the rest counts as unread.
static bool walk_core(struct seep_memory *memory, uint64_t start, uint64_t end, seep_take_piece take,
                      void *data) {
    while (start < end) {
        const struct seep_core_segment *segment = seep_core_find(memory->core, start);
        size_t there = seep_core_there(memory->core, start, (size_t)SEEP_MIN(end - start, SEEP_PIECE_BYTES));
        if (there && seep_core_read(memory->core, start, memory->piece, there)) {
            memory->read_bytes += there;
            if (!take(data, start, memory->piece, there))
                return false;
            start += there;
            continue;
        }
        uint64_t next = segment ? SEEP_MIN(end, segment->end) : SEEP_MIN(end, (start | 4095) + 1);
        memory->unread_bytes += next - start;
        start = next;
    }
    return true;
}

// ---- read ahead ----

// In anonymous memory no page comes from another program. What is shared is left to read_bytes().
static bool may_be_ahead(const struct seep_memory_area *area) {
    return area->readable && !area->shared && !area->has_shared_pages && !area->inode && !area->of_monitor &&
           !area->of_seep && area->present_bytes && area->end - area->start <= AHEAD_BYTES;
}

// This mapping, and the next ones, as many as are in a row so far.
static void fill_ahead(const struct seep_memory *memory, size_t first) {
    struct seep_memory_ahead *ahead = memory->ahead;
    struct iovec there[AHEAD_MOST], here = {ahead->bytes, 0};
    size_t most = SEEP_MIN(ahead->in_row, (size_t)AHEAD_MOST), nr = 0;
    for (size_t i = first; i < memory->nr_mappings && i < first + 2 * most && nr < most; i++) {
        const struct seep_memory_area *area = &memory->mappings[i];
        size_t nr_bytes = (size_t)(area->end - area->start);
        if (!may_be_ahead(area))
            continue;
        if (here.iov_len + nr_bytes > AHEAD_ROOM)
            break;
        there[nr] = (struct iovec){(void *)(uintptr_t)area->start, nr_bytes};
        ahead->starts[nr] = area->start;
        ahead->offsets[nr++] = here.iov_len;
        here.iov_len += nr_bytes;
    }
    ssize_t got = nr ? process_vm_readv(memory->tid, &here, 1, there, nr, 0) : 0;
    ahead->offsets[nr] = here.iov_len;
    ahead->at = ahead->nr = 0;
    while (got > 0 && ahead->nr < nr && ahead->offsets[ahead->nr + 1] <= (size_t)got)
        ahead->nr++;
}

static const unsigned char *find_ahead(struct seep_memory_ahead *ahead, uint64_t start, size_t nr_bytes) {
    while (ahead->at < ahead->nr &&
           ahead->starts[ahead->at] + ahead->offsets[ahead->at + 1] - ahead->offsets[ahead->at] <= start)
        ahead->at++;
    if (ahead->at == ahead->nr || start < ahead->starts[ahead->at])
        return NULL;
    size_t off = ahead->offsets[ahead->at] + (size_t)(start - ahead->starts[ahead->at]);
    return off + nr_bytes <= ahead->offsets[ahead->at + 1] ? ahead->bytes + off : NULL;
}

// The bytes of a range in one small mapping; NULL: the caller reads it.
static const unsigned char *read_ahead(struct seep_memory *memory, uint64_t start, size_t nr_bytes) {
    const struct seep_memory_area *area = nr_bytes <= AHEAD_BYTES ? seep_memory_find(memory, start) : NULL;
    if (!area || memory->core || !memory->pages || !may_be_ahead(area))
        return NULL;
    struct seep_memory_ahead *ahead = memory->ahead;
    if (!ahead) {
        if (!(ahead = memory->ahead = malloc(sizeof(*ahead)))) // it is large, and mostly stays untouched
            return NULL;
        ahead->nr = ahead->at = ahead->latest = ahead->in_row = 0;
    }
    size_t i = (size_t)(area - memory->mappings);
    bool follows = i > ahead->latest && i - ahead->latest <= 2;
    if (i != ahead->latest)
        ahead->in_row = follows ? ahead->in_row + 1 : 0;
    ahead->latest = i;
    const unsigned char *bytes = find_ahead(ahead, start, nr_bytes);
    if (bytes || ahead->in_row < AHEAD_FIRST)
        return bytes;
    fill_ahead(memory, i);
    return find_ahead(ahead, start, nr_bytes);
}

// Whether the page is a guard that the program made by madvise, as the C library does for stacks from
// glibc 2.42 on: nothing is behind it, and it may not be read. Source:
// Documentation/admin-guide/mm/pagemap.rst of Linux, bit 58.
static bool is_guard(const struct seep_memory *memory, uint64_t address) {
    uint64_t entry, page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    return memory->pagemap_fd >= 0 && address <= INT64_MAX &&
           pread(memory->pagemap_fd, &entry, sizeof(entry), (off_t)(address / page_bytes * sizeof(entry))) ==
               (ssize_t)sizeof(entry) &&
           entry >> 58 & 1;
}

// A piece that has been read into `bytes`, or where that failed (NULL) its pages one by one.
static bool give(struct seep_memory *memory, uint64_t start, const unsigned char *bytes, size_t nr_bytes,
                 seep_take_piece take, void *data) {
    if (bytes) {
        memory->read_bytes += nr_bytes;
        return take(data, start, bytes, nr_bytes);
    }
    for (uint64_t at = start; at < start + nr_bytes;) {
        size_t part = (size_t)SEEP_MIN(start + nr_bytes - at, PAGE_BYTES - at % PAGE_BYTES);
        if (read_bytes(memory, at, memory->piece, part)) {
            memory->read_bytes += part;
            if (!take(data, at, memory->piece, part))
                return false;
        } else if (!is_guard(memory, at)) {
            memory->unread_bytes += part;
        }
        at += part;
    }
    return true;
}

static bool give_all(struct seep_memory *memory, uint64_t start, uint64_t end, seep_take_piece take,
                     void *data) {
    uint64_t nr_bytes = end - SEEP_MIN(start, end);
    const unsigned char *ahead = nr_bytes ? read_ahead(memory, start, (size_t)nr_bytes) : NULL;
    if (ahead)
        return give(memory, start, ahead, (size_t)nr_bytes, take, data);
    if (nr_bytes > SEEP_SHORT_BYTES && !memory->large)
        memory->large = seep_large_alloc(SEEP_PIECE_BYTES, 1);
    bool is_short = nr_bytes <= SEEP_SHORT_BYTES || !memory->large;
    unsigned char *room = is_short ? memory->piece : memory->large;
    size_t most = is_short ? SEEP_SHORT_BYTES : SEEP_PIECE_BYTES;
    for (uint64_t at = start; at < end; at += most) {
        size_t part = (size_t)SEEP_MIN(end - at, (uint64_t)most);
        bool there = read_bytes(memory, at, room, part);
        if (!give(memory, at, there ? room : NULL, part, take, data))
            return false;
    }
    return true;
}

// Which pages from `page` on are there, in ret_entries. Source: Documentation/admin-guide/mm/pagemap.rst
// of Linux: 8 bytes a page, bit 63 present, bit 62 swapped.
static size_t read_presence(const struct seep_memory *memory, uint64_t page, uint64_t nr_pages,
                            uint64_t *ret_entries, size_t room) {
    if (memory->pagemap_fd < 0)
        return 0;
    size_t nr = (size_t)SEEP_MIN(nr_pages, (uint64_t)room);
    ssize_t got = pread(memory->pagemap_fd, ret_entries, nr * 8, (off_t)(page * 8));
    return got > 0 ? (size_t)got / 8 : 0;
}

// *ret_known: the kernel could tell; else nothing was given.
static bool walk_regions(struct seep_memory *memory, uint64_t start, uint64_t end, seep_take_piece take,
                         void *data, bool *ret_known) {
    struct seep_page_region regions[256];
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t last = (end + page_bytes - 1) / page_bytes * page_bytes;
    *ret_known = false;
    for (uint64_t at = start / page_bytes * page_bytes; at < last;) {
        uint64_t walk_end = at;
        int nr = seep_page_scan(memory->pagemap_fd, at, last, SEEP_PAGE_PRESENT | SEEP_PAGE_SWAPPED, regions,
                                SEEP_ARRAY_SIZE(regions), &walk_end);
        if (nr < 0 || walk_end <= at)
            return at == start / page_bytes * page_bytes ||
                   give_all(memory, SEEP_MAX(at, start), end, take, data);
        *ret_known = true;
        for (int i = 0; i < nr; i++)
            if (!give_all(memory, SEEP_MAX(regions[i].start, start), SEEP_MIN(regions[i].end, end), take,
                          data))
                return false;
        at = walk_end;
    }
    return true;
}

// ---- shared memory ----

// Of more data than this in one mapping only what the process itself has touched is read.
#define SHARED_MOST (UINT64_C(1) << 30)
// As much as this is read without knowing what of it is there: that makes empty pages of holes.
#define SHARED_BLIND (UINT64_C(16) << 20)

// Shared memory is where its file has data, whether this process has touched it or not: a child of fork has
// no page of it in its own table at first, and the kernel takes pages out of it as it likes. *ret_known: that
// could be told, and all was given or counted as unread.
static bool walk_shared(struct seep_memory *memory, const struct seep_memory_area *area, uint64_t start,
                        uint64_t end, seep_take_piece take, void *data, bool *ret_known) {
    uint64_t base = area->start - area->file_off; // modulo 2^64: from offsets to addresses
    uint64_t first = start - base, last = end - base, sum = 0;
    const struct seep_spans *there;
    if (!seep_shared_data(memory, area, first, last, &there))
        return false;
    *ret_known = there || end - start <= SHARED_BLIND;
    if (!there)
        return !*ret_known || give_all(memory, start, end, take, data);
    size_t from = seep_spans_from(there, first);
    for (size_t i = from; i < there->nr_items && there->items[i].start < last; i++)
        sum += SEEP_MIN(there->items[i].end, last) - SEEP_MAX(there->items[i].start, first);
    if (sum > SHARED_MOST) {
        *ret_known = false;
        memory->unread_bytes += sum - SEEP_MIN(sum, area->present_bytes);
        return true;
    }
    bool going = true;
    for (size_t i = from; going && i < there->nr_items && there->items[i].start < last; i++) {
        uint64_t data_start = base + SEEP_MAX(there->items[i].start, first);
        uint64_t data_end = base + SEEP_MIN(there->items[i].end, last);
        going = give_all(memory, SEEP_MAX(data_start & ~UINT64_C(7), start), data_end, take, data);
    }
    return going;
}

bool seep_memory_read_words(const struct seep_memory *memory, uint64_t address, uint64_t *ret_words,
                            size_t nr) {
    if (!seep_memory_read(memory, address, ret_words, nr * memory->word_bytes))
        return false;
    if (memory->word_bytes < sizeof(*ret_words))
        while (nr--)
            ret_words[nr] =
                seep_word_at((const char *)ret_words + nr * memory->word_bytes, memory->word_bytes);
    return true;
}

bool seep_memory_walk(struct seep_memory *memory, uint64_t start, uint64_t end, seep_take_piece take,
                      void *data) {
    if (start >= end)
        return true;
    if (memory->core)
        return walk_core(memory, start, end, take, data);
    const struct seep_memory_area *area = seep_memory_find(memory, start);
    bool known = false;
    const bool is_sure = all_come(memory, start, end);
    if (area && area->shared && !area->of_monitor && end <= area->end) {
        bool going = walk_shared(memory, area, start, end, take, data, &known);
        if (known || !going)
            return going;
    }
    if (area && !area->present_bytes && end <= area->end) // as the reservations of Go and of sanitizers
        return true;
    if (end - start < ASK_BYTES && is_sure)
        return give_all(memory, start, end, take, data);
    bool done = walk_regions(memory, start, end, take, data, &known);
    if (known || !done)
        return done;
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t entries[1024];
    uint64_t run = start; // present from here on
    uint64_t at = start;
    while (at < end) {
        size_t nr = read_presence(memory, at / page_bytes, (end - 1) / page_bytes - at / page_bytes + 1,
                                  entries, SEEP_ARRAY_SIZE(entries));
        if (!nr && area && area->of_monitor) {
            memory->unread_bytes += end - at;
            return give_all(memory, run, at, take, data);
        }
        if (!nr) // not told: all of it
            break;
        for (size_t i = 0; i < nr; i++) {
            uint64_t next = SEEP_MIN((at / page_bytes + 1) * page_bytes, end);
            if (!(entries[i] >> 62)) {
                if (!give_all(memory, run, at, take, data))
                    return false;
                run = next;
            }
            at = next;
        }
    }
    return give_all(memory, run, end, take, data);
}
