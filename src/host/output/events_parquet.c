// SPDX-License-Identifier: BSD-2-Clause
// Events as a table of Parquet, see report_events.h.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "output/parquet.h"
#include "output/report_events.h"
#include "view/summary.h"

static const struct seep_parquet_column columns[] = {
    {"at_ns", SEEP_PARQUET_INT64}, {"process", SEEP_PARQUET_INT64},  {"thread", SEEP_PARQUET_INT64},
    {"event", SEEP_PARQUET_TEXT},  {"address", SEEP_PARQUET_UINT64}, {"size", SEEP_PARQUET_INT64},
    {"site", SEEP_PARQUET_INT64},  {"function", SEEP_PARQUET_TEXT},  {"place", SEEP_PARQUET_TEXT}};

// Texts of one column; those of all groups, as they are few.
struct texts {
    const char **items;
    size_t nr;
    size_t capacity;
    struct seep_map of_text; // hash -> index + 1
};

struct table {
    struct seep_parquet parquet;
    int64_t *numbers; // SEEP_PARQUET_ROWS of each column of numbers
    uint32_t *words;  // of each column of texts
    uint32_t nr_rows;
    struct texts events, functions, places;
    uint32_t event_of[64]; // kind -> index + 1
    uint32_t function_of[64];
    struct seep_map place_of; // process << 32 | site -> index + 1
    struct seep_view *view;
};

enum { AT, PROCESS, THREAD, ADDRESS, SIZE, SITE, NUMBERS };
enum { EVENT, FUNCTION, PLACE, WORDS };

static int64_t *numbers_of(const struct table *table, int column) {
    return table->numbers + (size_t)column * SEEP_PARQUET_ROWS;
}

static uint32_t *words_of(const struct table *table, int column) {
    return table->words + (size_t)column * SEEP_PARQUET_ROWS;
}

static bool find_text(struct texts *texts, const char *text, uint32_t *ret_index) {
    uint64_t *index = seep_map_at(&texts->of_text, seep_hash_bytes(text, strlen(text)), NULL);
    if (!index ||
        (!*index && !seep_grow(&texts->items, &texts->capacity, texts->nr + 1, sizeof(*texts->items))))
        return false;
    if (!*index) {
        texts->items[texts->nr++] = text;
        *index = texts->nr;
    }
    *ret_index = (uint32_t)*index - 1;
    return true;
}

static bool name(struct texts *texts, const char *text, uint32_t *ret_index_1) {
    bool good = find_text(texts, text, ret_index_1);
    *ret_index_1 += good;
    return good;
}

static struct seep_error *write_group(struct table *table) {
    struct seep_parquet *parquet = &table->parquet;
    const struct texts *const texts[] = {&table->events, &table->functions, &table->places};
    struct seep_error *error = NULL;
    int number = 0, word = 0;
    seep_parquet_begin_group(parquet, table->nr_rows);
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(columns); i++) {
        if (columns[i].type != SEEP_PARQUET_TEXT) {
            error = seep_parquet_numbers(parquet, numbers_of(table, number++));
        } else {
            error = seep_parquet_texts(parquet, words_of(table, word), texts[word]->items,
                                       (uint32_t)texts[word]->nr);
            word++;
        }
    }
    if (!error)
        seep_parquet_end_group(parquet);
    table->nr_rows = 0;
    return error;
}

static struct seep_error *find_place(struct table *table, const struct seep_events_walk *walk, uint32_t site,
                                     uint32_t *ret_place) {
    uint64_t *index = seep_map_at(&table->place_of, (uint64_t)walk->process << 32 | site, NULL);
    if (!index)
        return seep_error_no_memory();
    if (!*index) {
        const char *place = NULL;
        uint32_t node = table->view->nodes[walk->process][walk->profile->sites[site].node];
        struct seep_error *error = seep_summary_place(table->view, node, &place);
        if (error)
            return error;
        if (!find_text(&table->places, place ? place : "", ret_place))
            return seep_error_no_memory();
        *index = (uint64_t)*ret_place + 1;
    }
    *ret_place = (uint32_t)*index - 1;
    return NULL;
}

static struct seep_error *put_row(const struct seep_events_walk *walk, const struct seep_recorded *event) {
    struct table *table = walk->data;
    uint32_t row = table->nr_rows, place;
    struct seep_error *error = find_place(table, walk, event->site, &place);
    if (error)
        return error;
    numbers_of(table, AT)[row] = walk->source->time(walk->chunk, event->stamp);
    numbers_of(table, PROCESS)[row] = walk->profile->process.pid;
    numbers_of(table, THREAD)[row] = event->slot;
    numbers_of(table, ADDRESS)[row] = (int64_t)event->address;
    numbers_of(table, SIZE)[row] = (int64_t)event->size;
    numbers_of(table, SITE)[row] = event->site;
    uint32_t kind = event->kind % 64, via = walk->profile->sites[event->site].via % 64;
    if ((!table->event_of[kind] &&
         !name(&table->events, seep_event_name(event->kind), &table->event_of[kind])) ||
        (!table->function_of[via] && !name(&table->functions, seep_via_name(via), &table->function_of[via])))
        return seep_error_no_memory();
    words_of(table, EVENT)[row] = table->event_of[kind] - 1;
    words_of(table, FUNCTION)[row] = table->function_of[via] - 1;
    words_of(table, PLACE)[row] = place;
    return ++table->nr_rows == SEEP_PARQUET_ROWS ? write_group(table) : NULL;
}

static void texts_deinit(struct texts *texts) {
    free(texts->items);
    seep_map_deinit(&texts->of_text);
}

struct seep_error *seep_events_parquet(FILE *out, struct seep_view *view,
                                       const struct seep_event_source *source) {
    struct table table = {.view = view};
    struct seep_error *error = seep_parquet_init(&table.parquet, out, columns, SEEP_ARRAY_SIZE(columns));
    if (error)
        return error;
    table.numbers = malloc((size_t)NUMBERS * SEEP_PARQUET_ROWS * sizeof(*table.numbers));
    table.words = malloc((size_t)WORDS * SEEP_PARQUET_ROWS * sizeof(*table.words));
    struct seep_events_walk walk = {.out = out, .view = view, .source = source, .data = &table};
    error = table.numbers && table.words ? seep_events_walk_all(&walk, put_row) : seep_error_no_memory();
    if (!error && table.nr_rows)
        error = write_group(&table);
    if (!error)
        error = seep_parquet_finish(&table.parquet);
    seep_parquet_deinit(&table.parquet);
    free(table.numbers);
    free(table.words);
    texts_deinit(&table.events);
    texts_deinit(&table.functions);
    texts_deinit(&table.places);
    seep_map_deinit(&table.place_of);
    return error;
}
