// SPDX-License-Identifier: BSD-2-Clause
//
// The agent's own printf and scanf, in place of libc's, whose floating-point numbers and wide characters take
// 20 KB: the conversions that the agent has, and no others. Printed: %d %u %x %s %c %f %% with flags - 0,
// width, precision and the lengths h, l, ll, z, j. A floating-point number is rounded to 9 decimals at most.
// Scanned: %d %u %x %s %c with width, * and the lengths l, ll. Proof: tests/unit/test_small_format.c.
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/small_format.h"
#include "core/attr.h"

// ---- what both have ----

struct conversion {
    bool left;
    bool zero;
    bool dropped;  // * of scanf
    int width;     // -1: none
    int precision; // -1: none
    int length;    // 0; 1: long, 2: long long
    char kind;
};

static const char *read_number(const char *at, int *ret_number) {
    *ret_number = 0;
    while (*at >= '0' && *at <= '9' && *ret_number < 1 << 20)
        *ret_number = *ret_number * 10 + (*at++ - '0');
    return at;
}

static const char *read_length(const char *at, struct conversion *ret) {
    ret->length = 0;
    for (;; at++) {
        if (*at == 'l')
            ret->length++;
        else if (*at == 'j')
            ret->length = 2;
        else if (*at == 'z' || *at == 't')
            ret->length = 1;
        else if (*at != 'h')
            break;
    }
    ret->kind = *at;
    return *at ? at + 1 : at;
}

// ---- printf ----

struct sink {
    FILE *file; // NULL: memory
    char *to;
    size_t room;
    size_t nr;
};

static void put(struct sink *sink, char c) {
    if (sink->file)
        fputc(c, sink->file);
    else if (sink->nr + 1 < sink->room)
        sink->to[sink->nr] = c;
    sink->nr++;
}

static void put_many(struct sink *sink, char c, int nr) {
    for (; nr > 0 && (sink->file || sink->nr + 1 < sink->room); nr--)
        put(sink, c);
    sink->nr += (size_t)SEEP_MAX(nr, 0); // beyond the room
}

// `nr_zeros` between the sign and the digits.
static void put_padded(struct sink *sink, const struct conversion *how, const char *sign, int nr_zeros,
                       const char *text, size_t nr) {
    size_t used = strlen(sign) + (size_t)nr_zeros + nr;
    int missing = how->width > 0 && (size_t)how->width > used ? how->width - (int)used : 0;
    bool zeros = how->zero && !how->left;
    if (!how->left && !zeros)
        put_many(sink, ' ', missing);
    while (*sign)
        put(sink, *sign++);
    put_many(sink, '0', nr_zeros + (zeros ? missing : 0));
    while (nr--)
        put(sink, *text++);
    if (how->left)
        put_many(sink, ' ', missing);
}

// The digits of `value` end at `end`; returns where they begin.
static char *digits_before(char *end, uint64_t value, unsigned base) {
    do
        *--end = "0123456789abcdef"[value % base];
    while (value /= base);
    return end;
}

static void put_integer(struct sink *sink, const struct conversion *how, bool negative, uint64_t value) {
    char digits[24], *end = digits + sizeof(digits),
                     *start = digits_before(end, value, how->kind == 'x' ? 16 : 10);
    struct conversion plain = *how;
    int nr = (int)(end - start);
    plain.zero &= how->precision < 0;
    put_padded(sink, &plain, negative ? "-" : "", how->precision > nr ? how->precision - nr : 0, start,
               (size_t)nr);
}

static void put_double(struct sink *sink, const struct conversion *how, double value) {
    static const uint32_t powers[] = {1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000};
    int nr_decimals = how->precision < 0 ? 6 : SEEP_MIN(how->precision, 9);
    char text[40], *end = text + sizeof(text), *start = end;
    bool negative = value < 0;
    value = negative ? -value : value;
    if (!(value < 1e18)) { // infinite, or no number
        put_padded(sink, how, negative ? "-" : "", 0, "inf", 3);
        return;
    }
    uint64_t whole = (uint64_t)value;
    uint64_t part = (uint64_t)((value - (double)whole) * powers[nr_decimals] + 0.5);
    if (part >= powers[nr_decimals]) {
        whole++;
        part = 0;
    }
    if (nr_decimals) {
        start = digits_before(end, part, 10);
        while (end - start < nr_decimals)
            *--start = '0';
        *--start = '.';
    }
    start = digits_before(start, whole, 10);
    put_padded(sink, how, negative ? "-" : "", 0, start, (size_t)(end - start));
}

