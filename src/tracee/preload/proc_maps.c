// SPDX-License-Identifier: BSD-2-Clause
// Reading the address space, and our own table of modules, see proc_maps.h.
#include <elf.h>
#include <link.h>

#include "preload/proc_maps.h"
#include "preload/preload.h"

// ---- lines ----------------------------------------------------------------------------------------

bool seep_maps_open(struct seep_maps *ret_maps) {
    ret_maps->at = ret_maps->nr = ret_maps->path_room = 0;
    ret_maps->path = NULL;
    ret_maps->fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
    return ret_maps->fd >= 0;
}

static struct seep_maps with_paths;

struct seep_maps *seep_maps_open_with_paths(void) {
    static char path[SEEP_MAPS_PATH];
    if (!seep_lock_take(&seep_g.maps_lock))
        return NULL;
    if (!seep_maps_open(&with_paths)) {
        seep_lock_release(&seep_g.maps_lock);
        return NULL;
    }
    with_paths.path = path;
    with_paths.path_room = sizeof(path);
    return &with_paths;
}

void seep_maps_close(struct seep_maps *maps) {
    sys_close(maps->fd);
    if (maps == &with_paths)
        seep_lock_release(&seep_g.maps_lock);
}

static int next_char(struct seep_maps *maps) {
    if (maps->at == maps->nr) {
        long got = sys3(SYS_read, maps->fd, maps->text, sizeof(maps->text));
        if (got <= 0)
            return -1;
        maps->at = 0;
        maps->nr = (uint32_t)got;
    }
    return (unsigned char)maps->text[maps->at++];
}

// A number up to `end`. Decimal ones are read as if they were hexadecimal: only whether they differ counts.
static bool read_hex(struct seep_maps *maps, char end, uint64_t *ret_value) {
    *ret_value = 0;
    for (;;) {
        int c = next_char(maps);
        if (c == end)
            return true;
        bool digit = c >= '0' && c <= '9';
        if (!digit && !(c >= 'a' && c <= 'f'))
            return false;
        *ret_value = *ret_value << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
}

const struct seep_maps_area *seep_maps_next(struct seep_maps *maps) {
    struct seep_maps_area *area = &maps->area;
    uint64_t device;
    if (!read_hex(maps, '-', &area->start) || !read_hex(maps, ' ', &area->end))
        return NULL;
    area->readable = next_char(maps) == 'r';
    next_char(maps);
    area->executable = next_char(maps) == 'x';
    next_char(maps);
    next_char(maps);
    if (!read_hex(maps, ' ', &area->off) || !read_hex(maps, ':', &device) || !read_hex(maps, ' ', &device) ||
        !read_hex(maps, ' ', &area->inode))
        area->inode = 0;
    size_t length = 0;
    int c = maps->at ? (unsigned char)maps->text[maps->at - 1] : 0;
    for (c = c == '\n' ? c : next_char(maps); c >= 0 && c != '\n'; c = next_char(maps))
        if ((length || c != ' ') && length + 1 < maps->path_room)
            maps->path[length++] = (char)c;
    if (maps->path)
        maps->path[length] = 0;
    area->path = maps->path;
    return area->start >> 63 == 0 ? area : NULL; // the vsyscall page is the last and no memory of the process
}

bool seep_maps_readable(uint64_t start, uint64_t nr_bytes) {
    for (uint64_t page = start & ~UINT64_C(4095); nr_bytes && page < start + nr_bytes; page += 4096)
        if (!seep_confined.filtered && !sys_readable(page))
            return false;
    return true;
}

// ---- modules --------------------------------------------------------------------------------------

enum { MAX_MODULES = 1024 };
static struct seep_maps_module *modules;
static uint32_t nr_modules;

#ifdef SEEP_ARCH_EHABI
#define UNWIND_SEGMENT PT_ARM_EXIDX
#else
#define UNWIND_SEGMENT PT_GNU_EH_FRAME
#endif

static void find_cfi(struct seep_maps_module *module, const ElfW(Phdr) * segments, int nr) {
    uint64_t hdr = 0;
    for (int i = 0; i < nr; i++)
        if (segments[i].p_type == UNWIND_SEGMENT) {
            hdr = segments[i].p_vaddr;
#ifdef SEEP_ARCH_EHABI
            module->exidx_bytes = segments[i].p_memsz;
#endif
        }
    for (int i = 0; i < nr && hdr; i++) {
        if (segments[i].p_type != PT_LOAD || hdr - segments[i].p_vaddr >= segments[i].p_filesz)
            continue;
        module->eh_frame_hdr = module->bias_rt + hdr;
        module->cfi_start = module->bias_rt + segments[i].p_vaddr;
        module->cfi_end = module->cfi_start + segments[i].p_filesz;
    }
}

// The segments of the ELF file whose first page is mapped at `start`. `end` stays 0 if `start` has no ELF
// header.
static SEEP_NOINLINE void read_segments(struct seep_maps_module *module, uint64_t first_bytes) {
    const ElfW(Ehdr) *header = (const void *)module->start;
    if (first_bytes < sizeof(*header) || !seep_maps_readable(module->start, sizeof(*header)) ||
        __builtin_memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > first_bytes ||
        header->e_phnum * sizeof(ElfW(Phdr)) > first_bytes - header->e_phoff ||
        !seep_maps_readable(module->start + header->e_phoff, header->e_phnum * sizeof(ElfW(Phdr))))
        return;
    const ElfW(Phdr) *segments = (const void *)(module->start + header->e_phoff);
    bool any = false;
    uint64_t last = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        if (!any)
            module->bias_rt = module->start - (segments[i].p_vaddr & ~(sys_page_bytes() - 1));
        any = true;
        last = segments[i].p_vaddr + segments[i].p_memsz;
    }
    if (!any)
        return;
    module->end = module->bias_rt + last;
    find_cfi(module, segments, header->e_phnum);
}

