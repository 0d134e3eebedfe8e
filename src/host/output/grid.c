// SPDX-License-Identifier: BSD-2-Clause
// Tables of values as text and as JSON, see grid.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/numbers.h"
#include "output/format.h"
#include "output/grid.h"
#include "output/json_build.h"
#include "output/json_text.h"

void seep_grid_init(struct seep_grid *grid, const struct seep_grid_column *columns) {
    *grid = (struct seep_grid){.arena = SEEP_ARENA_INIT, .columns = columns};
    while (columns[grid->nr_columns].name && grid->nr_columns < SEEP_GRID_COLUMNS)
        grid->nr_columns++;
}

void seep_grid_deinit(struct seep_grid *grid) {
    seep_arena_deinit(&grid->arena);
    free(grid->cells);
    *grid = (struct seep_grid){.arena = SEEP_ARENA_INIT};
}

static struct seep_error *add(struct seep_grid *grid, const struct seep_grid_cell *cell) {
    if (!seep_grow(&grid->cells, &grid->capacity, grid->nr_cells + 1, sizeof(*grid->cells)))
        return seep_error_no_memory();
    grid->cells[grid->nr_cells++] = *cell;
    return NULL;
}

struct seep_error *seep_grid_number_if(struct seep_grid *grid, bool known, int64_t value) {
    return add(grid, &(struct seep_grid_cell){.known = known, .number = value});
}

struct seep_error *seep_grid_number(struct seep_grid *grid, int64_t value) {
    return seep_grid_number_if(grid, true, value);
}

struct seep_error *seep_grid_text(struct seep_grid *grid, const char *text) {
    const char *kept = text ? seep_arena_strdup(&grid->arena, text) : NULL;
    if (text && !kept)
        return seep_error_no_memory();
    return add(grid, &(struct seep_grid_cell){.known = kept != NULL, .text = kept});
}

struct seep_error *seep_grid_id(struct seep_grid *grid, uint64_t id) {
    char text[24];
    snprintf(text, sizeof(text), "%" PRIu64, id);
    return seep_grid_text(grid, text);
}

// ---- text ----

struct shown {
    char *text; // malloc'ed; NULL: out of memory
    size_t width;
};

static struct shown show(const struct seep_grid *grid, const struct seep_grid_cell *cell, unsigned column) {
    struct seep_number number = {"-"};
    enum seep_grid_kind kind = grid->columns[column].kind;
    struct shown shown = {NULL, 0};
    if (cell->known && kind == SEEP_GRID_TEXT) {
        shown.text = seep_escape(cell->text);
    } else {
        if (!cell->known)
            ;
        else if (kind == SEEP_GRID_COUNT || kind == SEEP_GRID_RARE)
            number = seep_format_signed(cell->number);
        else if (kind == SEEP_GRID_PLAIN)
            snprintf(number.text, sizeof(number.text), "%" PRId64, cell->number);
        else if (kind == SEEP_GRID_CHANGE)
            snprintf(number.text, sizeof(number.text), "%s%.38s", cell->number > 0 ? "+" : "",
                     seep_format_signed(cell->number).text);
        else if (kind == SEEP_GRID_PERCENT)
            snprintf(number.text, sizeof(number.text), "%" PRId64 "%%", cell->number);
        else if (kind == SEEP_GRID_ADDRESS)
            snprintf(number.text, sizeof(number.text), "0x%" PRIx64, (uint64_t)cell->number);
        else
            number = seep_format_duration(cell->number);
        shown.text = strdup(number.text);
    }
    if (shown.text)
        shown.width = seep_text_width(shown.text);
    return shown;
}

static void put_padded(FILE *out, const char *text, size_t width, size_t room, bool left) {
    if (!left)
        fprintf(out, "%*s", (int)(room > width ? room - width : 0), "");
    fputs(text, out);
    if (left)
        fprintf(out, "%*s", (int)(room > width ? room - width : 0), "");
}

static void put_one(FILE *out, const struct seep_grid *grid) {
    size_t room = 0;
    for (unsigned i = 0; i < grid->nr_columns; i++)
        room = SEEP_MAX(room, strlen(grid->columns[i].head));
    for (unsigned i = 0; i < grid->nr_columns && i < grid->nr_cells; i++) {
        const struct seep_grid_cell *cell = &grid->cells[i];
        struct shown shown = show(grid, cell, i);
        if (shown.text && cell->known && (cell->number || grid->columns[i].kind != SEEP_GRID_RARE))
            fprintf(out, "%-*s  %s\n", (int)room, grid->columns[i].head, shown.text);
        free(shown.text);
    }
}

