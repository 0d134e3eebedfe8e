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
        if (module->runtime && !module->kernel && best < SEEP_BLAME_RUNTIME_LINE)
            continue; // whatever its name is: the debug file of libc is large
        const struct seep_symbol *symbol;
        struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
        if (error)
            return error;
        bool allocator = module->kernel && strcmp(module->path, SEEP_KERNEL_ALLOCATORS) == 0;
        for (unsigned i = 0; i < symbol->nr_frames; i++) {
            const struct seep_symbol_frame *f = &symbol->frames[i];
            enum seep_blame blame = module->kernel
                                        ? seep_blame_of_kernel(allocator ? NULL : f->function)
                                        : seep_blame_of(f->function, f->file, f->line, module->runtime);
            if (blame >= best)
                continue;
            best = blame;
            *ret_frame = frame;
            *ret_inlined = i;
        }
    }
    return NULL;
}

struct seep_error *seep_stacks_caller(struct seep_stacks *stacks, uint32_t node, uint32_t frame,
                                      unsigned inlined, uint32_t *ret_frame, unsigned *ret_inlined) {
    const char *called = NULL;
    *ret_frame = SEEP_NO_FRAME;
    for (; node; node = stacks->nodes[node].parent) {
        uint32_t at = stacks->nodes[node].frame;
        if (at == SEEP_NO_FRAME || (!called && at != frame))
            continue;
        const struct seep_symbol *symbol;
        struct seep_error *error = seep_stacks_resolve(stacks, at, &symbol);
        if (error)
            return error;
        bool runtime = stacks->modules[stacks->frames[at].module].runtime;
        unsigned first = called ? 0 : inlined + 1;
        called = called ? called : symbol->frames[inlined].function;
        if (!called)
            return NULL;
        for (unsigned i = first; i < symbol->nr_frames; i++) {
            const struct seep_symbol_frame *f = &symbol->frames[i];
            if (seep_blame_of(f->function, f->file, f->line, runtime) != SEEP_BLAME_LINE ||
                strcmp(f->function, called) == 0)
                continue;
            *ret_frame = at;
            *ret_inlined = i;
            return NULL;
        }
    }
    return NULL;
}
