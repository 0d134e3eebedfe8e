// SPDX-License-Identifier: BSD-2-Clause
// Reads ELF files that may be anything, see elf_file.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/large.h"
#include "process/elf_file.h"

// No table of a real file is larger; a count that lies must not cost memory.
#define TABLE_BYTES_MAX (UINT64_C(256) << 20)
#define READ_BYTES      (UINT64_C(4) << 20) // at once: between them it is asked whether to stop
#define NOTES_BYTES_MAX (UINT64_C(1) << 20)

bool seep_elf_read(const struct seep_elf_file *elf, uint64_t file_off, void *ret_bytes, uint64_t nr_bytes) {
    if (file_off > elf->file_bytes || nr_bytes > elf->file_bytes - file_off)
        return false;
    char *to = ret_bytes;
    while (nr_bytes) {
        if (!seep_budget_take(elf->budget, 0))
            return false;
        ssize_t nr = pread(elf->fd, to, SEEP_MIN(nr_bytes, READ_BYTES), (off_t)file_off);
        if (nr < 0 && errno == EINTR)
            continue;
        if (nr <= 0)
            return false;
        to += nr;
        file_off += (uint64_t)nr;
        nr_bytes -= (uint64_t)nr;
    }
    return true;
}

// malloc'ed, with a NUL behind it.
static void *read_bytes(const struct seep_elf_file *elf, uint64_t file_off, uint64_t nr_bytes) {
    if (file_off > elf->file_bytes || nr_bytes > elf->file_bytes - file_off || nr_bytes > TABLE_BYTES_MAX)
        return NULL;
    char *bytes = seep_large_alloc(nr_bytes + 1, 1);
    if (bytes && !seep_elf_read(elf, file_off, bytes, nr_bytes)) {
        free(bytes);
        return NULL;
    }
    if (bytes)
        bytes[nr_bytes] = 0;
    return bytes;
}

static struct seep_error *bad(const struct seep_elf_file *elf, const char *why) {
    return seep_error_create(SEEP_E_FORMAT, "%s: %s", elf->name, why);
}

static struct seep_error *check_header(const struct seep_elf_file *elf) {
    const Elf64_Ehdr *header = &elf->header;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return bad(elf, "not an ELF file");
    if (header->e_ident[EI_CLASS] != ELFCLASS64)
        return bad(elf, "a 32-bit program, which this cannot trace");
    if (header->e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
        return bad(elf, "of another byte order");
    if (header->e_phnum && header->e_phentsize != sizeof(Elf64_Phdr))
        return bad(elf, "program headers of a strange size");
    return NULL;
}

// Section headers are a help, not a need: without good ones there are none.
static void read_sections(struct seep_elf_file *elf) {
    const Elf64_Ehdr *header = &elf->header;
    if (!header->e_shnum || header->e_shentsize != sizeof(Elf64_Shdr))
        return;
    elf->sections = read_bytes(elf, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr));
    if (!elf->sections)
        return;
    elf->nr_sections = header->e_shnum;
    if (header->e_shstrndx >= elf->nr_sections)
        return;
    const Elf64_Shdr *names = &elf->sections[header->e_shstrndx];
    elf->section_names =
        names->sh_type == SHT_NOBITS ? NULL : read_bytes(elf, names->sh_offset, names->sh_size);
    elf->section_names_bytes = elf->section_names ? names->sh_size + 1 : 0;
}

struct seep_error *seep_elf_file_init(int fd, const char *name, struct seep_elf_file *ret_elf) {
    struct seep_elf_file elf = {.fd = fd, .name = name};
    struct stat status;
    if (fstat(fd, &status) != 0)
        return seep_error_system(errno, "%s", name);
    elf.file_bytes = (uint64_t)SEEP_MAX(status.st_size, (off_t)0);
    if (!seep_elf_read(&elf, 0, &elf.header, sizeof(elf.header)))
        return bad(&elf, "too short for an ELF file");
    struct seep_error *err = check_header(&elf);
    if (err)
        return err;
    elf.segments = read_bytes(&elf, elf.header.e_phoff, (uint64_t)elf.header.e_phnum * sizeof(Elf64_Phdr));
    if (!elf.segments)
        return bad(&elf, "program headers that are not in the file");
    elf.nr_segments = elf.header.e_phnum;
    read_sections(&elf);
    *ret_elf = elf;
    return NULL;
}

void seep_elf_file_deinit(struct seep_elf_file *elf) {
    free(elf->segments);
    free(elf->sections);
    free(elf->section_names);
    *elf = (struct seep_elf_file){.fd = -1};
}

const Elf64_Shdr *seep_elf_section(const struct seep_elf_file *elf, const char *name) {
    for (uint32_t i = 0; i < elf->nr_sections; i++) {
        const Elf64_Shdr *section = &elf->sections[i];
        if (section->sh_name < elf->section_names_bytes && section->sh_type != SHT_NOBITS &&
            !(section->sh_flags & SHF_COMPRESSED) && strcmp(elf->section_names + section->sh_name, name) == 0)
            return section;
    }
    return NULL;
}

