// SPDX-License-Identifier: BSD-2-Clause
// Which stacks have frames that match, see stacks.h.
#include <stdlib.h>

#include "view/stacks.h"

enum { MATCH_FUNCTION = 1, MATCH_FILE = 2, MATCH_MODULE = 4, MATCH_ANY = 8 };

static bool matches(const regex_t *regex, const char *text) {
    return text && regexec(regex, text, 0, NULL, 0) == 0;
}

static struct seep_error *match_frame(struct seep_stacks *stacks, const struct seep_stacks_wanted *wanted,
                                      uint32_t frame, uint8_t *ret_bits) {
    const char *path = stacks->modules[stacks->frames[frame].module].path;
    uint8_t bits = 0;
    if (wanted->module && matches(wanted->module, path))
        bits |= MATCH_MODULE;
    if (wanted->any && matches(wanted->any, path))
        bits |= MATCH_ANY;
    if (wanted->function || wanted->file || (wanted->any && !(bits & MATCH_ANY))) {
        const struct seep_symbol *symbol;
        struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
        if (error)
            return error;
        for (unsigned i = 0; i < symbol->nr_frames; i++) {
            const struct seep_symbol_frame *of = &symbol->frames[i];
            if (wanted->function && matches(wanted->function, of->function))
                bits |= MATCH_FUNCTION;
            if (wanted->file && matches(wanted->file, of->file))
                bits |= MATCH_FILE;
            if (wanted->any && (matches(wanted->any, of->function) || matches(wanted->any, of->file)))
                bits |= MATCH_ANY;
        }
    }
    *ret_bits = bits;
    return NULL;
}

// What each stack matches: what its parent does, and its own frame.
static void match_nodes(const struct seep_stacks *stacks, const uint8_t *frame_bits, uint8_t *node_bits) {
    node_bits[0] = 0;
    for (uint32_t i = 1; i < stacks->nr_nodes; i++) {
        const struct seep_stack_node *node = &stacks->nodes[i];
        node_bits[i] = node_bits[node->parent] | (node->frame == SEEP_NO_FRAME ? 0 : frame_bits[node->frame]);
    }
}

struct seep_error *seep_stacks_match(struct seep_stacks *stacks, const struct seep_stacks_wanted *wanted,
                                     bool **ret_passes) {
    uint8_t all = (wanted->function ? MATCH_FUNCTION : 0) | (wanted->file ? MATCH_FILE : 0) |
                  (wanted->module ? MATCH_MODULE : 0) | (wanted->any ? MATCH_ANY : 0);
    uint8_t *node_bits = malloc(stacks->nr_nodes);
    uint8_t *frame_bits = calloc(SEEP_MAX(stacks->nr_frames, (size_t)1), 1);
    bool *passes = malloc(stacks->nr_nodes * sizeof(*passes));
    struct seep_error *error = node_bits && frame_bits && passes ? NULL : seep_error_no_memory();
    for (uint32_t i = 0; !error && i < stacks->nr_frames; i++)
        error = match_frame(stacks, wanted, i, &frame_bits[i]);
    if (!error) {
        match_nodes(stacks, frame_bits, node_bits);
        for (size_t i = 0; i < stacks->nr_nodes; i++)
            passes[i] = (node_bits[i] & all) == all;
    }
    free(frame_bits);
    free(node_bits);
    if (error) {
        free(passes);
        return error;
    }
    *ret_passes = passes;
    return NULL;
}
