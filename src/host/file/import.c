// SPDX-License-Identifier: BSD-2-Clause
// Reads the files of other tools, see import.h. What each format is: import_format.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "file/import_format.h"
#include "file/lines.h"

#define FORMAT(name) &seep_import_##name,
static const struct seep_import_format *const formats[] = {SEEP_IMPORT_FORMATS(FORMAT)};
#undef FORMAT

#define NAME(name) #name,
const char *const seep_import_formats[] = {SEEP_IMPORT_FORMATS(NAME) NULL};
#undef NAME

static const struct seep_import_format *format_of(const char *name) {
    size_t at = 0;
    while (strcmp(formats[at]->name, name) != 0)
        at++;
    return formats[at];
}

// ---- words of lines ----------------------------------------------------------------------------------

struct seep_error *seep_import_damaged(const struct seep_import_reading *reading, uint64_t line) {
    return seep_error_hint(
        seep_error_create(SEEP_E_FORMAT, "%s: line %" PRIu64 " is not of the imported format",
                          reading->importing.name, line),
        reading->importing.counts.nr_events
            ? "the file is damaged there, or several processes wrote it; cut the file before that line"
            : "name its format with --format");
}

bool seep_import_take_hex(char **at, uint64_t *ret_value) {
    while (**at == ' ' || **at == '\t')
        ++*at;
    if (strncmp(*at, "(nil)", 5) == 0) {
        *at += 5;
        *ret_value = 0;
        return true;
    }
    char *end;
    *ret_value = strtoull(*at, &end, 16);
    bool good = end != *at && **at != '-' && **at != '+';
    *at = end;
    return good;
}

bool seep_import_take_number(char **at, uint64_t *ret_value) {
    while (**at == ' ' || **at == '\t')
        ++*at;
    char *end;
    *ret_value = strtoull(*at, &end, 10);
    bool good = end != *at && **at >= '0' && **at <= '9';
    *at = end;
    return good;
}

void seep_import_pass_time(struct seep_import_reading *reading, uint64_t line) {
    reading->importing.at_ns = (int64_t)SEEP_MIN(line, (uint64_t)INT64_MAX / 1000) * 1000;
}

// ---- a file ------------------------------------------------------------------------------------------

static struct seep_error *read_lines(struct seep_import_reading *reading, const char *path,
                                     const struct seep_import_format *format) {
    struct seep_lines *lines = NULL;
    struct seep_error *error = seep_lines_open(path, &lines);
    while (!error) {
        char *line;
        error = seep_lines_next(lines, &line);
        if (error || !line)
            break;
        size_t length = strlen(line);
        if (length && line[length - 1] == '\r')
            line[length - 1] = 0;
        reading->importing.line = seep_lines_number(lines);
        if (seep_lines_is_cut(lines)) { // a number in it may lack digits
            reading->importing.counts.cut_line = reading->importing.line;
            break;
        }
        error = format->line(reading, line, reading->importing.line);
    }
    seep_lines_close(lines);
    return error;
}

struct seep_error *seep_import(const char *path, const char *format_name,
                               const struct seep_import_options *options, const char *output,
                               struct seep_imported *ret_imported) {
    const struct seep_import_format *format = format_of(format_name);
    if (options->maps && !format->takes_maps)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "import: --maps is for mmleak, and the format is %s",
                                                 format->name),
                               "leave it out");
    struct seep_import_reading reading = {.options = options, .state = calloc(1, format->state_bytes + 1)};
    struct seep_error *error =
        reading.state ? seep_importing_begin(&reading.importing, path, output) : seep_error_no_memory();
    if (!error && format->begin)
        error = format->begin(&reading);
    if (!error)
        error = read_lines(&reading, path, format);
    if (!error && !reading.importing.counts.nr_events)
        error = seep_error_hint(
            seep_error_create(SEEP_E_FORMAT, "%s: no allocation in it%s", path,
                              reading.importing.counts.cut_line
                                  ? "; its last line has no end and is left out: it may be cut"
                                  : ""),
            "name its format with --format");
    if (!error)
        error = seep_importing_end(&reading.importing, output);
    if (!error)
        *ret_imported = reading.importing.counts;
    if (reading.state && format->end)
        format->end(reading.state);
    free(reading.state);
    seep_importing_deinit(&reading.importing);
    return error;
}
