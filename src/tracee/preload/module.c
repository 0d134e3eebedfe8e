// SPDX-License-Identifier: BSD-2-Clause
//
// Modules: which file covers a pc, learned when a return address is seen for the first time. So
// dlopen is not interposed (it would look for libraries from our directory instead of its caller's)
// and modules that libc itself opens are seen too. _dl_find_object takes no lock.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "preload/loader_lists.h"
#include "preload/proc_maps.h"
#include "preload/preload.h"

// A module as the loader has it, or where that does not tell, as the kernel has it.
struct found {
    uint64_t start;
    uint64_t end;
    uint64_t bias_rt;
    uint64_t eh_frame_hdr; // 0: none
#ifdef SEEP_ARCH_EHABI
    uint64_t exidx_bytes;
#endif
    uint64_t cfi_start; // what may be read to interpret it
    uint64_t cfi_end;
    const char *path; // "" or NULL: the program
};

// -1: there is one with holes between its segments, of which the loader gives only the segment that pc is in.
static SEEP_NOINLINE int find_loaded(uint64_t pc, struct found *ret_found) {
    struct seep_loader_object object;
    if (seep_g.find_object((void *)pc, &object) != 0 || !object.link_map)
        return 0;
    ret_found->start = ret_found->cfi_start = (uintptr_t)object.map_start;
    ret_found->end = ret_found->cfi_end = (uintptr_t)object.map_end;
    ret_found->bias_rt = object.link_map->l_addr;
    ret_found->eh_frame_hdr = (uintptr_t)object.eh_frame;
#ifdef SEEP_ARCH_EHABI
    ret_found->exidx_bytes = (uint64_t)object.eh_count * 8;
#endif
    ret_found->path = object.link_map->l_name;
    return ret_found->eh_frame_hdr &&
                   ret_found->eh_frame_hdr - ret_found->start >= ret_found->end - ret_found->start
               ? -1
               : 1;
}

static bool find(uint64_t pc, struct found *ret_found) {
    int loaded = seep_g.find_object ? find_loaded(pc, ret_found) : 0;
    if (loaded > 0 || (!loaded && seep_g.find_object))
        return loaded;
    const struct seep_maps_module *module = seep_maps_module(pc);
    if (!module)
        return loaded;
    ret_found->start = module->start;
    ret_found->end = module->end;
    ret_found->bias_rt = module->bias_rt;
    ret_found->eh_frame_hdr = module->eh_frame_hdr;
#ifdef SEEP_ARCH_EHABI
    ret_found->exidx_bytes = module->exidx_bytes;
#endif
    ret_found->cfi_start = module->cfi_start;
    ret_found->cfi_end = module->cfi_end;
    if (!loaded)
        ret_found->path = module->path;
    return true;
}

enum { MAX_MODULES = 65535 };

// More notes than this are not looked at.
#define NOTES_MOST (UINT64_C(64) << 10)

static bool has_elf_header(uint64_t start, uint64_t end) {
    return end - start >= sizeof(ElfW(Ehdr)) && seep_maps_readable(start, sizeof(ElfW(Ehdr))) &&
           __builtin_memcmp((const void *)start, ELFMAG, SELFMAG) == 0;
}

// Copies the GNU build-id out of the notes in [at, end).
static uint32_t build_id_in_notes(const unsigned char *at, const unsigned char *end, uint8_t *ret_id,
                                  uint32_t room) {
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        __builtin_memcpy(&note, at, sizeof(note));
        size_t left = (size_t)(end - at) - sizeof(note);
        size_t name_bytes = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t bytes = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (name_bytes > left || bytes > left - name_bytes)
            return 0;
        const unsigned char *name = at + sizeof(note);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && __builtin_memcmp(name, "GNU", 4) == 0) {
            uint32_t id_bytes = SEEP_MIN(note.n_descsz, room);
            __builtin_memcpy(ret_id, name + name_bytes, id_bytes);
            return id_bytes;
        }
        at = name + name_bytes + bytes;
    }
    return 0;
}

static SEEP_NOINLINE uint32_t build_id(uint64_t start, uint64_t end, uint64_t bias, uint8_t *ret_id,
                                       uint32_t room) {
    if (!has_elf_header(start, end))
        return 0;
    const ElfW(Ehdr) *header = (const void *)start;
    uint64_t table_bytes = (uint64_t)header->e_phnum * sizeof(ElfW(Phdr));
    if (header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > end - start ||
        table_bytes > end - start - header->e_phoff ||
        !seep_maps_readable(start + header->e_phoff, table_bytes))
        return 0;
    const ElfW(Phdr) *segments = (const void *)(start + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
        uint64_t at = bias + segments[i].p_vaddr;
        if (segments[i].p_type != PT_NOTE || at < start || at > end || segments[i].p_memsz > end - at ||
            segments[i].p_memsz > NOTES_MOST || !seep_maps_readable(at, segments[i].p_memsz))
            continue;
        uint32_t bytes =
            build_id_in_notes((const void *)at, (const void *)(at + segments[i].p_memsz), ret_id, room);
        if (bytes)
            return bytes;
    }
    return 0;
}

static struct seep_image_module *modules(void) {
    return (struct seep_image_module *)(seep_g.base + seep_g.area_off[SEEP_AREA_MODULES]);
}

