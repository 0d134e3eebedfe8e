// SPDX-License-Identifier: BSD-2-Clause
//
// Stacks as JSON text: as tables of frames and stacks, which sites refer to (schema 2), or each with all its
// frames (schema 1). There the text of a frame is made once and kept: in a report of deep stacks each frame
// stands in thousands of them. For the .c files of this room.
#ifndef SEEP_OUTPUT_JSON_STACK_H
#define SEEP_OUTPUT_JSON_STACK_H

#include <stdio.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/map.h"
#include "view/stack_table.h"
#include "view/view.h"

struct seep_json_stack {
    struct seep_map frames; // hash of a frame's pointers and numbers to its text, in the arena
    struct seep_arena arena;
};

void seep_json_stack_deinit(struct seep_json_stack *stack);

json_t *seep_json_frame(const struct seep_view_frame *frame); // NULL: out of memory

// Writes `frames` as an array. Their texts must live as long as `stack`.
SEEP_MUST_CHECK struct seep_error *seep_json_stack_put(struct seep_json_stack *stack, FILE *out,
                                                       const struct seep_view_frame *frames, size_t nr);

// `"frames": [...],` and `"stacks": [...],`, each with its line end.
void seep_json_put_tables(FILE *out, const struct seep_stack_table *table);

#endif