unsigned char *seep_elf_read_section(const struct seep_elf_file *elf, const Elf64_Shdr *section) {
    return read_bytes(elf, section->sh_offset, section->sh_size);
}

bool seep_elf_file_off(const struct seep_elf_file *elf, uint64_t address, uint64_t *ret_off) {
    for (uint32_t i = 0; i < elf->nr_segments; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            *ret_off = address - segment->p_vaddr + segment->p_offset;
            return true;
        }
    }
    return false;
}

bool seep_elf_address(const struct seep_elf_file *elf, uint64_t file_off, uint64_t *ret_address) {
    bool found = false;
    for (uint32_t i = 0; i < elf->nr_segments; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        // What is mapped begins at the start of a page.
        uint64_t before = segment->p_offset & 4095;
        uint64_t start = segment->p_offset - before;
        if (segment->p_type != PT_LOAD || file_off < start || file_off - start >= segment->p_filesz + before)
            continue;
        if (!found || segment->p_flags & PF_X)
            *ret_address = segment->p_vaddr - before + (file_off - start);
        found = true;
    }
    return found;
}

static struct seep_error *visit_table(const struct seep_elf_file *elf, const Elf64_Shdr *table,
                                      seep_elf_visit_function *visit, void *context, bool *ret_stop) {
    if (table->sh_link >= elf->nr_sections || table->sh_entsize != sizeof(Elf64_Sym))
        return NULL;
    const Elf64_Shdr *names = &elf->sections[table->sh_link];
    Elf64_Sym *symbols = read_bytes(elf, table->sh_offset, table->sh_size);
    char *strings = read_bytes(elf, names->sh_offset, names->sh_size);
    uint64_t nr = symbols && strings ? table->sh_size / sizeof(*symbols) : 0;
    for (uint64_t i = 0; i < nr && !*ret_stop && seep_budget_take(elf->budget, 1); i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_shndx < SHN_LORESERVE && symbol->st_name <= names->sh_size)
            *ret_stop = !visit(context, strings + symbol->st_name, symbol->st_value, symbol->st_size);
    }
    free(symbols);
    free(strings);
    return NULL;
}

// A file has at most one table of each type: more of them could take any time.
// Source: System V ABI, "Section Header", SHT_SYMTAB.
static struct seep_error *visit_table_of(const struct seep_elf_file *elf, uint32_t type,
                                         seep_elf_visit_function *visit, void *context, bool *ret_stop) {
    for (uint32_t i = 0; i < elf->nr_sections && !*ret_stop; i++)
        if (elf->sections[i].sh_type == type)
            return visit_table(elf, &elf->sections[i], visit, context, ret_stop);
    return NULL;
}

struct seep_error *seep_elf_functions_of(const struct seep_elf_file *elf, uint32_t type,
                                         seep_elf_visit_function *visit, void *context) {
    bool stop = false;
    return visit_table_of(elf, type, visit, context, &stop);
}

struct seep_error *seep_elf_functions(const struct seep_elf_file *elf, seep_elf_visit_function *visit,
                                      void *context) {
    bool stop = false;
    struct seep_error *err = visit_table_of(elf, SHT_SYMTAB, visit, context, &stop);
    return err ? err : visit_table_of(elf, SHT_DYNSYM, visit, context, &stop);
}

static uint32_t find_build_id(const unsigned char *notes, uint64_t nr_bytes, uint8_t *ret_id, uint32_t room) {
    uint64_t at = 0;
    while (nr_bytes - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        at += sizeof(note);
        uint64_t name_bytes = ((uint64_t)note.n_namesz + 3) & ~UINT64_C(3);
        uint64_t content_bytes = ((uint64_t)note.n_descsz + 3) & ~UINT64_C(3);
        if (name_bytes > nr_bytes - at || note.n_descsz > nr_bytes - at - name_bytes)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0) {
            uint32_t nr = SEEP_MIN(note.n_descsz, room);
            memcpy(ret_id, notes + at + name_bytes, nr);
            return nr;
        }
        at += SEEP_MIN(name_bytes + content_bytes, nr_bytes - at);
    }
    return 0;
}

uint32_t seep_elf_build_id(const struct seep_elf_file *elf, uint8_t *ret_id, uint32_t room) {
    uint32_t found = 0;
    uint64_t left = NOTES_BYTES_MAX; // of all segments: they may be the same bytes again and again
    for (uint32_t i = 0; i < elf->nr_segments && !found; i++) {
        const Elf64_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_NOTE || segment->p_filesz > left)
            continue;
        left -= segment->p_filesz;
        unsigned char *notes = read_bytes(elf, segment->p_offset, segment->p_filesz);
        if (notes)
            found = find_build_id(notes, segment->p_filesz, ret_id, room);
        free(notes);
    }
    return found;
}
