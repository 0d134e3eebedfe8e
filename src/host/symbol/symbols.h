// SPDX-License-Identifier: BSD-2-Clause
//
// From (module, offset) to function, file and line, with inlined frames. Owns elfutils.
//
// A module is a file with a build-id; the file on disk is used only if its build-id is the same
// (or the traced module had none). Looked for, in this order: the path itself under `sysroot`,
// /usr/lib/debug and .gnu_debuglink, the build-id directories, debuginfod if DEBUGINFOD_URLS is set
// (with a time limit). Results are kept: a frame is looked up once. Not thread-safe.
#ifndef SEEP_SYMBOL_SYMBOLS_H
#define SEEP_SYMBOL_SYMBOLS_H

#include "base/error.h"

struct seep_symbols;

struct seep_symbols_options {
    const char *sysroot;       // NULL: "/"
    const char *debug_dir;     // NULL: /usr/lib/debug
    bool no_demangle;
    bool no_debuginfod;        // never ask, whatever the environment says
    unsigned debuginfod_timeout_s; // 0: 10 s for all modules together
};

// One function at a place: an inlined function, or at last the one it was inlined into.
struct seep_symbol_frame {
    const char *function; // demangled unless told not to; NULL: not known
    const char *file;     // NULL: not known; as the compiler recorded it, made absolute with its directory
    unsigned line;        // 0: not known
    bool inlined;         // was inlined into the next frame
    uint64_t function_offset; // distance from the function's start, for symbols without a line
    const char *linkage;      // the mangled name, whatever `function` is; NULL: there is none, or not known
};

struct seep_symbol {
    const struct seep_symbol_frame *frames; // innermost first; at least one
    unsigned nr_frames;
};

// What is known of a module's symbols, for the health line.
enum seep_symbols_quality {
    SEEP_SYMBOLS_NONE,     // file not found or another build: only module+offset
    SEEP_SYMBOLS_DYNAMIC,  // only the exported functions' names
    SEEP_SYMBOLS_TABLE,    // full symbol table, no lines
    SEEP_SYMBOLS_DEBUG,    // functions, lines, inlined frames
};

SEEP_MUST_CHECK struct seep_error *
seep_symbols_create(const struct seep_symbols_options *options, struct seep_symbols **ret_symbols);
void seep_symbols_destroy(struct seep_symbols *symbols); // takes NULL

// Returns an id for resolve; the same module gives the same id. build_id may be NULL.
SEEP_MUST_CHECK struct seep_error *
seep_symbols_module(struct seep_symbols *symbols, const char *path, const uint8_t *build_id,
                    size_t build_id_bytes, unsigned *ret_module);

// Looks `offset` (ELF virtual address) up at offset-1, or at offset itself where `exact`.
// Never fails for want of symbols: then one frame with a NULL function.
// The result lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *
seep_symbols_resolve(struct seep_symbols *symbols, unsigned module, uint64_t offset, bool exact,
                     const struct seep_symbol **ret_symbol);

// The variable that covers the ELF virtual address `offset`, and how far in it; *ret_name is NULL where
// no symbol does. The result lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_variable(struct seep_symbols *symbols, unsigned module,
                                                         uint64_t offset, const char **ret_name,
                                                         uint64_t *ret_variable_offset);

// The text that the C function `function` of the module returns, where all that it does is to return a
// constant one: it is read from the file, not run. *ret_text is NULL where there is no such function
// (then *ret_found is false), or where it does more. The result lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_returned_text(struct seep_symbols *symbols, unsigned module,
                                                              const char *function, bool *ret_found,
                                                              const char **ret_text);

// Known only after the first resolve in that module.
enum seep_symbols_quality seep_symbols_quality(const struct seep_symbols *symbols, unsigned module);

// "why" for quality NONE, e.g. "file is gone", "file is another build": static text, or NULL.
const char *seep_symbols_trouble(const struct seep_symbols *symbols, unsigned module);

#endif
