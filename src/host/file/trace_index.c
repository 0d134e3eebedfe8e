// SPDX-License-Identifier: BSD-2-Clause
// The INDEX section of a trace, see trace_index.h.
#include "file/trace_index.h"
#include "profile/texts.h"

// An entry has at least a pid, two texts and a length.
#define ENTRY_BYTES_LEAST 4u

void seep_index_deinit(struct seep_index *index) {
    seep_arena_deinit(&index->arena);
    *index = (struct seep_index){.nr = 0};
}

// ---- writing -----------------------------------------------------------------------------------------

static struct seep_error *add_texts(struct seep_texts *texts, const struct seep_index *index) {
    struct seep_error *error = NULL;
    uint32_t id;
    for (size_t i = 0; !error && i < index->nr; i++) {
        error = seep_texts_add(texts, index->entries[i].exe, &id);
        if (!error && index->entries[i].first_arg)
            error = seep_texts_add(texts, index->entries[i].first_arg, &id);
    }
    return error;
}

static uint64_t id_of(const struct seep_texts *texts, const char *text) {
    uint32_t id = 0;
    return text && seep_texts_find(texts, text, &id) ? (uint64_t)id + 1 : 0;
}

struct seep_error *seep_index_put(struct seep_put *put, const struct seep_index *index) {
    struct seep_texts texts = {NULL};
    struct seep_error *error = add_texts(&texts, index);
    size_t before = put->used;
    seep_put_leb(put, texts.nr);
    for (size_t i = 0; i < texts.nr; i++)
        seep_put_text(put, texts.texts[i]);
    seep_put_leb(put, index->nr);
    seep_put_leb(put, index->nr ? index->entries[0].off : 0);
    for (size_t i = 0; i < index->nr; i++) {
        const struct seep_index_entry *entry = &index->entries[i];
        seep_put_leb(put, entry->pid);
        seep_put_leb(put, id_of(&texts, entry->exe));
        seep_put_leb(put, id_of(&texts, entry->first_arg));
        seep_put_leb(put, entry->bytes);
    }
    unsigned char tail[SEEP_TRACE_INDEX_TAIL_BYTES];
    seep_store64(tail, SEEP_TRACE_SECTION_BYTES + put->used - before + sizeof(tail));
    seep_put_bytes(put, tail, sizeof(tail));
    seep_texts_deinit(&texts);
    return error ? error : put->failed ? seep_error_no_memory() : NULL;
}

// ---- reading -----------------------------------------------------------------------------------------

static const char *take_texts(struct seep_take *take, struct seep_arena *arena, const char ***ret_texts,
                              uint64_t *ret_nr, bool *ret_no_memory) {
    uint64_t nr = seep_take_leb(take);
    if (take->failed || nr > seep_take_left(take))
        return "more texts than bytes for them";
    const char **texts = seep_arena_alloc(arena, (size_t)nr + 1, sizeof(*texts));
    *ret_no_memory = !texts;
    for (uint64_t i = 0; texts && i < nr; i++) {
        size_t length;
        const char *text = seep_take_text(take, &length);
        if (!text)
            return "a text is missing";
        if (!(texts[i] = seep_arena_strndup(arena, text, length))) {
            *ret_no_memory = true;
            break;
        }
    }
    *ret_texts = texts;
    *ret_nr = nr;
    return *ret_no_memory ? "out of memory" : NULL;
}

static const char *take_entry(struct seep_take *take, const char *const *texts, uint64_t nr_texts,
                              uint64_t end_off, uint64_t off, struct seep_index_entry *ret_entry) {
    uint64_t pid = seep_take_leb(take);
    uint64_t exe = seep_take_leb(take);
    uint64_t first_arg = seep_take_leb(take);
    uint64_t bytes = seep_take_leb(take);
    if (take->failed || pid > UINT32_MAX)
        return "cut short, or a number is out of range";
    if (!exe || exe > nr_texts || first_arg > nr_texts)
        return "a text that does not exist";
    if (off > end_off || bytes > end_off - off)
        return "a process beyond the index";
    *ret_entry = (struct seep_index_entry){.pid = (uint32_t)pid,
                                           .exe = texts[exe - 1],
                                           .first_arg = first_arg ? texts[first_arg - 1] : NULL,
                                           .off = off,
                                           .bytes = bytes};
    return NULL;
}

const char *seep_index_take(struct seep_take *take, uint64_t end_off, struct seep_index *ret_index,
                            bool *ret_no_memory) {
    const char **texts = NULL;
    uint64_t nr_texts = 0;
    uint64_t section_bytes = SEEP_TRACE_SECTION_BYTES + seep_take_left(take);
    *ret_no_memory = false;
    const char *wrong = take_texts(take, &ret_index->arena, &texts, &nr_texts, ret_no_memory);
    if (wrong)
        return wrong;
    uint64_t nr = seep_take_leb(take);
    uint64_t off = seep_take_leb(take);
    if (take->failed || nr > seep_take_left(take) / ENTRY_BYTES_LEAST)
        return "more elements than bytes for them";
    ret_index->entries = seep_arena_alloc(&ret_index->arena, (size_t)nr + 1, sizeof(*ret_index->entries));
    if (!ret_index->entries) {
        *ret_no_memory = true;
        return "out of memory";
    }
    for (uint64_t i = 0; i < nr; i++) {
        wrong = take_entry(take, texts, nr_texts, end_off, off, &ret_index->entries[i]);
        if (wrong)
            return wrong;
        off += ret_index->entries[i].bytes;
    }
    ret_index->nr = (size_t)nr;
    const unsigned char *tail = seep_take_bytes(take, SEEP_TRACE_INDEX_TAIL_BYTES);
    return tail && seep_fetch64(tail) == section_bytes ? NULL : "its length is not at its end";
}
