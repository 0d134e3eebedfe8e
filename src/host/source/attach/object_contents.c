// SPDX-License-Identifier: BSD-2-Clause
// Files that are mapped as code, see object_contents.h.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text_copy.h"
#include "confine/worker.h"
#include "confine/untrusted.h"
#include "source/attach/object_contents.h"

#define WORKERS_MAX  16u                 // that end of what they read
#define ANSWER_BYTES ((size_t)512 << 20) // two rows for each step of a budget, up to 13 bytes each
#define REGISTERS_NR 20u                 // of struct pt_regs that an argument can be in, see usdt_notes.c
#define SEGMENTS_MAX 4096u
#define LISTED_MAX   65536u // places, operators: more than a file may have

void seep_object_contents_deinit(struct seep_object_contents *contents) {
    seep_elf_file_deinit(&contents->elf);
    seep_unwind_table_deinit(&contents->table);
    seep_allocator_file_deinit(&contents->allocator);
}

void seep_object_reader_deinit(struct seep_object_reader *reader) {
    seep_worker_destroy(reader->worker);
    reader->worker = NULL;
}

// ---- reading ----

static struct seep_error *read_here(const struct seep_object_question *question,
                                    struct seep_object_contents *ret_contents, const char **ret_trouble) {
    struct seep_object_contents contents = {.build_id_bytes = 0};
    struct seep_error *err = seep_elf_file_init(question->fd, question->name, &contents.elf);
    *ret_trouble = NULL;
    if (err && err->code != SEEP_E_FORMAT)
        return err;
    if (err) {
        seep_error_destroy(err);
        *ret_trouble = SEEP_OBJECT_NO_ELF;
        return NULL;
    }
    contents.elf.budget = question->budget;
    contents.build_id_bytes = seep_elf_build_id(&contents.elf, contents.build_id, sizeof(contents.build_id));
    if (question->wants_table)
        err = seep_unwind_table_init(&contents.elf, &contents.table);
    if (!err)
        err = seep_allocator_file_init(&contents.elf, question->prefix, &contents.allocator);
    contents.elf.budget = NULL;
    if (err) {
        seep_object_contents_deinit(&contents);
        return err;
    }
    *ret_contents = contents;
    return NULL;
}

// ---- words ----

static void put_raw(struct seep_put *put, const void *bytes, size_t nr_bytes) {
    seep_put_leb(put, nr_bytes);
    seep_put_bytes(put, bytes, nr_bytes);
}

// An array of fixed size; NULL where it does not fit, or is empty. malloc'ed.
static void *take_raw(struct seep_take *take, size_t element_bytes, size_t max, size_t *ret_nr) {
    uint64_t nr_bytes = seep_take_leb(take);
    const unsigned char *bytes = seep_take_bytes(take, nr_bytes);
    *ret_nr = 0;
    take->failed |= !bytes || nr_bytes % element_bytes || nr_bytes / element_bytes > max;
    void *copy = take->failed || !nr_bytes ? NULL : malloc((size_t)nr_bytes);
    take->failed |= !copy && nr_bytes;
    if (!copy)
        return NULL;
    memcpy(copy, bytes, (size_t)nr_bytes);
    *ret_nr = (size_t)nr_bytes / element_bytes;
    return copy;
}

