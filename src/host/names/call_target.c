// SPDX-License-Identifier: BSD-2-Clause
//
// What the code of a file says about a call, see call_target.h.
// Source: Intel SDM volume 2, CALL and JMP; Arm ARM, A64, BL. The file may be hostile: all bytes are looked
// up.
#include <string.h>

#include "names/call_target.h"
#include "names/relocations.h"

static uint32_t read_u32(const unsigned char *bytes) {
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static const unsigned char *bytes_before(const struct seep_symbol_file *file, uint64_t address, size_t nr) {
    size_t there;
    const unsigned char *bytes = address >= nr ? seep_symbol_file_bytes(file, address - nr, &there) : NULL;
    return bytes && there >= nr ? bytes : NULL;
}

static uint64_t displaced(uint64_t from, const unsigned char *displacement) {
    return from + (uint64_t)(int64_t)(int32_t)read_u32(displacement);
}

// An entry of the linkage table jumps to the address in its slot.
static bool find_slot_x86_64(const struct seep_symbol_file *file, uint64_t entry, uint64_t *ret_slot) {
    static const unsigned char landing[] = {0xf3, 0x0f, 0x1e, 0xfa}; // endbr64
    size_t nr, at = 0;
    const unsigned char *bytes = seep_symbol_file_bytes(file, entry, &nr);
    if (bytes && nr > sizeof(landing) && memcmp(bytes, landing, sizeof(landing)) == 0)
        at = sizeof(landing);
    if (bytes && nr > at && bytes[at] == 0xf2) // bnd
        at++;
    if (!bytes || nr < at + 6 || bytes[at] != 0xff || bytes[at + 1] != 0x25) // jmp *N(%rip)
        return false;
    *ret_slot = displaced(entry + at + 6, bytes + at + 2);
    return true;
}

static bool import_x86_64(const struct seep_symbol_file *file, uint64_t return_address, uint64_t *ret_slot) {
    const unsigned char *bytes = bytes_before(file, return_address, 6);
    if (bytes && bytes[0] == 0xff && bytes[1] == 0x15) { // call *N(%rip)
        *ret_slot = displaced(return_address, bytes + 2);
        return true;
    }
    bytes = bytes_before(file, return_address, 5);
    return bytes && bytes[0] == 0xe8 && // call N
           find_slot_x86_64(file, displaced(return_address, bytes + 1), ret_slot);
}

static bool import_aarch64(const struct seep_symbol_file *file, uint64_t return_address, uint64_t *ret_slot) {
    const unsigned char *bytes = bytes_before(file, return_address, 4);
    uint32_t word = bytes ? read_u32(bytes) : 0;
    if ((word & 0xfc000000) != 0x94000000) // bl N
        return false;
    int64_t words = (int64_t)(word & 0x3ffffff);
    words -= words & (1 << 25) ? 1 << 26 : 0;
    uint64_t entry = return_address - 4 + (uint64_t)(words * 4);
    size_t nr;
    bytes = seep_symbol_file_bytes(file, entry, &nr);
    if (bytes && nr >= 4 && read_u32(bytes) == 0xd503245f) { // bti c
        entry += 4;
        bytes = nr >= 8 ? bytes + 4 : NULL;
        nr -= 4;
    }
    uint32_t page = bytes && nr >= 8 ? read_u32(bytes) : 0, load = page ? read_u32(bytes + 4) : 0;
    if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211) // adrp x16; ldr x17, [x16, N]
        return false;
    *ret_slot = seep_aarch64_page(page, entry) + seep_aarch64_load_offset(load);
    return true;
}

bool seep_call_slot(const struct seep_symbol_file *file, uint64_t return_address, uint64_t *ret_slot) {
    GElf_Ehdr header;
    if (!gelf_getehdr(file->elf, &header))
        return false;
    return header.e_machine == EM_X86_64    ? import_x86_64(file, return_address, ret_slot)
           : header.e_machine == EM_AARCH64 ? import_aarch64(file, return_address, ret_slot)
                                            : false;
}

const char *seep_slot_import(const struct seep_symbol_file *file, uint64_t slot) {
    struct seep_relocation relocation;
    return seep_relocation_find(file, slot, &relocation) ? seep_relocation_symbol(file, &relocation) : NULL;
}
