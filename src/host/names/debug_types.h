// SPDX-License-Identifier: BSD-2-Clause
//
// Types by DWARF: their names as a programmer writes them, and the member that lies at an offset.
//
// Damaged or hostile DWARF can make types that contain themselves, or have any number of members: every
// walk has a depth, and the members looked at for one question have a limit.
#ifndef SEEP_NAMES_DEBUG_TYPES_H
#define SEEP_NAMES_DEBUG_TYPES_H

#include <elfutils/libdw.h>

#include "core/attr.h"

#define SEEP_TYPE_TEXT_BYTES 2048u // templates of the C++ library come to a thousand and more

// A text that is being put together. What does not fit is left out, and "..." stands for it.
struct seep_type_text {
    char bytes[SEEP_TYPE_TEXT_BYTES];
    size_t used;
    bool is_cut;
};

// Appends.
void seep_type_text_put(struct seep_type_text *text, const char *more);

// What `entry` (a variable, a member, a pointer) says its type is, without const and the like. false:
// nothing.
SEEP_MUST_CHECK bool seep_type_of(Dwarf_Die *entry, Dwarf_Die *ret_type);
// The type itself behind const, volatile and typedef.
SEEP_MUST_CHECK bool seep_type_plain(Dwarf_Die *type, Dwarf_Die *ret_type);
// What a pointer or a reference leads to; false: it is none, or leads to anything (void *).
SEEP_MUST_CHECK bool seep_type_pointee(Dwarf_Die *type, Dwarf_Die *ret_type);
// 0: not known.
uint64_t seep_type_bytes(Dwarf_Die *type);

// Declares `name` as a C programmer would: "struct cache *table[8]", "int (*grid[1])[3]"; with "" the type
// alone.
void seep_type_declare(Dwarf_Die *type, const char *name, struct seep_type_text *text);

// Goes from `type` to what lies `off` bytes into it: puts ".users[3].next" behind `path`. *ret_off is what is
// left of `off` where it ends: 0 where a member begins there. Of a union the member that is a pointer, or has
// one, is taken; where several are, none is. A flexible array at the end of `type` has as many elements as
// are asked for. Whether a pointer can lie there: one begins there, or it is a union, or characters, of which
// it is not known what they hold.
bool seep_type_member(Dwarf_Die *type, uint64_t off, struct seep_type_text *path, Dwarf_Die *ret_type,
                      uint64_t *ret_off);
// As for a member of a structure, by its entry: also a base class. false: static, a bit field, or not at a
// fixed place.
SEEP_MUST_CHECK bool seep_type_member_place(Dwarf_Die *member, uint64_t *ret_off, Dwarf_Die *ret_type);
// How many indices an array takes.
unsigned seep_type_dimensions(Dwarf_Die *array);
bool seep_type_is_aggregate(int tag); // a structure, class or union
// Whether it is declared in a program in C.
bool seep_type_is_of_c(Dwarf_Die *type);

#endif
