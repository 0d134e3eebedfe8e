// SPDX-License-Identifier: BSD-2-Clause
//
// A function that returns a constant text, see constant_text.h. The handful of instructions that
// compilers make of `return "...";` are followed over the bytes of the file; anything else ends it.
// Source: Intel SDM volume 2; Arm ARM, A64. All input is hostile: every address is looked up anew.
#include <string.h>

#include <gelf.h>

#include "names/constant_text.h"
#include "names/relocations.h"

#define INSTRUCTIONS_MAX 16u

static uint64_t find_in_table(struct seep_symbol_walk *walk, const char *name) {
    GElf_Sym symbol;
    while (seep_symbol_walk_next(walk, &symbol)) {
        if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF)
            continue;
        const char *found = seep_symbol_walk_name(walk, &symbol);
        if (found && strcmp(found, name) == 0)
            return symbol.st_value;
    }
    return 0;
}

bool seep_function_find(const struct seep_symbol_file *file, const char *name, uint64_t *ret_address) {
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(types); i++) {
        struct seep_symbol_walk walk;
        *ret_address = seep_symbol_walk_init(&walk, file, types[i]) ? find_in_table(&walk, name) : 0;
        if (*ret_address)
            return true;
    }
    return false;
}

static uint64_t fetch(const unsigned char *bytes, size_t nr) {
    uint64_t value = 0;
    for (size_t i = 0; i < nr; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

// What the loader writes at `slot`: a relative relocation, or what the file has there.
static bool pointer_at(const struct seep_symbol_file *file, uint64_t slot, uint64_t *ret_value) {
    struct seep_relocation relocation;
    if (seep_relocation_find(file, slot, &relocation)) {
        uint64_t type = GELF_R_TYPE(relocation.entry.r_info);
        *ret_value = (uint64_t)relocation.entry.r_addend;
        return type == R_X86_64_RELATIVE || type == R_AARCH64_RELATIVE;
    }
    size_t nr;
    const unsigned char *bytes = seep_symbol_file_bytes(file, slot, &nr);
    if (!bytes || nr < 8)
        return false;
    *ret_value = fetch(bytes, 8);
    return *ret_value != 0;
}

// ---- x86-64 ----

struct pattern {
    const char *bytes;
    size_t nr;
    size_t nr_operand; // bytes behind
    enum { SKIP, LOAD_ADDRESS, LOAD_NUMBER, LOAD_SLOT, LOAD_SLOT_NEAR, FOLLOW, RETURN } what;
};

static const struct pattern patterns[] = {
    {"\xf3\x0f\x1e\xfa", 4, 0, SKIP},       // endbr64
    {"\x55", 1, 0, SKIP},                   // push %rbp
    {"\x48\x89\xe5", 3, 0, SKIP},           // mov %rsp,%rbp
    {"\x5d", 1, 0, SKIP},                   // pop %rbp
    {"\xc9", 1, 0, SKIP},                   // leave
    {"\x90", 1, 0, SKIP},                   // nop
    {"\x48\x8d\x05", 3, 4, LOAD_ADDRESS},   // lea N(%rip),%rax
    {"\x48\x8b\x05", 3, 4, LOAD_SLOT_NEAR}, // mov N(%rip),%rax
    {"\x48\x8b\x04\x25", 4, 4, LOAD_SLOT},  // mov N,%rax
    {"\x48\xa1", 2, 8, LOAD_SLOT},          // movabs N,%rax
    {"\x48\x8b\x00", 3, 0, FOLLOW},         // mov (%rax),%rax
    {"\xb8", 1, 4, LOAD_NUMBER},            // mov $N,%eax
    {"\x48\xb8", 2, 8, LOAD_NUMBER},        // movabs $N,%rax
    {"\xc3", 1, 0, RETURN},
    {"\xf3\xc3", 2, 0, RETURN},
};

static bool follow_x86_64(const struct seep_symbol_file *file, uint64_t address, uint64_t *ret_value) {
    bool loaded = false;
    for (unsigned i = 0; i < INSTRUCTIONS_MAX; i++) {
        size_t nr;
        const unsigned char *bytes = seep_symbol_file_bytes(file, address, &nr);
        const struct pattern *p = patterns;
        while (bytes && p < patterns + SEEP_ARRAY_SIZE(patterns) &&
               (nr < p->nr + p->nr_operand || memcmp(bytes, p->bytes, p->nr) != 0))
            p++;
        if (!bytes || p == patterns + SEEP_ARRAY_SIZE(patterns))
            return false;
        uint64_t operand = fetch(bytes + p->nr, p->nr_operand);
        address += p->nr + p->nr_operand;
        if (p->what == RETURN)
            return loaded;
        if (p->what == SKIP)
            continue;
        if (p->what == LOAD_ADDRESS || p->what == LOAD_SLOT_NEAR)
            operand = address + (uint64_t)(int64_t)(int32_t)operand;
        if (p->what == FOLLOW)
            operand = *ret_value;
        bool is_slot = p->what == LOAD_SLOT || p->what == LOAD_SLOT_NEAR || p->what == FOLLOW;
        if ((p->what == FOLLOW && !loaded) || (is_slot && !pointer_at(file, operand, &operand)))
            return false;
        *ret_value = operand;
        loaded = true;
    }
    return false;
}

// ---- aarch64 ----

static bool follow_aarch64(const struct seep_symbol_file *file, uint64_t address, uint64_t *ret_value) {
    bool loaded = false;
    for (unsigned i = 0; i < INSTRUCTIONS_MAX; i++, address += 4) {
        size_t nr;
        const unsigned char *bytes = seep_symbol_file_bytes(file, address, &nr);
        if (!bytes || nr < 4)
            return false;
        uint32_t word = (uint32_t)fetch(bytes, 4);
        if (word == 0xd65f03c0) // ret
            return loaded;
        if ((word & 0xfffff01f) == 0xd503201f) // nop, bti, paciasp, ...
            continue;
        if ((word & 0x9f00001f) == 0x90000000) { // adrp x0, page
            *ret_value = seep_aarch64_page(word, address);
            loaded = false;
        } else if ((word & 0xffc003ff) == 0x91000000) { // add x0, x0, N
            *ret_value += word >> 10 & 0xfff;
            loaded = true;
        } else if ((word & 0xffc003ff) == 0xf9400000) { // ldr x0, [x0, N]
            if (!pointer_at(file, *ret_value + seep_aarch64_load_offset(word), ret_value))
                return false;
            loaded = true;
        } else {
            return false;
        }
    }
    return false;
}

bool seep_constant_text(const struct seep_symbol_file *file, uint64_t address, const char **ret_text,
                        size_t *ret_nr_bytes) {
    GElf_Ehdr header;
    uint64_t at = 0;
    if (!gelf_getehdr(file->elf, &header))
        return false;
    bool followed = header.e_machine == EM_X86_64    ? follow_x86_64(file, address, &at)
                    : header.e_machine == EM_AARCH64 ? follow_aarch64(file, address, &at)
                                                     : false;
    size_t nr;
    const unsigned char *text = followed ? seep_symbol_file_bytes(file, at, &nr) : NULL;
    const unsigned char *end = text ? memchr(text, 0, SEEP_MIN(nr, SEEP_CONSTANT_TEXT_MAX)) : NULL;
    if (!end)
        return false;
    *ret_text = (const char *)text;
    *ret_nr_bytes = (size_t)(end - text);
    return true;
}
