// SPDX-License-Identifier: BSD-2-Clause
//
// Mangled names of C++ (Itanium ABI), Rust (legacy and v0) and D, made readable with libiberty.
#ifndef SEEP_NAMES_DEMANGLE_H
#define SEEP_NAMES_DEMANGLE_H

#include "core/attr.h"

// A readable name is at most this long; what would be longer stays mangled.
#define SEEP_DEMANGLED_BYTES 16384u

// Has one of the prefixes of a mangled name.
bool seep_is_mangled(const char *name);

// false: not a mangled name, or one that is out of bounds (see demangle.c); `ret_text` is then
// not defined. Does not allocate for C++ and Rust.
SEEP_MUST_CHECK bool seep_demangle(const char *name, char ret_text[SEEP_DEMANGLED_BYTES]);

#endif
