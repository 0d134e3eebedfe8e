// SPDX-License-Identifier: BSD-2-Clause
// Address space of the image, see image_window.h.
#include <errno.h>
#include <sys/resource.h>

#include "preload/areas.h"
#include "preload/image_window.h"
#include "preload/proc_path.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

#define APART (16 * MIB) // on CPUs of 32 bits, from other things

enum { REMAP_MAYMOVE = 1, REMAP_FIXED = 2 };

// A limit as large as this is none: the whole window fits below it.
#if SEEP_ARCH_WORD == 8
#define NO_LIMIT (4096 * GIB)
#else
#define NO_LIMIT (4 * GIB)
#endif
// The least useful budget: the directory, two leaves of the heap map, and the arrays. run_session.c reports a
// program with a lower limit.
#define LEAST_BUDGET (64 * MIB)

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static uint64_t address_limit(void) {
    struct rlimit64 limit;
    if (!sys_limit(RLIMIT_AS, NULL, &limit) || limit.rlim_cur >= NO_LIMIT)
        return UINT64_MAX;
    return limit.rlim_cur;
}

// Strict accounting of memory (vm.overcommit_memory=2): a touch of a page of a sparse file raises SIGBUS if
// the kernel cannot allocate the page. There pages are requested when an area is opened, and the request can
// fail.
static bool overcommit_is_strict(void) {
    char digit = 0;
    int fd = sys_open("/proc/sys/vm/overcommit_memory", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool read = sys3(SYS_read, fd, &digit, 1) == 1;
    sys_close(fd);
    return read && digit == '2';
}

// ---- what a child of fork may see ------------------------------------------------------------------

// No child has a writable mapping of its parent's image: the window is not inherited (MADV_DONTFORK). The
// child inherits a seed: the first page of the header, from a read-only file description, so that no process
// can make it writable. From that page the kernel makes a mapping of any length, without a descriptor, beside
// the former place of the window. There the child reads its parent's image, until it has its own. If address
// space is limited, there is no room for the whole image at once, so each area has a seed of its own. A
// forked child whose address space is not limited makes only one seed, because most such children fork no
// others. Each mapping costs some microseconds, also in the tool's look at the child.
static unsigned char *seeds[SEEP_WINDOW_SEEDS]; // the last is the header's
static bool is_view;                            // seep_g.base is such a view
static bool is_whole;                           // the view is one mapping
static unsigned char *place;                    // where the child's own image will be
static bool is_left_out[SEEP_AREA_PAGED_NR];    // areas that the view lacks, because they were empty

enum { OF_HEADER = SEEP_AREA_PAGED_NR };

// The file behind a descriptor, once more, to be read only. Negative: /proc is not there, say.
static int open_read_only(int fd) {
    struct seep_proc_path path = seep_proc_path("/proc/self/fd/", (uint32_t)fd, "");
    return sys_open(path.text, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0); // it may be another's by now
}

// The first `nr` seeds. Linux mostly puts a mapping right below the mapping before, so one call unmaps
// several.
static void drop_seeds(int nr) {
    for (int i = 0; i < nr; i++) {
        unsigned char *start = seeds[i];
        size_t bytes = SEEP_LARGEST_PAGE;
        seeds[i] = NULL;
        while (start && i + 1 < nr && seeds[i + 1] == start - SEEP_LARGEST_PAGE) {
            start = seeds[++i];
            bytes += SEEP_LARGEST_PAGE;
            seeds[i] = NULL;
        }
        if (start)
            sys_munmap(start, bytes);
    }
}

// Without them children of fork are not traced, and counted.
SEEP_COLD void seep_window_make_seeds(int fd, const struct seep_image_area areas[SEEP_AREA_PAGED_NR],
                                      bool one, const struct seep_file_id *file) {
    int only_read = seep_g.config.ignore_children ? -1 : open_read_only(fd);
    bool done = only_read >= 0;
    if (one)
        drop_seeds(OF_HEADER);
    for (int i = one ? OF_HEADER : 0; done && i <= OF_HEADER; i++) {
        // Those of the parent's image are mapped over.
        int flags = MAP_SHARED | MAP_NORESERVE | (seeds[i] ? MAP_FIXED : 0);
        void *seed = sys_mmap(seeds[i], SEEP_LARGEST_PAGE, PROT_READ, flags, only_read,
                              i == OF_HEADER ? 0 : areas[i].off);
        done = seed != NULL;
        seeds[i] = done ? seed : seeds[i];
    }
    // What the descriptor is still of, it was of when it was mapped.
    bool ours = !file || seep_file_is(only_read, file);
    if (only_read >= 0 && ours)
        sys_close(only_read);
    if (!done || !ours)
        drop_seeds(SEEP_WINDOW_SEEDS);
}

// A program that has locked all its memory by a call that we do not see has locked the seed. Then the kernel
// would fill every page of a mapping that is made from the seed.
static SEEP_NOINLINE void unlock_seed(void) {
    sys3(SYS_munlock, seeds[OF_HEADER], SEEP_LARGEST_PAGE, 0);
}

// For a moment the part of the file before an area is mapped, too. A child that another thread forks
// meanwhile is not limited yet, and needs only the one seed. If two threads do this at once, the seeds of one
// of them stay mapped unused. On CPUs of 32 bits all seeds are there from the start.
SEEP_COLD void seep_window_spread_seeds(void) {
    if (SEEP_ARCH_WORD != 8 || !seeds[OF_HEADER] || seeds[0])
        return;
    unlock_seed();
    for (int i = SEEP_AREA_PAGED_NR; i-- > 0;) {
        uint64_t off = seep_g.area_off[i];
        long at =
            sys6(SYS_mremap, (long)seeds[OF_HEADER], 0, (long)(off + SEEP_LARGEST_PAGE), REMAP_MAYMOVE, 0, 0);
        if (sys_failed(at))
            break;
        sys3(SYS_munmap, at, off, 0);
        seeds[i] = (unsigned char *)at + off;
    }
}

uint64_t seep_window_seed(int number) {
    return (uintptr_t)seeds[number];
}

// Not for children. Between the areas nothing need be mapped.
static bool keep_from_children(unsigned char *base, uint64_t bytes) {
    long result = sys3(SYS_madvise, base, bytes, MADV_DONTFORK);
    return result == 0 || result == -12 /* ENOMEM */ || seep_g.emulated;
}

// ---- opening --------------------------------------------------------------------------------------

static uint64_t opened_bytes(void) {
    uint64_t sum = SEEP_LARGEST_PAGE;
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++)
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

bool seep_window_has_room(void) {
    return SEEP_ARCH_WORD == 8 && !seep_window_is_limited();
}

bool seep_window_is_limited(void) {
    return seep_g.budget_bytes != UINT64_MAX;
}

void seep_window_tell_space(void) {
    if (is_view)
        return;
    bool limited = seep_window_is_limited();
    seep_g.header->space_bytes = limited ? opened_bytes() : 0;
    seep_g.header->space_most_bytes = limited ? seep_g.budget_bytes : 0;
}

static bool populate(unsigned char *at, uint64_t bytes) {
    return !seep_g.strict_memory || is_view || sys3(SYS_madvise, at, bytes, MADV_POPULATE_WRITE) == 0;
}

bool seep_area_open(enum seep_area_kind area, uint64_t bytes) {
    if (bytes <= seep_g.opened[area])
        return true;
    if (bytes > seep_g.area_size[area])
        return false;
    unsigned char *start = seep_g.base + seep_g.area_off[area];
    uint64_t from = seep_g.opened[area];
    uint64_t wanted = SEEP_MIN(round_up(bytes, seep_areas[area].step_bytes), seep_g.area_size[area]);
    if (seep_window_is_limited() && opened_bytes() + wanted - from > seep_g.budget_bytes)
        return false;
    // The last to be asked, for the answer takes system calls: under a limit this is refused again and again.
    if (seep_confined.filtered || (seep_self()->slot && !seep_calls_are_free()))
        return false;
    // Before it is mapped: another thread may find it in /proc/self/maps, and unmap it (give_up.c).
    __atomic_store_n(&seep_g.opening, (uintptr_t)wanted | (area + 1), __ATOMIC_SEQ_CST);
    bool done = seep_g.reserved ? sys_mprotect(start + from, wanted - from, PROT_READ | PROT_WRITE)
                                : grow(start, from, wanted);
    done = done && populate(start + from, wanted - from);
    // Without the lock it is read by seep_area_lock_and_open().
    if (done)
        __atomic_store_n(&seep_g.opened[area], wanted, __ATOMIC_RELEASE);
    __atomic_store_n(&seep_g.opening, 0, __ATOMIC_RELEASE);
    if (done)
        seep_window_tell_space();
    return done;
}

bool seep_area_lock_and_open(enum seep_area_kind area, uint64_t bytes) {
    if (bytes <= __atomic_load_n(&seep_g.opened[area], __ATOMIC_ACQUIRE))
        return true;
    if (!seep_lock_take(&seep_g.image_lock))
        return false;
    bool opened = seep_area_open(area, bytes);
    seep_lock_release(&seep_g.image_lock);
    return opened;
}

// All of the window, which from now on is reserved. What the kernel says of the program's size is then no
// longer its own; who installs a filter has asked before.
static bool open_window(void) {
    if (seep_g.reserved)
        return sys_mprotect(seep_g.base, seep_g.window_bytes, PROT_READ | PROT_WRITE);
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++)
        if (!seep_area_open((enum seep_area_kind)i, seep_g.area_size[i]))
            return false;
    return true;
}

