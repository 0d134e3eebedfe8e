// SPDX-License-Identifier: BSD-2-Clause
// Symbols by the loader's lists, see loader_lists.h.
#include <dlfcn.h>
#include <elf.h>
#include <stddef.h>

#include "preload/cpu.h"
#include "preload/loader_lists.h"
#include "preload/proc_maps.h"
#include "preload/caller.h"

extern struct r_debug _r_debug __attribute__((weak)); // glibc's loader has it, musl's hides it
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"), weak));

// In the version that every glibc has. Weak: see seep_loader_dlsym.
#ifdef __GLIBC__
__asm__(".symver seep_dlsym, dlsym@" CPU_GLIBC_OLDEST);
extern void *seep_dlsym(void *handle, const char *name) __attribute__((weak));
#else
#define seep_dlsym dlsym
#endif

#define VERSION_HIDDEN 0x8000u

const struct link_map *seep_loader_first(void) {
    return &_r_debug ? _r_debug.r_map : NULL;
}

// glibc has made addresses of what the dynamic section says, but in the vdso, which it cannot write to.
const void *seep_loader_table(const struct link_map *map, ElfW(Sxword) tag) {
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++) {
        ElfW(Addr) at = entry->d_un.d_ptr;
        if (entry->d_tag == tag)
            return (const void *)(at < map->l_addr ? map->l_addr + at : at);
    }
    return NULL;
}

size_t seep_loader_number(const struct link_map *map, ElfW(Sxword) tag) {
    for (const ElfW(Dyn) *entry = map->l_ld; entry && entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == tag)
            return entry->d_un.d_val;
    return 0;
}

static bool binds(const struct link_map *map, const seep_relocation *entries, size_t bytes,
                  bool (*is_one)(const char *name)) {
    const ElfW(Sym) *symbols = seep_loader_table(map, DT_SYMTAB);
    const char *names = seep_loader_table(map, DT_STRTAB);
    for (size_t i = 0; entries && symbols && names && i < bytes / sizeof(*entries); i++) {
        uint32_t at = (uint32_t)SEEP_R_SYMBOL(entries[i].r_info);
        if (at && is_one(names + symbols[at].st_name))
            return true;
    }
    return false;
}

#ifdef CPU_GOT
struct seep_loader_got seep_loader_got(const struct link_map *map) {
    void **words = (void **)seep_loader_table(map, CPU_GOT);
    size_t first = seep_loader_number(map, CPU_GOT_SYMBOL), end = seep_loader_number(map, CPU_GOT_NR_SYMBOL);
    struct seep_loader_got got = {.first_symbol = (uint32_t)first, .nr = (uint32_t)(end - first)};
    if (words && first < end)
        got.words = words + seep_loader_number(map, CPU_GOT_LOCALS);
    return got;
}

static bool binds_in_got(const struct link_map *map, bool (*is_one)(const char *name)) {
    const struct seep_loader_got got = seep_loader_got(map);
    const ElfW(Sym) *symbols = seep_loader_table(map, DT_SYMTAB);
    const char *names = seep_loader_table(map, DT_STRTAB);
    for (uint32_t i = 0; got.words && symbols && names && i < got.nr; i++)
        if (is_one(names + symbols[got.first_symbol + i].st_name))
            return true;
    return false;
}
#else
static bool binds_in_got(const struct link_map *map, bool (*is_one)(const char *name)) {
    (void)map;
    (void)is_one;
    return false;
}
#endif

bool seep_loader_binds(const struct link_map *map, bool (*is_one)(const char *name)) {
    return binds_in_got(map, is_one) ||
           binds(map, seep_loader_table(map, DT_JMPREL), seep_loader_number(map, DT_PLTRELSZ), is_one) ||
           binds(map, seep_loader_table(map, SEEP_RELOCATIONS),
                 seep_loader_number(map, SEEP_RELOCATIONS_BYTES), is_one);
}

