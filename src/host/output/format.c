// SPDX-License-Identifier: BSD-2-Clause
// Numbers and foreign text as people read them, see format.h.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file_name.h"
#include "output/format.h"

// ---- text ----

char *seep_name_for_file(const char *program) {
    char *name = strdup(seep_file_name(program));
    for (char *at = name; at && *at;) {
        unsigned length = *at == '/' ? 0 : seep_shown_next(at);
        if (!length)
            *at = '_';
        at += length ? length : 1;
    }
    return name;
}

void seep_put_source(FILE *out, const char *file, uint32_t line) {
    if (!file)
        return;
    fputs(" (", out);
    seep_put_escaped(out, file);
    if (line)
        fprintf(out, ":%" PRIu32, line);
    fputc(')', out);
}

void seep_put_module(FILE *out, const char *module) {
    fputs(" [", out);
    seep_put_escaped(out, module);
    fputc(']', out);
}

size_t seep_text_width(const char *text) {
    size_t width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

size_t seep_number_text(uint64_t value, char *text) {
    char digits[SEEP_NUMBER_DIGITS];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(text, digits + at, sizeof(digits) - at);
    return sizeof(digits) - at;
}

void seep_put_number(FILE *out, uint64_t value) {
    char digits[SEEP_NUMBER_DIGITS];
    fwrite_unlocked(digits, 1, seep_number_text(value, digits), out);
}

void seep_put_signed(FILE *out, int64_t value) {
    if (value < 0)
        fputc('-', out);
    seep_put_number(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

static const char *way_out(int why) {
    switch (why) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return "make room there, or write to another place";
    case EPIPE:
        return "the program that reads it has ended: see why";
    default:
        return "write to another place";
    }
}

void seep_stream_gather(FILE *out, bool on) {
    static char buffer[1 << 16];
    if (out == stderr)
        (void)setvbuf(stderr, on ? buffer : NULL, on ? _IOFBF : _IONBF, on ? sizeof(buffer) : 0);
}

void seep_stream_by_lines(FILE *out) {
    static char buffer[1 << 12];
    if (out == stderr)
        (void)setvbuf(stderr, buffer, _IOLBF, sizeof(buffer));
}

struct seep_error *seep_stream_check(FILE *out, const char *what) {
    bool failed = ferror(out) != 0;
    errno = 0;
    failed |= fflush(out) != 0;
    int why = errno;
    if (!failed)
        return NULL;
    if (!why) {
        // An earlier write failed and its reason is gone. What is there is broken anyway: one more
        // byte asks the system again.
        clearerr(out);
        if (putc('\n', out) == EOF || fflush(out) != 0)
            why = errno;
    }
    if (!why)
        return seep_error_hint(seep_error_create(SEEP_E_IO, "cannot write %s: an earlier write failed", what),
                               "a write works now: try again");
    return seep_error_hint(seep_error_system(why, "cannot write %s", what), "%s", way_out(why));
}

// ---- terminal ----

struct seep_style seep_style_of(FILE *out) {
    struct seep_style style = {false, 0};
    int fd = fileno(out);
    if (fd < 0 || !isatty(fd))
        return style;
    const char *no_colour = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    style.colour = !(no_colour && *no_colour) && term && strcmp(term, "dumb") != 0;
    struct winsize window;
    if (ioctl(fd, TIOCGWINSZ, &window) == 0)
        style.width = window.ws_col;
    const char *columns = getenv("COLUMNS"); // as the shells and the terminal's own tools take it
    char *end = NULL;
    unsigned long given = columns ? strtoul(columns, &end, 10) : 0;
    if (given && given <= UINT16_MAX && !*end)
        style.width = (unsigned)given;
    return style;
}

void seep_put_wrapped(FILE *out, const struct seep_style *style, unsigned indent, const char *text) {
    char *words = style->width ? seep_escape(text) : NULL;
    if (!words) {
        seep_put_escaped(out, text);
        return;
    }
    char *rest = words;
    size_t column = indent;
    for (const char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        size_t width = seep_text_width(word);
        bool fits = column == indent || column + 1 + width <= style->width;
        if (column > indent && fits)
            fputc(' ', out);
        else if (!fits)
            fprintf(out, "\n%*s", (int)indent, "");
        fputs(word, out);
        column = (fits && column > indent ? column + 1 : indent) + width;
    }
    free(words);
}

const char *seep_style_bold(const struct seep_style *style) {
    return style->colour ? "\033[1m" : "";
}

const char *seep_style_dim(const struct seep_style *style) {
    return style->colour ? "\033[2m" : "";
}

const char *seep_style_warn(const struct seep_style *style) {
    return style->colour ? "\033[33m" : "";
}

const char *seep_style_off(const struct seep_style *style) {
    return style->colour ? "\033[0m" : "";
}
