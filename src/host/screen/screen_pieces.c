// SPDX-License-Identifier: BSD-2-Clause
// Numbers in few columns, and as many pieces of a line as fit. See screen_parts.h.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "screen/screen_parts.h"

// ---- numbers, in as few columns as may be ----

struct seep_number seep_screen_small_number(double value, double base, bool sign) {
    static const char units[] = " KMGTPE";
    struct seep_number number;
    double size = fabs(value);
    unsigned unit = 0;
    while (size >= 999.5 && unit + 2 < sizeof(units)) {
        size /= base;
        unit++;
    }
    const char *before = value < 0 ? "-" : sign && value > 0 ? "+" : "";
    if (!unit)
        snprintf(number.text, sizeof(number.text), "%s%.0f", before, size);
    else
        snprintf(number.text, sizeof(number.text), "%s%.*f%c", before, size < 99.95 ? 1 : 0, size,
                 units[unit]);
    if (strcmp(number.text, "-0") == 0 || strcmp(number.text, "+0") == 0)
        snprintf(number.text, sizeof(number.text), "0");
    return number;
}

struct seep_number seep_screen_short_bytes(double bytes) {
    return seep_screen_small_number(bytes, 1024, false);
}

struct seep_number seep_screen_short_change(double bytes) {
    return seep_screen_small_number(bytes, 1024, true);
}

struct seep_number seep_screen_short_count(double count, int room) {
    struct seep_number number = seep_format_count(count > 0 ? (uint64_t)(count + 0.5) : 0);
    return (int)strlen(number.text) <= room ? number : seep_screen_small_number(count, 1000, false);
}

struct seep_number seep_screen_short_time(int64_t ns) {
    struct seep_number number;
    int64_t s = ns / 1000000000;
    if (s < 60)
        snprintf(number.text, sizeof(number.text), "%" PRId64 "s", s);
    else if (s < 3600)
        snprintf(number.text, sizeof(number.text), "%" PRId64 "m%02" PRId64 "s", s / 60, s % 60);
    else if (s < 86400)
        snprintf(number.text, sizeof(number.text), "%" PRId64 "h%02" PRId64 "m", s / 3600, s / 60 % 60);
    else
        snprintf(number.text, sizeof(number.text), "%" PRId64 "d%02" PRId64 "h", s / 86400, s / 3600 % 24);
    return number;
}

// ---- pieces of a line, as many as fit ----

SEEP_PRINTF(3, 4)
void seep_screen_write_piece(struct seep_screen_pen *pen, unsigned attributes, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    // A piece that does not fit is left out, but for the first, which is cut.
    int left = pen->canvas->nr_columns - pen->x;
    if (pen->x > 1 && (int)strlen(text) > left)
        return;
    pen->x += seep_canvas_put(pen->canvas, pen->x, pen->y, -1, attributes, text);
}

double seep_screen_foot_of(const double *values, size_t nr) {
    double least = nr ? values[0] : 0, most = 0;
    for (size_t i = 0; i < nr; i++) {
        least = SEEP_MIN(least, values[i]);
        most = SEEP_MAX(most, values[i]);
    }
    return SEEP_MIN(least, 0.95 * most);
}

void seep_screen_bars(struct seep_screen_pen *pen, const struct seep_live *live, bool of_live) {
    double values[SEEP_LIVE_POINTS];
    size_t nr = 0;
    for (size_t i = 0; i < live->nr_points; i++)
        if (of_live || live->points[i].rates_known)
            values[nr++] = of_live ? (double)live->points[i].live_bytes : live->points[i].allocations_per_s;
    int room = pen->canvas->nr_columns >= 120 ? 24 : 12;
    if (nr < 2 || pen->canvas->nr_columns - pen->x < room + 1)
        return;
    seep_canvas_put_bars(pen->canvas, pen->x, pen->y, room, SEEP_ATTR_GOOD, values, nr,
                         of_live ? seep_screen_foot_of(values, nr) : 0);
    pen->x += room + 1;
}
