// SPDX-License-Identifier: BSD-2-Clause
// Rows of a statement as a table, see sql_table.h.
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "output/format.h"
#include "output/sql_table.h"

// Rows that have the same widths: more are not kept in memory.
#define ROWS_MOST  1000u
#define BYTES_MOST ((size_t)8 << 20) // of their texts
// Columns of a text that is cut.
#define LEAST_WIDTH 8u
#define BETWEEN     2u

struct value {
    const char *text; // escaped
    unsigned width;
    bool is_number;
};

struct column {
    struct value name;
    unsigned width;     // what it gets
    unsigned widest;    // of its values
    bool has_text;      // a value that is no number
    bool is_number_all; // at least one number, and no text
};

struct seep_sql_table {
    FILE *out;
    struct seep_style style;
    struct seep_arena arena; // of the values that wait
    struct seep_arena names;
    struct column *columns;
    unsigned nr_columns;
    unsigned nr_names;
    struct value *values;
    size_t nr_values;
    size_t nr_bytes; // of their texts
    bool begun;
    uint64_t nr_cut;
};

struct seep_error *seep_sql_table_begin(FILE *out, unsigned nr_columns, struct seep_sql_table **ret_table) {
    struct seep_sql_table *table = calloc(1, sizeof(*table));
    if (!table)
        return seep_error_no_memory();
    table->out = out;
    table->style = seep_style_of(out);
    table->nr_columns = nr_columns;
    table->columns = calloc(nr_columns, sizeof(*table->columns));
    table->values = calloc((size_t)nr_columns * ROWS_MOST, sizeof(*table->values));
    *ret_table = table;
    return table->columns && table->values ? NULL : seep_error_no_memory();
}

// ---- widths ------------------------------------------------------------------------------------------

// Gives each column its width. Numbers are never cut; texts are, the widest first. false: there is no room.
static bool fit(struct seep_sql_table *table) {
    unsigned all = 0;
    for (unsigned i = 0; i < table->nr_columns; i++) {
        struct column *column = &table->columns[i];
        column->width = SEEP_MAX(column->widest, column->name.width);
        all += column->width + (i ? BETWEEN : 0);
    }
    while (table->style.width && all > table->style.width) {
        struct column *widest = NULL;
        unsigned second = LEAST_WIDTH;
        for (unsigned i = 0; i < table->nr_columns; i++) {
            struct column *column = &table->columns[i];
            if (!column->has_text || column->width <= LEAST_WIDTH)
                continue;
            if (!widest || column->width > widest->width) {
                second = widest ? widest->width : second;
                widest = column;
            } else {
                second = SEEP_MAX(second, column->width);
            }
        }
        if (!widest)
            return false;
        unsigned less = SEEP_MIN(all - table->style.width, SEEP_MAX(widest->width - second, 1u));
        widest->width -= less;
        all -= less;
    }
    return true;
}

// ---- writing -----------------------------------------------------------------------------------------

static void put_blanks(FILE *out, unsigned nr) {
    fprintf(out, "%*s", (int)nr, "");
}

static void put_cut(FILE *out, const char *text, unsigned width) {
    uint32_t code;
    for (unsigned nr = 1; nr < width && *text; nr++) {
        unsigned bytes = seep_utf8_next(text, &code);
        bytes = bytes ? bytes : 1;
        fwrite(text, 1, bytes, out);
        text += bytes;
    }
    fputs("…", out);
}

static void put_cell(struct seep_sql_table *table, const struct value *value, unsigned column, bool right) {
    unsigned width = table->columns[column].width;
    bool is_last = column + 1 == table->nr_columns;
    if (value->width > width) {
        put_cut(table->out, value->text, width);
        table->nr_cut++;
    } else {
        if (right)
            put_blanks(table->out, width - value->width);
        fputs(value->text, table->out);
        if (!right && !is_last)
            put_blanks(table->out, width - value->width);
    }
    if (is_last)
        fputc('\n', table->out);
    else
        put_blanks(table->out, BETWEEN);
}

static void put_table(struct seep_sql_table *table) {
    if (!table->begun) {
        fputs(seep_style_bold(&table->style), table->out);
        for (unsigned i = 0; i < table->nr_columns; i++)
            put_cell(table, &table->columns[i].name, i, table->columns[i].is_number_all);
        fputs(seep_style_off(&table->style), table->out);
    }
    for (size_t i = 0; i < table->nr_values; i++)
        put_cell(table, &table->values[i], (unsigned)(i % table->nr_columns), table->values[i].is_number);
}

