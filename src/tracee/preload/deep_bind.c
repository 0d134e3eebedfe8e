// SPDX-License-Identifier: BSD-2-Clause
// Libraries opened with RTLD_DEEPBIND, see deep_bind.h.
#include <dlfcn.h>
#include <elf.h>

#include "preload/deep_bind.h"
#include "preload/loader_lists.h"
#include "preload/preload.h"

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden"), weak));
extern const char __ehdr_start[] __attribute__((visibility("hidden"))); // of this library

// musl has it too. Weak: see libseep-undefined.allow.
extern int dl_iterate_phdr(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data)
    __attribute__((weak));

struct pass {
    struct seep_deep_bind loaded; // before
    size_t nr;                    // modules so far
    const struct link_map *libc;
    bool defines[2]; // whether one of the new modules has operators of its own, an allocator of its own
    bool failed;
};

// What a module says of itself.
struct tables {
    struct link_map map;
    const ElfW(Phdr) * segments;
    ElfW(Half) nr_segments;
    const ElfW(Sym) * symbols;
    const char *names;
};

static bool is_operator(const char *name) {
    return name[0] == '_' && name[1] == 'Z' && (name[2] == 'n' || name[2] == 'd');
}

static bool is_cxx_runtime(const char *path) {
    return seep_path_contains(path, "libstdc++") || seep_path_contains(path, "libc++");
}

