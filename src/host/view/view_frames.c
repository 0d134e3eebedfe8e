// SPDX-License-Identifier: BSD-2-Clause
//
// The stack of a row as it is shown: inlined frames put in, recursion marked. Recursion is found on
// return addresses: a run of up to LONGEST_CYCLE of them that follows itself at once.
#include <stdlib.h>

#include "base/map.h"
#include "names/library_code.h"
#include "view/stacks.h"
#include "view/view.h"

#define LONGEST_CYCLE 32u

static uint32_t repeats(const uint32_t *frames, uint32_t nr, uint32_t at, uint32_t length) {
    uint32_t times = 1;
    for (; (uint64_t)at + (uint64_t)length * (times + 1) <= nr; times++)
        for (uint32_t i = 0; i < length; i++)
            if (frames[at + i] != frames[at + times * length + i])
                return times;
    return times;
}

// The cycle at `at` that hides most; length 0: none.
static void find_cycle(const uint32_t *frames, uint32_t nr, uint32_t at, uint32_t *ret_length,
                       uint32_t *ret_times) {
    uint32_t best = 0;
    *ret_length = 0;
    *ret_times = 1;
    for (uint32_t length = 1; length <= LONGEST_CYCLE && at + 2 * length <= nr; length++) {
        uint32_t times = repeats(frames, nr, at, length);
        uint32_t hidden = length * (times - 1);
        if (hidden > best) {
            best = hidden;
            *ret_length = length;
            *ret_times = times;
        }
    }
}

// Most stacks have no frame twice, and so no cycle.
static bool has_twice(const uint32_t *frames, uint32_t nr) {
    enum { PLACES = 1024 };
    uint32_t seen[PLACES] = {0};
    for (uint32_t i = 0; i < nr && nr <= PLACES / 2; i++) {
        uint32_t at = frames[i] * UINT32_C(2654435761) >> 22;
        while (seen[at] && seen[at] != frames[i] + 1)
            at = (at + 1) % PLACES;
        if (seen[at])
            return true;
        seen[at] = frames[i] + 1;
    }
    return nr > PLACES / 2;
}

struct seep_view_frame seep_view_frame_of(const struct seep_view *view, uint32_t frame,
                                          const struct seep_symbol *symbol, unsigned index) {
    const struct seep_stacks *stacks = view->stacks;
    const struct seep_stack_frame *f = &stacks->frames[frame];
    const struct seep_stack_module *module = &stacks->modules[f->module];
    const struct seep_symbol_frame *s = &symbol->frames[index];
    return (struct seep_view_frame){
        .function = s->function,
        .name = seep_stacks_name_shown(stacks, s->function),
        .file = s->file ? seep_stacks_file_shown(stacks, s->file) : NULL,
        .path = s->file,
        .line = s->line,
        .module = module->shown,
        .offset = f->offset,
        .function_offset = s->function_offset,
        .inlined = s->inlined,
        .runtime = module->runtime,
        .build = module->build_id_bytes ? seep_hash_bytes(module->build_id, module->build_id_bytes) : 0,
        .linkage = s->linkage,
    };
}

// Adds the frames of one return address to the scratch array; *ret_nr counts them all.
static struct seep_error *expand(struct seep_view *view, uint32_t frame, bool folded, size_t *ret_nr) {
    struct seep_stacks *stacks = view->stacks;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    if (error)
        return error;
    if (!view->expanded[frame]) { // names are looked up once, and stand in many stacks
        struct seep_view_frame *frames =
            seep_arena_alloc(&view->arena, SEEP_MAX(symbol->nr_frames, 1u), sizeof(*frames));
        if (!frames)
            return seep_error_no_memory();
        for (unsigned i = 0; i < symbol->nr_frames; i++)
            frames[i] = seep_view_frame_of(view, frame, symbol, i);
        view->expanded[frame] = frames;
    }
    if (!seep_grow(&view->scratch, &view->scratch_capacity, *ret_nr + symbol->nr_frames,
                   sizeof(*view->scratch)))
        return seep_error_no_memory();
    for (unsigned i = 0; i < symbol->nr_frames; i++) {
        view->scratch[*ret_nr] = view->expanded[frame][i];
        view->scratch[(*ret_nr)++].folded = folded;
    }
    return NULL;
}

