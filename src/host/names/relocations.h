// SPDX-License-Identifier: BSD-2-Clause
//
// What the loader writes into a place of a file, by the file's relocations; and the addresses in
// instructions of aarch64 that lead to such a place.
#ifndef SEEP_NAMES_RELOCATIONS_H
#define SEEP_NAMES_RELOCATIONS_H

#include "names/symbol_file.h"

struct seep_relocation {
    GElf_Rela entry;
    size_t symbols_index; // the section that its symbol is in
};

// The relocation of the word at `slot`. false: it has none.
bool seep_relocation_find(const struct seep_symbol_file *file, uint64_t slot,
                          struct seep_relocation *ret_relocation);
// Points into the file; NULL: it has none.
const char *seep_relocation_symbol(const struct seep_symbol_file *file,
                                   const struct seep_relocation *relocation);

// Source: Arm ARM, A64, ADRP and LDR (immediate, unsigned offset, 64 bits).
static inline uint64_t seep_aarch64_page(uint32_t adrp, uint64_t address) {
    int64_t pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
    pages -= pages & (1 << 20) ? 1 << 21 : 0;
    return (address & ~UINT64_C(0xfff)) + (uint64_t)(pages * 4096);
}

// The offset in bytes of an LDR (immediate, unsigned offset) of 64 bits. Source: Arm ARM, C6.2.
static inline uint64_t seep_aarch64_load_offset(uint32_t ldr) {
    return (ldr >> 10 & 0xfff) * UINT64_C(8);
}

#endif