void seep_object_put(struct seep_put *put, const struct seep_object_contents *contents) {
    const struct seep_allocator_file *allocator = &contents->allocator;
    const struct seep_unwind_table *table = &contents->table;
    put_raw(put, &contents->elf.header, sizeof(contents->elf.header));
    put_raw(put, contents->elf.segments, contents->elf.nr_segments * sizeof(*contents->elf.segments));
    put_raw(put, contents->build_id, contents->build_id_bytes);
    seep_put_leb(put, table->base);
    put_raw(put, table->rows, table->nr_rows * sizeof(*table->rows));
    seep_put_leb(put, table->nr_unsupported);
    seep_put_leb(put, table->nr_bad);
    seep_put_leb(put, table->cut);
    for (size_t i = 0; i < SEEP_PROBE_NR; i++) {
        const struct seep_probe_places *places = &allocator->places[i];
        put_raw(put, places->offsets, places->nr * sizeof(*places->offsets));
        put_raw(put, places->cookies, places->nr * sizeof(*places->cookies));
        put_raw(put, places->semaphores, places->semaphores ? places->nr * sizeof(*places->semaphores) : 0);
    }
    seep_put_leb(put, allocator->nr_operators);
    for (size_t i = 0; i < allocator->nr_operators; i++) {
        const struct seep_heap_operator *operator= & allocator->operators[i];
        seep_put_leb(put, operator->start);
        seep_put_leb(put, operator->end);
        seep_put_leb(put, operator->via);
        seep_put_leb(put, operator->is_heap);
    }
    put_raw(put, allocator->usdt, allocator->nr_usdt * sizeof(*allocator->usdt));
    seep_put_text(put, allocator->otel_refused);
    seep_put_leb(put, allocator->has_malloc);
    seep_put_leb(put, allocator->throws_itself);
}

// Rows are sorted from address 0 on: the unwinder in the kernel searches them.
static void take_table(struct seep_take *take, struct seep_unwind_table *table) {
    size_t nr_rows;
    table->base = seep_take_leb(take);
    table->rows = take_raw(take, sizeof(*table->rows), UINT32_MAX / 2, &nr_rows);
    table->nr_rows = (uint32_t)nr_rows;
    table->nr_unsupported = seep_take_leb(take);
    table->nr_bad = seep_take_leb(take);
    table->cut = seep_take_bool(take);
    uint32_t before = 0;
    for (size_t i = 0; i < nr_rows; i++) {
        uint32_t address = SEEP_BPF_ROW_ADDRESS(table->rows[i]);
        take->failed |= i ? address < before : address != 0;
        before = address;
    }
    if (nr_rows && !take->failed)
        take->failed |= !seep_unwind_table_index(table);
}

static bool is_kind(uint64_t kind, bool is_otel, uint64_t cookie, size_t nr_usdt) {
    if (is_otel)
        return cookie < nr_usdt;
    return cookie >> 16 == 0 && SEEP_BPF_COOKIE_SHAPE(cookie) <= SEEP_BPF_MUNMAP &&
           SEEP_BPF_COOKIE_VIA(cookie) <
               (kind == SEEP_PROBE_FREE ? (unsigned)SEEP_RELEASE_NR : (unsigned)SEEP_VIA_NR);
}

static void take_places(struct seep_take *take, uint64_t file_bytes, struct seep_probe_places *places) {
    size_t nr_cookies, nr_semaphores;
    places->offsets = take_raw(take, sizeof(*places->offsets), LISTED_MAX, &places->nr);
    places->cookies = take_raw(take, sizeof(*places->cookies), LISTED_MAX, &nr_cookies);
    places->semaphores = take_raw(take, sizeof(*places->semaphores), LISTED_MAX, &nr_semaphores);
    places->offsets_capacity = places->nr;
    places->cookies_capacity = nr_cookies;
    places->semaphores_capacity = nr_semaphores;
    take->failed |= nr_cookies != places->nr || (nr_semaphores && nr_semaphores != places->nr);
    for (size_t i = 0; i < places->nr && !take->failed; i++)
        take->failed |=
            places->offsets[i] >= file_bytes || (nr_semaphores && places->semaphores[i] >= file_bytes);
}

static bool is_register(uint8_t place) {
    return place == SEEP_BPF_NO_REGISTER || place < REGISTERS_NR; // words of struct pt_regs
}

static bool is_operand(const struct seep_bpf_operand *operand) {
    return operand->kind <= SEEP_BPF_MEMORY && is_register(operand->base) && is_register(operand->index) &&
           operand->shift <= 3 && operand->nr_bytes <= 8 && !(operand->nr_bytes & (operand->nr_bytes - 1)) &&
           operand->is_signed <= 1;
}