// All that may ever be needed: address space is there, and memory comes when it is touched. Where that is not
// so, some more of each.
SEEP_COLD void seep_window_open_all(void) {
    enum { STEPS = 4 };
    if (!seep_lock_take(&seep_g.image_lock))
        return;
    bool all = !seep_window_is_limited() && !seep_g.strict_memory && open_window();
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        uint64_t size = seep_g.area_size[i];
        uint64_t wanted = SEEP_MIN(seep_g.opened[i] + STEPS * seep_areas[i].step_bytes, size);
        if (all)
            __atomic_store_n(&seep_g.opened[i], size, __ATOMIC_RELEASE);
        else if (!seep_area_open((enum seep_area_kind)i, wanted))
            continue; // lost by reason when it is needed
    }
    seep_g.reserved |= all;
    seep_lock_release(&seep_g.image_lock);
}

// ---- mapping --------------------------------------------------------------------------------------

// Where the kernel puts a mapping of that size. NULL: there is no room for it.
static SEEP_NOINLINE unsigned char *place_of_next(uint64_t bytes) {
    void *probe = sys_mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe)
        sys_munmap(probe, bytes);
    return probe;
}

#if SEEP_ARCH_WORD == 8
// Far below where the kernel puts mappings, by more than it may map: what it places never comes here.
static unsigned char *far_away(uint64_t bytes, uint64_t limit_bytes) {
    uint64_t distance = bytes + limit_bytes + GIB;
    uint64_t at = (uintptr_t)place_of_next(SEEP_LARGEST_PAGE);
    return at / 2 > distance ? (unsigned char *)((at - distance) & ~(uint64_t)(SEEP_LARGEST_PAGE - 1)) : NULL;
}
#else
// 32 bits have no such place. The best is below a program that was loaded high: the kernel maps there last,
// and the window limits neither mappings nor the break. Else it is between the break and the mappings: later
// mappings between the areas may keep these from growing.
static unsigned char *far_away(uint64_t bytes, uint64_t limit_bytes) {
    (void)limit_bytes;
    uint64_t at = (uintptr_t)place_of_next(SEEP_LARGEST_PAGE), program = getauxval(AT_PHDR);
    if (!at)
        return NULL;
    uint64_t base = program > 2 * bytes + 4 * APART ? program - bytes - APART : at - bytes - at / 4;
    return program > 2 * bytes + 4 * APART || bytes + at / 4 < at - at / 5
               ? (unsigned char *)(base & ~(uint64_t)(SEEP_LARGEST_PAGE - 1))
               : NULL;
}
#endif

