// SPDX-License-Identifier: BSD-2-Clause
//
// The loader's lists, read without asking the loader: a look-up here takes no lock, allocates nothing and
// leaves no message when it fails. glibc's; with musl there is nothing to read, and all of it says so.
#ifndef SEEP_PRELOAD_LOADER_LISTS_H
#define SEEP_PRELOAD_LOADER_LISTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#include "preload/cpu.h"
#include "unwind/arch.h"

// As dlfcn.h has it from glibc 2.35 on, on processors without a base of their own for unwind data.
struct seep_loader_object {
    unsigned long long flags;
    void *map_start;
    void *map_end;
    struct link_map *link_map;
    void *eh_frame;
#ifdef SEEP_ARCH_EHABI
    int eh_count; // of entries
#endif
    unsigned long long reserved[7];
};

// The form of relocations on this CPU, also in the linkage table. An addend in the word itself is lost once
// the word is bound.
#if SEEP_ARCH_WORD == 4
typedef ElfW(Rel) seep_relocation;
#define SEEP_RELOCATIONS       DT_REL
#define SEEP_RELOCATIONS_BYTES DT_RELSZ
#define SEEP_R_TYPE(info)      ELF32_R_TYPE(info)
#define SEEP_R_SYMBOL(info)    ELF32_R_SYM(info)
#define SEEP_R_ADDEND(entry)   0
#elif defined(CPU_R_IS_REL)
typedef ElfW(Rel) seep_relocation;
#define SEEP_RELOCATIONS       DT_REL
#define SEEP_RELOCATIONS_BYTES DT_RELSZ
#define SEEP_R_TYPE(info)      CPU_R_TYPE(info)
#define SEEP_R_SYMBOL(info)    CPU_R_SYMBOL(info)
#define SEEP_R_ADDEND(entry)   0
#else
typedef ElfW(Rela) seep_relocation;
#define SEEP_RELOCATIONS       DT_RELA
#define SEEP_RELOCATIONS_BYTES DT_RELASZ
#define SEEP_R_TYPE(info)      ELF64_R_TYPE(info)
#define SEEP_R_SYMBOL(info)    ELF64_R_SYM(info)
#define SEEP_R_ADDEND(entry)   ((entry).r_addend)
#endif

#ifdef CPU_GOT
// The words of a module's global offset table that are bound by names, without relocations.
struct seep_loader_got {
    void **words; // NULL: none
    uint32_t first_symbol, nr;
};
struct seep_loader_got seep_loader_got(const struct link_map *map);
#endif

// The modules in the order of the search, the program first. NULL: not known.
const struct link_map *seep_loader_first(void);
// What the module's dynamic section has under `tag`, an address; NULL: nothing.
const void *seep_loader_table(const struct link_map *map, ElfW(Sxword) tag);
// The same for a number; 0: nothing.
size_t seep_loader_number(const struct link_map *map, ElfW(Sxword) tag);
// Whether the loader binds a word of the module by a name for which `is_one` is true.
bool seep_loader_binds(const struct link_map *map, bool (*is_one)(const char *name));
// As the module defines it, in its default version; NULL: it does not. A symbol without a section is the
// program's own jump to a function of a library.
const ElfW(Sym) * seep_loader_symbol(const struct link_map *map, const char *name);
// The definition of `name` in a module in front of ours; NULL: there is none. An entry of a procedure linkage
// table is no definition.
void *seep_loader_in_front(const char *name);
// The path of the first module after ours that defines `name`. NULL: there is none, or it also defines
// `unless`. Not for musl. Valid until the mappings are read again.
const char *seep_loader_behind(const char *name, const char *unless);
// What glibc has only from some version on: to need it would keep the library out of processes with an older
// one. The first in the order of the search; NULL: there is none.
void *seep_loader_find(const char *name);
// dlsym of RTLD_DEFAULT, RTLD_NEXT or a handle. Before glibc 2.34 it is in libdl.so.2, which not every
// process has: then the modules are searched here, and a handle knows nothing.
void *seep_loader_dlsym(void *handle, const char *name);

#endif