static void check_allocator(struct seep_take *take, const struct seep_allocator_file *allocator) {
    for (uint64_t kind = 0; kind < SEEP_PROBE_NR; kind++) {
        const struct seep_probe_places *places = &allocator->places[kind];
        bool is_otel = kind == SEEP_PROBE_OTEL_ALLOC || kind == SEEP_PROBE_OTEL_FREE;
        take->failed |= is_otel && places->nr && !places->semaphores;
        for (size_t i = 0; i < places->nr && !take->failed; i++)
            take->failed |= !is_kind(kind, is_otel, places->cookies[i], allocator->nr_usdt);
    }
    for (size_t i = 0; i < allocator->nr_usdt; i++)
        for (size_t j = 0; j < SEEP_ARRAY_SIZE(allocator->usdt[i].operands); j++)
            take->failed |= !is_operand(&allocator->usdt[i].operands[j]);
    for (size_t i = 0; i < allocator->nr_operators; i++)
        take->failed |= allocator->operators[i].via >= SEEP_VIA_NR;
}

// A bool of a stranger's may be any byte.
static struct seep_heap_operator *take_operators(struct seep_take *take, size_t *ret_nr) {
    uint64_t nr = seep_take_leb(take);
    *ret_nr = 0;
    take->failed |= nr > LISTED_MAX;
    struct seep_heap_operator *operators =
        take->failed || !nr ? NULL : calloc((size_t)nr, sizeof(*operators));
    take->failed |= nr && !operators;
    for (uint64_t i = 0; i < nr && !take->failed; i++) {
        operators[i].start = seep_take_leb(take);
        operators[i].end = seep_take_leb(take);
        operators[i].via = seep_take_u32(take);
        operators[i].is_heap = seep_take_bool(take);
    }
    *ret_nr = operators ? (size_t)nr : 0;
    return operators;
}

static void take_allocator(struct seep_take *take, uint64_t file_bytes,
                           struct seep_allocator_file *allocator) {
    size_t length;
    for (size_t i = 0; i < SEEP_PROBE_NR; i++)
        take_places(take, file_bytes, &allocator->places[i]);
    allocator->operators = take_operators(take, &allocator->nr_operators);
    allocator->usdt = take_raw(take, sizeof(*allocator->usdt), LISTED_MAX, &allocator->nr_usdt);
    const char *refused = seep_take_text(take, &length);
    allocator->otel_refused = refused ? seep_text_copy(refused, SEEP_MIN(length, (size_t)256)) : NULL;
    allocator->has_malloc = seep_take_bool(take);
    allocator->throws_itself = seep_take_bool(take);
    check_allocator(take, allocator);
}

bool seep_object_take(struct seep_take *take, uint64_t file_bytes,
                      struct seep_object_contents *ret_contents) {
    struct seep_object_contents contents = {.elf = {.fd = -1, .file_bytes = file_bytes}};
    size_t nr;
    Elf64_Ehdr *header = take_raw(take, sizeof(*header), 1, &nr);
    take->failed |= nr != 1;
    if (header)
        contents.elf.header = *header;
    free(header);
    contents.elf.segments = take_raw(take, sizeof(*contents.elf.segments), SEGMENTS_MAX, &nr);
    contents.elf.nr_segments = (uint32_t)nr;
    uint8_t *id = take_raw(take, 1, sizeof(contents.build_id), &nr);
    contents.build_id_bytes = (uint32_t)nr;
    if (id)
        memcpy(contents.build_id, id, nr);
    free(id);
    take_table(take, &contents.table);
    take_allocator(take, file_bytes, &contents.allocator);
    if (take->failed || seep_take_left(take)) {
        seep_object_contents_deinit(&contents);
        return false;
    }
    *ret_contents = contents;
    return true;
}

// ---- the worker ----

