// SPDX-License-Identifier: BSD-2-Clause
//
// An ELF file as capture needs it: where its code is, its functions by name, its call-frame
// information. The file belongs to others and may change while we look: it is only read, never mapped,
// and every offset in it is checked.
// Structs of a 32-bit file are widened as they are read: all structs here are those of 64 bits.
// Source: System V ABI, ELF-64 Object File Format 1.5; its chapters 4 and 5 for 32 bits.
// Proof: tests/fuzz/fuzz_elf.c.
#ifndef SEEP_PROCESS_ELF_FILE_H
#define SEEP_PROCESS_ELF_FILE_H

#include <elf.h>

#include "base/budget.h"
#include "base/error.h"

struct seep_elf_file {
    int fd;                     // borrowed
    const char *name;           // borrowed, for messages
    struct seep_budget *budget; // borrowed; for what the file's author chooses the amount of; NULL: none
    uint64_t file_bytes;
    bool is_narrow; // of 32 bits
    Elf64_Ehdr header;
    Elf64_Phdr *segments;
    uint32_t nr_segments;
    Elf64_Shdr *sections;
    uint32_t nr_sections;
    char *section_names; // ends with NUL
    uint64_t section_names_bytes;
};

// SEEP_E_FORMAT: not a 64-bit ELF file of this machine's byte order, or damaged.
SEEP_MUST_CHECK struct seep_error *seep_elf_file_init(int fd, const char *name,
                                                      struct seep_elf_file *ret_elf);
// The same, and 32-bit files too.
SEEP_MUST_CHECK struct seep_error *seep_elf_any_init(int fd, const char *name, struct seep_elf_file *ret_elf);
void seep_elf_file_deinit(struct seep_elf_file *elf);

// Reads exactly; false: not all of it is in the file.
SEEP_MUST_CHECK bool seep_elf_read(const struct seep_elf_file *elf, uint64_t file_off, void *ret_bytes,
                                   uint64_t nr_bytes);
// The section of that name with contents that are plainly there; NULL: none.
const Elf64_Shdr *seep_elf_section(const struct seep_elf_file *elf, const char *name);
// malloc'ed, with a NUL behind it. NULL: out of memory, or not in the file.
SEEP_MUST_CHECK unsigned char *seep_elf_read_section(const struct seep_elf_file *elf,
                                                     const Elf64_Shdr *section);

// Where the byte at the ELF virtual address is in the file. false: in no segment.
SEEP_MUST_CHECK bool seep_elf_file_off(const struct seep_elf_file *elf, uint64_t address, uint64_t *ret_off);
// The ELF virtual address of the byte at an offset in the file, of code where it is in several segments.
SEEP_MUST_CHECK bool seep_elf_address(const struct seep_elf_file *elf, uint64_t file_off,
                                      uint64_t *ret_address);

// Functions that are defined here, those of .symtab, then those of .dynsym. false: stop.
typedef bool seep_elf_visit_function(void *context, const char *name, uint64_t address, uint64_t nr_bytes);
SEEP_MUST_CHECK struct seep_error *seep_elf_functions(const struct seep_elf_file *elf,
                                                      seep_elf_visit_function *visit, void *context);
// Those of the tables of one type only: SHT_SYMTAB or SHT_DYNSYM.
SEEP_MUST_CHECK struct seep_error *seep_elf_functions_of(const struct seep_elf_file *elf, uint32_t type,
                                                         seep_elf_visit_function *visit, void *context);
// Those of the dynamic table go to `visit`, and names that other modules define to `elsewhere`. A linker puts
// the latter first.
typedef void seep_elf_visit_name(void *context, const char *name);
SEEP_MUST_CHECK struct seep_error *seep_elf_dynamic(const struct seep_elf_file *elf,
                                                    seep_elf_visit_function *visit,
                                                    seep_elf_visit_name *elsewhere, void *context);

// GNU build-id; returns its length, at most `room`; 0: none.
uint32_t seep_elf_build_id(const struct seep_elf_file *elf, uint8_t *ret_id, uint32_t room);

#endif
