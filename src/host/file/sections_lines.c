// SPDX-License-Identifier: BSD-2-Clause
// The LINES section.
#include <stdlib.h>

#include "file/sections.h"
#include "names/symbols.h"
#include "profile/texts.h"

static uint32_t lines_nr(const struct seep_profile *profile) {
    return profile->nr_modules - 1;
}

// A text is in the section once: later it is its number.
static void put_text(struct seep_put *put, struct seep_texts *texts, const char *text) {
    size_t nr = texts->nr;
    uint32_t id = 0;
    if (!text) {
        seep_put_leb(put, 0);
        return;
    }
    struct seep_error *error = seep_texts_add(texts, text, &id);
    if (error) {
        seep_error_destroy(error);
        put->failed = true;
        return;
    }
    seep_put_leb(put, (uint64_t)id + 1);
    if (texts->nr > nr)
        seep_put_text(put, text);
}

static void lines_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    uint32_t module = index + 1;
    const struct seep_module *of = &profile->modules[module];
    struct seep_texts texts = {NULL};
    uint64_t last = 0;
    if (!of->nr_places)
        return;
    seep_put_leb(put, module);
    seep_put_leb(put, of->nr_places);
    for (uint32_t i = 0; i < of->nr_places; i++) {
        const struct seep_symbol_place *place = &of->places[i];
        seep_put_leb(put, place->offset - last);
        seep_put_leb(put, place->nr_frames);
        for (uint32_t k = 0; k < place->nr_frames; k++) {
            put_text(put, &texts, place->frames[k].function);
            put_text(put, &texts, place->frames[k].file);
            seep_put_leb(put, place->frames[k].line);
        }
        last = place->offset;
    }
    seep_texts_deinit(&texts);
}

// What the section has brought.
struct taken {
    struct seep_arena *arena;
    const char **texts;
    size_t nr_texts;
    size_t capacity;
    bool no_memory;
};

// false: damaged, or out of memory.
static bool take_text(struct taken *taken, struct seep_take *take, const char **ret_text) {
    uint64_t id = seep_take_leb(take);
    *ret_text = NULL;
    if (!id || take->failed)
        return !take->failed;
    if (id > taken->nr_texts + 1)
        return false;
    if (id > taken->nr_texts) {
        size_t length;
        const char *text = seep_take_text(take, &length);
        if (!text)
            return false;
        taken->no_memory =
            !seep_grow(&taken->texts, &taken->capacity, taken->nr_texts + 1, sizeof(*taken->texts)) ||
            !(taken->texts[taken->nr_texts] = seep_arena_strndup(taken->arena, text, length));
        if (taken->no_memory)
            return false;
        taken->nr_texts++;
    }
    *ret_text = taken->texts[id - 1];
    return true;
}

static bool take_place(struct taken *taken, struct seep_take *take, struct seep_symbol_place *ret_place) {
    enum { FRAME_BYTES_LEAST = 3 };
    uint64_t nr = seep_take_leb(take);
    if (take->failed || !nr || nr > SEEP_PLACE_FRAMES_MAX || nr > seep_take_left(take) / FRAME_BYTES_LEAST)
        return false;
    struct seep_symbol_frame *frames = seep_arena_alloc(taken->arena, nr, sizeof(*frames));
    taken->no_memory = !frames;
    for (uint64_t k = 0; frames && k < nr; k++) {
        frames[k] = (struct seep_symbol_frame){.inlined = k + 1 < nr};
        if (!take_text(taken, take, &frames[k].function) || !take_text(taken, take, &frames[k].file))
            return false;
        frames[k].line = seep_take_u32(take);
    }
    ret_place->frames = frames;
    ret_place->nr_frames = (uint32_t)nr;
    return frames && !take->failed;
}

static const char *lines_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    enum { PLACE_BYTES_LEAST = 5 };
    struct taken taken = {.arena = &profile->arena};
    uint64_t module = seep_take_leb(take), nr = seep_take_leb(take), offset = 0;
    *ret_no_memory = false;
    if (take->failed || nr > seep_take_left(take) / PLACE_BYTES_LEAST)
        return "more elements than bytes for them";
    if (!module || module >= profile->nr_modules || profile->modules[module].places || !nr)
        return "a module that does not exist, or has its lines";
    struct seep_symbol_place *places = seep_arena_alloc(&profile->arena, nr, sizeof(*places));
    bool good = places;
    taken.no_memory = !places;
    for (uint64_t i = 0; good && i < nr; i++) {
        uint64_t further = seep_take_leb(take);
        good = (!i || further) && !__builtin_add_overflow(offset, further, &offset) &&
               take_place(&taken, take, &places[i]);
        places[i].offset = offset;
    }
    free(taken.texts);
    *ret_no_memory = taken.no_memory;
    if (!good)
        return "cut short, or a number is out of range";
    profile->modules[module].places = places;
    profile->modules[module].nr_places = (uint32_t)nr;
    return NULL;
}

const struct seep_section seep_section_lines = {SEEP_TRACE_LINES, "LINES",   true,
                                                lines_nr,         lines_put, SEEP_READS(lines_take)};