// Behind the *ret_nr frames that are there.
static struct seep_error *expand_all(struct seep_view *view, const uint32_t *frames, uint32_t nr,
                                     size_t *ret_nr) {
    size_t shown = *ret_nr;
    bool cycles = has_twice(frames, nr);
    for (uint32_t at = 0; at < nr;) {
        uint32_t length = 0, times = 1;
        if (cycles)
            find_cycle(frames, nr, at, &length, &times);
        uint32_t end = at + SEEP_MAX(length, 1u) * times;
        uint32_t first_end = at + SEEP_MAX(length, 1u);
        size_t begin = shown;
        for (; at < end; at++) {
            struct seep_error *error = expand(view, frames[at], at >= first_end, &shown);
            if (error)
                return error;
            if (length && at + 1 == first_end) {
                view->scratch[shown - 1].fold_frames = (uint32_t)(shown - begin);
                view->scratch[shown - 1].fold_times = times;
            }
        }
    }
    *ret_nr = shown;
    return NULL;
}

struct seep_error *seep_view_frames(struct seep_view *view, const struct seep_view_row *row,
                                    const struct seep_view_frame **ret_frames, size_t *ret_nr,
                                    uint32_t *ret_more) {
    uint32_t *frames = calloc(SEEP_VIEW_DEPTH, sizeof(*frames));
    if (!view->expanded)
        view->expanded = seep_arena_alloc(&view->arena, view->stacks->nr_frames + 1, sizeof(*view->expanded));
    if (!frames || !view->expanded) {
        free(frames);
        return seep_error_no_memory();
    }
    const struct seep_stack_node *nodes = view->stacks->nodes;
    uint32_t depth = 0, at = 0, nr = 0;
    for (uint32_t node = row->node; node; node = nodes[node].parent)
        depth += nodes[node].frame != SEEP_NO_FRAME;
    uint32_t more = depth > SEEP_VIEW_DEPTH ? depth - SEEP_VIEW_DEPTH : 0;
    uint32_t nr_inner = more ? SEEP_VIEW_DEPTH - SEEP_VIEW_OUTERMOST : depth;
    for (uint32_t node = row->node; node; node = nodes[node].parent) {
        uint32_t frame = nodes[node].frame;
        if (frame != SEEP_NO_FRAME && (at < nr_inner || at >= nr_inner + more))
            frames[nr++] = frame;
        at += frame != SEEP_NO_FRAME;
    }
    size_t shown = 0;
    struct seep_error *error = expand_all(view, frames, nr_inner, &shown);
    size_t outer = shown;
    if (!error && more)
        error = expand_all(view, &frames[nr_inner], SEEP_VIEW_OUTERMOST, &shown);
    free(frames);
    if (error)
        return error;
    if (shown > outer)
        view->scratch[outer].left_out = more;
    *ret_frames = view->scratch;
    *ret_nr = shown;
    *ret_more = more;
    return NULL;
}

const struct seep_view_frame *seep_view_blamed(const struct seep_view_frame *frames, size_t nr) {
    enum seep_blame best = SEEP_BLAME_NR;
    const struct seep_view_frame *blamed = NULL;
    for (size_t i = 0; i < nr && best != SEEP_BLAME_LINE; i++) {
        enum seep_blame blame =
            seep_blame_of(frames[i].function, frames[i].path, frames[i].line, frames[i].runtime);
        if (blame < best) {
            best = blame;
            blamed = &frames[i];
        }
    }
    return blamed;
}
