// SPDX-License-Identifier: BSD-2-Clause
// Address space of the image, see window.h.
#include <errno.h>
#include <sys/resource.h>

#include "preload/window.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

enum { REMAP_MAYMOVE = 1, REMAP_FIXED = 2 };
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// A limit as large as this is none: the whole window fits below it.
#define NO_LIMIT (4096 * GIB)
// The least budget that makes sense: the directory, two leaves of the heap map, and the arrays.
#define LEAST_BUDGET (64 * MIB)

// Opened in these steps, in bytes, whole pages of any size: small enough not to matter to mlockall, large
// enough to be rare.
static const uint64_t area_steps[SEEP_AREA_NR] = {
    [SEEP_AREA_STRINGS] = 64 << 10,   [SEEP_AREA_MODULES] = 64 << 10,  [SEEP_AREA_NODES] = MIB,
    [SEEP_AREA_SITES] = 256 << 10,    [SEEP_AREA_THREADS] = 64 << 10,  [SEEP_AREA_ODD] = MIB * 2,
    [SEEP_AREA_DIR] = 256 << 10,      [SEEP_AREA_POOL] = MIB,          [SEEP_AREA_MAPPINGS] = 64 << 10,
    [SEEP_AREA_MAP_SITES] = 64 << 10, [SEEP_AREA_MISUSES] = 192 << 10, [SEEP_AREA_CUSTOM_POOLS] = 64 << 10,
    [SEEP_AREA_PIECES] = 256 << 10,   [SEEP_AREA_REGIONS] = 64 << 10,  [SEEP_AREA_MARKS] = 64 << 10,
    [SEEP_AREA_TOOL_MARKS] = MIB,
};

// What an element of an area takes, where `used` counts elements.
static const uint64_t element_bytes[SEEP_AREA_NR] = {
    [SEEP_AREA_STRINGS] = 1,
    [SEEP_AREA_MODULES] = sizeof(struct seep_image_module),
    [SEEP_AREA_NODES] = sizeof(struct seep_image_node),
    [SEEP_AREA_SITES] = sizeof(struct seep_image_site),
    [SEEP_AREA_THREADS] = sizeof(struct seep_image_thread),
    [SEEP_AREA_POOL] = SEEP_POOL_PAGE,
    [SEEP_AREA_CUSTOM_POOLS] = sizeof(struct seep_image_custom_pool),
    [SEEP_AREA_PIECES] = sizeof(struct seep_image_piece),
    [SEEP_AREA_REGIONS] = sizeof(struct seep_image_region),
    [SEEP_AREA_MARKS] = 1,
};

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static uint64_t address_limit(void) {
    struct rlimit limit;
    if (sys6(SYS_prlimit64, 0, RLIMIT_AS, 0, (long)&limit, 0, 0) != 0 || limit.rlim_cur >= NO_LIMIT)
        return UINT64_MAX;
    return limit.rlim_cur;
}

// Strict accounting of memory (vm.overcommit_memory=2): a page of a sparse file that cannot be had is a
// SIGBUS for who touches it. There pages are asked for when an area is opened, which can be refused.
static bool overcommit_is_strict(void) {
    char digit = 0;
    int fd = sys_open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool read = sys3(SYS_read, fd, &digit, 1) == 1;
    sys_close(fd);
    return read && digit == '2';
}

// ---- opening --------------------------------------------------------------------------------------

static uint64_t opened_bytes(void) {
    uint64_t sum = SEEP_LARGEST_PAGE;
    for (int i = 0; i < SEEP_AREA_NR; i++)
        sum += seep_g.opened[i];
    return sum;
}

// Longer in place: the last page grows, so it does not matter how the kernel has cut the rest.
static bool grow(unsigned char *at, uint64_t from, uint64_t wanted) {
    uint64_t page = sys_page_bytes();
    if (from < page)
        return false;
    long end = sys6(SYS_mremap, (long)(at + from - page), (long)page, (long)(page + wanted - from), 0, 0, 0);
    return !sys_failed(end);
}

void seep_window_tell_space(void) {
    seep_g.header->space_bytes = seep_g.reserved ? 0 : opened_bytes();
    seep_g.header->space_most_bytes = seep_g.reserved ? 0 : seep_g.budget_bytes;
}

static bool populate(unsigned char *at, uint64_t bytes) {
    return !seep_g.strict_memory || sys3(SYS_madvise, at, bytes, MADV_POPULATE_WRITE) == 0;
}

bool seep_area_open(enum seep_area_kind area, uint64_t bytes) {
    if (bytes <= seep_g.opened[area])
        return true;
    if (seep_confined.frozen)
        return false;
    const struct seep_image_area *at = &seep_g.header->areas[area];
    if (bytes > at->size)
        return false;
    unsigned char *start = seep_g.base + at->off;
    uint64_t from = seep_g.opened[area];
    uint64_t wanted = SEEP_MIN(round_up(bytes, area_steps[area]), at->size);
    if (!seep_g.reserved && opened_bytes() + wanted - from > seep_g.budget_bytes)
        return false;
    bool done = seep_g.reserved ? sys_mprotect(start + from, wanted - from, PROT_READ | PROT_WRITE)
                                : grow(start, from, wanted);
    if (!done || !populate(start + from, wanted - from))
        return false;
    seep_g.opened[area] = wanted;
    seep_window_tell_space();
    return true;
}