// Symbol `at` where it is that one. As the loader does: one without a section counts when it has an address.
static const ElfW(Sym) * matching(const struct link_map *map, uint32_t at, const char *name) {
    const ElfW(Sym) *symbol = (const ElfW(Sym) *)seep_loader_table(map, DT_SYMTAB) + at;
    const ElfW(Half) *versions = seep_loader_table(map, DT_VERSYM);
    bool hidden = versions && (versions[at] & VERSION_HIDDEN) && symbol->st_shndx != SHN_UNDEF;
    if (!symbol->st_value || CPU_NO_ADDRESS(symbol) || hidden ||
        ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC ||
        __builtin_strcmp((const char *)seep_loader_table(map, DT_STRTAB) + symbol->st_name, name) != 0)
        return NULL;
    return symbol;
}

const ElfW(Sym) * seep_loader_symbol(const struct link_map *map, const char *name) {
    uint32_t gnu = 5381, sysv = 0;
    for (const unsigned char *at = (const void *)name; *at; at++) {
        gnu = gnu * 33 + *at;
        sysv = (sysv << 4) + *at;
        sysv = (sysv ^ (sysv >> 24 & 0xf0)) & 0x0fffffff;
    }
    const ElfW(Sym) *symbol = NULL;
    const uint32_t *table = seep_loader_table(map, DT_GNU_HASH);
    if (table && table[0]) {
        const uint32_t *buckets = (const void *)((const ElfW(Addr) *)(table + 4) + table[2]);
        const uint32_t *chain = buckets + table[0] - table[1];
        uint32_t at = buckets[gnu % table[0]], more = at;
        for (; !symbol && more; at++) {
            symbol = (chain[at] | 1) == (gnu | 1) ? matching(map, at, name) : NULL;
            more = !(chain[at] & 1);
        }
    } else if ((table = seep_loader_table(map, DT_HASH)) && table[0]) {
        for (uint32_t at = table[2 + sysv % table[0]]; !symbol && at; at = table[2 + table[0] + at])
            symbol = matching(map, at, name);
    }
    return symbol;
}

static void *search(const struct link_map *map, const char *name) {
    for (; map; map = map->l_next) {
        const ElfW(Sym) *symbol = seep_loader_symbol(map, name);
        if (symbol)
            return (void *)(map->l_addr + symbol->st_value);
    }
    return NULL;
}

void *seep_loader_in_front(const char *name) {
    const struct link_map *map = seep_loader_first();
    if (!map) { // musl: dlsym() finds our definition at the latest
        void *found = seep_dlsym ? seep_dlsym(RTLD_DEFAULT, name) : NULL;
        return seep_is_own_code((uintptr_t)found) ? NULL : found;
    }
    for (; map && map->l_ld != _DYNAMIC; map = map->l_next) {
        const ElfW(Sym) *symbol = seep_loader_symbol(map, name);
        if (symbol && symbol->st_shndx != SHN_UNDEF)
            return (void *)(map->l_addr + symbol->st_value);
    }
    return NULL;
}

const char *seep_loader_behind(const char *name, const char *unless) {
    const struct link_map *map = seep_loader_first();
    if (!map) {
        void *found = seep_dlsym ? seep_dlsym(RTLD_NEXT, name) : NULL;
        const struct seep_maps_module *module = found ? seep_maps_module((uintptr_t)found) : NULL;
        return module ? module->path : NULL;
    }
    for (bool behind = false; map; map = map->l_next) {
        const ElfW(Sym) *symbol = behind ? seep_loader_symbol(map, name) : NULL;
        if (symbol && symbol->st_shndx != SHN_UNDEF) {
            symbol = seep_loader_symbol(map, unless);
            return symbol && symbol->st_shndx != SHN_UNDEF ? NULL : map->l_name;
        }
        behind |= map->l_ld == _DYNAMIC;
    }
    return NULL;
}

void *seep_loader_find(const char *name) {
    return search(seep_loader_first(), name);
}

// What no module behind ours defines is not asked for: the loader allocates the message that says so, with
// the program's own malloc where it has one, and this one may not work before main (GNU Common Lisp's).
void *seep_loader_dlsym(void *handle, const char *name) {
    const struct link_map *from = seep_loader_first();
    while (handle == RTLD_NEXT && from && from->l_ld != _DYNAMIC)
        from = from->l_next;
    if (!seep_dlsym && handle != RTLD_NEXT && handle != RTLD_DEFAULT)
        return NULL;
    void *found = search(from && handle == RTLD_NEXT ? from->l_next : from, name);
    return seep_dlsym && (handle != RTLD_NEXT || found || !from) ? seep_dlsym(handle, name) : found;
}