static SEEP_NOINLINE uint64_t path_of(const char *name, uint64_t start) {
    if (!name || !*name)
        return seep_g.header->exe_off;
    uint64_t found = 0;
    struct seep_maps *maps;
    if (__builtin_strncmp(name, "linux-", 6) == 0) { // linux-vdso.so.1, linux-gate.so.1
        name = "[vdso]";
    } else if (name[0] != '/' && !seep_confined.filtered && (maps = seep_maps_open_with_paths())) {
        // The loader names a library as the program did: "./plugin.so" is another file, or none, for who
        // reads it elsewhere. The kernel has the whole path.
        for (const struct seep_maps_area *area; !found && (area = seep_maps_next(maps));)
            if (start - area->start < area->end - area->start && area->path[0] == '/')
                found = seep_string(area->path, __builtin_strlen(area->path));
        seep_maps_close(maps);
    }
    return found ? found : seep_string(name, __builtin_strlen(name));
}

// A module of ours that lies where a new one now is was unmapped without our seeing it.
static void end_overlapped(uint64_t start, uint64_t end, uint64_t now_ns) {
    uint32_t nr = (uint32_t)seep_g.header->areas[SEEP_AREA_MODULES].used;
    for (uint32_t i = 1; i < nr; i++) {
        struct seep_image_module *old = &modules()[i];
        if (!old->unloaded_ns && old->start_rt < end && start < old->end_rt)
            old->unloaded_ns = now_ns;
    }
}

static SEEP_NOINLINE uint32_t add_module(const struct found *found) {
    struct seep_image_area *area = &seep_g.header->areas[SEEP_AREA_MODULES];
    uint32_t id = (uint32_t)area->used;
    uint64_t path_off = path_of(found->path, found->start); // takes image_lock, so before we do
    if (id >= MAX_MODULES - 1 ||
        !seep_area_lock_and_open(SEEP_AREA_MODULES, (uint64_t)(id + 1) * sizeof(struct seep_image_module))) {
        seep_lost(SEEP_LOST_NO_MODULE);
        return 0;
    }
    struct seep_image_module *module = &modules()[id];
    module->path_off = path_off;
    module->bias_rt = found->bias_rt;
    module->start_rt = found->start;
    module->end_rt = found->end;
    module->first_seen_ns = seep_clock_ns(CLOCK_MONOTONIC);
    module->build_id_bytes = build_id(module->start_rt, module->end_rt, module->bias_rt, module->build_id,
                                      sizeof(module->build_id));
    end_overlapped(module->start_rt, module->end_rt, module->first_seen_ns);
    __atomic_store_n(&area->used, id + 1, __ATOMIC_RELEASE);
    return id;
}

static uint32_t module_id(const struct found *found) {
    uint32_t nr = (uint32_t)seep_g.header->areas[SEEP_AREA_MODULES].used;
    for (uint32_t i = nr - 1; i > 0; i--) {
        const struct seep_image_module *module = &modules()[i];
        if (!module->unloaded_ns && module->start_rt == found->start && module->end_rt == found->end &&
            module->bias_rt == found->bias_rt)
            return i;
    }
    return add_module(found);
}

bool seep_module_find(uint64_t pc, struct seep_module_at *ret_at) {
    struct found found;
    if (!find(pc, &found))
        return false;
    struct seep_cfi_object *object = &ret_at->object;
    object->bytes = (const void *)found.cfi_start;
    object->start = found.cfi_start;
    object->size_bytes = found.cfi_end - found.cfi_start;
    object->eh_frame_hdr = found.eh_frame_hdr;
#ifdef SEEP_ARCH_EHABI
    object->exidx_bytes = found.exidx_bytes;
#endif
    ret_at->module = module_id(&found);
    ret_at->bias_rt = found.bias_rt;
    return true;
}

// Also those whose code is on no stack: one may have an allocator of its own. Before there is a second
// thread.
void seep_modules_at_start(void) {
    struct seep_module_at at;
    // With musl they are known as soon as they are on a stack.
    for (const struct link_map *map = seep_loader_first(); map; map = map->l_next)
        seep_module_find((uintptr_t)map->l_ld, &at);
}

static void forget_rules(uint64_t start, uint64_t end) {
    struct seep_rule_table *table = atomic_load_explicit(&seep_g.rules, memory_order_relaxed);
    for (uint64_t i = 0; table && i <= table->mask; i++) {
        uint64_t key = atomic_load_explicit(&table->entries[i].key, memory_order_relaxed);
        if ((key & ~SEEP_PC_EXACT) >= start && (key & ~SEEP_PC_EXACT) <= end)
            atomic_store_explicit(&table->entries[i].key, SEEP_RULE_DEAD, memory_order_relaxed);
    }
}

void seep_modules_check(void) {
    if (!seep_lock_take(&seep_g.rules_lock))
        return;
    if (!seep_maps_again()) {
        seep_lock_release(&seep_g.rules_lock);
        return;
    }
    uint32_t nr = (uint32_t)seep_g.header->areas[SEEP_AREA_MODULES].used;
    bool changed = false;
    for (uint32_t i = 1; i < nr; i++) {
        struct seep_image_module *module = &modules()[i];
        struct found found;
        if (module->unloaded_ns)
            continue;
        if (find(module->start_rt, &found) && found.start == module->start_rt &&
            found.end == module->end_rt && found.bias_rt == module->bias_rt)
            continue;
        module->unloaded_ns = seep_clock_ns(CLOCK_MONOTONIC);
        forget_rules(module->start_rt, module->end_rt);
        changed = true;
    }
    if (changed)
        atomic_fetch_add_explicit(&seep_g.mode.modules_epoch, 1, memory_order_release);
    seep_lock_release(&seep_g.rules_lock);
}