static void unmap_pieces(unsigned char *base, const struct seep_image_area areas[SEEP_AREA_PAGED_NR],
                         const uint64_t sizes[SEEP_AREA_PAGED_NR]) {
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++)
        sys_munmap(base + areas[i].off, sizes[i]);
    sys_munmap(base, SEEP_LARGEST_PAGE); // the last: it may be where `areas` are
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
static bool map_pieces(int fd, unsigned char *base, const struct seep_image_area areas[SEEP_AREA_PAGED_NR],
                       const uint64_t sizes[SEEP_AREA_PAGED_NR]) {
    bool done = map_piece(fd, base, 0, SEEP_LARGEST_PAGE);
    for (int i = 0; done && i < SEEP_AREA_PAGED_NR; i++)
        done = map_piece(fd, base, areas[i].off, sizes[i]);
    if (!done)
        unmap_pieces(base, areas, sizes);
    return done;
}

// Where the kernel puts nothing by itself, so that areas have room to grow and a child finds the place free.
#define DISTANCE (UINT64_C(8) << 40)

static bool map_without_reserve(int fd, uint64_t bytes,
                                const struct seep_image_area areas[SEEP_AREA_PAGED_NR],
                                uint64_t limit_bytes) {
    bool limited = limit_bytes != UINT64_MAX;
    seep_g.budget_bytes = limited ? limit_bytes / 4 : UINT64_MAX;
    unsigned char *base =
        seep_g.budget_bytes >= LEAST_BUDGET ? far_away(bytes, limited ? limit_bytes : DISTANCE) : NULL;
    uint64_t sizes[SEEP_AREA_PAGED_NR];
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++)
        sizes[i] = SEEP_LARGEST_PAGE;
    if (!base || !map_pieces(fd, base, areas, sizes))
        return false;
    seep_g.base = base;
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++)
        seep_g.opened[i] = sizes[i];
    return true;
}

