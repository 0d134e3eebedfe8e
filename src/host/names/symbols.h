// SPDX-License-Identifier: BSD-2-Clause
//
// From (module, offset) to function, file and line, with inlined frames. Owns elfutils.
//
// A module is a file with a build-id; the file on disk is used only if its build-id is the same
// (or the traced module had none). Looked for, in this order: the path itself under `sysroot`,
// /usr/lib/debug and .gnu_debuglink, the build-id directories, debuginfod if DEBUGINFOD_URLS is set
// (with a time limit). Results are kept: a frame is looked up once. Not thread-safe.
//
// Files that another user made, or can change, are read in a process without rights, see untrusted_symbols.h.
#ifndef SEEP_NAMES_SYMBOLS_H
#define SEEP_NAMES_SYMBOLS_H

#include "base/error.h"

struct seep_symbols;
struct seep_file_giver;

struct seep_symbols_options {
    const char *sysroot;   // NULL: "/"
    const char *debug_dir; // NULL: the user's, where there is no sysroot, or /usr/lib/debug
    bool no_demangle;
    // Of the C and C++ runtime only the symbols where it has them all: its debug information takes longer to
    // read than the rest of a report, and no leak is mended there.
    bool plain_runtime;
    bool no_debuginfod;            // never ask, whatever the environment says
    bool hasty;                    // only for a moment: files are mapped, not copied (symbol_file.h)
    unsigned debuginfod_timeout_s; // 0: 10 s for all modules together
    // For a reader of untrusted files (untrusted_reader.h): opens all files, paths are taken as they are.
    // NULL: we do.
    const struct seep_file_giver *giver;
};

// One function at a place: an inlined function, or at last the one it was inlined into.
struct seep_symbol_frame {
    const char *function; // demangled unless told not to; NULL: not known
    const char *file;     // NULL: not known; as the compiler recorded it, made absolute with its directory
    unsigned line;        // 0: not known
    bool inlined;         // was inlined into the next frame
    uint64_t function_offset; // distance from the function's start, for symbols without a line
    // The symbol's name, whatever `function` is, where that is a mangled one, or of a copy that the compiler
    // made of a function ("f.isra.0"). Of an inlined function of C++ that has none its name without scopes,
    // by which other tools know it. NULL: there is none, or not known.
    const char *linkage;
};

struct seep_symbol {
    const struct seep_symbol_frame *frames; // innermost first; at least one
    unsigned nr_frames;
};

// What is known of a module's symbols, for the health line.
enum seep_symbols_quality {
    SEEP_SYMBOLS_NONE,    // file not found or another build: only module+offset
    SEEP_SYMBOLS_DYNAMIC, // only the exported functions' names
    SEEP_SYMBOLS_TABLE,   // full symbol table, no lines
    SEEP_SYMBOLS_DEBUG,   // functions, lines, inlined frames
};

SEEP_MUST_CHECK struct seep_error *seep_symbols_create(const struct seep_symbols_options *options,
                                                       struct seep_symbols **ret_symbols);
void seep_symbols_destroy(struct seep_symbols *symbols); // takes NULL

// Returns an id for resolve; the same module gives the same id. build_id may be NULL.
SEEP_MUST_CHECK struct seep_error *seep_symbols_module(struct seep_symbols *symbols, const char *path,
                                                       const uint8_t *build_id, size_t build_id_bytes,
                                                       unsigned *ret_module);

// Functions of a module for which no file is asked then: those of the kernel, as they were saved.
struct seep_symbol_name {
    uint64_t offset;
    uint64_t bytes; // not 0
    const char *name;
};
// Adds to what the module was given before. The names are copied.
SEEP_MUST_CHECK struct seep_error *seep_symbols_add_names(struct seep_symbols *symbols, unsigned module,
                                                          const struct seep_symbol_name *names, size_t nr);

// What such a module has at an exact offset, with lines and inlined functions.
struct seep_symbol_place {
    uint64_t offset;
    const struct seep_symbol_frame *frames; // innermost first, without linkage
    uint32_t nr_frames;                     // at least one
};
#define SEEP_PLACE_FRAMES_MAX 256u
// The same as seep_symbols_add_names(), of what is looked up as `exact`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_add_places(struct seep_symbols *symbols, unsigned module,
                                                           const struct seep_symbol_place *places, size_t nr);

// Looks `offset` (ELF virtual address) up at offset-1, or at offset itself where `exact`.
// Never fails for want of symbols: then one frame with a NULL function.
// The result lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_resolve(struct seep_symbols *symbols, unsigned module,
                                                        uint64_t offset, bool exact,
                                                        const struct seep_symbol **ret_symbol);

// The variable that covers the ELF virtual address `offset`, and how far in it; *ret_name is NULL where
// no symbol does. The result lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_variable(struct seep_symbols *symbols, unsigned module,
                                                         uint64_t offset, const char **ret_name,
                                                         uint64_t *ret_variable_offset);

// For callers that ask seep_symbols_variable() again, of other processes of the same files: closes them all,
// and keeps where variables begin and end. Their names are empty from then on, and nothing else is found. Not
// kept: what has no build-id, for its file may be another one by then, and what has very many variables.
void seep_symbols_close_files(struct seep_symbols *symbols);

// ---- variables and types, where there is debug information ----

struct seep_type; // lives as long as the symbols; NULL: not known

// A variable that holds a word, or a part of it that does.
struct seep_variable {
    const char *name;     // "config.users[3].next"; NULL: not known. Of C++ with its namespaces and classes
    const char *function; // whose local variable it is, or NULL
    const char *file;     // where it is declared; NULL: not known
    unsigned line;
    uint64_t off;                 // how far the word lies in what `name` says
    const struct seep_type *type; // of what `name` says
};

