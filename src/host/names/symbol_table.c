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

static struct seep_error *add_symbol(struct seep_symbol_table *table, const struct seep_ranges *sections,
                                     const GElf_Sym *symbol, const char *name, bool is_arm) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    uint64_t start = symbol->st_value, end;
    if (is_arm && type == STT_FUNC)
        start &= ~UINT64_C(1); // Thumb code
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

static struct seep_error *add_functions(struct seep_symbol_table *table, const struct seep_ranges *sections,
                                        struct seep_symbol_walk *walk, bool is_arm) {
    GElf_Sym symbol;
    while (seep_symbol_walk_next(walk, &symbol)) {
        unsigned type = GELF_ST_TYPE(symbol.st_info);
        bool named = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
        if (!named || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS)
            continue;
        const char *name = seep_symbol_walk_name(walk, &symbol);
        if (!name || !name[0] || is_marker(name))
            continue;
        struct seep_error *error = add_symbol(table, sections, &symbol, name, is_arm);
        if (error)
            return error;
    }
    return NULL;
}

struct seep_error *seep_symbol_table_add(struct seep_symbol_table *table, const struct seep_symbol_file *file,
                                         uint32_t section_type) {
    GElf_Ehdr file_header;
    bool is_arm = gelf_getehdr(file->elf, &file_header) && file_header.e_machine == EM_ARM;
    struct seep_ranges sections = SEEP_RANGES_INIT;
    struct seep_symbol_walk walk;
    if (!seep_symbol_walk_init(&walk, file, section_type))
        return NULL;
    struct seep_error *error = code_sections(file->elf, &sections);
    if (!error)
        error = add_functions(table, &sections, &walk, is_arm);
    seep_ranges_deinit(&sections);
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
