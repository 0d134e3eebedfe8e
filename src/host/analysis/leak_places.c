// SPDX-License-Identifier: BSD-2-Clause
//
// See leak_places.h.
#include <stdlib.h>
#include <string.h>

#include "analysis/leak_places.h"
#include "base/arena.h"
#include "base/sum.h"

// Deep recursion makes many stacks of one key; beyond this many lines, stacks are not compared any more.
#define PLACES_MAX 64u

bool seep_leak_add_place(struct seep_arena *arena, struct seep_leak_places *places,
                         const struct seep_check_stack *stack, uint64_t blocks, uint64_t bytes) {
    uint32_t nr = places->nr;
    if ((nr & (nr - 1)) == 0) { // room for the power of two at or above nr
        struct seep_leak_place *larger = seep_arena_alloc(arena, nr ? nr * (size_t)2 : 1, sizeof(*larger));
        if (!larger)
            return false;
        if (nr)
            memcpy(larger, places->items, nr * sizeof(*larger));
        places->items = larger;
    }
    places->items[places->nr++] = (struct seep_leak_place){.stack = *stack, .blocks = blocks, .bytes = bytes};
    return true;
}

static uint32_t next_own(const struct seep_check_stack *stack, uint32_t at) {
    while (at < stack->nr_frames && seep_leak_frame_is_library(&stack->frames[at]))
        at++;
    return at;
}

static bool is_same_function(const struct seep_leak_frame *a, const struct seep_leak_frame *b) {
    return a->function && b->function && strcmp(a->function, b->function) == 0;
}

// The innermost frame of `other` that has the function of `stack` there, and another line. NULL: there is
// none.
static const struct seep_leak_frame *other_line(const struct seep_check_stack *stack,
                                                const struct seep_check_stack *other) {
    for (uint32_t i = 0, j = 0;; i++, j++) {
        i = next_own(stack, i);
        j = next_own(other, j);
        if (i >= stack->nr_frames || j >= other->nr_frames)
            return NULL;
        const struct seep_leak_frame *a = &stack->frames[i], *b = &other->frames[j];
        if (!is_same_function(a, b))
            return NULL;
        if (a->line && b->line && b->file && a->line != b->line)
            return b;
    }
}

static int compare(const void *left, const void *right) {
    const struct seep_leak_place *a = left, *b = right;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    if (a->blocks != b->blocks)
        return a->blocks > b->blocks ? -1 : 1;
    return (a->frame->line > b->frame->line) - (a->frame->line < b->frame->line);
}

void seep_leak_join_places(struct seep_leak_places *places, const struct seep_check_stack *stack) {
    struct seep_leak_place *items = places->items;
    uint32_t nr = 0;
    for (uint32_t i = 0; i < places->nr; i++) {
        struct seep_leak_place place = items[i];
        place.frame = other_line(stack, &place.stack);
        uint32_t at = 0;
        while (
            place.frame && at < nr &&
            (items[at].frame->line != place.frame->line || !is_same_function(items[at].frame, place.frame)))
            at++;
        if (!place.frame || (at == nr && nr == PLACES_MAX))
            continue;
        if (at == nr) {
            items[nr++] = place;
            continue;
        }
        items[at].blocks += place.blocks;
        seep_add_up(&items[at].bytes, place.bytes);
    }
    places->nr = nr;
    if (nr)
        qsort(items, nr, sizeof(*items), compare);
}
