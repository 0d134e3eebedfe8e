// SPDX-License-Identifier: BSD-2-Clause
// Functions by symbol table, see symbol_table.h.
#include <string.h>

#include <gelf.h>

#include "names/symbol_table.h"

void seep_symbol_table_deinit(struct seep_symbol_table *table) {
    seep_ranges_deinit(&table->sized);
    seep_ranges_deinit(&table->unsized);
}

// Mapping symbols mark data inside code, ".L" are the compiler's own labels.
// Source: ELF for the Arm Architecture, "Mapping symbols"; RISC-V ELF psABI, the same.
static bool is_marker(const char *name) {
    if (name[0] == '$')
        return name[1] && strchr("adtx", name[1]) && (!name[2] || name[2] == '.' || name[1] == 'x');
    return !strncmp(name, ".L", 2);
}

static uint32_t rank_of(const char *name, unsigned type, unsigned binding) {
    uint32_t function = type == STT_FUNC || type == STT_GNU_IFUNC;
    uint32_t bound = binding == STB_LOCAL ? 0 : binding == STB_WEAK ? 1 : 2;
    size_t underscores = strspn(name, "_"), length = strnlen(name, 1024);
    return function << 24 | bound << 20 | (15 - (uint32_t)SEEP_MIN(underscores, (size_t)15)) << 16 |
           (1024 - (uint32_t)length);
}

// How a file's symbol values are to be read.
struct layout {
    struct seep_ranges sections; // of code
    bool is_arm;
    uint64_t opd; // where function descriptors lie (64-bit Power, ELFv1)
    const unsigned char *descriptors;
    size_t nr_bytes; // of them
};

// The value of a function symbol is the address of the function's descriptor. The descriptor's first word is
// the address of the code. Source: 64-bit PowerPC ELF ABI Supplement 1.9, 3.2.5 "Function Descriptors".
static void find_descriptors(Elf *elf, struct layout *layout) {
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        const char *name = gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        Elf_Data *data = name && !strcmp(name, ".opd") && header.sh_type == SHT_PROGBITS
                             ? elf_rawdata(section, NULL)
                             : NULL;
        if (!data || !data->d_buf)
            continue;
        layout->opd = header.sh_addr;
        layout->descriptors = data->d_buf;
        layout->nr_bytes = data->d_size;
    }
}

static uint64_t code_address(const struct layout *layout, const GElf_Sym *symbol) {
    uint64_t at = symbol->st_value - layout->opd, address = 0;
    if (layout->is_arm && GELF_ST_TYPE(symbol->st_info) == STT_FUNC)
        return symbol->st_value & ~UINT64_C(1); // Thumb code
    if (layout->nr_bytes < 8 || at > layout->nr_bytes - 8)
        return symbol->st_value;
    for (unsigned i = 0; i < 8; i++)
        address = address << 8 | layout->descriptors[at + i];
    return address;
}

// Code sections, value 0: where a label without a size may be.
static struct seep_error *code_sections(Elf *elf, struct seep_ranges *sections) {
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        GElf_Shdr header;
        uint64_t end;
        if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
            __builtin_add_overflow(header.sh_addr, header.sh_size, &end))
            continue;
        if (!seep_ranges_add(sections, header.sh_addr, end, 0, 0))
            return seep_error_no_memory();
    }
    seep_ranges_seal(sections);
    return NULL;
}

static struct seep_error *add_symbol(struct seep_symbol_table *table, const struct layout *layout,
                                     const GElf_Sym *symbol, const char *name) {
    const struct seep_ranges *sections = &layout->sections;
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    uint64_t start = code_address(layout, symbol), end;
    if (__builtin_add_overflow(start, symbol->st_size, &end))
        return NULL;
    size_t at = seep_ranges_upto(sections, start);
    const struct seep_range *section = seep_ranges_next(sections, start, &at);
    if (!section)
        return NULL;
    uint32_t rank = rank_of(name, type, GELF_ST_BIND(symbol->st_info));
    bool added = start < end ? seep_ranges_add(&table->sized, start, end, (uintptr_t)name, rank)
                             : seep_ranges_add(&table->unsized, start, section->high, (uintptr_t)name, rank);
    return added ? NULL : seep_error_no_memory();
}

static struct seep_error *add_functions(struct seep_symbol_table *table, const struct layout *layout,
                                        struct seep_symbol_walk *walk) {
    GElf_Sym symbol;
    while (seep_symbol_walk_next(walk, &symbol)) {
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        bool named = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
        if (!named || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
            continue;
        const char *name = seep_symbol_walk_name(walk, &symbol);
        if (!name || !name[0] || is_marker(name))
            continue;
        struct seep_error *error = add_symbol(table, layout, &symbol, name);
        if (error)
            return error;
    }
    return NULL;
}

struct seep_error *seep_symbol_table_add(struct seep_symbol_table *table, const struct seep_symbol_file *file,
                                         uint32_t section_type) {
    GElf_Ehdr file_header;
    bool known = gelf_getehdr(file->elf, &file_header);
    struct layout layout = {.sections = SEEP_RANGES_INIT, .is_arm = known && file_header.e_machine == EM_ARM};
    struct seep_symbol_walk walk;
    if (!seep_symbol_walk_init(&walk, file, section_type))
        return NULL;
    if (known && file_header.e_machine == EM_PPC64 && file_header.e_ident[EI_DATA] == ELFDATA2MSB)
        find_descriptors(file->elf, &layout);
    struct seep_error *error = code_sections(file->elf, &layout.sections);
    if (!error)
        error = add_functions(table, &layout, &walk);
    seep_ranges_deinit(&layout.sections);
    return error;
}

struct seep_error *seep_symbol_variables_add(struct seep_ranges *variables,
                                             const struct seep_symbol_file *file, uint32_t section_type) {
    struct seep_symbol_walk walk;
    GElf_Sym symbol;
    if (!seep_symbol_walk_init(&walk, file, section_type))
        return NULL;
    while (seep_symbol_walk_next(&walk, &symbol)) {
        uint64_t end;
        if (GELF_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF ||
            symbol.st_shndx == SHN_ABS || __builtin_add_overflow(symbol.st_value, symbol.st_size, &end))
            continue;
        const char *name = seep_symbol_walk_name(&walk, &symbol);
        uint32_t rank = name ? rank_of(name, STT_OBJECT, GELF_ST_BIND(symbol.st_info)) : 0;
        if (name && name[0] && !seep_ranges_add(variables, symbol.st_value, end, (uintptr_t)name, rank))
            return seep_error_no_memory();
    }
    return NULL;
}

void seep_symbol_table_seal(struct seep_symbol_table *table) {
    seep_ranges_seal(&table->sized);
    seep_ranges_seal(&table->unsized);
}

const char *seep_symbol_table_find(const struct seep_symbol_table *table, uint64_t address,
                                   uint64_t *ret_start) {
    size_t sized_upto = seep_ranges_upto(&table->sized, address), at = sized_upto;
    const struct seep_range *found = seep_ranges_next(&table->sized, address, &at);
    if (!found) {
        at = seep_ranges_upto(&table->unsized, address);
        found = seep_ranges_next(&table->unsized, address, &at);
        // A function that began and ended in between: this is a gap behind it.
        if (found && sized_upto && table->sized.items[sized_upto - 1].low >= found->low)
            found = NULL;
    }
    if (!found)
        return NULL;
    *ret_start = found->low;
    return (const char *)(uintptr_t)found->value;
}