// Where there is no such place, and for emulators, which heed no advice.
static bool map_reserved(int fd, uint64_t bytes) {
    unsigned char *base = sys_mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (!base)
        return false;
    if (!sys_mprotect(base, SEEP_IMAGE_PAGE, PROT_READ | PROT_WRITE) || !populate(base, SEEP_IMAGE_PAGE)) {
        sys_munmap(base, bytes);
        return false;
    }
    seep_g.base = base;
    seep_g.budget_bytes = UINT64_MAX;
    return true;
}

SEEP_COLD bool seep_window_map(int fd, uint64_t bytes,
                               const struct seep_image_area areas[SEEP_AREA_PAGED_NR]) {
    uint64_t limit_bytes = address_limit();
    seep_g.strict_memory = overcommit_is_strict();
    seep_g.reserved = false;
    if (seep_g.emulated || !map_without_reserve(fd, bytes, areas, limit_bytes)) {
        if (limit_bytes != UINT64_MAX || !map_reserved(fd, bytes))
            return false;
        seep_g.reserved = true;
    }
    sys3(SYS_madvise, seep_g.base, bytes, MADV_DONTDUMP); // between the areas nothing need be mapped
    seep_g.window_bytes = bytes;
    if (!keep_from_children(seep_g.base, bytes)) {
        if (seep_g.reserved)
            sys_munmap(seep_g.base, bytes);
        else
            unmap_pieces(seep_g.base, areas, seep_g.opened);
        __builtin_memset(seep_g.opened, 0, sizeof(seep_g.opened));
        return false;
    }
    seep_window_make_seeds(fd, areas, false, NULL);
    return true;
}

