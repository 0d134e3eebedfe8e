// SPDX-License-Identifier: BSD-2-Clause
// Lines as wide as the terminal, see wrap.h.
#include <stdlib.h>
#include <string.h>

#include "output/wrap.h"

#define WIDTH_LEAST 20u // of a narrower terminal lines are left as they are
#define ROOM_LEAST  26u // columns that a further line has at least, of a narrow terminal half of it
#define TABLE_LEAST 60u // where no table fits, its cells stand two blanks apart

FILE *seep_wrap_begin(struct seep_wrap *wrap, FILE *out, const struct seep_style *style) {
    *wrap = (struct seep_wrap){.out = out, .width = style->width};
    if (style->width >= WIDTH_LEAST)
        wrap->memory = open_memstream(&wrap->text, &wrap->nr_bytes);
    return wrap->memory ? wrap->memory : out;
}

// The bytes of one character, or of one change of colour, which takes no column.
static size_t next_of(const char *at, const char *end, bool *ret_seen) {
    size_t nr = 1;
    *ret_seen = *at != '\033';
    while (at + nr < end && *ret_seen && ((unsigned char)at[nr] & 0xc0) == 0x80)
        nr++;
    while (at + nr < end && !*ret_seen && at[nr - 1] != 'm')
        nr++;
    return nr;
}

static size_t columns_of(const char *at, const char *end) {
    size_t columns = 0;
    for (bool seen; at < end; columns += seen)
        at += next_of(at, end, &seen);
    return columns;
}

// Where further lines begin.
static size_t indent_of(const char *line, const char *end, unsigned width) {
    size_t column = 0, blanks = 0, indent = 0, first = 0;
    size_t room = SEEP_MIN(ROOM_LEAST, width / 2);
    bool begun = false;
    for (bool seen; line < end; line += next_of(line, end, &seen)) {
        next_of(line, end, &seen);
        if (!seen)
            continue;
        bool blank = *line == ' ';
        if (!blank && !begun)
            first = indent = column + 4;
        else if (!blank && blanks > 1 && column + room <= width)
            indent = column;
        begun |= !blank;
        blanks = blank ? blanks + 1 : 0;
        column++;
    }
    return indent + room <= width ? indent : first + room <= width ? first : 4;
}

static void put_line(const struct seep_wrap *wrap, const char *line, const char *end) {
    if (columns_of(line, end) <= wrap->width || strncmp(line, "next:", 5) == 0 ||
        strncmp(line, "\033[1mnext:", 9) == 0) {
        fwrite(line, 1, (size_t)(end - line), wrap->out);
        return;
    }
    size_t indent = indent_of(line, end, wrap->width), column = 0, blanks = 0;
    bool narrow = wrap->width < TABLE_LEAST;
    bool any = false; // a word is on this line
    while (line < end) {
        const char *word_end = line;
        while (word_end < end && *word_end != ' ')
            word_end++;
        size_t columns = columns_of(line, word_end);
        if (any && columns && column + blanks + columns > wrap->width) {
            fprintf(wrap->out, "\n%*s", (int)indent, "");
            column = indent;
        } else {
            fprintf(wrap->out, "%*s", (int)blanks, "");
            column += blanks;
        }
        fwrite(line, 1, (size_t)(word_end - line), wrap->out);
        column += columns;
        any |= columns != 0;
        for (blanks = 0; word_end < end && *word_end == ' '; word_end++)
            blanks++;
        blanks = narrow && any ? SEEP_MIN(blanks, (size_t)2) : blanks;
        line = word_end;
    }
}

struct seep_error *seep_wrap_end(struct seep_wrap *wrap, struct seep_error *error) {
    if (!wrap->memory)
        return error;
    bool failed = fclose(wrap->memory) != 0;
    const char *end = failed ? wrap->text : wrap->text + wrap->nr_bytes;
    for (const char *line = wrap->text, *line_end; line < end; line = line_end) {
        line_end = memchr(line, '\n', (size_t)(end - line));
        put_line(wrap, line, line_end ? line_end : end);
        if (line_end)
            fputc('\n', wrap->out);
        line_end = line_end ? line_end + 1 : end;
    }
    free(wrap->text);
    wrap->memory = NULL;
    return error || !failed ? error : seep_error_no_memory();
}

void seep_wrap_done(struct seep_wrap *wrap) {
    struct seep_error *error = seep_wrap_end(wrap, NULL);
    if (error)
        fprintf(wrap->out, "(%s: text is missing here)\n", error->message);
    seep_error_destroy(error);
}