// The variable at the ELF virtual address `offset`, by debug information; `name` is NULL where that does not
// know it. With `whole` what `name` says ends with the variable: off is how far `offset` lies in it; an array
// is "table[]" then, and `type` that of its elements. All texts live as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_global(struct seep_symbols *symbols, unsigned module,
                                                       uint64_t offset, bool whole,
                                                       struct seep_variable *ret_variable);

// A copy of a thread's stack.
struct seep_thread_stack {
    uint64_t start_rt;
    const uint8_t *bytes;
    size_t nr_bytes;
};

// By DWARF number, of the machine that the thread ran on, which need not be this one.
#define SEEP_FRAME_REGISTERS 33u
struct seep_registers {
    uint32_t stack;       // stack pointer
    uint32_t frame;       // frame pointer
    uint64_t return_mask; // bits of a return address: the rest may be an authentication code
};
// Of EM_NONE and machines that are not known here: this machine's. Source: the DWARF supplements of the ABIs.
struct seep_registers seep_registers_of(uint16_t machine);

// A function at work.
struct seep_call_frame {
    uint16_t machine; // EM_* of <elf.h>
    uint64_t pc;
    bool exact;       // pc is the instruction itself, not the one behind a call
    uint64_t address; // of the code in its module, as an ELF virtual address: of the call, where not exact
    uint64_t cfa;     // where the frame ends: 0: not known
    uint64_t known;   // bits of the registers that are known
    uint64_t registers[SEEP_FRAME_REGISTERS];
    uint64_t
        saved_at[SEEP_FRAME_REGISTERS]; // where on the stack its content lies now; 0: still in the register
};

// Leaves `frame`, whose `address` must be set, and fills its cfa. *ret_there is false where it is not known
// the caller.
SEEP_MUST_CHECK struct seep_error *seep_symbols_caller(struct seep_symbols *symbols, unsigned module,
                                                       const struct seep_thread_stack *stack,
                                                       struct seep_call_frame *frame, bool *ret_there,
                                                       struct seep_call_frame *ret_caller);

// The local variable of `frame` that has the word at `address`, or (address 0) the `value` that a register
// still has. `name` is NULL where there is none.
SEEP_MUST_CHECK struct seep_error *seep_symbols_local(struct seep_symbols *symbols, unsigned module,
                                                      const struct seep_call_frame *frame,
                                                      const struct seep_thread_stack *stack, uint64_t address,
                                                      uint64_t value, struct seep_variable *ret_variable);

// Declares `name` as a variable of the type: "struct cache *table[8]"; with "" the type alone. NULL: not
// known.
SEEP_MUST_CHECK struct seep_error *seep_symbols_declare(struct seep_symbols *symbols,
                                                        const struct seep_type *type, const char *name,
                                                        const char **ret_text);
// What a pointer of this type leads to; NULL: it is no pointer, or leads to anything.
SEEP_MUST_CHECK struct seep_error *seep_symbols_pointee(struct seep_symbols *symbols,
                                                        const struct seep_type *type,
                                                        const struct seep_type **ret_type);
bool seep_symbols_types_are_same(const struct seep_type *a, const struct seep_type *b); // take NULL
// The class of the module that the demangler calls `name`; *ret_type is NULL where debug information does not
// have it.
SEEP_MUST_CHECK struct seep_error *seep_symbols_class(struct seep_symbols *symbols, unsigned module,
                                                      const char *name, const struct seep_type **ret_type);

// A block, and a pointer that leads into it.
struct seep_pointed {
    const struct seep_type *type; // what the pointer is declared to lead to; NULL: not known
    uint64_t at;                  // where in the block that lies
    uint64_t bytes;               // of the block
    bool is_object;               // of a class, not an array of them
};
// The member that has the pointer `off` bytes into the block: ".next"; "[2].next" where the block is an
// array;
// "" for the type itself. `name` is NULL where nothing is known, as all is outside of the type, but for the
// flexible array at its end, and where the member that lies there cannot hold a pointer.
SEEP_MUST_CHECK struct seep_error *seep_symbols_member(struct seep_symbols *symbols,
                                                       const struct seep_pointed *pointed, uint64_t off,
                                                       struct seep_variable *ret_member);

// The text that the C function `function` of the module returns, where all that it does is to return a
// constant one: it is read from the file, not run. *ret_text is NULL where there is no such function
// (then *ret_found is false), or where it does more. The result lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_returned_text(struct seep_symbols *symbols, unsigned module,
                                                              const char *function, bool *ret_found,
                                                              const char **ret_text);

// The function of another file that the code before a return address calls, an ELF virtual address of the
// module. *ret_name is NULL where it calls none directly, and where that cannot be known (no file, another
// user's, another CPU than x86-64 and aarch64). The text lives as long as `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_symbols_called_import(struct seep_symbols *symbols, unsigned module,
                                                              uint64_t return_address, const char **ret_name);
// Whether the module defines the C++ runtime for itself; false where that cannot be known. Asked once.
SEEP_MUST_CHECK struct seep_error *seep_symbols_has_cxx_runtime(struct seep_symbols *symbols, unsigned module,
                                                                bool *ret_has);

// Known only after the first resolve in that module.
enum seep_symbols_quality seep_symbols_quality(const struct seep_symbols *symbols, unsigned module);

// "why" for quality NONE, e.g. "file is gone", "file is another build"; lives as long as `symbols`, or NULL.
#define SEEP_SYMBOLS_STRIPPED "file has no symbols"
const char *seep_symbols_trouble(const struct seep_symbols *symbols, unsigned module);

#endif