// Mapped areas that pcs were in and that are no module's, as those of JIT code: a module can come there only
// when they have been unmapped. The latest of them.
enum { MAX_BARE_AREAS = 64 };
static struct bare_area {
    uint64_t start, end;
    bool executable;
} bare_areas[MAX_BARE_AREAS];
static uint32_t nr_bare_areas; // that were found: from MAX_BARE_AREAS on the oldest gives way
static uint32_t bare_epoch;    // of unmap_epoch

// The index of the area; -1: none is known.
static int find_bare(uint64_t pc) {
    for (int i = 0; i < (int)SEEP_MIN(nr_bare_areas, (uint32_t)MAX_BARE_AREAS); i++)
        if (pc - bare_areas[i].start < bare_areas[i].end - bare_areas[i].start)
            return i;
    return -1;
}

static bool is_bare(uint64_t pc, uint32_t epoch) {
    if (bare_epoch != epoch)
        nr_bare_areas = 0;
    bare_epoch = epoch;
    return find_bare(pc) >= 0;
}

static void add_bare(const struct bare_area *area) {
    bare_areas[nr_bare_areas % MAX_BARE_AREAS] = *area;
    nr_bare_areas = nr_bare_areas + 1 < 2 * MAX_BARE_AREAS ? nr_bare_areas + 1 : MAX_BARE_AREAS;
}

bool seep_maps_is_data(uint64_t pc) {
    int at = find_bare(pc);
    return at >= 0 && !bare_areas[at].executable;
}

static struct bare_area area_of_pc; // that read_all() was asked for; its end is 0: there is none

// true from the first dlclose on, if the loader knows modules. Another thread may then unmap a library while
// its headers are read, so only the headers of the file that the pc is in are read.
static bool reads_one;