// ---- mapping --------------------------------------------------------------------------------------

// Far below where the kernel puts mappings, by more than it may map: what it places never comes here.
static unsigned char *far_away(uint64_t bytes, uint64_t limit_bytes) {
    void *probe =
        sys_mmap(NULL, SEEP_LARGEST_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!probe)
        return NULL;
    sys_munmap(probe, SEEP_LARGEST_PAGE);
    uint64_t distance = bytes + limit_bytes + GIB;
    uint64_t at = (uint64_t)probe;
    return at / 2 > distance ? (unsigned char *)((at - distance) & ~(uint64_t)(SEEP_LARGEST_PAGE - 1)) : NULL;
}

static void unmap_pieces(unsigned char *base, const struct seep_image_area areas[SEEP_AREA_NR],
                         const uint64_t sizes[SEEP_AREA_NR]) {
    sys_munmap(base, SEEP_LARGEST_PAGE);
    for (int i = 0; i < SEEP_AREA_NR; i++)
        sys_munmap(base + areas[i].off, sizes[i]);
}

static bool map_piece(int fd, unsigned char *base, uint64_t off, uint64_t bytes) {
    void *wanted = base + off;
    void *at = sys_mmap(wanted, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, off);
    if (at && at != wanted) { // kernels before 4.17 do not know MAP_FIXED_NOREPLACE
        sys_munmap(at, bytes);
        at = NULL;
    }
    return at && populate(at, bytes);
}

// The header and the first `sizes` bytes of each area, each at its place from `base`.
static bool map_pieces(int fd, unsigned char *base, const struct seep_image_area areas[SEEP_AREA_NR],
                       const uint64_t sizes[SEEP_AREA_NR]) {
    bool done = map_piece(fd, base, 0, SEEP_LARGEST_PAGE);
    for (int i = 0; done && i < SEEP_AREA_NR; i++)
        done = map_piece(fd, base, areas[i].off, sizes[i]);
    if (!done)
        unmap_pieces(base, areas, sizes);
    return done;
}

static bool map_without_reserve(int fd, uint64_t bytes, const struct seep_image_area areas[SEEP_AREA_NR],
                                uint64_t limit_bytes) {
    seep_g.budget_bytes = limit_bytes / 4;
    unsigned char *base = seep_g.budget_bytes >= LEAST_BUDGET ? far_away(bytes, limit_bytes) : NULL;
    uint64_t sizes[SEEP_AREA_NR];
    for (int i = 0; i < SEEP_AREA_NR; i++)
        sizes[i] = SEEP_LARGEST_PAGE;
    if (!base || !map_pieces(fd, base, areas, sizes))
        return false;
    seep_g.base = base;
    for (int i = 0; i < SEEP_AREA_NR; i++)
        seep_g.opened[i] = sizes[i];
    return true;
}

bool seep_window_map(int fd, uint64_t bytes, const struct seep_image_area areas[SEEP_AREA_NR]) {
    uint64_t limit_bytes = address_limit();
    seep_g.strict_memory = overcommit_is_strict();
    seep_g.reserved = limit_bytes == UINT64_MAX;
    if (!seep_g.reserved) {
        if (!map_without_reserve(fd, bytes, areas, limit_bytes))
            return false;
    } else {
        unsigned char *base = sys_mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (!base)
            return false;
        if (!sys_mprotect(base, SEEP_POOL_PAGE, PROT_READ | PROT_WRITE) || !populate(base, SEEP_POOL_PAGE)) {
            sys_munmap(base, bytes);
            return false;
        }
        seep_g.base = base;
        sys3(SYS_madvise, base, bytes, MADV_DONTDUMP);
    }
    seep_g.window_bytes = bytes;
    return true;
}

static void advise_pieces(void) {
    const struct seep_image_area *areas = seep_g.header->areas;
    for (int i = 0; i < SEEP_AREA_NR; i++)
        sys3(SYS_madvise, seep_g.base + areas[i].off, seep_g.opened[i], MADV_DONTDUMP);
}

void seep_window_drop(void) {
    if (seep_g.reserved)
        sys_munmap(seep_g.base, seep_g.window_bytes);
    else
        unmap_pieces(seep_g.base, seep_g.header->areas, seep_g.opened);
    seep_g.base = NULL;
    seep_g.header = NULL;
    __builtin_memset(seep_g.opened, 0, sizeof(seep_g.opened));
}