void seep_window_drop(void) {
    if (seep_g.reserved)
        sys_munmap(seep_g.base, seep_g.window_bytes);
    else
        unmap_pieces(seep_g.base, seep_g.header->areas, seep_g.opened);
    drop_seeds(SEEP_WINDOW_SEEDS);
    seep_g.base = NULL;
    seep_g.header = NULL;
    __builtin_memset(seep_g.opened, 0, sizeof(seep_g.opened));
}

static uint64_t budget_below(uint64_t limit_bytes) {
    return limit_bytes >= NO_LIMIT ? UINT64_MAX : SEEP_MAX(limit_bytes / 4, opened_bytes() + MIB);
}

SEEP_COLD void seep_window_limit(uint64_t limit_bytes) {
    // A limit above all that is reserved counts that in: the program has taken it from its own size, as the
    // kernel tells it. Were the reservation unmapped, that would be room for the program.
    if (limit_bytes >= NO_LIMIT || (seep_g.reserved && limit_bytes > seep_g.window_bytes) ||
        !seep_lock_take(&seep_g.image_lock))
        return;
    seep_g.budget_bytes = budget_below(limit_bytes);
    if (seep_g.reserved) {
        for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
            // What was opened for a filter that was to come is mostly not needed.
            uint64_t needed = round_up(seep_window_filled(seep_g.base, (enum seep_area_kind)i) + 1,
                                       seep_areas[i].step_bytes);
            seep_g.opened[i] = SEEP_MIN(seep_g.opened[i], needed);
            // Something to grow from must stay.
            if (!seep_g.opened[i] &&
                sys_mprotect(seep_g.base + seep_g.area_off[i], SEEP_LARGEST_PAGE, PROT_READ | PROT_WRITE))
                seep_g.opened[i] = SEEP_LARGEST_PAGE;
            // Also under a filter: the program could not allocate any more, and its own allocator makes this
            // call.
            if (seep_g.area_size[i] > seep_g.opened[i])
                sys6_real(SYS_munmap, (long)(seep_g.base + seep_g.area_off[i] + seep_g.opened[i]),
                          (long)(seep_g.area_size[i] - seep_g.opened[i]), 0, 0, 0, 0);
        }
        seep_g.reserved = false;
    }
    seep_window_tell_space();
    seep_lock_release(&seep_g.image_lock);
}

// ---- fork -----------------------------------------------------------------------------------------

uint64_t seep_window_visible(enum seep_area_kind area) {
    if (is_view && is_left_out[area])
        return 0;
    return seep_g.reserved ? seep_g.area_size[area] : __atomic_load_n(&seep_g.opened[area], __ATOMIC_ACQUIRE);
}

uint64_t seep_window_filled(const unsigned char *image, enum seep_area_kind area) {
    const struct seep_image_area *of = &((const struct seep_image_header *)image)->areas[area];
    uint64_t used = __atomic_load_n(&of->used, __ATOMIC_ACQUIRE);
    uint64_t size = seep_g.area_size[area];
    // More than fits is written nowhere: such a number counts for nothing.
    bool counted = seep_areas[area].is_filled && used <= size / seep_areas[area].element_bytes;
    uint64_t bytes = counted ? round_up(seep_area_filled_bytes(area, used), SEEP_IMAGE_PAGE) : size;
    return SEEP_MIN(SEEP_MIN(bytes, size), seep_window_visible(area));
}

void *seep_window_pages(unsigned char *image, uint64_t page, uint64_t bytes) {
    uint64_t visible = seep_window_visible(SEEP_AREA_PAGES) / SEEP_IMAGE_PAGE;
    if (!page || page > visible || bytes / SEEP_IMAGE_PAGE > visible - page)
        return NULL;
    return image + (seep_g.pages - seep_g.base) + page * SEEP_IMAGE_PAGE;
}

