// SPDX-License-Identifier: BSD-2-Clause
//
// The stacks of several profiles in one tree: equal stacks of different processes become one node,
// whatever ids and load addresses they had. Also the place where frames get their names, each
// once, when first asked for.
//
// Invariant: node 0 is the root; parent < own id; ids of modules and frames are checked.
#ifndef SEEP_VIEW_STACKS_H
#define SEEP_VIEW_STACKS_H

#include <regex.h>

#include "base/arena.h"
#include "base/ids.h"
#include "base/map.h"
#include "profile/texts.h"
#include "profile/profile.h"
#include "names/jit_names.h"
#include "names/library_code.h"
#include "names/symbols.h"

struct seep_stack_module {
    const char *path;  // borrowed from the first profile that has it
    const char *shown; // as views show it; the path until seep_stacks_shorten
    const uint8_t *build_id;
    uint32_t build_id_bytes;
    bool no_file;  // code without a file (JIT): offsets are run-time addresses of one process
    bool runtime;  // C or C++ runtime, loader, allocator: not where one looks for a leak
    bool kernel;   // the kernel, a module of it, or one of its allocators
    bool tracer;   // the library that traces: its frames are left out
    bool asked;    // symbols_id is valid
    bool used;     // has a frame that is shown
    bool nameless; // a shown frame of it has no function name
    unsigned symbols_id;
    const struct seep_process *process; // of `no_file`; borrowed
    bool jit_asked;
    struct seep_jit_names *jit_names; // of `no_file`, once jit_asked; NULL: there are none
};

struct seep_stack_frame {
    uint32_t module;
    bool exact;
    uint8_t blame;      // 1 + the least enum seep_blame of its inlined frames; 0: not asked yet
    uint16_t nr_passed; // 1 + its inlined frames that seep_stacks_self() passes; 0: not asked yet
    uint64_t offset;
    const struct seep_symbol *symbol; // NULL: not asked yet
};

#define SEEP_NO_FRAME UINT32_MAX

struct seep_stack_node {
    uint32_t parent;
    uint32_t frame;       // SEEP_NO_FRAME: the root, or a cut
    int cut;              // enum seep_cut: why the stack is not complete; -1: it is
    uint32_t first_child; // of those that were added; 0: none
};

struct seep_stacks {
    struct seep_symbols *symbols; // borrowed
    struct seep_stack_module *modules;
    size_t nr_modules;
    size_t modules_capacity;
    struct seep_stack_frame *frames;
    size_t nr_frames;
    size_t frames_capacity;
    struct seep_stack_node *nodes;
    size_t nr_nodes;
    size_t nodes_capacity;
    struct seep_map module_ids;
    struct seep_ids frame_ids;
    struct seep_ids node_ids;
    struct seep_texts files;     // source files of frames that are shown
    const char **files_shown;    // by id in files; NULL until seep_stacks_shorten
    struct seep_texts functions; // of frames that are shown
    const char **functions_shown;
    // Symbols share their texts: id in files and functions, by the address of the text.
    struct seep_map file_ids;
    struct seep_map function_ids;
    struct seep_arena names; // theirs
    bool full_names;         // functions and types are not shortened
    // Of own_operators.h: the profile that was asked last, and whether a module of it has a C++ runtime of
    // its own.
    const struct seep_profile *runtime_of;
    bool has_runtime;
};

// Borrows `symbols`.
SEEP_MUST_CHECK struct seep_error *seep_stacks_create(struct seep_symbols *symbols,
                                                      struct seep_stacks **ret_stacks);
void seep_stacks_destroy(struct seep_stacks *stacks); // takes NULL
// A copy of complete stacks, as they were before any was shown. Frames that have names keep them.
// The profiles of `from` must outlive the copy.
SEEP_MUST_CHECK struct seep_error *seep_stacks_copy(const struct seep_stacks *from,
                                                    struct seep_stacks **ret_stacks);

// Adds the stacks of `profile`, which must outlive `stacks`. (*ret_nodes)[i] is the node of the
// profile's node i; malloc'ed, the caller frees it.
SEEP_MUST_CHECK struct seep_error *seep_stacks_add(struct seep_stacks *stacks,
                                                   const struct seep_profile *profile, uint32_t **ret_nodes);
// No profile is added any more: frees what only seep_stacks_add needs.
void seep_stacks_complete(struct seep_stacks *stacks);

// The names of a frame; code without a file has the one that its compiler wrote down for perf, or none.
SEEP_MUST_CHECK struct seep_error *seep_stacks_resolve(struct seep_stacks *stacks, uint32_t frame,
                                                       const struct seep_symbol **ret_symbol);

// The frame that a stack is attributed to, see enum seep_view_by. With `by_name` functions of
// names/library_code.h do not count either, for which frames are resolved. *ret_frame is SEEP_NO_FRAME for
// a stack without frames; *ret_inlined is the index in the frame's symbol (0 without `by_name`).
SEEP_MUST_CHECK struct seep_error *seep_stacks_self(struct seep_stacks *stacks, uint32_t node, bool by_name,
                                                    uint32_t *ret_frame, unsigned *ret_inlined);

// The least blame of the functions of a frame. Resolves them.
SEEP_MUST_CHECK struct seep_error *seep_stacks_least_blame(struct seep_stacks *stacks, uint32_t frame,
                                                           enum seep_blame *ret_least);
// Whether the frame is of a runtime that is not named where another frame of the stack has `best`.
bool seep_stacks_is_passed_runtime(const struct seep_stacks *stacks, uint32_t frame, enum seep_blame best);

// The frame to name as the line to look at (names/library_code.h), which are resolved; as seep_stacks_self.
SEEP_MUST_CHECK struct seep_error *seep_stacks_blamed(struct seep_stacks *stacks, uint32_t node,
                                                      uint32_t *ret_frame, unsigned *ret_inlined);

// The caller of a frame's function in the node's stack: the next function outwards that has a line and is not
// the frame's own. Where the frame has no name: the next frame. *ret_frame is SEEP_NO_FRAME where there is
// none.
SEEP_MUST_CHECK struct seep_error *seep_stacks_caller(struct seep_stacks *stacks, uint32_t node,
                                                      uint32_t frame, unsigned inlined, uint32_t *ret_frame,
                                                      unsigned *ret_inlined);

// What a stack passes that has a frame of each of these, inlined ones too. NULL: not asked for. Borrowed.
struct seep_stacks_wanted {
    const regex_t *function;
    const regex_t *file;
    const regex_t *module;
    const regex_t *any; // of the three
};

// (*ret_passes)[i]: the stack of node i passes. malloc'ed, the caller frees it. Asks each frame once, and
// resolves it if more than its module is asked for.
SEEP_MUST_CHECK struct seep_error *seep_stacks_match(struct seep_stacks *stacks,
                                                     const struct seep_stacks_wanted *wanted,
                                                     bool **ret_passes);

// Which modules and files are shown: resolves the frames of the stacks of `nodes`.
SEEP_MUST_CHECK struct seep_error *seep_stacks_use(struct seep_stacks *stacks, const uint32_t *nodes,
                                                   size_t nr_nodes);
// Gives the used modules and files their shown names, and the functions names that can be read. Once, after
// seep_stacks_use. Functions that would come to the same name keep their own.
SEEP_MUST_CHECK struct seep_error *seep_stacks_shorten(struct seep_stacks *stacks, bool full_paths,
                                                       bool full_names);
const char *seep_stacks_name_shown(const struct seep_stacks *stacks, const char *function); // NULL: NULL
const char *seep_stacks_file_shown(const struct seep_stacks *stacks, const char *file);

#endif
