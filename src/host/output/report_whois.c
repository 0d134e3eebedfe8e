// SPDX-License-Identifier: BSD-2-Clause
// See report_whois.h. Most important first: what it is, who holds it, where it comes from.
#include <inttypes.h>
#include <stdlib.h>

#include "base/words.h"
#include "base/file_name.h"
#include "base/version.h"
#include "output/format.h"
#include "output/json_build.h"
#include "output/report_text.h"
#include "output/report_whois.h"
#include "output/wrap.h"
#include "profile/verdict.h"

// ---- text ----

static void put_line(FILE *out, const char *name, const char *text) {
    fprintf(out, "  %-12s", name);
    seep_put_escaped(out, text);
    fputc('\n', out);
}

static void put_frame(FILE *out, const struct seep_whois_frame *frame) {
    char place[64];
    fputs("    ", out);
    if (frame->function) {
        seep_text_function(out, frame->function);
    } else {
        snprintf(place, sizeof(place), "+0x%" PRIx64, frame->offset);
        seep_put_escaped(out, seep_file_name(frame->module));
        fputs(place, out);
    }
    if (frame->file && frame->line)
        seep_put_source(out, seep_file_name(frame->file), frame->line);
    seep_put_module(out, seep_file_name(frame->module));
    fputs(frame->inlined ? " (inlined)\n" : "\n", out);
}

static void put_pointers(FILE *out, const struct seep_whois *whois) {
    if (!whois->pointers_known)
        return;
    fprintf(out, "\npointers to it: %s\n",
            whois->nr_pointers_all ? seep_format_count(whois->nr_pointers_all).text : "none");
    for (size_t i = 0; i < whois->nr_pointers; i++) {
        const struct seep_whois_pointer *pointer = &whois->pointers[i];
        if (pointer->address)
            fprintf(out, "  0x%012" PRIx64 "  ", pointer->address);
        else
            fprintf(out, "  %-14s  ", "");
        seep_put_escaped(out, pointer->from);
        fprintf(out, pointer->to_off ? " -> +0x%" PRIx64 "\n" : "\n", pointer->to_off);
    }
    if (whois->nr_pointers < whois->nr_pointers_all)
        fprintf(out, "  and %s more (--top 0 shows all)\n",
                seep_format_count(whois->nr_pointers_all - whois->nr_pointers).text);
}

static void put_stack(FILE *out, const struct seep_whois_stack *stack) {
    for (size_t i = 0; i < stack->nr_frames; i++)
        put_frame(out, &stack->frames[i]);
    if (stack->cut >= 0)
        fprintf(out, "    (cut here: %s)\n", seep_cut_name((uint32_t)stack->cut));
    else if (!stack->nr_frames)
        fputs("    (stack not recorded)\n", out);
}

static void put_block(FILE *out, const struct seep_whois *whois) {
    const struct seep_block *block = &whois->block;
    uint64_t off = whois->address - block->address;
    fprintf(out, "0x%" PRIx64 ": ", whois->address);
    if (off)
        fprintf(out, "%s byte%s into the block at 0x%" PRIx64 "\n", seep_format_count(off).text,
                seep_plural(off), block->address);
    else
        fputs("the start of a block\n", out);
    fprintf(out, "  %-12s%s byte%s, by %s", "size", seep_format_count(block->size).text,
            seep_plural(block->size), seep_via_name(whois->via));
    if (whois->tid)
        fprintf(out, ", in thread %" PRIu32, whois->tid);
    fputc('\n', out);
    if (block->age_ns >= 0)
        put_line(out, "age", seep_format_duration(block->age_ns).text);
    if (whois->class_name)
        put_line(out, "class", whois->class_name);
    else if (whois->type)
        put_line(out, "type", whois->type);
    if (whois->kind)
        put_line(out, "state", seep_text_kind(whois->kind));
    if (whois->held_by)
        put_line(out, "held by", whois->held_by);
    if (whois->retained_blocks > 1)
        fprintf(out, "  %-12s%s byte%s in %s blocks: itself and what only it holds\n", "retains",
                seep_format_count(whois->retained_bytes).text, seep_plural(whois->retained_bytes),
                seep_format_count(whois->retained_blocks).text);
    put_pointers(out, whois);
    fputs("\nallocated by:\n", out);
    put_stack(out, &whois->stack);
}

static void put_freed(FILE *out, const struct seep_whois *whois) {
    const struct seep_freed *freed = &whois->freed;
    uint64_t off = whois->address - freed->address;
    fputs("  was ", out);
    if (off)
        fprintf(out, "%s byte%s into ", seep_format_count(off).text, seep_plural(off));
    fprintf(out, "a block of %s byte%s at 0x%" PRIx64 "\n\nfreed here, by %s:\n",
            seep_format_count(freed->size).text, seep_plural(freed->size), freed->address,
            seep_via_name(whois->release_via));
    put_stack(out, &whois->release_stack);
    fprintf(out, "\nallocated by %s:\n", seep_via_name(whois->freed_via));
    put_stack(out, &whois->freed_stack);
}

