// SPDX-License-Identifier: BSD-2-Clause
// Reads ELF files that may be anything, see elf_file.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/large.h"
#include "process/elf_file.h"
#include "process/elf_notes.h"

// No table of a real file is larger; a count that lies must not cost memory.
#define TABLE_BYTES_MAX (UINT64_C(256) << 20)
#define READ_BYTES      (UINT64_C(4) << 20) // at once: between them it is asked whether to stop
#define NOTES_BYTES_MAX (UINT64_C(1) << 20)
// A room of this size needs no new pages for each part of a table.
#define SYMBOLS_AT_ONCE UINT64_C(4096)

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

static bool is_in_file(const struct seep_elf_file *elf, uint64_t file_off, uint64_t nr_bytes) {
    return file_off <= elf->file_bytes && nr_bytes <= elf->file_bytes - file_off &&
           nr_bytes <= TABLE_BYTES_MAX;
}

// malloc'ed, with a NUL behind it.
static void *read_bytes(const struct seep_elf_file *elf, uint64_t file_off, uint64_t nr_bytes) {
    if (!is_in_file(elf, file_off, nr_bytes))
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

// ---- 32 bits ----

static Elf64_Ehdr widen_header(const void *bytes) {
    Elf32_Ehdr from;
    memcpy(&from, bytes, sizeof(from));
    Elf64_Ehdr to = {.e_type = from.e_type,
                     .e_machine = from.e_machine,
                     .e_version = from.e_version,
                     .e_entry = from.e_entry,
                     .e_phoff = from.e_phoff,
                     .e_shoff = from.e_shoff,
                     .e_flags = from.e_flags,
                     .e_ehsize = from.e_ehsize,
                     .e_phentsize = from.e_phentsize,
                     .e_phnum = from.e_phnum,
                     .e_shentsize = from.e_shentsize,
                     .e_shnum = from.e_shnum,
                     .e_shstrndx = from.e_shstrndx};
    memcpy(to.e_ident, from.e_ident, sizeof(to.e_ident));
    return to;
}

static void widen_segment(const void *from_bytes, void *to_bytes) {
    Elf32_Phdr from;
    memcpy(&from, from_bytes, sizeof(from));
    Elf64_Phdr to = {.p_type = from.p_type,
                     .p_flags = from.p_flags,
                     .p_offset = from.p_offset,
                     .p_vaddr = from.p_vaddr,
                     .p_paddr = from.p_paddr,
                     .p_filesz = from.p_filesz,
                     .p_memsz = from.p_memsz,
                     .p_align = from.p_align};
    memcpy(to_bytes, &to, sizeof(to));
}

static void widen_section(const void *from_bytes, void *to_bytes) {
    Elf32_Shdr from;
    memcpy(&from, from_bytes, sizeof(from));
    Elf64_Shdr to = {.sh_name = from.sh_name,
                     .sh_type = from.sh_type,
                     .sh_flags = from.sh_flags,
                     .sh_addr = from.sh_addr,
                     .sh_offset = from.sh_offset,
                     .sh_size = from.sh_size,
                     .sh_link = from.sh_link,
                     .sh_info = from.sh_info,
                     .sh_addralign = from.sh_addralign,
                     .sh_entsize = from.sh_entsize};
    memcpy(to_bytes, &to, sizeof(to));
}

static void widen_symbol(const void *from_bytes, void *to_bytes) {
    Elf32_Sym from;
    memcpy(&from, from_bytes, sizeof(from));
    Elf64_Sym to = {.st_name = from.st_name,
                    .st_info = from.st_info,
                    .st_other = from.st_other,
                    .st_shndx = from.st_shndx,
                    .st_value = from.st_value,
                    .st_size = from.st_size};
    memcpy(to_bytes, &to, sizeof(to));
}

struct element {
    size_t wide;
    size_t narrow;
    void (*widen)(const void *from, void *to);
};
static const struct element segment_element = {sizeof(Elf64_Phdr), sizeof(Elf32_Phdr), widen_segment};
static const struct element section_element = {sizeof(Elf64_Shdr), sizeof(Elf32_Shdr), widen_section};
static const struct element symbol_element = {sizeof(Elf64_Sym), sizeof(Elf32_Sym), widen_symbol};

static size_t bytes_in_file(const struct seep_elf_file *elf, const struct element *element) {
    return elf->is_narrow ? element->narrow : element->wide;
}

// `nr` elements as those of 64 bits, malloc'ed; NULL: they are not in the file.
static void *read_table(const struct seep_elf_file *elf, uint64_t file_off, uint64_t nr,
                        const struct element *element) {
    if (nr > TABLE_BYTES_MAX / element->wide)
        return NULL;
    char *from = read_bytes(elf, file_off, nr * bytes_in_file(elf, element));
    if (!from || !elf->is_narrow)
        return from;
    char *to = seep_large_alloc(nr * element->wide + 1, 1);
    for (uint64_t i = 0; to && i < nr; i++)
        element->widen(from + i * element->narrow, to + i * element->wide);
    free(from);
    return to;
}

static struct seep_error *check_header(const struct seep_elf_file *elf) {
    const Elf64_Ehdr *header = &elf->header;
    if (header->e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
        return bad(elf, "of another byte order");
    if (header->e_phnum && header->e_phentsize != bytes_in_file(elf, &segment_element))
        return bad(elf, "program headers of a strange size");
    return NULL;
}

// Section headers are a help, not a need: without good ones there are none.
static void read_sections(struct seep_elf_file *elf) {
    const Elf64_Ehdr *header = &elf->header;
    if (!header->e_shnum || header->e_shentsize != bytes_in_file(elf, &section_element))
        return;
    elf->sections = read_table(elf, header->e_shoff, header->e_shnum, &section_element);
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

// The header, which in a file of 32 bits is shorter.
static struct seep_error *read_header(struct seep_elf_file *elf) {
    unsigned char bytes[sizeof(Elf64_Ehdr)] = {0};
    if (!seep_elf_read(elf, 0, bytes, sizeof(Elf32_Ehdr)))
        return bad(elf, "too short for an ELF file");
    if (memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return bad(elf, "not an ELF file");
    elf->is_narrow = bytes[EI_CLASS] == ELFCLASS32;
    if (elf->is_narrow) {
        elf->header = widen_header(bytes);
        return NULL;
    }
    if (bytes[EI_CLASS] != ELFCLASS64)
        return bad(elf, "neither of 32 nor of 64 bits");
    return seep_elf_read(elf, 0, &elf->header, sizeof(elf->header)) ? NULL
                                                                    : bad(elf, "too short for an ELF file");
}

struct seep_error *seep_elf_file_init(int fd, const char *name, struct seep_elf_file *ret_elf) {
    struct seep_error *err = seep_elf_any_init(fd, name, ret_elf);
    if (err || !ret_elf->is_narrow)
        return err;
    err = bad(ret_elf, "this 32-bit program cannot be traced here");
    seep_elf_file_deinit(ret_elf);
    return err;
}

struct seep_error *seep_elf_any_init(int fd, const char *name, struct seep_elf_file *ret_elf) {
    struct seep_elf_file elf = {.fd = fd, .name = name};
    struct stat status;
    if (fstat(fd, &status) != 0)
        return seep_error_system(errno, "%s", name);
    elf.file_bytes = (uint64_t)SEEP_MAX(status.st_size, (off_t)0);
    struct seep_error *err = read_header(&elf);
    if (!err)
        err = check_header(&elf);
    if (err)
        return err;
    elf.segments = read_table(&elf, elf.header.e_phoff, elf.header.e_phnum, &segment_element);
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

// Whether the symbol may be a function of another module. A linker often does not know that it is one
// (NOTYPE).
static bool is_elsewhere(const Elf64_Sym *symbol) {
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx == SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE);
}

static struct seep_error *visit_table(const struct seep_elf_file *elf, const Elf64_Shdr *table,
                                      seep_elf_visit_function *visit, seep_elf_visit_name *elsewhere,
                                      void *context, bool *ret_stop) {
    if (table->sh_link >= elf->nr_sections || table->sh_entsize != bytes_in_file(elf, &symbol_element))
        return NULL;
    const Elf64_Shdr *names = &elf->sections[table->sh_link];
    uint64_t nr = table->sh_size / table->sh_entsize;
    bool fits = is_in_file(elf, table->sh_offset, table->sh_size);
    char *strings = fits ? read_bytes(elf, names->sh_offset, names->sh_size) : NULL;
    Elf64_Sym *symbols = NULL;
    for (uint64_t i = 0; strings && i < nr && !*ret_stop && seep_budget_take(elf->budget, 1); i++) {
        if (i % SYMBOLS_AT_ONCE == 0) {
            free(symbols);
            symbols = read_table(elf, table->sh_offset + i * table->sh_entsize,
                                 SEEP_MIN(nr - i, SYMBOLS_AT_ONCE), &symbol_element);
            if (!symbols)
                break;
        }
        const Elf64_Sym *symbol = &symbols[i % SYMBOLS_AT_ONCE];
        if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF &&
            symbol->st_shndx < SHN_LORESERVE && symbol->st_name <= names->sh_size)
            *ret_stop = !visit(context, strings + symbol->st_name, symbol->st_value, symbol->st_size);
        else if (elsewhere && is_elsewhere(symbol) && symbol->st_name <= names->sh_size)
            elsewhere(context, strings + symbol->st_name);
    }
    free(symbols);
    free(strings);
    return NULL;
}

// A file has at most one table of each type: more of them could take any time.
// Source: System V ABI, "Section Header", SHT_SYMTAB.
static struct seep_error *visit_table_of(const struct seep_elf_file *elf, uint32_t type,
                                         seep_elf_visit_function *visit, seep_elf_visit_name *elsewhere,
                                         void *context, bool *ret_stop) {
    for (uint32_t i = 0; i < elf->nr_sections && !*ret_stop; i++)
        if (elf->sections[i].sh_type == type)
            return visit_table(elf, &elf->sections[i], visit, elsewhere, context, ret_stop);
    return NULL;
}

struct seep_error *seep_elf_functions_of(const struct seep_elf_file *elf, uint32_t type,
                                         seep_elf_visit_function *visit, void *context) {
    bool stop = false;
    return visit_table_of(elf, type, visit, NULL, context, &stop);
}

struct seep_error *seep_elf_dynamic(const struct seep_elf_file *elf, seep_elf_visit_function *visit,
                                    seep_elf_visit_name *elsewhere, void *context) {
    bool stop = false;
    return visit_table_of(elf, SHT_DYNSYM, visit, elsewhere, context, &stop);
}

struct seep_error *seep_elf_functions(const struct seep_elf_file *elf, seep_elf_visit_function *visit,
                                      void *context) {
    bool stop = false;
    struct seep_error *err = visit_table_of(elf, SHT_SYMTAB, visit, NULL, context, &stop);
    return err ? err : visit_table_of(elf, SHT_DYNSYM, visit, NULL, context, &stop);
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
            found = seep_elf_notes_build_id(notes, segment->p_filesz, ret_id, room);
        free(notes);
    }
    return found;
}
