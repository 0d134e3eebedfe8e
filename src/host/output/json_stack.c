// SPDX-License-Identifier: BSD-2-Clause
// Texts of frames that are kept, see json_stack.h.
#include <stdlib.h>
#include <string.h>

#include "output/json_build.h"
#include "output/json_stack.h"
#include "output/json_text.h"
#include "view/stack_table.h"

struct frame_text {
    struct seep_frame_key key;
    const char *text;
};

void seep_json_stack_deinit(struct seep_json_stack *stack) {
    seep_map_deinit(&stack->frames);
    seep_arena_deinit(&stack->arena);
}

json_t *seep_json_frame(const struct seep_view_frame *frame) {
    json_t *object = json_object();
    set(&object, "function", string(frame->function));
    set(&object, "file", string(frame->file));
    set(&object, "line", frame->line ? json_integer(frame->line) : json_null());
    set(&object, "module", string(frame->module));
    set(&object, "offset", integer(frame->offset));
    set(&object, "inlined", json_boolean(frame->inlined));
    return object;
}

static struct seep_error *make_text(struct seep_json_stack *stack, const struct seep_view_frame *frame,
                                    const char **ret_text) {
    json_t *object = seep_json_frame(frame);
    char *text = text_of_json(object, JSON_COMPACT | JSON_PRESERVE_ORDER);
    *ret_text = text ? seep_arena_strdup(&stack->arena, text) : NULL;
    free(text);
    return *ret_text ? NULL : seep_error_no_memory();
}

static struct seep_error *find_text(struct seep_json_stack *stack, const struct seep_view_frame *frame,
                                    const char **ret_text) {
    const struct seep_frame_key key = seep_frame_key_of(frame);
    uint64_t *slot = seep_map_at(&stack->frames, seep_hash_bytes(&key, sizeof(key)), NULL);
    if (!slot)
        return seep_error_no_memory();
    const struct frame_text *known = (const struct frame_text *)(uintptr_t)*slot;
    if (known && memcmp(&known->key, &key, sizeof(key)) == 0) {
        *ret_text = known->text;
        return NULL;
    }
    struct seep_error *error = make_text(stack, frame, ret_text);
    struct frame_text *made = error || known ? NULL : seep_arena_alloc(&stack->arena, 1, sizeof(*made));
    if (made) {
        *made = (struct frame_text){key, *ret_text};
        *slot = (uintptr_t)made;
    }
    return error;
}

struct seep_error *seep_json_stack_put(struct seep_json_stack *stack, FILE *out,
                                       const struct seep_view_frame *frames, size_t nr) {
    fputc('[', out);
    for (size_t i = 0; i < nr; i++) {
        const char *text;
        struct seep_error *error = find_text(stack, &frames[i], &text);
        if (error)
            return error;
        if (i)
            fputc(',', out);
        fputs(text, out);
    }
    fputc(']', out);
    return NULL;
}

// ---- tables ----

static void put_text(FILE *out, const char *key, const char *text) {
    fputs(key, out);
    if (text)
        seep_put_json_text(out, text);
    else
        fputs("null", out);
}

// As seep_json_frame() has it, and without a tree of objects for each.
static void put_frame(FILE *out, const struct seep_view_frame *frame) {
    put_text(out, "{\"function\":", frame->function);
    put_text(out, ",\"file\":", frame->file);
    fputs(frame->line ? ",\"line\":" : ",\"line\":null", out);
    if (frame->line)
        seep_put_number(out, frame->line);
    put_text(out, ",\"module\":", frame->module);
    fputs(",\"offset\":", out);
    seep_put_number(out, SEEP_MIN(frame->offset, (uint64_t)INT64_MAX));
    fputs(frame->inlined ? ",\"inlined\":true}" : ",\"inlined\":false}", out);
}

void seep_json_put_tables(FILE *out, const struct seep_stack_table *table) {
    fputs("\"frames\": [", out);
    for (size_t i = 0; i < table->nr_frames; i++) {
        fputs(i ? ",\n  " : "\n  ", out);
        put_frame(out, &table->frames[i].frame);
    }
    fputs("],\n\"stacks\": [", out);
    for (size_t i = 0; i < table->nr_nodes; i++) {
        const struct seep_table_node *node = &table->nodes[i];
        fputs(i ? (i % 16 ? "," : ",\n  ") : "\n  ", out);
        fputc('[', out);
        seep_put_number(out, node->frame);
        fputc(',', out);
        seep_put_signed(out, node->caller == SEEP_NO_STACK ? -1 : (int64_t)node->caller);
        fputc(']', out);
    }
    fputs("],\n", out);
}