// Each file that is mapped from its beginning, followed by code of the same file, and the vdso. Gives also
// the area that `pc` is in. false: it could not be read, so that nothing follows from it.
static bool read_all(uint64_t pc) {
    area_of_pc.end = 0;
    if (!modules)
        modules = seep_own_memory(MAX_MODULES * sizeof(*modules));
    struct seep_maps *maps = modules && !seep_confined.filtered ? seep_maps_open_with_paths() : NULL;
    if (!maps)
        return false;
    nr_modules = 0;
    uint64_t inode = 0, bytes = 0; // of the latest file's first area, whose module is not complete; 0: none
    uint64_t inode_of_pc = 0;
    for (const struct seep_maps_area *area; (area = seep_maps_next(maps));) {
        struct seep_maps_module *module = &modules[nr_modules];
        if (pc - area->start < area->end - area->start) {
            area_of_pc =
                (struct bare_area){.start = area->start, .end = area->end, .executable = area->executable};
            inode_of_pc = area->inode;
        }
        bool is_vdso = __builtin_strcmp(area->path, "[vdso]") == 0;
        if ((area->inode && area->off == 0) || is_vdso) {
            *module = (struct seep_maps_module){.start = area->start};
            __builtin_memcpy(module->path, area->path, sizeof(module->path));
            inode = area->inode;
            bytes = area->end - area->start;
        }
        bool same = is_vdso || (area->inode && area->inode == inode);
        if (!same || !area->executable || !bytes)
            continue;
        module->end = bytes;
        module->bias_rt = inode;
        nr_modules += nr_modules + 1 < MAX_MODULES;
        bytes = 0;
    }
    seep_maps_close(maps);
    for (uint32_t i = 0; i < nr_modules; i++) {
        struct seep_maps_module *module = &modules[i];
        bytes = module->end;
        module->end = 0; // no pc is in it
        if (!reads_one || !inode_of_pc || module->bias_rt == inode_of_pc)
            read_segments(module, bytes);
    }
    return true;
}

const struct seep_maps_module *seep_maps_known_module(uint64_t pc) {
    for (uint32_t i = 0; i < nr_modules; i++)
        if (pc >= modules[i].start && pc < modules[i].end)
            return &modules[i];
    return NULL;
}

const struct seep_maps_module *seep_maps_module(uint64_t pc) {
    static uint64_t missed_page; // code without a module: asked for again and again
    const struct seep_maps_module *found = seep_maps_known_module(pc);
    // acquire: read before the areas are
    uint32_t epoch = atomic_load_explicit(&seep_g.unmap_epoch, memory_order_acquire);
    if (found || pc >> 12 == missed_page || is_bare(pc, epoch))
        return found;
    if (!read_all(pc))
        return NULL;
    found = seep_maps_known_module(pc);
    missed_page = found ? 0 : pc >> 12;
    if (!found && area_of_pc.end)
        add_bare(&area_of_pc);
    return found;
}

bool seep_maps_again(void) {
    nr_bare_areas = 0;
    if (!seep_g.find_object)
        return read_all(0);
    reads_one = true; // those with holes stay: the program and the loader, which are never closed
    return true;
}

// Field 28 of /proc/self/stat; the name in field 2 may hold anything, also parentheses.
uint64_t seep_maps_stack_start(void) {
    enum { FIELD_AFTER_NAME = 3, START_STACK = 28 };
    char text[512];
    int fd = sys_open("/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    long nr = sys3(SYS_read, fd, text, sizeof(text) - 1);
    sys_close(fd);
    long at = nr;
    while (at > 0 && text[at - 1] != ')')
        at--;
    int field = FIELD_AFTER_NAME - 1;
    uint64_t value = 0;
    for (; at > 0 && at < nr && field <= START_STACK; at++) {
        if (text[at] == ' ')
            field++;
        else if (field == START_STACK)
            value = value * 10 + (uint64_t)(text[at] - '0');
    }
    return value;
}

// The trampoline is at the start of a page of its own. Code that is made at run time and returns to the start
// of a page is asked about once, as long as such pages are few.
bool seep_maps_is_return_probe(uint64_t pc) {
    enum { PAGES = 64 };
    static _Atomic uint64_t latest[PAGES][2]; // neither, and it
    if (pc % 4096)
        return false;
    _Atomic uint64_t *asked = latest[pc / 4096 % PAGES];
    for (int i = 0; i < 2; i++)
        if (atomic_load_explicit(&asked[i], memory_order_relaxed) == pc)
            return i;
    bool found = false;
    struct seep_maps *maps = seep_calls_seem_free() ? seep_maps_open_with_paths() : NULL;
    if (!maps)
        return false;
    for (const struct seep_maps_area *area; !found && (area = seep_maps_next(maps));)
        found = area->start == pc && __builtin_strcmp(area->path, "[uprobes]") == 0;
    seep_maps_close(maps);
    atomic_store_explicit(&asked[found], pc, memory_order_relaxed);
    return found;
}
