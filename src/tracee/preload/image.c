// SPDX-License-Identifier: BSD-2-Clause
//
// Makes the memory file and what every image begins with; in a fork child, as a copy of the parent's.
// How the file is reached is image_window.c's business.
#include <sys/resource.h>

#include "core/platform.h"
#include "image/ring.h"
#include "preload/areas.h"
#include "preload/at_peak.h"
#include "preload/control.h"
#include "preload/heap_map.h"
#include "preload/fork_inherit.h"
#include "preload/image_swap.h"
#include "preload/fork_undo.h"
#include "preload/image_window.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

// Least address space for the pages that still makes sense.
#define PAGES_BYTES_LEAST (16 * MIB)

#if SEEP_ARCH_WORD == 8
#define PAGES_BYTES_EMULATED (4 * GIB)
#else
#define PAGES_BYTES_EMULATED (512 * MIB)
#endif

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static uint64_t layout(struct seep_image_area areas[SEEP_AREA_PAGED_NR], uint64_t pages_bytes) {
    uint64_t off = SEEP_LARGEST_PAGE;
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        areas[i].off = off;
        // Where address space is short (RLIMIT_AS) the arrays that grow with the program shrink too.
        uint64_t most = seep_areas[i].most_bytes;
        uint64_t bytes = i == SEEP_AREA_PAGES    ? pages_bytes
                         : seep_areas[i].shrinks ? seep_fault_area(SEEP_MIN(most, pages_bytes / 4))
                                                 : most;
        areas[i].size = round_up(bytes, SEEP_LARGEST_PAGE);
        off += areas[i].size;
    }
    return round_up(off, SEEP_LARGEST_PAGE);
}

// A new memory file has no link and no bytes; another process may have put another file in its place.
static bool identify_new(int fd, struct seep_file_id *ret_file) {
    struct stat64 about;
    bool is_new = sys_stat_at(fd, "", &about, AT_EMPTY_PATH) && !about.st_nlink && !about.st_size;
    *ret_file = (struct seep_file_id){about.st_dev, about.st_ino};
    return is_new;
}

// A sparse memory file of `bytes`, or -1. A low RLIMIT_FSIZE would make ftruncate raise SIGXFSZ, so
// the soft limit is lifted for that one call where the hard limit allows it. `ret_file` not NULL: another
// process may have this one's table of descriptors, and put another file in place of it.
static int memory_file(uint64_t bytes, struct seep_file_id *ret_file) {
    long fd = sys3(SYS_memfd_create, "seep-image", 1 /* MFD_CLOEXEC */, 0);
    if (sys_failed(fd) || (ret_file && !identify_new((int)fd, ret_file)))
        return -1;
    struct rlimit64 before;
    bool limited = sys_limit(RLIMIT_FSIZE, NULL, &before) && before.rlim_cur < bytes;
    bool possible = true;
    if (limited) {
        struct rlimit64 lifted = {before.rlim_max, before.rlim_max};
        possible = before.rlim_max >= bytes && sys_limit(RLIMIT_FSIZE, &lifted, NULL);
    }
    possible =
        possible && (!ret_file || seep_file_is((int)fd, ret_file)) && sys3(SYS_ftruncate, fd, bytes, 0) == 0;
    if (limited)
        sys_limit(RLIMIT_FSIZE, &before, NULL);
    if (!possible) {
        if (!ret_file || seep_file_is((int)fd, ret_file))
            sys_close((int)fd);
        return -1;
    }
    return (int)fd;
}

uint32_t seep_pages_take(uint64_t bytes) {
    if (!seep_lock_take(&seep_g.image_lock))
        return 0;
    struct seep_image_area *pages = &seep_g.header->areas[SEEP_AREA_PAGES];
    uint64_t nr_pages = round_up(bytes, SEEP_IMAGE_PAGE) / SEEP_IMAGE_PAGE;
    uint64_t first = pages->used ? pages->used : 1; // page 0 stays unused: 0 means none
    uint32_t page = 0;
    if (seep_area_open(SEEP_AREA_PAGES, (first + nr_pages) * SEEP_IMAGE_PAGE)) {
        __atomic_store_n(&pages->used, first + nr_pages, __ATOMIC_RELEASE);
        page = (uint32_t)first;
    }
    seep_lock_release(&seep_g.image_lock);
    return page;
}

