// SPDX-License-Identifier: BSD-2-Clause
// Modules in the memory of a process, see loaded_module.h.
#include <elf.h>
#include <string.h>

#include "process/elf_notes.h"
#include "scan/loaded_module.h"

#define HEADERS_MAX 64

// The build-id among the notes of a segment, as far as there is one.
static void read_build_id(const struct seep_memory *memory, uint64_t address, uint64_t nr_bytes,
                          struct seep_module *module) {
    unsigned char notes[1024];
    size_t nr = (size_t)SEEP_MIN(nr_bytes, sizeof(notes));
    if (seep_memory_read(memory, address, notes, nr))
        module->build_id_bytes =
            seep_elf_notes_build_id(notes, nr, module->build_id, sizeof(module->build_id));
}

// The program headers of the file that begins at `start`.
static bool read_segments(const struct seep_memory *memory, uint64_t start, Elf64_Phdr *ret_segments,
                          size_t *ret_nr) {
    Elf64_Ehdr header;
    if (!seep_memory_read(memory, start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > HEADERS_MAX)
        return false;
    *ret_nr = header.e_phnum;
    return seep_memory_read(memory, start + header.e_phoff, ret_segments,
                            header.e_phnum * sizeof(*ret_segments));
}

// The program headers of a 32-bit file, widened.
static bool read_narrow_segments(const struct seep_memory *memory, uint64_t start, Elf64_Phdr *ret_segments,
                                 size_t *ret_nr) {
    Elf32_Ehdr header;
    Elf32_Phdr narrow[HEADERS_MAX];
    if (!seep_memory_read(memory, start, &header, sizeof(header)) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_phentsize != sizeof(Elf32_Phdr) || header.e_phnum > HEADERS_MAX ||
        !seep_memory_read(memory, start + header.e_phoff, narrow, header.e_phnum * sizeof(*narrow)))
        return false;
    for (size_t i = 0; i < header.e_phnum; i++)
        ret_segments[i] = (Elf64_Phdr){.p_type = narrow[i].p_type,
                                       .p_vaddr = narrow[i].p_vaddr,
                                       .p_filesz = narrow[i].p_filesz,
                                       .p_memsz = narrow[i].p_memsz};
    *ret_nr = header.e_phnum;
    return true;
}

// The module whose file begins at `start`: bias, ends, build-id.
static bool read_module(const struct seep_memory *memory, uint64_t start, struct seep_module *ret_module) {
    Elf64_Phdr segments[HEADERS_MAX];
    size_t nr_segments = 0;
    if (!(memory->word_bytes == 4 ? read_narrow_segments : read_segments)(memory, start, segments,
                                                                          &nr_segments))
        return false;
    bool any = false;
    uint64_t end = 0;
    *ret_module = (struct seep_module){.start_rt = start, .unloaded_ns = -1};
    for (size_t i = 0; i < nr_segments; i++) {
        if (segments[i].p_type != PT_LOAD)
            continue;
        if (!any)
            ret_module->bias_rt = start - (segments[i].p_vaddr & ~(uint64_t)4095);
        any = true;
        end = SEEP_MAX(end, segments[i].p_vaddr + segments[i].p_memsz);
    }
    ret_module->end_rt = ret_module->bias_rt + end;
    for (size_t i = 0; any && i < nr_segments; i++)
        if (segments[i].p_type == PT_NOTE && !ret_module->build_id_bytes)
            read_build_id(memory, ret_module->bias_rt + segments[i].p_vaddr, segments[i].p_filesz,
                          ret_module);
    return any;
}

// A file that is mapped only to be read (for its debug information, for example) is no module: a loader also
// maps code, or data from another part of the file.
static bool is_loaded(const struct seep_memory *memory, const struct seep_memory_area *first,
                      uint64_t module_end_rt) {
    const struct seep_memory_area *end = memory->mappings + memory->nr_mappings;
    for (const struct seep_memory_area *mapping = first; mapping < end; mapping++) {
        bool same = strcmp(mapping->path, first->path) == 0;
        if (mapping->start >= module_end_rt || (*mapping->path && !same))
            break;
        if (same && (mapping->executable || (mapping->writable && !mapping->shared && mapping->file_off)))
            return true;
        if (mapping != first && same && !mapping->file_off)
            break; // the same file, mapped again
    }
    return false;
}

bool seep_loaded_module_read(const struct seep_memory *memory, const struct seep_memory_area *mapping,
                             struct seep_module *ret_module) {
    return is_loaded(memory, mapping, UINT64_MAX) && read_module(memory, mapping->start, ret_module) &&
           is_loaded(memory, mapping, ret_module->end_rt);
}