static bool move(unsigned char *from, unsigned char *to, uint64_t bytes) {
    return !sys_failed(
        sys6(SYS_mremap, (long)from, (long)bytes, (long)bytes, REMAP_MAYMOVE | REMAP_FIXED, (long)to, 0));
}

// The first bytes of what a seed is of. Nothing of the program's lies there by now, or it is not done.
static bool sow(unsigned char *seed, unsigned char *at, uint64_t bytes) {
    void *room = seed ? sys_mmap(at, bytes, PROT_NONE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0)
                      : NULL;
    if (room && room != at)
        sys_munmap(room, bytes);
    if (room != at || !room)
        return false;
    if (!sys_failed(sys6(SYS_mremap, (long)seed, 0, (long)bytes, REMAP_MAYMOVE | REMAP_FIXED, (long)at, 0)))
        return true;
    sys_munmap(at, bytes);
    return false;
}

static void unmap_view(unsigned char *view) {
    if (is_whole) {
        sys_munmap(view, seep_g.window_bytes);
        return;
    }
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++)
        if (!is_left_out[i])
            sys_munmap(view + seep_g.area_off[i], seep_g.opened[i]);
    sys_munmap(view, SEEP_LARGEST_PAGE);
}

// Emulators ignore the advice, so the parent's image is mapped at the place, and is moved to the view.
static bool see_piece(unsigned char *view, int number, uint64_t off, uint64_t bytes) {
    return seep_g.emulated
               ? move(place + off, view + off, bytes) && sys_mprotect(view + off, bytes, PROT_READ)
               : sow(seeds[number], view + off, bytes);
}

static bool see_whole(unsigned char *view) {
    unlock_seed();
    return see_piece(view, OF_HEADER, 0, seep_g.window_bytes);
}

// In pieces the view leaves out empty areas, and so also elements that the parent adds to them meanwhile.
static bool see_pieces(unsigned char *view) {
    is_whole = seep_g.reserved || seep_window_has_room();
    __builtin_memset(is_left_out, !is_whole, sizeof(is_left_out));
    if (is_whole)
        return see_whole(view);
    if (!see_piece(view, OF_HEADER, 0, SEEP_LARGEST_PAGE))
        return false;
    const struct seep_image_header *header = (const struct seep_image_header *)view;
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        if (i != SEEP_AREA_DIR && !__atomic_load_n(&header->areas[i].used, __ATOMIC_ACQUIRE))
            continue;
        if (!see_piece(view, i, seep_g.area_off[i], seep_g.opened[i])) {
            unmap_view(view);
            return false;
        }
        is_left_out[i] = false;
    }
    return true;
}

// Maps the filled part of an area, including what the parent has filled since the fork.
static bool see_filled(enum seep_area_kind area) {
    uint64_t filled =
        seep_area_filled_bytes(area, __atomic_load_n(&seep_g.header->areas[area].used, __ATOMIC_ACQUIRE));
    if (is_left_out[area] || filled <= seep_g.opened[area])
        return true;
    if (!is_whole)
        return seep_area_open(area, filled);
    if (filled > seep_g.area_size[area])
        return false;
    seep_g.opened[area] = SEEP_MIN(round_up(filled, seep_areas[area].step_bytes), seep_g.area_size[area]);
    return true;
}

// An address for the view of the whole image: below our place, as far from it as our place is from the
// kernel's mappings, and more. A reserved window is among these mappings, so the kernel chooses the address.
static unsigned char *room_for_view(void) {
    uint64_t bytes = seep_g.window_bytes;
    uint64_t distance = SEEP_ARCH_WORD == 8 ? round_up(bytes + GIB, GIB) : round_up(bytes, APART);
    if (!seep_g.reserved)
        return (uintptr_t)place <= distance ? NULL : place - distance;
    return place_of_next(bytes);
}