// Name and value in each line; a long value goes on below itself.
static void put_groups(struct seep_sql_table *table) {
    unsigned room = 0;
    for (unsigned i = 0; i < table->nr_columns; i++)
        room = SEEP_MAX(room, table->columns[i].name.width);
    for (size_t i = 0; i < table->nr_values; i++) {
        unsigned at = (unsigned)(i % table->nr_columns);
        const struct value *value = &table->values[i], *name = &table->columns[at].name;
        if (!at && (i || table->begun))
            fputc('\n', table->out);
        fprintf(table->out, "%s%s%s", seep_style_bold(&table->style), name->text,
                seep_style_off(&table->style));
        if (value->width) {
            put_blanks(table->out, room - name->width + BETWEEN);
            seep_put_wrapped(table->out, &table->style, room + BETWEEN, value->text);
        }
        fputc('\n', table->out);
    }
}

// A single column of texts has the whole line, and goes on in the next one as the terminal does it.
static void put_lines(struct seep_sql_table *table) {
    if (!table->begun)
        fprintf(table->out, "%s%s%s\n", seep_style_bold(&table->style), table->columns[0].name.text,
                seep_style_off(&table->style));
    for (size_t i = 0; i < table->nr_values; i++)
        fprintf(table->out, "%s\n", table->values[i].text);
}

static void flush_rows(struct seep_sql_table *table) {
    for (unsigned i = 0; i < table->nr_columns; i++) {
        struct column *column = &table->columns[i];
        bool has_number = false;
        for (size_t k = i; k < table->nr_values; k += table->nr_columns) {
            const struct value *value = &table->values[k];
            column->widest = SEEP_MAX(column->widest, value->width);
            column->has_text |= !value->is_number && value->width;
            has_number |= value->is_number;
        }
        column->is_number_all = has_number && !column->has_text;
    }
    if (table->nr_columns == 1 && table->columns[0].has_text)
        put_lines(table);
    else if (fit(table))
        put_table(table);
    else
        put_groups(table);
    table->begun = true;
    table->nr_values = table->nr_bytes = 0;
    seep_arena_deinit(&table->arena);
    table->arena = (struct seep_arena)SEEP_ARENA_INIT;
}

// ---- reading -----------------------------------------------------------------------------------------

static struct seep_error *make_value(struct seep_arena *arena, const char *text, bool is_number,
                                     struct value *ret_value) {
    char *escaped = seep_escape(text ? text : "");
    const char *kept = escaped ? seep_arena_strdup(arena, escaped) : NULL;
    free(escaped);
    if (!kept)
        return seep_error_no_memory();
    *ret_value = (struct value){kept, (unsigned)seep_text_width(kept), is_number};
    return NULL;
}

struct seep_error *seep_sql_table_add(struct seep_sql_table *table, const char *text, bool is_number) {
    if (table->nr_names < table->nr_columns)
        return make_value(&table->names, text, false, &table->columns[table->nr_names++].name);
    bool is_full = table->nr_values == (size_t)table->nr_columns * ROWS_MOST || table->nr_bytes > BYTES_MOST;
    if (is_full && table->nr_values % table->nr_columns == 0)
        flush_rows(table);
    struct value *value = &table->values[table->nr_values];
    struct seep_error *error = make_value(&table->arena, text, is_number, value);
    if (error)
        return error;
    table->nr_values++;
    table->nr_bytes += strlen(value->text);
    return NULL;
}

static void put_end(struct seep_sql_table *table) {
    if (table->nr_values || !table->begun)
        flush_rows(table);
    if (!table->nr_cut)
        return;
    char text[128];
    snprintf(text, sizeof(text), "%s value%s cut to the width of the terminal: --csv shows all",
             seep_format_count(table->nr_cut).text, table->nr_cut == 1 ? " is" : "s are");
    seep_put_wrapped(table->out, &table->style, 0, text);
    fputc('\n', table->out);
}

struct seep_error *seep_sql_table_end(struct seep_sql_table *table, struct seep_error *error) {
    if (!table)
        return error;
    if (table->columns && table->values && table->nr_names == table->nr_columns)
        put_end(table);
    seep_arena_deinit(&table->arena);
    seep_arena_deinit(&table->names);
    free(table->columns);
    free(table->values);
    free(table);
    return error;
}