uint64_t seep_string(const char *text, size_t length) {
    if (!seep_lock_take(&seep_g.image_lock))
        return 0;
    struct seep_image_area *strings = &seep_g.header->areas[SEEP_AREA_STRINGS];
    uint64_t off = strings->used;
    if (length < 4096 * 4 && seep_area_open(SEEP_AREA_STRINGS, off + length + 1)) {
        __builtin_memcpy(seep_g.base + seep_g.area_off[SEEP_AREA_STRINGS] + off, text, length);
        __atomic_store_n(&strings->used, off + length + 1, __ATOMIC_RELEASE);
    } else {
        off = 0;
    }
    seep_lock_release(&seep_g.image_lock);
    return off;
}

void *seep_own_memory(size_t bytes) {
    void *memory = sys_private(bytes);
    if (seep_g.header)
        seep_own_note(memory, bytes);
    return memory;
}

void seep_own_note(const void *memory, size_t bytes) {
    for (uint32_t i = 0; memory && i < SEEP_IMAGE_OWN_RANGES; i++) {
        uint64_t none = 0;
        if (!__atomic_compare_exchange_n(&seep_g.header->own[i].start, &none, (uintptr_t)memory, false,
                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        seep_g.header->own[i].bytes = bytes;
        break;
    }
}

static void set_pointers(void) {
    unsigned char *base = seep_g.base;
    const uint64_t *off = seep_g.area_off;
    seep_g.pages = base + off[SEEP_AREA_PAGES];
    seep_g.dir = (uint32_t *)(base + off[SEEP_AREA_DIR]);
    seep_g.nodes = (struct seep_image_node *)(base + off[SEEP_AREA_NODES]);
    seep_g.sites = (struct seep_image_site *)(base + off[SEEP_AREA_SITES]);
    seep_g.threads = (struct seep_image_thread *)(base + off[SEEP_AREA_THREADS]);
    seep_g.odd = (struct seep_image_odd *)(base + off[SEEP_AREA_ODD]);
}

static bool open_whole(enum seep_area_kind area) {
    return seep_area_open(area, seep_areas[area].most_bytes);
}

static bool open_at_start(void) {
    return seep_area_open(SEEP_AREA_STRINGS, 1) && seep_area_open(SEEP_AREA_MODULES, 1) &&
           seep_area_open(SEEP_AREA_NODES, 1) && seep_area_open(SEEP_AREA_SITES, 1) &&
           seep_area_open(SEEP_AREA_THREADS, 1) && open_whole(SEEP_AREA_DIR) && open_whole(SEEP_AREA_ODD) &&
           seep_area_open(SEEP_AREA_PAGES, 1) && seep_area_open(SEEP_AREA_MAP_SITES, 1);
}

// Where the tool writes; where there is no room for it, it says so.
static void open_for_tool(void) {
    bool opened = !seep_g.strict_memory && open_whole(SEEP_AREA_TOOL_MARKS);
    (void)opened;
}

// Where everything lies. Of a child as in its parent's image, whatever that may say by now.
static void fill_areas(struct seep_image_header *header) {
    header->areas_off = offsetof(struct seep_image_header, areas);
    header->nr_areas = SEEP_AREA_NR;
    header->area_bytes = sizeof(header->areas[0]);
    for (uint32_t i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        header->areas[i].off = seep_g.area_off[i];
        header->areas[i].size = seep_g.area_size[i];
        header->areas[i].kind = i;
        header->areas[i].element_bytes = seep_areas[i].element_bytes;
    }
    header->areas[SEEP_AREA_LOSSES] =
        (struct seep_image_area){.off = offsetof(struct seep_image_header, lost),
                                 .size = sizeof(header->lost),
                                 .used = SEEP_LOST_NR,
                                 .kind = SEEP_AREA_LOSSES,
                                 .element_bytes = sizeof(header->lost[0])};
}

static void fill_header(struct seep_image_header *header, uint64_t file_size) {
    header->version = SEEP_IMAGE_VERSION;
    header->header_size = offsetof(struct seep_image_header, areas);
    struct seep_platform here = seep_platform_here();
    header->byte_order = here.big_endian ? 2 : 1;
    header->word_bytes = here.word_bytes;
    header->elf_machine = here.machine;
    header->file_size = file_size;
    header->leaf_shift = SEEP_LEAF_SHIFT;
    header->dir_bits = SEEP_ADDRESS_BITS - SEEP_LEAF_SHIFT;
    header->granule_shift = seep_g.granule_shift;
    header->depth_limit = seep_g.depth;
    header->sample_bytes = seep_g.sample_bytes;
    header->flags = (seep_g.config.age ? SEEP_FLAG_AGES : 0) |
                    (seep_g.config.free_stacks ? SEEP_FLAG_FREE_STACKS : 0) | SEEP_MAP_FLAG;
    header->peak_slack_bytes = 64 << 10;
}

// A forked process began at its fork, where that is known, and not when it first allocated. Its child of
// vfork may come first.
static void fill_identity(struct seep_image_header *header) {
    uint32_t before = seep_confined.pid, parent = (uint32_t)sys3(SYS_getppid, 0, 0, 0);
    seep_confined.pid = seep_fork_was_told() ? parent : 0;
    seep_thread_identify(&header->pid);
    seep_confined.pid = header->pid;
    header->ppid = header->pid == parent ? before : parent;
    header->start_realtime_ns = seep_clock_ns(CLOCK_REALTIME);
    header->start_ns = seep_clock_ns(CLOCK_MONOTONIC);
    if (seep_fork_ns() < header->start_ns) {
        header->start_realtime_ns -= header->start_ns - seep_fork_ns();
        header->start_ns = seep_fork_ns();
    }
}

// The image in the file that is mapped: valid and empty. false: not even what every image has fits.
static bool begin(int fd, uint64_t bytes, const struct seep_image_area areas[SEEP_AREA_PAGED_NR]) {
    seep_g.fd = fd;
    seep_g.header = (struct seep_image_header *)seep_g.base;
    for (int i = 0; i < SEEP_AREA_PAGED_NR; i++) {
        seep_g.area_off[i] = areas[i].off;
        seep_g.area_size[i] = areas[i].size;
    }
    fill_areas(seep_g.header);
    fill_header(seep_g.header, bytes);
    fill_identity(seep_g.header);
    set_pointers();
    if (!open_at_start())
        return false;
    open_for_tool();
    seep_window_tell_space();
    seep_g.header->areas[SEEP_AREA_STRINGS].used = 1; // the empty string
    seep_g.header->areas[SEEP_AREA_MODULES].used = 1; // "no module"
    seep_g.header->areas[SEEP_AREA_NODES].used = 1;   // the root
    seep_g.sites[SEEP_SITE_UNKNOWN] = (struct seep_image_site){.node = 0, .via = SEEP_VIA_NONE};
    seep_g.nodes[0].site = SEEP_SITE_UNKNOWN;
    seep_g.header->areas[SEEP_AREA_SITES].used = 2;
    seep_peak_begin();
    seep_g.header->state = SEEP_STATE_LIVE;
    __atomic_store_n(&seep_g.header->magic, SEEP_IMAGE_MAGIC, __ATOMIC_RELEASE);
    return true;
}

bool seep_image_create(void) {
    struct seep_image_area areas[SEEP_AREA_PAGED_NR];
    if (sys_page_bytes() > SEEP_LARGEST_PAGE)
        return false;
    // Emulators keep a record of every page of address space, whether it is used or not.
    for (uint64_t pages_bytes = seep_g.emulated ? PAGES_BYTES_EMULATED
                                                : seep_areas[SEEP_AREA_PAGES].most_bytes;
         pages_bytes >= PAGES_BYTES_LEAST; pages_bytes /= 4) {
        uint64_t bytes = layout(areas, pages_bytes);
        int fd = memory_file(bytes, NULL);
        if (fd < 0)
            continue;
        if (seep_window_map(fd, bytes, areas)) {
            if (begin(fd, bytes, areas))
                return true;
            seep_window_drop();
            seep_g.fd = -1;
        }
        sys_close(fd);
    }
    return false;
}

// One byte for each image page; bit 0: the file has the page. `from` is aligned to the machine's pages.
bool seep_pages_present(const unsigned char *from, uint64_t nr_pages, unsigned char *ret_present) {
    if (sys3(SYS_mincore, from, nr_pages * SEEP_IMAGE_PAGE, ret_present) != 0)
        return false;
    uint64_t nr_in_one = sys_page_bytes() / SEEP_IMAGE_PAGE; // mincore gave one byte for these
    for (uint64_t i = nr_pages; nr_in_one > 1 && i > 0; i--)
        ret_present[i - 1] = ret_present[(i - 1) / nr_in_one];
    return true;
}

// Through the mapping: a descriptor may be another file's by now, where a signal handler or a process that
// shares the table of descriptors has closed it.
static void copy_run(unsigned char *to, const unsigned char *from, uint64_t bytes) {
    if (bytes > SEEP_IMAGE_PAGE) // the kernel makes all of them at once
        sys3(SYS_madvise, to, bytes, MADV_POPULATE_WRITE);
    __builtin_memcpy(to, from, bytes);
}

// The present ones of `nr` pages, run by run.
static void copy_pages(unsigned char *to, const unsigned char *from, uint64_t nr,
                       const unsigned char *present) {
    for (uint64_t first = 0, end; first < nr; first = end) {
        for (end = first; end < nr && present[end] & 1; end++)
            continue;
        uint64_t at = first * SEEP_IMAGE_PAGE;
        if (end > first)
            copy_run(to + at, from + at, (end - first) * SEEP_IMAGE_PAGE);
        for (; end < nr && !(present[end] & 1); end++)
            continue;
    }
}

// Copies what has data in [off, off + size) of the parent's image. mincore() tells which pages of
// the file exist, so that holes stay holes.
static bool copy_present(unsigned char *to, const unsigned char *from, uint64_t off, uint64_t size) {
    static unsigned char present[1024]; // of the one thread that makes the image; the stack may be small
    for (uint64_t at = off; at < off + size; at += sizeof(present) * SEEP_IMAGE_PAGE) {
        uint64_t bytes = SEEP_MIN(off + size - at, sizeof(present) * SEEP_IMAGE_PAGE);
        if (!seep_pages_present(from + at, bytes / SEEP_IMAGE_PAGE, present))
            return false;
        copy_pages(to + at, from + at, bytes / SEEP_IMAGE_PAGE, present);
    }
    return true;
}

static void copy_dir_page(void *fresh, uint64_t off) {
    off += seep_g.area_off[SEEP_AREA_DIR];
    copy_run((unsigned char *)fresh + off, seep_g.base + off, SEEP_IMAGE_PAGE);
}

// The directory is large and holds next to nothing: the kernel is asked about all of it only where what it
// holds is not known.
static bool copy_dir(unsigned char *fresh) {
    return seep_map_each_dir_page(copy_dir_page, fresh) ||
           copy_present(fresh, seep_g.base, seep_g.area_off[SEEP_AREA_DIR], seep_g.area_size[SEEP_AREA_DIR]);
}

// ---- copying the parent's pages: mostly leaves of the heap map, nearly empty ----------------------------

// Leaves, by their first image pages. For leaves beyond NR_LEAVES the kernel is asked page by page.
enum { NR_LEAVES = 32, ASKED_PAGES = 256 };
struct leaf {
    uint64_t page, address_rt;
};
struct leaves {
    const unsigned char *fresh;
    uint32_t nr;
    struct leaf of[NR_LEAVES];
};

static void find_leaves(void *data, uint64_t off) {
    struct leaves *leaves = data;
    const uint32_t *dir = (const uint32_t *)(leaves->fresh + seep_g.area_off[SEEP_AREA_DIR] + off);
    uint64_t first = off / sizeof(*dir);
    for (uint64_t i = 0; i < SEEP_IMAGE_PAGE / sizeof(*dir) && leaves->nr < NR_LEAVES; i++)
        if (dir[i])
            leaves->of[leaves->nr++] =
                (struct leaf){dir[i], (first + i) >> SEEP_PLANE_SHIFT << SEEP_LEAF_SHIFT};
}

// Whether this process has no memory there. It takes one call; mincore would look up each page of the map.
// Address 0 is left out: root may map page 0, and the call's result 0 means failure here.
static bool is_unmapped(uint64_t start_rt, uint64_t bytes) {
    if (!start_rt)
        return false;
    void *start = (void *)(uintptr_t)start_rt; // NOLINT(performance-no-int-to-ptr)
    void *at = sys_mmap(start, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at)
        sys_munmap(at, bytes);
    return at && at == start;
}

// Copies pages of a leaf for the memory from `address_rt` on. Where no memory is mapped there are no blocks.
static bool copy_leaf(unsigned char *fresh, uint64_t off, uint64_t nr_pages, uint64_t address_rt) {
    uint64_t page_spans = (SEEP_IMAGE_PAGE / sizeof(uint64_t)) << seep_g.granule_shift;
    if (nr_pages <= ASKED_PAGES)
        return copy_present(fresh, seep_g.base, off, nr_pages * SEEP_IMAGE_PAGE);
    bool done = true;
    for (uint64_t part = nr_pages / 4, first = 0; done && first < nr_pages; first += part) {
        uint64_t part_rt = address_rt + first * page_spans;
        done = is_unmapped(part_rt, part * page_spans) ||
               copy_leaf(fresh, off + first * SEEP_IMAGE_PAGE, part, part_rt);
    }
    return done;
}

static const struct leaf *next_leaf(const struct leaves *leaves, uint64_t page) {
    const struct leaf *next = NULL;
    for (uint32_t i = 0; i < leaves->nr; i++)
        if (leaves->of[i].page >= page && (!next || leaves->of[i].page < next->page))
            next = &leaves->of[i];
    return next;
}

static bool copy_all_pages(unsigned char *fresh, uint64_t nr_pages) {
    static struct leaves leaves; // as above
    leaves = (struct leaves){.fresh = fresh};
    uint64_t pages_off = seep_g.area_off[SEEP_AREA_PAGES], page = 0;
    uint64_t leaf_pages = ((sizeof(uint64_t) << SEEP_LEAF_SHIFT) >> seep_g.granule_shift) / SEEP_IMAGE_PAGE;
    bool done = true;
    // Other planes have entries of freed blocks. Emulators place mappings by rules of their own.
    uint32_t more_planes = SEEP_FLAG_AGES | SEEP_FLAG_FREE_STACKS | SEEP_FLAG_EVENTS;
    if (seep_g.header->flags & more_planes || seep_g.emulated ||
        !seep_map_each_dir_page(find_leaves, &leaves))
        leaves.nr = 0;
    while (done && page < nr_pages) {
        const struct leaf *leaf = next_leaf(&leaves, page);
        bool whole = leaf && leaf->page + leaf_pages <= nr_pages;
        uint64_t end = whole ? leaf->page : nr_pages;
        done = copy_present(fresh, seep_g.base, pages_off + page * SEEP_IMAGE_PAGE,
                            (end - page) * SEEP_IMAGE_PAGE);
        page = end;
        if (!done || !whole)
            break;
        done = copy_leaf(fresh, pages_off + page * SEEP_IMAGE_PAGE, leaf_pages, leaf->address_rt);
        page += leaf_pages;
    }
    return done;
}

// Numbers of elements in elements of another area, as 32-bit words: of sites and nodes in each other, of map
// sites, of modules in the high bits of a node's frame, and of bytes of the path of a module.
enum { LOW_WORD = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__, HIGH_WORD = !LOW_WORD };
#define WORD_OF(type, member) (offsetof(type, member) / sizeof(uint32_t))
static const struct reference {
    uint8_t from, to; // areas
    uint8_t word, shift, step;
} references[] = {
    {SEEP_AREA_NODES, SEEP_AREA_SITES, WORD_OF(struct seep_image_node, site), 0, 4},
    {SEEP_AREA_SITES, SEEP_AREA_NODES, WORD_OF(struct seep_image_site, node), 0, 4},
    {SEEP_AREA_SITES, SEEP_AREA_MAP_SITES, WORD_OF(struct seep_image_site, map_site), 0, 4},
    {SEEP_AREA_NODES, SEEP_AREA_MODULES, WORD_OF(struct seep_image_node, frame) + HIGH_WORD, 16, 4},
    {SEEP_AREA_MODULES, SEEP_AREA_STRINGS, WORD_OF(struct seep_image_module, path_off) + LOW_WORD, 0,
     sizeof(struct seep_image_module) / sizeof(uint32_t)},
};
_Static_assert(sizeof(struct seep_image_node) == 16 && sizeof(struct seep_image_site) == 16, "their steps");

// The parent adds to these areas while they are copied. An element of the copy may refer to an element that
// the copy lacks. Such a reference becomes 0. No inherited block has such a site. A site's `next` is older
// than the site, so the copy has it. The marks of cuts are no modules.
static void forget_later_stacks(unsigned char *fresh) {
    const struct seep_image_area *areas = ((const struct seep_image_header *)fresh)->areas;
    const uint32_t marks_of_cuts = SEEP_FRAME_CUT(0) >> 32;
    for (const struct reference *of = references; of < references + SEEP_ARRAY_SIZE(references); of++) {
        uint32_t *at = (uint32_t *)(fresh + seep_g.area_off[of->from]) + of->word;
        uint32_t first = (uint32_t)areas[of->to].used << of->shift, nr = (uint32_t)areas[of->from].used;
        uint32_t most = (of->shift ? marks_of_cuts : UINT32_MAX) - first;
        for (; nr > 0; nr--, at += of->step)
            if (*at - first < most)
                *at = 0;
    }
}

// The arrays that only grow. Copied last, so that whatever else was copied refers to what is there.
static bool copy_arrays(unsigned char *fresh) {
    const struct seep_image_header *from = seep_g.header;
    struct seep_image_header *to = (struct seep_image_header *)fresh;
    // Acquire: the elements that it counts are complete. From the last: areas refer to those before them.
    for (int i = SEEP_AREA_PAGED_NR; i-- > 0;)
        to->areas[i].used = __atomic_load_n(&from->areas[i].used, __ATOMIC_ACQUIRE);
    to->areas[SEEP_AREA_MISUSES].used = 0; // what the parent did
    for (int kind = SEEP_AREA_PAGED_NR; kind-- > 0;) {
        if (!seep_areas[kind].is_inherited)
            continue;
        uint64_t element_bytes = seep_areas[kind].element_bytes;
        struct seep_image_area *area = &to->areas[kind];
        area->used = SEEP_MIN(area->used, seep_window_visible(kind) / element_bytes);
        uint64_t bytes = round_up(area->used * element_bytes, SEEP_IMAGE_PAGE);
        if (!copy_present(fresh, seep_g.base, seep_g.area_off[kind], SEEP_MIN(bytes, seep_g.area_size[kind])))
            return false;
    }
    forget_later_stacks(fresh);
    return true;
}

// Everything of the parent's image as it was at the fork (fork_undo.h). *ret_exact: or nearly so.
static bool copy_parent(unsigned char *fresh, bool *ret_exact) {
    const struct seep_image_area *areas = seep_g.header->areas;
    uint64_t pages_bytes = __atomic_load_n(&areas[SEEP_AREA_PAGES].used, __ATOMIC_ACQUIRE) * SEEP_IMAGE_PAGE;
    pages_bytes = SEEP_MIN(pages_bytes, seep_window_visible(SEEP_AREA_PAGES));
    uint64_t thread_bytes = __atomic_load_n(&areas[SEEP_AREA_THREADS].used, __ATOMIC_ACQUIRE);
    thread_bytes = round_up(thread_bytes * sizeof(struct seep_image_thread), SEEP_IMAGE_PAGE);
    thread_bytes = SEEP_MIN(thread_bytes, seep_window_visible(SEEP_AREA_THREADS));
    bool odd = __atomic_load_n(&areas[SEEP_AREA_ODD].used, __ATOMIC_ACQUIRE) != 0;
    uint64_t odd_bytes = odd ? seep_window_visible(SEEP_AREA_ODD) : 0;
    if (!copy_present(fresh, seep_g.base, 0, SEEP_IMAGE_PAGE) ||
        !copy_present(fresh, seep_g.base, seep_g.area_off[SEEP_AREA_THREADS], thread_bytes) ||
        !copy_present(fresh, seep_g.base, seep_g.area_off[SEEP_AREA_ODD], odd_bytes) || !copy_dir(fresh) ||
        !copy_all_pages(fresh, pages_bytes / SEEP_IMAGE_PAGE))
        return false;
    *ret_exact = seep_undo_apply(fresh);
    return copy_arrays(fresh);
}

// What is in the rings is the parent's; before the tool has the image, which takes at once what is there.
static void forget_events(unsigned char *fresh) {
    const struct seep_image_header *header = (const struct seep_image_header *)fresh;
    if (!(header->flags & SEEP_FLAG_EVENTS))
        return;
    const uint32_t *rings = seep_window_pages(fresh, header->ring_dir_page, SEEP_RING_SLOTS * sizeof(*rings));
    for (uint64_t i = 0; rings && i < header->areas[SEEP_AREA_THREADS].used && i < SEEP_RING_SLOTS; i++) {
        struct seep_ring *ring = seep_window_pages(fresh, rings[i], SEEP_IMAGE_PAGE);
        if (ring)
            ring->written = ring->read = ring->own = 0;
    }
}

// Only the parent's report has losses that do not concern the child's inherited blocks.
static void forget_losses(struct seep_image_header *header) {
    static const uint8_t reasons[] = {SEEP_LOST_FORK, SEEP_LOST_EXEC, SEEP_LOST_LOG, SEEP_LOST_EVENT};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(reasons); i++)
        header->lost[reasons[i]] = 0;
}

bool seep_image_create_as_copy(void) {
    // What the parent has opened since the fork is closed in our view of its image.
    bool sees = seep_window_see_all();
    if (sees)
        set_pointers();
    struct seep_file_id file;
    int fd = memory_file(seep_g.window_bytes, &file); // right before it is mapped
    if (fd < 0)
        return false;
    bool exact = true;
    unsigned char *fresh = sees ? seep_window_twin(fd) : NULL;
    // If the descriptor is still that of the file, so was it when it was mapped. Nothing is written before.
    if (fresh && !seep_file_is(fd, &file)) {
        seep_window_drop_twin(fresh);
        fresh = NULL;
    }
    bool whole = fresh && seep_swap_in(seep_g.base);
    bool copied = fresh && copy_parent(fresh, &exact);
    whole = whole && copied && seep_swap_in(fresh);
    copied = copied && seep_inherit(fresh, fd, &file);
    // Also from here on another file may come in its place, but in far less time than a copy takes.
    bool kept = seep_file_is(fd, &file);
    if (copied && kept) {
        struct seep_image_header *header = (struct seep_image_header *)fresh;
        header->forked_from = header->pid;
        header->flags = (header->flags | SEEP_FLAG_FORKED) & ~SEEP_FLAG_STANDALONE;
        fill_identity(header);
        header->end_ns = header->copied_ns = 0;
        header->state = SEEP_STATE_LIVE;
        seep_control_inherit(header);
        forget_events(fresh);
        forget_losses(header);
        seep_g.fd = fd;
        fill_areas(header);
        seep_window_make_seeds(fd, header->areas, seep_window_has_room(), &file);
        seep_handshake_tool(header, &file);
        bool replaced = seep_window_replace(fresh);
        set_pointers();
        if (!replaced)
            return false;
        seep_news_begin();
    } else {
        if (fresh)
            seep_window_drop_twin(fresh);
        if (kept)
            sys_close(fd);
        return false;
    }
    if (!exact)
        seep_lost(SEEP_LOST_FORK_INEXACT);
    if (!whole)
        seep_lost(SEEP_LOST_SWAPPED);
    return true;
}