static void put_rows(FILE *out, const struct seep_grid *grid) {
    if (!grid->nr_cells) {
        if (grid->empty)
            fprintf(out, "%s\n", grid->empty);
        return;
    }
    size_t widths[SEEP_GRID_COLUMNS];
    unsigned nr_cells[SEEP_GRID_COLUMNS] = {0}; // that are known: columns without are left out
    struct shown *all = calloc(grid->nr_cells, sizeof(*all));
    if (!all)
        return;
    for (unsigned i = 0; i < grid->nr_columns; i++)
        widths[i] = strlen(grid->columns[i].head);
    for (size_t i = 0; i < grid->nr_cells; i++) {
        unsigned column = (unsigned)(i % grid->nr_columns);
        all[i] = show(grid, &grid->cells[i], column);
        widths[column] = SEEP_MAX(widths[column], all[i].width);
        nr_cells[column] += grid->cells[i].known;
    }
    unsigned last = 0; // column that is shown
    for (unsigned i = 0; i < grid->nr_columns; i++)
        last = nr_cells[i] ? i : last;
    nr_cells[last] += !nr_cells[last];
    for (unsigned i = 0; i <= last; i++) {
        bool text = grid->columns[i].kind == SEEP_GRID_TEXT;
        if (nr_cells[i])
            put_padded(out, grid->columns[i].head, strlen(grid->columns[i].head),
                       i == last && text ? 0 : widths[i], text);
        fputs(i == last ? "\n" : nr_cells[i] ? "  " : "", out);
    }
    for (size_t i = 0; i < grid->nr_cells; i++) {
        unsigned column = (unsigned)(i % grid->nr_columns);
        bool text = grid->columns[column].kind == SEEP_GRID_TEXT;
        if (nr_cells[column])
            put_padded(out, all[i].text ? all[i].text : "?", all[i].width,
                       column == last && text ? 0 : widths[column], text);
        if (column <= last)
            fputs(column == last ? "\n" : nr_cells[column] ? "  " : "", out);
        free(all[i].text);
    }
    free(all);
    if (grid->nr_more)
        fprintf(out, "%s more\n", seep_format_count(grid->nr_more).text);
}

void seep_grid_put_text(FILE *out, const struct seep_grid *grid) {
    if (grid->one)
        put_one(out, grid);
    else
        put_rows(out, grid);
    for (size_t i = 0; i < grid->nr_notes; i++) {
        fputs("note: ", out);
        fputs(seep_note_lead(&grid->notes[i]), out);
        seep_put_escaped(out, grid->notes[i].text);
        fputc('\n', out);
    }
}

// ---- JSON ----

static json_t *value_of(const struct seep_grid *grid, const struct seep_grid_cell *cell, unsigned column) {
    char address[24];
    if (!cell->known)
        return json_null();
    switch (grid->columns[column].kind) {
    case SEEP_GRID_TEXT:
        return string(cell->text);
    case SEEP_GRID_ADDRESS:
        snprintf(address, sizeof(address), "0x%" PRIx64, (uint64_t)cell->number);
        return json_string(address);
    case SEEP_GRID_NS:
        return json_real((double)cell->number / 1e9);
    default:
        return json_integer(cell->number);
    }
}

static void set_row(json_t **object, const struct seep_grid *grid, size_t first) {
    for (unsigned i = 0; i < grid->nr_columns && first + i < grid->nr_cells; i++)
        set(object, grid->columns[i].name, value_of(grid, &grid->cells[first + i], i));
}

static json_t *notes_of(const struct seep_grid *grid) {
    json_t *notes = json_array();
    for (size_t i = 0; i < grid->nr_notes; i++) {
        json_t *note = json_object();
        set(&note, "code", json_string(seep_note_name(grid->notes[i].code)));
        set(&note, "text", string(grid->notes[i].text));
        append(&notes, note);
    }
    return notes;
}

struct seep_error *seep_grid_put_json(FILE *out, const struct seep_grid *grid, const char *name) {
    json_t *whole = json_object();
    set(&whole, "command", string(name));
    if (grid->one) {
        set_row(&whole, grid, 0);
    } else {
        json_t *rows = json_array();
        for (size_t i = 0; i < grid->nr_cells; i += grid->nr_columns) {
            json_t *row = json_object();
            set_row(&row, grid, i);
            append(&rows, row);
        }
        set(&whole, "rows", rows);
        set(&whole, "more", integer(grid->nr_more));
    }
    if (grid->nr_notes)
        set(&whole, "notes", notes_of(grid));
    char *text = text_of_json(whole, JSON_COMPACT);
    if (!text)
        return seep_error_no_memory();
    fprintf(out, "%s\n", text);
    free(text);
    return NULL;
}

void seep_grid_put_error(FILE *out, const char *name, const struct seep_error *error) {
    fputs("{\"command\":", out);
    seep_put_json_text(out, name);
    fputs(",\"error\":", out);
    seep_put_json_text(out, error->message);
    if (error->hint) {
        fputs(",\"hint\":", out);
        seep_put_json_text(out, error->hint);
    }
    fputs("}\n", out);
}
