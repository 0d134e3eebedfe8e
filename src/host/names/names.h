// SPDX-License-Identifier: BSD-2-Clause
//
// The texts that symbols consist of: function names made readable, file names made absolute.
// Each text is kept once, as long as the struct lives.
#ifndef SEEP_NAMES_NAMES_H
#define SEEP_NAMES_NAMES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/map.h"

struct seep_names {
    struct seep_arena arena;
    struct seep_map texts; // hash to text; where two texts share a hash, the next free key
    bool no_demangle;
};

// Without texts. _deinit frees all that it gave out.
#define SEEP_NAMES_INIT                                                                                      \
    { SEEP_ARENA_INIT, SEEP_MAP_INIT, false }
void seep_names_deinit(struct seep_names *names);

// Texts of more than 16 KiB are cut.
SEEP_MUST_CHECK struct seep_error *seep_names_keep(struct seep_names *names, const char *text,
                                                   const char **ret_text);

// The same of a part of a text.
SEEP_MUST_CHECK struct seep_error *seep_names_keep_part(struct seep_names *names, const char *text,
                                                        size_t nr_bytes, const char **ret_text);
// Takes "//", "/./" and "a/../" out of a path, in place. Returns its length.
size_t seep_names_normalise(char *path);

// The readable form of `mangled` where it has one, else `plain`, else `mangled`. Either may be NULL.
// Cuts the version off that linkers put behind a symbol ("memcpy@@GLIBC_2.14").
SEEP_MUST_CHECK struct seep_error *seep_names_function(struct seep_names *names, const char *mangled,
                                                       const char *plain, const char **ret_text);

// `mangled` without its version where it is a mangled name, else NULL. It may be NULL.
SEEP_MUST_CHECK struct seep_error *seep_names_linkage(struct seep_names *names, const char *mangled,
                                                      const char **ret_text);

// `file` seen from `directory` (NULL: not known), without "//", "/./" and "a/../".
SEEP_MUST_CHECK struct seep_error *seep_names_file(struct seep_names *names, const char *directory,
                                                   const char *file, const char **ret_text);

#endif