static bool describe(const struct dl_phdr_info *info, struct tables *ret_tables) {
    struct tables tables = {.map = {.l_addr = info->dlpi_addr, .l_name = (char *)info->dlpi_name},
                            .segments = info->dlpi_phdr,
                            .nr_segments = info->dlpi_phnum};
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            tables.map.l_ld = (void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    tables.symbols = seep_loader_table(&tables.map, DT_SYMTAB);
    tables.names = seep_loader_table(&tables.map, DT_STRTAB);
    *ret_tables = tables;
    return tables.map.l_ld && tables.map.l_ld != _DYNAMIC && tables.symbols && tables.names;
}

static const struct link_map *module_of(const void *address) {
    struct seep_loader_object object;
    return seep_g.find_object((void *)address, &object) == 0 ? object.link_map : NULL;
}

// The real function lies where ours calls on to, or has not been looked for yet.
static bool is_before_ours(const struct pass *pass, const struct tables *tables, const char *name,
                           uint32_t type, const void *value) {
    const struct link_map *module = module_of(value);
    if (!module)
        return false;
    if (is_operator(name))
        return !pass->defines[0] &&
               (is_cxx_runtime(module->l_name) || (type == CPU_R_SLOT && module->l_ld == tables->map.l_ld));
    return module == pass->libc || (type == CPU_R_SLOT && module->l_ld == tables->map.l_ld);
}

#ifdef CPU_SLOT_WORDS
// A call reads the words of the slot one after another. An unbound slot leads to code that needs only its
// first word, so the other words are written before the first. A bound slot is changed only if no other
// thread can be amid such a call.
static bool put_words(const struct tables *tables, void **slot, void *const *descriptor) {
    const struct link_map *module = module_of(*slot);
    if (((uintptr_t)slot ^ (uintptr_t)(slot + CPU_SLOT_WORDS - 1)) & ~(uintptr_t)4095 ||
        ((!module || module->l_ld != tables->map.l_ld) && !sys_is_alone()))
        return false;
    for (unsigned i = CPU_SLOT_WORDS - 1; i; i--)
        __atomic_store_n(slot + i, descriptor[i], __ATOMIC_RELAXED);
    __atomic_store_n(slot, descriptor[0], __ATOMIC_RELEASE);
    return true;
}
#endif

static bool put_function(const struct tables *tables, uint32_t type, void **slot, void *function) {
#ifdef CPU_SLOT_WORDS
    if (type == CPU_R_SLOT)
        return put_words(tables, slot, function);
#endif
    (void)tables, (void)type;
    __atomic_store_n(slot, function, __ATOMIC_RELEASE);
    return true;
}

// false: the kernel did not let us, or it is a word of code or of constants. Of what is read-only once it is
// bound, the loader protects the whole pages before its end, and the page that it begins in.
static bool put(const struct tables *tables, uint32_t type, void **slot, void *function) {
    uint64_t at = (uintptr_t)slot, page = at & ~UINT64_C(4095);
    bool is_read_only = false, is_data = false;
    for (int i = 0; i < tables->nr_segments; i++) {
        const ElfW(Phdr) *segment = &tables->segments[i];
        uint64_t start = tables->map.l_addr + segment->p_vaddr, end = start + segment->p_memsz;
        if (segment->p_type == PT_GNU_RELRO)
            is_read_only = page >= (start & ~UINT64_C(4095)) && page < (end & ~UINT64_C(4095));
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
            is_data |= at >= start && at < end;
    }
    if (!is_data)
        return false;
    if (is_read_only && sys3(SYS_mprotect, (void *)page, 4096, PROT_READ | PROT_WRITE) != 0)
        return false;
    bool is_put = put_function(tables, type, slot, function);
    if (is_read_only)
        sys3(SYS_mprotect, (void *)page, 4096, PROT_READ);
    return is_put;
}

// A word that is bound by `name`.
static void bind_word(struct pass *pass, const struct tables *tables, const struct link_map *ours,
                      const char *name, uint32_t type, void **slot) {
    const ElfW(Sym) *hook = seep_loader_symbol(ours, name);
    if (!hook || hook->st_shndx == SHN_UNDEF)
        return;
    void *value = __atomic_load_n(slot, __ATOMIC_RELAXED);
    if (is_before_ours(pass, tables, name, type, value) &&
        !put(tables, type, slot, (void *)(ours->l_addr + hook->st_value)))
        pass->failed = true;
}

static void bind_table(struct pass *pass, const struct tables *tables, const struct link_map *ours,
                       const seep_relocation *entries, size_t bytes) {
    for (size_t i = 0; entries && i < bytes / sizeof(*entries); i++) {
        uint32_t type = (uint32_t)SEEP_R_TYPE(entries[i].r_info);
        if (type != CPU_R_SLOT && type != CPU_R_GLOBAL && (type != CPU_R_WORD || SEEP_R_ADDEND(entries[i])))
            continue;
        const char *name = tables->names + tables->symbols[SEEP_R_SYMBOL(entries[i].r_info)].st_name;
        bind_word(pass, tables, ours, name, type, (void **)(tables->map.l_addr + entries[i].r_offset));
    }
}

static bool is_new(struct pass *pass, const struct dl_phdr_info *info) {
    size_t at = pass->nr++;
    return at >= pass->loaded.nr_modules || info->dlpi_subs != pass->loaded.nr_unloaded;
}

static int count_one(struct dl_phdr_info *info, size_t size, void *data) {
    struct pass *pass = data;
    (void)size;
    pass->loaded.nr_modules++;
    pass->loaded.nr_unloaded = info->dlpi_subs;
    return 0;
}

static bool defines(const struct tables *tables, const char *name) {
    const ElfW(Sym) *symbol = seep_loader_symbol(&tables->map, name);
    return symbol && symbol->st_shndx != SHN_UNDEF;
}

static int look_at_one(struct dl_phdr_info *info, size_t size, void *data) {
    struct pass *pass = data;
    struct tables tables;
    (void)size;
    if (!is_new(pass, info) || !describe(info, &tables))
        return 0;
    pass->defines[1] |= tables.map.l_ld != pass->libc->l_ld && defines(&tables, "malloc");
    pass->defines[0] |= !is_cxx_runtime(tables.map.l_name) && defines(&tables, SEEP_CXX_NEW);
    return 0;
}

static int bind_one(struct dl_phdr_info *info, size_t size, void *data) {
    struct pass *pass = data;
    struct tables tables;
    (void)size;
    if (!is_new(pass, info) || !describe(info, &tables) || tables.map.l_ld == pass->libc->l_ld)
        return 0;
    const struct link_map *ours = module_of(__ehdr_start);
    bind_table(pass, &tables, ours, seep_loader_table(&tables.map, DT_JMPREL),
               seep_loader_number(&tables.map, DT_PLTRELSZ)); // of the same kind on these processors
    bind_table(pass, &tables, ours, seep_loader_table(&tables.map, SEEP_RELOCATIONS),
               seep_loader_number(&tables.map, SEEP_RELOCATIONS_BYTES));
#ifdef CPU_GOT
    const struct seep_loader_got got = seep_loader_got(&tables.map);
    for (uint32_t i = 0; got.words && i < got.nr; i++)
        bind_word(pass, &tables, ours, tables.names + tables.symbols[got.first_symbol + i].st_name,
                  CPU_R_SLOT, got.words + i);
#endif
    return 0;
}

static const struct link_map *libc_of_ours(void) {
    const struct link_map *libc = module_of((const void *)seep_g.real.exit_now);
    return module_of(seep_g.found_malloc) == libc && module_of((const void *)seep_g.real.free) == libc ? libc
                                                                                                       : NULL;
}

bool seep_deep_bind_begin(const char *path, struct seep_deep_bind *ret_loaded) {
    bool is_a_path = false;
    for (const char *at = path; at && *at; at++) {
        if (*at == '$')
            return false;
        is_a_path |= *at == '/';
    }
    if (!is_a_path || !seep_g.find_object || &dl_iterate_phdr == NULL || seep_g.preempted_by ||
        !libc_of_ours() || !seep_calls_seem_free())
        return false;
    struct pass pass = {.nr = 0};
    dl_iterate_phdr(count_one, &pass);
    *ret_loaded = pass.loaded;
    return true;
}

bool seep_deep_bind_end(const struct seep_deep_bind *loaded) {
    struct pass pass = {.loaded = *loaded, .libc = libc_of_ours()};
    if (!pass.libc || !seep_calls_seem_free())
        return false;
    dl_iterate_phdr(look_at_one, &pass);
    if (pass.defines[1])
        return false;
    pass.nr = 0;
    dl_iterate_phdr(bind_one, &pass);
    return !pass.failed;
}