void seep_window_limit(uint64_t limit_bytes) {
    if (limit_bytes >= NO_LIMIT || !seep_lock_take(&seep_g.image_lock))
        return;
    seep_g.budget_bytes = SEEP_MAX(limit_bytes / 4, opened_bytes() + MIB);
    if (seep_g.reserved) {
        const struct seep_image_area *areas = seep_g.header->areas;
        for (int i = 0; i < SEEP_AREA_NR; i++) {
            // Something to grow from must stay.
            if (!seep_g.opened[i] &&
                sys_mprotect(seep_g.base + areas[i].off, SEEP_LARGEST_PAGE, PROT_READ | PROT_WRITE))
                seep_g.opened[i] = SEEP_LARGEST_PAGE;
            if (areas[i].size > seep_g.opened[i])
                sys_munmap(seep_g.base + areas[i].off + seep_g.opened[i], areas[i].size - seep_g.opened[i]);
        }
        seep_g.reserved = false;
    }
    seep_window_tell_space();
    seep_lock_release(&seep_g.image_lock);
}

// ---- fork -----------------------------------------------------------------------------------------

uint64_t seep_window_visible(enum seep_area_kind area) {
    return seep_g.reserved ? seep_g.header->areas[area].size : seep_g.opened[area];
}

uint64_t seep_window_filled(const unsigned char *image, enum seep_area_kind area) {
    const struct seep_image_area *of = &((const struct seep_image_header *)image)->areas[area];
    uint64_t used = __atomic_load_n(&of->used, __ATOMIC_ACQUIRE);
    uint64_t bytes = element_bytes[area] ? round_up(used * element_bytes[area], SEEP_POOL_PAGE) : of->size;
    return SEEP_MIN(SEEP_MIN(bytes, of->size), seep_window_visible(area));
}

void *seep_window_pool(unsigned char *image, uint64_t page, uint64_t bytes) {
    uint64_t visible = seep_window_visible(SEEP_AREA_POOL) / SEEP_POOL_PAGE;
    if (!page || page + bytes / SEEP_POOL_PAGE > visible)
        return NULL;
    return image + (seep_g.pool - seep_g.base) + page * SEEP_POOL_PAGE;
}

bool seep_window_see_all(void) {
    if (seep_g.reserved)
        return sys_mprotect(seep_g.base, seep_g.window_bytes, PROT_READ | PROT_WRITE);
    for (int i = 0; i < SEEP_AREA_NR; i++) {
        uint64_t used = __atomic_load_n(&seep_g.header->areas[i].used, __ATOMIC_ACQUIRE);
        if (!seep_area_open((enum seep_area_kind)i, used * element_bytes[i]))
            return false;
    }
    return true;
}

unsigned char *seep_window_twin(int fd) {
    uint64_t bytes = seep_g.window_bytes;
    if (seep_g.reserved)
        return sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    unsigned char *base =
        seep_g.base - round_up(bytes + GIB, GIB); // as far from the kernel's mappings, and more
    return map_pieces(fd, base, seep_g.header->areas, seep_g.opened) ? base : NULL;
}

static bool move(unsigned char *from, unsigned char *to, uint64_t bytes) {
    return !sys_failed(
        sys6(SYS_mremap, (long)from, (long)bytes, (long)bytes, REMAP_MAYMOVE | REMAP_FIXED, (long)to, 0));
}

// What of each area is accessible from now on: what the parent had opened, or has filled since.
static void close_unopened(void) {
    for (int i = 0; i < SEEP_AREA_NR; i++) {
        const struct seep_image_area *area = &seep_g.header->areas[i];
        uint64_t filled = round_up(area->used * element_bytes[i], area_steps[i]);
        seep_g.opened[i] = SEEP_MIN(SEEP_MAX(seep_g.opened[i], filled), area->size);
        if (area->size > seep_g.opened[i])
            sys_mprotect(seep_g.base + area->off + seep_g.opened[i], area->size - seep_g.opened[i],
                         PROT_NONE);
    }
}

// The copy has left holes in what is open.
static bool populate_opened(void) {
    bool done = true;
    for (int i = 0; done && i < SEEP_AREA_NR; i++)
        done = populate(seep_g.base + seep_g.header->areas[i].off, seep_g.opened[i]);
    return done;
}

bool seep_window_replace(unsigned char *twin) {
    if (seep_g.reserved) {
        if (!move(twin, seep_g.base, seep_g.window_bytes)) {
            seep_window_drop_twin(twin);
            return false;
        }
        close_unopened();
        sys3(SYS_madvise, seep_g.base, seep_g.window_bytes, MADV_DONTDUMP);
        return populate_opened();
    }
    // The header goes last: until then what is in place is the parent's, and nothing writes.
    const struct seep_image_area *areas = ((struct seep_image_header *)twin)->areas;
    bool done = true;
    for (int i = 0; done && i < SEEP_AREA_NR; i++)
        done = move(twin + areas[i].off, seep_g.base + areas[i].off, seep_g.opened[i]);
    done = done && move(twin, seep_g.base, SEEP_LARGEST_PAGE);
    if (done)
        advise_pieces();
    else
        seep_window_drop_twin(twin);
    return done;
}

void seep_window_drop_twin(unsigned char *twin) {
    if (seep_g.reserved)
        sys_munmap(twin, seep_g.window_bytes);
    else
        unmap_pieces(twin, seep_g.header->areas, seep_g.opened);
}
