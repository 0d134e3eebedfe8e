// SPDX-License-Identifier: BSD-2-Clause
//
// What a regular expression takes when it is compiled. The C library writes repetitions out, so that a few
// characters can take all memory, and reads groups by recursion.
#ifndef SEEP_BASE_REGEX_SIZE_H
#define SEEP_BASE_REGEX_SIZE_H

#include <stdbool.h>

// Written out, it has at most so many characters, and so many places where a match goes on without one or in
// two ways. The memory of glibc grows with the square of these places: 2,000 take some 200 MB.
enum { SEEP_REGEX_ATOMS_MAX = 65536, SEEP_REGEX_CHOICES_MAX = 2000, SEEP_REGEX_DEPTH_MAX = 200 };

// `text`: POSIX extended syntax, right or wrong. Takes time in the order of its length.
bool seep_regex_is_small(const char *text);

#endif
