// SPDX-License-Identifier: BSD-2-Clause
// Lines as wide as the terminal, see wrap.h.
#include <stdlib.h>
#include <string.h>

#include "output/wrap.h"

#define WIDTH_LEAST 20u // of a narrower terminal lines are left as they are
#define ROOM_LEAST  26u // columns that a further line has at least, of a narrow terminal half of it
#define TABLE_LEAST 60u // a narrower terminal folds tables whose columns do not fit

// Of a folded table.
enum { TABLE_COLUMNS = 512, PARTS_MOST = 24, FURTHER_INDENT = 4 };
// If a table is not folded, its first line may be the reason. So the table is examined again from its second
// line on, if it has at most this many lines. Without this limit the time would grow with the square of the
// lines.
enum { LINES_AGAIN = 16 };

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
    if (columns_of(line, end) <= wrap->width) {
        fwrite(line, 1, (size_t)(end - line), wrap->out);
        return;
    }
    size_t indent = indent_of(line, end, wrap->width), column = 0, blanks = 0;
    size_t least = SEEP_MIN(indent, strspn(line, " ") + FURTHER_INDENT); // for too wide a word
    bool narrow = wrap->width < TABLE_LEAST;
    bool any = false; // a word is on this line
    while (line < end) {
        const char *word_end = line;
        while (word_end < end && *word_end != ' ')
            word_end++;
        size_t columns = columns_of(line, word_end);
        if (any && columns && column + blanks + columns > wrap->width) {
            column = indent + columns > wrap->width && least + columns <= wrap->width ? least : indent;
            fprintf(wrap->out, "\n%*s", (int)column, "");
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

// ---- tables ----

// A column of a table, and its place in the output.
struct part {
    size_t from, to; // columns of the text
    size_t at;       // column
    unsigned row;    // which of the output lines of one table line
};

struct table {
    const char *end; // of its text
    bool is_folded;
    struct part parts[PARTS_MOST];
    unsigned nr_parts;
    size_t beside; // where the last part would begin in the row above its own
};

static const char *end_of_line(const char *line, const char *end) {
    const char *found = memchr(line, '\n', (size_t)(end - line));
    return found ? found : end;
}

// Marks the columns of the line that have text; a single blank between two words counts as text. false: the
// line has fewer than two cells, or is too wide.
static bool cover(const char *line, const char *end, bool *covered) {
    size_t column = 0, blanks = 0, nr_cells = 0;
    for (bool seen; line < end; line += next_of(line, end, &seen)) {
        next_of(line, end, &seen);
        if (!seen)
            continue;
        if (column == TABLE_COLUMNS)
            return false;
        if (*line == ' ') {
            blanks++;
        } else {
            nr_cells += nr_cells == 0 || blanks > 1;
            covered[column] = true;
            if (blanks == 1 && column > 1)
                covered[column - 1] = true;
            blanks = 0;
        }
        column++;
    }
    return nr_cells > 1;
}

// Two adjacent columns that are blank in every line separate two parts.
static bool find_parts(struct table *table, const bool *covered) {
    table->nr_parts = 0;
    for (size_t column = 0, blanks = 2; column < TABLE_COLUMNS; column++) {
        if (!covered[column]) {
            blanks++;
            continue;
        }
        if (blanks > 1 && table->nr_parts == PARTS_MOST)
            return false;
        if (blanks > 1)
            table->parts[table->nr_parts++].from = column;
        table->parts[table->nr_parts - 1].to = column + 1;
        blanks = 0;
    }
    return table->nr_parts > 1;
}

// Puts as many columns beside one another as fit. The last column is text, so it may continue on the next
// line.
static bool place_parts(struct table *table, unsigned width) {
    size_t room = SEEP_MIN(ROOM_LEAST, width / 2), column = 0;
    unsigned row = 0;
    for (unsigned i = 0; i < table->nr_parts; i++) {
        struct part *part = &table->parts[i];
        size_t wide = part->to - part->from, least = i + 1 < table->nr_parts ? wide : SEEP_MIN(wide, room);
        size_t at = i ? column + 2 : SEEP_MIN(part->from, (size_t)2);
        table->beside = at;
        if (i && at + least > width) {
            at = FURTHER_INDENT;
            row++;
        }
        if (at + least > width)
            return false;
        part->at = at;
        part->row = row;
        column = at + wide;
    }
    return true;
}

// The lines from `line` on that form a table (possibly none), and whether the table must be folded.
static void find_table(const char *line, const char *end, unsigned width, struct table *ret_table) {
    bool covered[TABLE_COLUMNS] = {false}, further[TABLE_COLUMNS];
    size_t nr_lines = 0, widest = 0;
    struct table found = {.end = line};
    for (const char *at = line; at < end; at = found.end) {
        const char *line_end = end_of_line(at, end);
        memcpy(further, covered, sizeof(further));
        if (!cover(at, line_end, further) || !find_parts(&found, further))
            break;
        memcpy(covered, further, sizeof(covered));
        widest = SEEP_MAX(widest, columns_of(at, line_end));
        found.end = line_end < end ? line_end + 1 : end;
        nr_lines++;
    }
    if (nr_lines > 1 && widest > width && find_parts(&found, covered)) {
        bool fits = found.parts[found.nr_parts - 1].from + SEEP_MIN(ROOM_LEAST, width / 2) <= width;
        found.is_folded = (width < TABLE_LEAST || !fits) && place_parts(&found, width);
    }
    if (!found.is_folded && nr_lines <= LINES_AGAIN)
        found.end = line;
    *ret_table = found;
}

struct folding {
    FILE *out;
    size_t column; // that the output has reached
    unsigned row;
    bool any; // there is a word on this line
};

static void go_to(struct folding *folding, unsigned row, size_t column) {
    if (folding->any && (row != folding->row || column < folding->column)) {
        fputc('\n', folding->out);
        folding->column = 0;
    }
    folding->row = row;
    fprintf(folding->out, "%*s", (int)(column - folding->column), "");
    folding->column = column;
    folding->any = true;
}

static void put_folded(FILE *out, const struct table *table, unsigned width, const char *line,
                       const char *end) {
    struct folding folding = {.out = out};
    size_t column = 0, blanks = 0;
    unsigned i = 0;
    bool in_last = false; // a word of the last column is there
    while (line < end) {
        bool seen;
        size_t nr = next_of(line, end, &seen);
        while (i + 1 < table->nr_parts && column >= table->parts[i + 1].from)
            i++;
        const struct part *part = &table->parts[i];
        if (seen && *line != ' ') {
            const char *word_end = memchr(line, ' ', (size_t)(end - line));
            size_t at = in_last ? folding.column + blanks : part->at + (column - part->from);
            size_t wide = columns_of(line, word_end ? word_end : end);
            bool is_short = i + 1 == table->nr_parts && !in_last && folding.row + 1 == part->row &&
                            table->beside + columns_of(line, end) <= width;
            if (is_short)
                at = table->beside;
            if (in_last && blanks && at + wide > width)
                at = part->at;
            if ((!in_last || blanks) && at + wide > width)
                at = FURTHER_INDENT;
            if (blanks || !folding.any || folding.column != at)
                go_to(&folding, in_last || is_short ? folding.row : part->row, at);
            in_last = i + 1 == table->nr_parts;
            folding.column++;
        }
        blanks = !seen ? blanks : *line == ' ' ? blanks + 1 : 0;
        if (!seen || *line != ' ')
            fwrite(line, 1, nr, out);
        column += seen;
        line += nr;
    }
}

// A line with a command behind "next:", or below one.
static bool is_command(const char *line, bool below_one) {
    return strncmp(line, "next:", 5) == 0 || strncmp(line, "\033[1mnext:", 9) == 0 ||
           (below_one &&
            (strncmp(line, "      seep ", 11) == 0 || strncmp(line, "      the same ", 15) == 0));
}

struct seep_error *seep_wrap_end(struct seep_wrap *wrap, struct seep_error *error) {
    if (!wrap->memory)
        return error;
    bool failed = fclose(wrap->memory) != 0;
    const char *end = failed ? wrap->text : wrap->text + wrap->nr_bytes;
    struct table table = {.end = wrap->text};
    bool command = false;
    for (const char *line = wrap->text, *line_end; line < end; line = line_end) {
        command = is_command(line, command);
        if (line >= table.end && !command)
            find_table(line, end, wrap->width, &table);
        line_end = end_of_line(line, end);
        if (command)
            fwrite(line, 1, (size_t)(line_end - line), wrap->out);
        else if (table.is_folded)
            put_folded(wrap->out, &table, wrap->width, line, line_end);
        else
            put_line(wrap, line, line_end);
        if (line_end < end)
            fputc('\n', wrap->out);
        line_end += line_end < end;
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