static void print(struct sink *sink, const char *format, va_list arguments) {
    while (*format) {
        if (*format != '%') {
            put(sink, *format++);
            continue;
        }
        struct conversion how = {.width = -1, .precision = -1};
        for (format++; *format == '-' || *format == '0'; format++)
            *(*format == '-' ? &how.left : &how.zero) = true;
        if (*format == '*') {
            how.width = va_arg(arguments, int);
            format++;
        } else {
            format = read_number(format, &how.width);
        }
        if (how.width < 0) {
            how.left = true;
            how.width = how.width == INT_MIN ? INT_MAX : -how.width;
        }
        if (*format == '.' && *++format == '*') {
            how.precision = va_arg(arguments, int);
            format++;
        } else if (format[-1] == '.') {
            format = read_number(format, &how.precision);
        }
        format = read_length(format, &how);
        int64_t number;
        const char *text;
        char c;
        switch (how.kind) {
        case 'd':
            number = how.length == 0   ? va_arg(arguments, int)
                     : how.length == 1 ? va_arg(arguments, long)
                                       : va_arg(arguments, long long);
            put_integer(sink, &how, number < 0, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
            break;
        case 'u':
        case 'x':
            put_integer(sink, &how, false,
                        how.length == 0   ? va_arg(arguments, unsigned)
                        : how.length == 1 ? va_arg(arguments, unsigned long)
                                          : va_arg(arguments, unsigned long long));
            break;
        case 'f':
            put_double(sink, &how, va_arg(arguments, double));
            break;
        case 's':
            text = va_arg(arguments, const char *);
            text = text ? text : "(null)"; // as libc has it
            how.zero = false;
            put_padded(sink, &how, "", 0, text,
                       how.precision < 0 ? strlen(text) : strnlen(text, (size_t)how.precision));
            break;
        case 'c':
            c = (char)va_arg(arguments, int);
            put_padded(sink, &how, "", 0, &c, 1);
            break;
        default: // %%
            put(sink, how.kind);
            break;
        }
    }
}

// -1, as in libc, where the length does not fit an int.
static int number_of(const struct sink *sink) {
    return sink->nr <= INT_MAX ? (int)sink->nr : -1;
}

int vsnprintf(char *to, size_t room, const char *format, va_list arguments) {
    struct sink sink = {.to = to, .room = room};
    print(&sink, format, arguments);
    if (room)
        to[SEEP_MIN(sink.nr, room - 1)] = '\0';
    return number_of(&sink);
}

int snprintf(char *to, size_t room, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int nr = vsnprintf(to, room, format, arguments);
    va_end(arguments);
    return nr;
}

int vasprintf(char **ret_text, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int nr = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *ret_text = nr < 0 ? NULL : malloc((size_t)nr + 1);
    return *ret_text ? vsnprintf(*ret_text, (size_t)nr + 1, format, arguments) : -1;
}

int asprintf(char **ret_text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int nr = vasprintf(ret_text, format, arguments);
    va_end(arguments);
    return nr;
}

int vfprintf(FILE *file, const char *format, va_list arguments) {
    struct sink sink = {.file = file};
    print(&sink, format, arguments);
    return ferror(file) ? -1 : number_of(&sink);
}

int fprintf(FILE *file, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int nr = vfprintf(file, format, arguments);
    va_end(arguments);
    return nr;
}

int printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int nr = vfprintf(stdout, format, arguments);
    va_end(arguments);
    return nr;
}

// ---- scanf ----

struct source {
    FILE *file; // NULL: text
    const char *text;
    int nr_taken;
};