bool seep_window_leaves_room(uint64_t more_bytes) {
    enum { OF_PROGRAM = 8 << 20 }; // as large as its stack may become
    return place_of_next(more_bytes + OF_PROGRAM) != NULL;
}

SEEP_COLD bool seep_window_see_all(void) {
    // Under a limit, which the child may have set for itself, it takes over all that its parent has by now,
    // as far as the kernel allows. Its budget begins when that is known.
    seep_g.budget_bytes = address_limit() >= NO_LIMIT ? UINT64_MAX : UINT64_MAX - 1;
    if (SEEP_ARCH_WORD == 8 && seep_window_is_limited() && !seep_window_leaves_room(opened_bytes()))
        return false;
    seep_g.opening = 0; // by a thread of the parent
    place = seep_g.base;
    unsigned char *view = room_for_view();
    is_view = view && see_pieces(view);
    if (!is_view)
        return false;
    seep_g.base = view;
    seep_g.header = (struct seep_image_header *)view;
    bool done = true;
    for (int i = 0; done && !seep_g.reserved && i < SEEP_AREA_PAGED_NR; i++)
        done = see_filled((enum seep_area_kind)i);
    return done;
}

unsigned char *seep_window_twin(int fd) {
    uint64_t bytes = seep_g.window_bytes;
    bool done = seep_g.reserved ? map_piece(fd, place, 0, bytes)
                                : map_pieces(fd, place, seep_g.header->areas, seep_g.opened);
    if (done && keep_from_children(place, bytes)) {
        sys3(SYS_madvise, place, bytes, MADV_DONTDUMP);
        return place;
    }
    if (done)
        seep_window_drop_twin(place);
    return NULL;
}

// What of each area is accessible from now on: what the parent had opened, or has filled since.
static void close_unopened(void) {
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        uint64_t filled =
            round_up(seep_area_filled_bytes(i, seep_g.header->areas[i].used), seep_areas[i].step_bytes);
        uint64_t size = seep_g.area_size[i];
        seep_g.opened[i] = SEEP_MIN(SEEP_MAX(seep_g.opened[i], filled), size);
        if (size > seep_g.opened[i])
            sys_mprotect(seep_g.base + seep_g.area_off[i] + seep_g.opened[i], size - seep_g.opened[i],
                         PROT_NONE);
    }
}

// The copy has left holes in what is open.
static bool populate_opened(void) {
    bool done = true;
    for (int i = 0; done && i < SEEP_AREA_PAGED_NR; i++)
        done = populate(seep_g.base + seep_g.area_off[i], seep_g.opened[i]);
    return done;
}

// The parent went on while it was copied: what its tables lead to by now may lie beyond what was seen of it,
// and what is open. That is zero here, and has to be there.
static bool open_used(void) {
    bool done = true;
    for (int i = 0; done && i < SEEP_AREA_PAGED_NR; i++)
        done =
            seep_area_open((enum seep_area_kind)i, seep_area_filled_bytes(i, seep_g.header->areas[i].used));
    return done;
}

static void leave_view(void) {
    unmap_view(seep_g.base);
    is_view = false;
    seep_g.base = place;
}

bool seep_window_replace(unsigned char *twin) {
    leave_view();
    seep_g.header = (struct seep_image_header *)twin;
    bool done;
    if (seep_g.reserved) {
        close_unopened();
        done = populate_opened();
    } else {
        done = open_used();
    }
    if (seep_window_is_limited()) {
        seep_g.budget_bytes = budget_below(address_limit());
        seep_window_tell_space();
    }
    return done;
}

// This process will have no image: nothing of its parent's stays.
void seep_window_leave_parents(void) {
    drop_seeds(SEEP_WINDOW_SEEDS);
    seep_g.header = NULL;
    if (is_view)
        leave_view();
}

void seep_window_drop_twin(unsigned char *twin) {
    if (seep_g.reserved)
        sys_munmap(twin, seep_g.window_bytes);
    else
        unmap_pieces(twin, seep_g.header->areas, seep_g.opened);
}