static void put_text(FILE *out, const struct seep_whois *whois) {
    if (whois->place == SEEP_PLACE_BLOCK) {
        put_block(out, whois);
        return;
    }
    fprintf(out, "0x%" PRIx64 ": ", whois->address);
    seep_put_escaped(out, whois->what);
    fputc('\n', out);
    if (whois->freed.address)
        put_freed(out, whois);
}

void seep_whois_text(FILE *to, const struct seep_whois *whois) {
    struct seep_style style = seep_style_of(to);
    struct seep_wrap wrap;
    put_text(seep_wrap_begin(&wrap, to, &style), whois);
    seep_wrap_done(&wrap);
}

// ---- JSON ----

static json_t *address_of(uint64_t address) {
    char text[32];
    snprintf(text, sizeof(text), "0x%" PRIx64, address);
    return json_string(text);
}

static json_t *stack_json(const struct seep_whois_stack *stack) {
    json_t *array = json_array();
    for (size_t i = 0; i < stack->nr_frames; i++) {
        const struct seep_whois_frame *frame = &stack->frames[i];
        json_array_append_new(array, json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "function",
                                               string(frame->function), "file", string(frame->file), "line",
                                               frame->line ? json_integer(frame->line) : json_null(),
                                               "module", string(frame->module), "offset",
                                               integer(frame->offset), "inlined", (int)frame->inlined));
    }
    return array;
}

static json_t *cut_json(const struct seep_whois_stack *stack) {
    return stack->cut >= 0 ? json_string(seep_cut_name((uint32_t)stack->cut)) : json_null();
}

static json_t *freed_json(const struct seep_whois *whois) {
    const struct seep_freed *freed = &whois->freed;
    if (!freed->address)
        return json_null();
    return json_pack("{s:o,s:o,s:o,s:s,s:o,s:o,s:s,s:o,s:o}", "address", address_of(freed->address), "size",
                     integer(freed->size), "offset", integer(whois->address - freed->address), "via",
                     seep_via_name(whois->freed_via), "cut", cut_json(&whois->freed_stack), "stack",
                     stack_json(&whois->freed_stack), "released_via", seep_via_name(whois->release_via),
                     "release_cut", cut_json(&whois->release_stack), "release_stack",
                     stack_json(&whois->release_stack));
}

static json_t *pointers_json(const struct seep_whois *whois) {
    if (!whois->pointers_known)
        return json_null();
    json_t *pointers = json_array();
    for (size_t i = 0; i < whois->nr_pointers; i++) {
        const struct seep_whois_pointer *pointer = &whois->pointers[i];
        json_array_append_new(pointers,
                              json_pack("{s:o,s:o,s:o}", "from", string(pointer->from), "address",
                                        pointer->address ? address_of(pointer->address) : json_null(),
                                        "offset", integer(pointer->to_off)));
    }
    return pointers;
}

static json_t *block_json(const struct seep_whois *whois) {
    const struct seep_block *block = &whois->block;
    bool scanned = whois->kind != SEEP_KIND_UNKNOWN;
    return json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:s,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "address",
        address_of(block->address), "size", integer(block->size), "offset",
        integer(whois->address - block->address), "age_s",
        block->age_ns >= 0 ? json_real((double)block->age_ns / 1e9) : json_null(), "thread",
        whois->tid ? json_integer(whois->tid) : json_null(), "via", seep_via_name(whois->via), "class",
        string(whois->class_name), "type", string(whois->type), "kind",
        scanned ? json_string(seep_kind_name(whois->kind)) : json_null(), "held_by", string(whois->held_by),
        "retained_bytes", whois->retained_blocks ? integer(whois->retained_bytes) : json_null(),
        "retained_blocks", whois->retained_blocks ? integer(whois->retained_blocks) : json_null(), "pointers",
        pointers_json(whois), "pointers_left_out",
        whois->pointers_known ? integer(whois->nr_pointers_all - whois->nr_pointers) : json_null(), "cut",
        cut_json(&whois->stack), "stack", stack_json(&whois->stack));
}

struct seep_error *seep_whois_json(FILE *out, const struct seep_whois *whois) {
    bool is_block = whois->place == SEEP_PLACE_BLOCK;
    json_t *answer = json_pack("{s:{s:s,s:i},s:{s:o,s:o},s:o,s:s,s:o,s:o,s:o}", "seep", "version",
                               SEEP_VERSION, "schema", 1, "process", "pid", json_integer(whois->pid), "exe",
                               string(whois->exe), "address", address_of(whois->address), "place",
                               seep_place_name(whois->place), "what", string(whois->what), "block",
                               is_block ? block_json(whois) : json_null(), "freed", freed_json(whois));
    return put_document(out, answer);
}
