// SPDX-License-Identifier: BSD-2-Clause
//
// One ELF file, held as an image in memory with zeros behind it, never as a descriptor: small files
// are copied, so that one that is cut short while we look cannot hurt; large ones are mapped, and a page that
// is gone becomes zeros (a handler of SIGBUS, while there is one of them). The
// zeros end a string that a damaged file leaves open at its end.
#ifndef SEEP_NAMES_SYMBOL_FILE_H
#define SEEP_NAMES_SYMBOL_FILE_H

#include <gelf.h>
#include <libelf.h>

#include "base/error.h"

struct seep_symbol_file {
    Elf *elf;
    void *image;
    size_t image_bytes; // mapped, with the zeros
    size_t file_bytes;
    struct seep_symbol_file *next_mapped; // of those that are not copied
    bool is_mapped;
    char *directory; // where it lies on this machine; NULL: not known
};

struct seep_build_id {
    const uint8_t *bytes;
    size_t nr_bytes; // 0: not known
};

// Copies or maps the regular file `fd`, which stays the caller's. *ret_file is NULL where it is not
// a program, a library, or the debug information of one; *ret_trouble then says why (static text).
// *copied_bytes counts what was copied so far, which has a limit.
SEEP_MUST_CHECK struct seep_error *seep_symbol_file_open(int fd, uint64_t *copied_bytes,
                                                         struct seep_symbol_file **ret_file,
                                                         const char **ret_trouble);
// The file packed into section .gnu_debugdata; NULL: there is none, or it is damaged.
SEEP_MUST_CHECK struct seep_error *seep_symbol_file_open_mini(const struct seep_symbol_file *file,
                                                              struct seep_symbol_file **ret_mini);
void seep_symbol_file_close(struct seep_symbol_file *file); // takes NULL
// The directory that an open file lies in on this machine, malloc'ed; NULL: not known.
char *seep_directory_of(int fd);

// Points into the file.
struct seep_build_id seep_symbol_file_build_id(const struct seep_symbol_file *file);
// Source: the CRC of .gnu_debuglink, GDB manual, "Debugging Information in Separate Files".
uint32_t seep_symbol_file_crc(const struct seep_symbol_file *file);
bool seep_symbol_file_has_debug_info(const struct seep_symbol_file *file);
bool seep_symbol_file_has_symbols(const struct seep_symbol_file *file); // the full table, .symtab
// Whether the file defines classes of the C++ runtime: the names in their type information are there. Source:
// Itanium C++ ABI, 2.9.
bool seep_symbol_file_has_cxx_runtime(const struct seep_symbol_file *file);

// What the loader puts at the ELF virtual address, and how many bytes follow in the file; NULL: the file has
// none.
const unsigned char *seep_symbol_file_bytes(const struct seep_symbol_file *file, uint64_t address,
                                            size_t *ret_nr);

// The symbols of a table, one after the other.
struct seep_symbol_walk {
    Elf *elf;
    Elf_Data *data;
    size_t strings_index;
    size_t nr;
    size_t next;
};
// Begins with the table of `type` (SHT_SYMTAB, SHT_DYNSYM); false: there is none. Only the first table of a
// type is read, because a file could name the same bytes as any number of tables.
bool seep_symbol_walk_init(struct seep_symbol_walk *walk, const struct seep_symbol_file *file, uint32_t type);
bool seep_symbol_walk_next(struct seep_symbol_walk *walk, GElf_Sym *ret_symbol); // false: that was the last
// Points into the file; NULL: it has none.
const char *seep_symbol_walk_name(const struct seep_symbol_walk *walk, const GElf_Sym *symbol);

#endif
