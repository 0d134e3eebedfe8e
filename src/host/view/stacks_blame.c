// SPDX-License-Identifier: BSD-2-Clause
// Which frame of a stack is named for it: its own, the line to look at, a caller. See stacks.h.
#include <string.h>

#include "names/library_code.h"
#include "view/stacks.h"

// How many of the frame's functions, from the innermost out, are none of interest. Many stacks have the
// frame.
static struct seep_error *count_passed(struct seep_stacks *stacks, uint32_t frame, unsigned *ret_nr,
                                       unsigned *ret_nr_all) {
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    if (error)
        return error;
    uint16_t *known = &stacks->frames[frame].nr_passed;
    unsigned nr = *known ? *known - 1u : 0;
    while (!*known && nr < symbol->nr_frames &&
           seep_function_is_passed(symbol->frames[nr].function, symbol->frames[nr].file))
        nr++;
    *known = nr < UINT16_MAX ? (uint16_t)(nr + 1) : 0;
    *ret_nr = nr;
    *ret_nr_all = symbol->nr_frames;
    return NULL;
}

struct seep_error *seep_stacks_self(struct seep_stacks *stacks, uint32_t node, bool by_name,
                                    uint32_t *ret_frame, unsigned *ret_inlined) {
    uint32_t innermost = SEEP_NO_FRAME;
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t frame = stacks->nodes[node].frame;
        if (frame == SEEP_NO_FRAME)
            continue;
        if (innermost == SEEP_NO_FRAME)
            innermost = frame;
        if (stacks->modules[stacks->frames[frame].module].runtime)
            continue;
        unsigned inlined = 0;
        if (by_name) {
            unsigned nr_all;
            struct seep_error *error = count_passed(stacks, frame, &inlined, &nr_all);
            if (error)
                return error;
            if (inlined == nr_all)
                continue;
        }
        *ret_frame = frame;
        *ret_inlined = inlined;
        return NULL;
    }
    *ret_inlined = 0;
    *ret_frame = innermost;
    if (!by_name || innermost == SEEP_NO_FRAME)
        return NULL;
    const struct seep_symbol *symbol;
    return seep_stacks_resolve(stacks, innermost, &symbol);
}

static enum seep_blame blame_of(const struct seep_stack_module *module, const struct seep_symbol_frame *f) {
    if (!module->kernel)
        return seep_blame_of(f->function, f->file, f->line, module->runtime);
    bool allocator = strcmp(module->path, SEEP_KERNEL_ALLOCATORS) == 0;
    return seep_blame_of_kernel(allocator ? NULL : f->function);
}

// The least of a frame's functions. The names of a frame are looked at once, because a deep recursion has the
// same frame thousands of times in each of thousands of stacks.
struct seep_error *seep_stacks_least_blame(struct seep_stacks *stacks, uint32_t frame,
                                           enum seep_blame *ret_least) {
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    if (error)
        return error;
    struct seep_stack_frame *known = &stacks->frames[frame];
    if (!known->blame) {
        enum seep_blame least = SEEP_BLAME_NR;
        for (unsigned i = 0; i < symbol->nr_frames; i++)
            least = SEEP_MIN(least, blame_of(&stacks->modules[known->module], &symbol->frames[i]));
        known->blame = (uint8_t)(least + 1);
    }
    *ret_least = (enum seep_blame)(known->blame - 1);
    return NULL;
}

// Asks for no name, because the debug file of libc is large.
bool seep_stacks_is_passed_runtime(const struct seep_stacks *stacks, uint32_t frame, enum seep_blame best) {
    const struct seep_stack_module *module = &stacks->modules[stacks->frames[frame].module];
    return module->runtime && !module->kernel && best < SEEP_BLAME_RUNTIME_LINE;
}

struct seep_error *seep_stacks_blamed(struct seep_stacks *stacks, uint32_t node, uint32_t *ret_frame,
                                      unsigned *ret_inlined) {
    enum seep_blame best = SEEP_BLAME_NR;
    *ret_frame = SEEP_NO_FRAME;
    *ret_inlined = 0;
    for (; node && best != SEEP_BLAME_LINE; node = stacks->nodes[node].parent) {
        uint32_t frame = stacks->nodes[node].frame;
        if (frame == SEEP_NO_FRAME)
            continue;
        const struct seep_stack_module *module = &stacks->modules[stacks->frames[frame].module];
        if (seep_stacks_is_passed_runtime(stacks, frame, best))
            continue;
        enum seep_blame least;
        struct seep_error *error = seep_stacks_least_blame(stacks, frame, &least);
        if (error)
            return error;
        if (least >= best)
            continue;
        const struct seep_symbol *symbol = stacks->frames[frame].symbol;
        unsigned inlined = 0;
        while (blame_of(module, &symbol->frames[inlined]) != least)
            inlined++;
        best = least;
        *ret_frame = frame;
        *ret_inlined = inlined;
    }
    return NULL;
}

// For code without names: the next frame outwards that is not of a runtime. Recursion is passed over.
static struct seep_error *find_nameless(struct seep_stacks *stacks, uint32_t node, uint32_t frame,
                                        uint32_t *ret_frame, unsigned *ret_inlined) {
    while (node && stacks->nodes[node].frame != frame)
        node = stacks->nodes[node].parent;
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t at = stacks->nodes[node].frame;
        if (at == SEEP_NO_FRAME || at == frame || stacks->modules[stacks->frames[at].module].runtime)
            continue;
        unsigned nr_passed, nr_all;
        struct seep_error *error = count_passed(stacks, at, &nr_passed, &nr_all);
        if (error)
            return error;
        if (nr_passed == nr_all)
            continue;
        *ret_frame = at;
        *ret_inlined = nr_passed;
        return NULL;
    }
    return NULL;
}

struct seep_error *seep_stacks_caller(struct seep_stacks *stacks, uint32_t node, uint32_t frame,
                                      unsigned inlined, uint32_t *ret_frame, unsigned *ret_inlined) {
    const char *called = NULL;
    uint32_t passed = SEEP_NO_FRAME; // a recursion has thousands of one frame
    bool is_nameless = frame != SEEP_NO_FRAME && !stacks->frames[frame].symbol->frames[inlined].function;
    *ret_frame = SEEP_NO_FRAME;
    if (is_nameless)
        return find_nameless(stacks, node, frame, ret_frame, ret_inlined);
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t at = stacks->nodes[node].frame;
        if (at == SEEP_NO_FRAME || at == passed || (!called && at != frame))
            continue;
        const struct seep_stack_module *module = &stacks->modules[stacks->frames[at].module];
        enum seep_blame least;
        struct seep_error *error = seep_stacks_least_blame(stacks, at, &least);
        if (error)
            return error;
        if (called && least != SEEP_BLAME_LINE && !module->kernel)
            continue;
        const struct seep_symbol *symbol = stacks->frames[at].symbol;
        unsigned first = called ? 0 : inlined + 1;
        called = called ? called : symbol->frames[inlined].function;
        for (unsigned i = first; i < symbol->nr_frames; i++) {
            const struct seep_symbol_frame *f = &symbol->frames[i];
            if (seep_blame_of(f->function, f->file, f->line, module->runtime) != SEEP_BLAME_LINE ||
                strcmp(f->function, called) == 0)
                continue;
            *ret_frame = at;
            *ret_inlined = i;
            return NULL;
        }
        if (first == 0)
            passed = at;
    }
    return NULL;
}
