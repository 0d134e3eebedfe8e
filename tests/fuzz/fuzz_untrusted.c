// SPDX-License-Identifier: BSD-2-Clause
//
// Answers of a reader of other users' files that lies: any bytes. The first says of which question. Besides not
// crashing: what is taken of a file keeps the promises that the program in the kernel relies on, and says the
// same when it is put and taken again.
#include <string.h>

#include "names/untrusted_symbols.h"
#include "names/untrusted_messages.h"
#include "process/own_allocator.h"
#include "source/attach/object_contents.h"
#include "fuzz.h"

#define FILE_BYTES 100000u

static void check_table(const struct seep_unwind_table *table) {
    for (uint32_t i = 0; i < table->nr_rows; i++) {
        uint32_t address = SEEP_BPF_ROW_ADDRESS(table->rows[i]);
        MUST(i ? address >= SEEP_BPF_ROW_ADDRESS(table->rows[i - 1]) : address == 0);
    }
    if (!table->nr_rows)
        return;
    MUST(table->index[0] == 0 && table->index[table->nr_pages] == table->nr_rows);
    for (uint32_t page = 0; page < table->nr_pages; page++)
        MUST(table->index[page] <= table->index[page + 1]);
}

static void check_places(const struct seep_allocator_file *file) {
    for (size_t kind = 0; kind < SEEP_PROBE_NR; kind++) {
        const struct seep_probe_places *places = &file->places[kind];
        bool is_otel = kind == SEEP_PROBE_OTEL_ALLOC || kind == SEEP_PROBE_OTEL_FREE;
        for (size_t i = 0; i < places->nr; i++) {
            MUST(places->offsets[i] < FILE_BYTES);
            MUST(!is_otel || places->cookies[i] < file->nr_usdt);
            MUST(!places->semaphores || places->semaphores[i] < FILE_BYTES);
        }
    }
}

static void take_object(struct seep_take *take) {
    struct seep_object_contents contents, again;
    if (!seep_object_take(take, FILE_BYTES, &contents))
        return;
    check_table(&contents.table);
    check_places(&contents.allocator);
    struct seep_put put = {NULL}, put_again = {NULL};
    seep_object_put(&put, &contents);
    struct seep_take second = seep_take_of(&put);
    MUST(seep_object_take(&second, FILE_BYTES, &again));
    seep_object_put(&put_again, &again);
    MUST(put.used == put_again.used && !memcmp(put.bytes, put_again.bytes, put.used));
    seep_put_deinit(&put);
    seep_put_deinit(&put_again);
    seep_object_contents_deinit(&contents);
    seep_object_contents_deinit(&again);
}

static void take_symbol(struct seep_take *take, struct seep_names *names) {
    struct seep_untrusted_module module = {.path = "/module"};
    const struct seep_symbol *symbol = NULL;
    if (!seep_untrusted_take_symbol(take, names, &module, &symbol))
        return;
    MUST(symbol->nr_frames >= 1 && module.quality <= SEEP_SYMBOLS_DEBUG);
    for (unsigned i = 0; i < symbol->nr_frames; i++)
        MUST(!symbol->frames[i].function || strlen(symbol->frames[i].function) <= 16384);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct seep_take take = {data + 1, data + size, false};
    struct seep_names names = SEEP_NAMES_INIT;
    struct seep_variable variable = {NULL};
    struct seep_call_frame frame;
    struct seep_own_allocator own;
    uint64_t type;
    if (!size)
        return 0;
    switch (data[0] & 3) {
    case 0:
        take_object(&take);
        break;
    case 1:
        take_symbol(&take, &names);
        break;
    case 2:
        seep_error_destroy(seep_untrusted_take_variable(&take, &names, &variable, &type));
        seep_untrusted_take_frame(&take, &frame);
        break;
    default:
        MUST(seep_own_allocator_take(&take, &own) || own.kind == SEEP_OWN_NONE);
        MUST(own.kind != SEEP_OWN_NAMED || (own.allocator && own.prefix));
    }
    seep_names_deinit(&names);
    return 0;
}