static int next_of(struct source *source) {
    int c = source->file ? getc(source->file) : *source->text ? (unsigned char)*source->text++ : EOF;
    source->nr_taken += c != EOF;
    return c;
}

static void give_back(struct source *source, int c) {
    if (c == EOF)
        return;
    source->nr_taken--;
    if (source->file)
        ungetc(c, source->file);
    else
        source->text--;
}

static bool is_space(int c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_space(struct source *source) {
    int c;
    do
        c = next_of(source);
    while (is_space(c));
    give_back(source, c);
}

static int digit_of(int c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static bool scan_number(struct source *source, const struct conversion *how, uint64_t *ret_value) {
    const int base = how->kind == 'x' ? 16 : 10;
    int c = next_of(source), nr_digits = 0;
    bool negative = c == '-';
    if (negative || c == '+')
        c = next_of(source);
    *ret_value = 0;
    for (int left = how->width < 0 ? 64 : how->width; left > 0; left--) {
        bool prefix = base == 16 && nr_digits == 1 && !*ret_value && (c | 0x20) == 'x';
        int digit = prefix ? 0 : digit_of(c);
        if (digit >= base)
            break;
        *ret_value = *ret_value * (unsigned)base + (unsigned)digit;
        nr_digits += !prefix;
        c = next_of(source);
    }
    give_back(source, c);
    if (negative)
        *ret_value = 0 - *ret_value;
    return nr_digits > 0;
}

// A word, or with %c so many characters. `to`: NULL where it is dropped.
static bool scan_text(struct source *source, const struct conversion *how, char *to) {
    int left = how->width >= 0 ? how->width : how->kind == 'c' ? 1 : 1 << 30, nr = 0;
    for (; left > 0; left--, nr++) {
        int c = next_of(source);
        if (c == EOF || (how->kind == 's' && is_space(c))) {
            give_back(source, c);
            break;
        }
        if (to)
            *to++ = (char)c;
    }
    if (to && how->kind == 's')
        *to = '\0';
    return how->kind == 's' ? nr > 0 : left == 0;
}

static int scan(struct source *source, const char *format, va_list arguments) {
    int nr = 0;
    for (; *format;) {
        if (*format != '%') {
            if (is_space((unsigned char)*format)) {
                skip_space(source);
            } else {
                int c = next_of(source);
                if (c != (unsigned char)*format) {
                    give_back(source, c);
                    return !nr && c == EOF ? EOF : nr;
                }
            }
            format++;
            continue;
        }
        struct conversion how = {.dropped = *++format == '*', .width = -1};
        format += how.dropped;
        if (*format >= '0' && *format <= '9')
            format = read_number(format, &how.width);
        format = read_length(format, &how);
        if (how.kind != 'c')
            skip_space(source);
        int before = source->nr_taken, c = next_of(source);
        give_back(source, c);
        if (c == EOF)
            return nr ? nr : EOF;
        bool fits;
        if (how.kind == 's' || how.kind == 'c') {
            fits = scan_text(source, &how, how.dropped ? NULL : va_arg(arguments, char *));
        } else {
            uint64_t value;
            fits = scan_number(source, &how, &value);
            if (fits && !how.dropped && how.length == 2)
                *va_arg(arguments, unsigned long long *) = value;
            else if (fits && !how.dropped && how.length == 1)
                *va_arg(arguments, unsigned long *) = (unsigned long)value;
            else if (fits && !how.dropped)
                *va_arg(arguments, unsigned *) = (unsigned)value;
        }
        if (!fits || source->nr_taken == before)
            return nr;
        nr += !how.dropped;
    }
    return nr;
}

int sscanf(const char *text, const char *format, ...) {
    struct source source = {.text = text};
    va_list arguments;
    va_start(arguments, format);
    int nr = scan(&source, format, arguments);
    va_end(arguments);
    return nr;
}

int fscanf(FILE *file, const char *format, ...) {
    struct source source = {.file = file};
    va_list arguments;
    va_start(arguments, format);
    int nr = scan(&source, format, arguments);
    va_end(arguments);
    return nr;
}