// steps, whether a table is wanted, the prefix -> steps used, whether it is an ELF file, its contents
static bool serve(void *context, struct seep_worker_end *end, struct seep_take *words, int file,
                  struct seep_put *answer) {
    (void)context;
    (void)end;
    struct seep_budget budget = {.steps = seep_take_leb(words)};
    uint64_t steps = budget.steps;
    bool is_bounded = seep_take_bool(words);
    struct seep_object_question question = {
        .fd = file, .name = "", .wants_table = seep_take_bool(words), .budget = is_bounded ? &budget : NULL};
    size_t length;
    const char *prefix = seep_take_text(words, &length);
    char *copy = prefix ? seep_text_copy(prefix, length) : NULL;
    question.prefix = copy;
    struct seep_object_contents contents = {.build_id_bytes = 0};
    const char *trouble = NULL;
    struct seep_error *err = words->failed || (prefix && !copy) ? seep_error_no_memory()
                                                                : read_here(&question, &contents, &trouble);
    bool is_answered = !err;
    seep_put_leb(answer, steps - budget.steps);
    seep_put_leb(answer, !trouble);
    if (!err && !trouble) {
        seep_object_put(answer, &contents);
        seep_object_contents_deinit(&contents);
    }
    free(copy);
    seep_error_destroy(err);
    return is_answered;
}

static const char *ask(struct seep_object_reader *reader, const struct seep_object_question *question,
                       uint64_t file_bytes, struct seep_object_contents *ret_contents) {
    struct seep_put words = {NULL}, answer = {NULL};
    struct seep_budget *budget = question->budget;
    seep_put_leb(&words, budget ? budget->steps : 0);
    seep_put_leb(&words, budget != NULL);
    seep_put_leb(&words, question->wants_table);
    seep_put_text(&words, question->prefix);
    const struct seep_worker_question asked = {.words = &words,
                                               .file = question->fd,
                                               .answer_max = ANSWER_BYTES,
                                               .cpu_s = 30,
                                               .stop = budget ? budget->stop : NULL};
    enum seep_worker_verdict verdict =
        words.failed ? SEEP_WORKER_LARGE : seep_worker_ask(reader->worker, &asked, &answer);
    struct seep_take take = seep_take_of(&answer);
    const char *trouble = verdict == SEEP_WORKER_ANSWERED ? NULL : seep_worker_verdict_words(verdict);
    uint64_t steps = trouble ? 0 : seep_take_leb(&take);
    bool is_elf = !trouble && seep_take_bool(&take);
    if (!trouble && !take.failed && !is_elf)
        trouble = SEEP_OBJECT_NO_ELF;
    else if (!trouble && !seep_object_take(&take, file_bytes, ret_contents))
        trouble = "its reader died of it, or lied";
    if (budget)
        budget->steps -= SEEP_MIN(steps, budget->steps);
    seep_put_deinit(&words);
    seep_put_deinit(&answer);
    return trouble;
}

struct seep_error *seep_object_read(struct seep_object_reader *reader,
                                    const struct seep_object_question *question,
                                    struct seep_object_contents *ret_contents, const char **ret_trouble) {
    struct stat status;
    if (!seep_file_is_untrusted(question->fd))
        return read_here(question, ret_contents, ret_trouble);
    *ret_trouble = "too many readers of other users' files died";
    if (!seep_file_status(question->fd, &status) || (!reader->worker && reader->nr_ended == WORKERS_MAX))
        return NULL;
    struct seep_error *err = reader->worker ? NULL : seep_worker_start(serve, NULL, &reader->worker);
    if (err && err->code == SEEP_E_MEMORY)
        return err;
    if (err) {
        seep_error_destroy(err);
        *ret_trouble = "files of other users cannot be read safely here";
        return NULL;
    }
    *ret_trouble = ask(reader, question, (uint64_t)status.st_size, ret_contents);
    if (*ret_trouble && strcmp(*ret_trouble, SEEP_OBJECT_NO_ELF) != 0) {
        seep_object_reader_deinit(reader);
        reader->nr_ended++;
    } else if (!*ret_trouble) {
        ret_contents->elf.fd = question->fd;
        ret_contents->elf.name = question->name;
    }
    return NULL;
}
