// SPDX-License-Identifier: BSD-2-Clause
// The grid of cells, see canvas.h.
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/map.h"
#include "output/format.h"
#include "screen/canvas.h"

bool seep_canvas_begin(struct seep_canvas *canvas, int nr_columns, int nr_rows, bool ascii) {
    canvas->nr_columns = SEEP_MIN(SEEP_MAX(nr_columns, 0), SEEP_CANVAS_MOST);
    canvas->nr_rows = SEEP_MIN(SEEP_MAX(nr_rows, 0), SEEP_CANVAS_MOST);
    canvas->ascii = ascii;
    canvas->nr_zones = 0;
    size_t nr = (size_t)canvas->nr_columns * (size_t)canvas->nr_rows;
    if (!seep_grow(&canvas->cells, &canvas->capacity, SEEP_MAX(nr, (size_t)1), sizeof(*canvas->cells))) {
        canvas->nr_columns = canvas->nr_rows = 0;
        return false;
    }
    for (size_t i = 0; i < nr; i++)
        canvas->cells[i] = (struct seep_cell){.code = ' '};
    return true;
}

void seep_canvas_deinit(struct seep_canvas *canvas) {
    free(canvas->cells);
    *canvas = (struct seep_canvas){0};
}

// Columns of a character; of those that take none, or that the locale does not know, one.
static int width_of(uint32_t code) {
    return code >= 0x1100 && wcwidth((wchar_t)code) == 2 ? 2 : 1;
}

// What combines with the character before has no cell of its own: it is shown as one that is not known.
static uint32_t shown(const struct seep_canvas *canvas, uint32_t code) {
    if (code < 0x7f)
        return code;
    if (canvas->ascii)
        return code == 0x2026 ? '~' : '?';
    return code >= 0x300 && wcwidth((wchar_t)code) == 0 ? 0xfffd : code;
}

static void set(struct seep_canvas *canvas, int x, int y, unsigned attributes, uint32_t code) {
    if (x < 0 || y < 0 || x >= canvas->nr_columns || y >= canvas->nr_rows)
        return;
    canvas->cells[y * canvas->nr_columns + x] = (struct seep_cell){code, (uint8_t)attributes};
}

static int put_plain(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                     const char *text) {
    int at = 0;
    while (*text) {
        uint32_t code = 0;
        unsigned length = seep_utf8_next(text, &code);
        if (!length) // cannot be: it was escaped
            break;
        code = shown(canvas, code);
        int width = width_of(code);
        const char *next = text + length;
        bool more = *next != 0;
        // The last column is for the mark of what does not fit.
        if (at + width > room || (more && at + width == room)) {
            if (at < room)
                set(canvas, x + at++, y, attributes, canvas->ascii ? '~' : 0x2026);
            break;
        }
        set(canvas, x + at, y, attributes, code);
        if (width == 2)
            set(canvas, x + at + 1, y, attributes, 0);
        at += width;
        text = next;
    }
    return at;
}

int seep_canvas_put(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                    const char *text) {
    int left = canvas->nr_columns - x;
    room = room < 0 ? left : SEEP_MIN(room, left);
    if (room <= 0 || y < 0 || y >= canvas->nr_rows)
        return 0;
    char *escaped = seep_escape(text);
    int nr = escaped ? put_plain(canvas, x, y, room, attributes, escaped) : 0;
    free(escaped);
    return nr;
}

void seep_canvas_put_right(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                           const char *text) {
    int width = (int)seep_text_width(text);
    if (width < room) {
        x += room - width;
        room = width;
    }
    seep_canvas_put(canvas, x, y, room, attributes, text);
}

int seep_canvas_printf(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = NULL;
    int nr = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (nr < 0)
        return 0;
    nr = seep_canvas_put(canvas, x, y, room, attributes, text);
    free(text);
    return nr;
}

void seep_canvas_put_bars(struct seep_canvas *canvas, int x, int y, int room, unsigned attributes,
                          const double *values, size_t nr, double least) {
    static const char levels[] = " .:-=+*#";
    double most = least;
    size_t first = nr > (size_t)SEEP_MAX(room, 0) ? nr - (size_t)SEEP_MAX(room, 0) : 0;
    for (size_t i = first; i < nr; i++)
        most = SEEP_MAX(most, values[i]);
    for (size_t i = first; i < nr; i++) {
        double part = most > least && values[i] > least ? (values[i] - least) / (most - least) : 0;
        int level = (int)(part * 7.999);
        uint32_t code = canvas->ascii ? (uint32_t)levels[level] : 0x2581u + (uint32_t)level;
        set(canvas, x + (int)(i - first), y, attributes, code);
    }
}

void seep_canvas_fill(struct seep_canvas *canvas, int y, unsigned attributes) {
    for (int x = 0; y >= 0 && y < canvas->nr_rows && x < canvas->nr_columns; x++)
        canvas->cells[y * canvas->nr_columns + x].attributes |= (uint8_t)attributes;
}

void seep_canvas_rule(struct seep_canvas *canvas, int x, int y, int room) {
    for (int i = 0; i < room; i++)
        set(canvas, x + i, y, SEEP_ATTR_DIM, canvas->ascii ? '-' : 0x2500);
}

void seep_canvas_zone(struct seep_canvas *canvas, int x, int y, int nr_columns, int action) {
    if (canvas->nr_zones < SEEP_ZONES_MAX)
        canvas->zones[canvas->nr_zones++] = (struct seep_zone){x, y, nr_columns, action};
}

int seep_canvas_action(const struct seep_canvas *canvas, int x, int y) {
    for (unsigned i = 0; i < canvas->nr_zones; i++) {
        const struct seep_zone *zone = &canvas->zones[i];
        if (y == zone->y && x >= zone->x && x < zone->x + zone->nr_columns)
            return zone->action;
    }
    return -1;
}

unsigned seep_utf8_put(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    unsigned length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned i = length; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)((0xf00u >> length & 0xf0u) | code);
    return length;
}

char *seep_canvas_line(const struct seep_canvas *canvas, int y) {
    char *text = malloc((size_t)canvas->nr_columns * 4 + 1);
    if (!text)
        return NULL;
    size_t nr = 0;
    for (int x = 0; x < canvas->nr_columns; x++) {
        uint32_t code = canvas->cells[y * canvas->nr_columns + x].code;
        if (code)
            nr += seep_utf8_put(text + nr, code);
    }
    while (nr && text[nr - 1] == ' ')
        nr--;
    text[nr] = 0;
    return text;
}
