// SPDX-License-Identifier: BSD-2-Clause
// Reading and writing baselines, see baseline.h.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/new_file.h"
#include "base/words.h"
#include "base/sum.h"
#include "base/text_file.h"
#include "analysis/baseline.h"

#define VERSION_LINE  "# seep baseline 1"
#define VERSION_START "# seep baseline "
#define BYTES_MAX     ((size_t)64 << 20)
#define VIA_BYTES_MAX 160 // so that a heading that is written again, with longer numbers, is read again

void seep_baseline_deinit(struct seep_baseline *baseline) {
    free(baseline->entries);
    seep_map_deinit(&baseline->by_key);
    seep_arena_deinit(&baseline->arena);
    *baseline = (struct seep_baseline)SEEP_BASELINE_INIT;
}

// ---- the table ----

const struct seep_baseline_entry *seep_baseline_find(const struct seep_baseline *baseline, const char *key) {
    for (uint64_t at = seep_hash_bytes(key, strlen(key));; at++) {
        const uint64_t *index = seep_map_find(&baseline->by_key, at);
        if (!index)
            return NULL;
        if (strcmp(baseline->entries[*index - 1].key, key) == 0)
            return &baseline->entries[*index - 1];
    }
}

// `text` is the key and is taken over by the entry.
static struct seep_error *add_entry(struct seep_baseline *baseline, const struct seep_baseline_entry *entry) {
    for (uint64_t at = seep_hash_bytes(entry->key, strlen(entry->key));; at++) {
        uint64_t *index = seep_map_at(&baseline->by_key, at, NULL);
        if (!index || !seep_grow(&baseline->entries, &baseline->capacity, baseline->nr_entries + 1,
                                 sizeof(*baseline->entries)))
            return seep_error_no_memory();
        if (!*index) {
            baseline->entries[baseline->nr_entries] = *entry;
            *index = ++baseline->nr_entries;
            return NULL;
        }
        struct seep_baseline_entry *known = &baseline->entries[*index - 1];
        if (strcmp(known->key, entry->key) != 0)
            continue;
        seep_add_up(&known->bytes, entry->bytes);
        seep_add_up(&known->blocks, entry->blocks);
        return NULL;
    }
}

// ---- reading ----

struct source {
    const char *file;
    const char *at;
    const char *end;
    unsigned line;
    const char *text; // the present line, without what is blank at its end
    size_t length;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static bool next_line(struct source *source) {
    if (source->at == source->end)
        return false;
    const char *stop = memchr(source->at, '\n', (size_t)(source->end - source->at));
    source->text = source->at;
    source->at = stop ? stop + 1 : source->end;
    source->length = (size_t)((stop ? stop : source->end) - source->text);
    while (source->length && is_blank(source->text[source->length - 1]))
        source->length--;
    source->line++;
    return true;
}

static SEEP_PRINTF(2, 3) struct seep_error *error_here(const struct source *source, const char *format, ...) {
    char what[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return seep_error_create(SEEP_E_FORMAT, "%s:%u: %s", source->file, source->line, what);
}

// A number or "any", then ` word` or its plural `words`.
static bool take_amount(const char **at, const char *word, uint64_t *ret_value) {
    const char *text = *at;
    if (strncmp(text, "any", 3) == 0) {
        *ret_value = SEEP_BASELINE_ANY;
        text += 3;
    } else {
        char *end;
        errno = 0;
        *ret_value = strtoull(text, &end, 10);
        if (*text < '0' || *text > '9' || errno)
            return false;
        text = end;
    }
    size_t nr = strlen(word);
    if (*text != ' ' || strncmp(text + 1, word, nr) != 0)
        return false;
    text += 1 + nr;
    *at = text + (*text == 's');
    return true;
}

// "N bytes in N blocks, VIA"; *ret_via points into the line.
static bool take_heading(const char *line, struct seep_baseline_entry *entry, const char **ret_via) {
    const char *at = line;
    if (!take_amount(&at, "byte", &entry->bytes) || strncmp(at, " in ", 4) != 0)
        return false;
    at += 4;
    if (!take_amount(&at, "block", &entry->blocks) || strncmp(at, ", ", 2) != 0 || !at[2])
        return false;
    *ret_via = at + 2;
    return true;
}

// A text that grows; private to one entry.
struct builder {
    char *text;
    size_t length;
    size_t capacity;
};

static bool append_line(struct builder *builder, const char *text, size_t length) {
    if (!seep_grow(&builder->text, &builder->capacity, builder->length + length + 2, 1))
        return false;
    memcpy(builder->text + builder->length, text, length);
    builder->length += length;
    builder->text[builder->length++] = '\n';
    builder->text[builder->length] = 0;
    return true;
}

// The module of the line `main (FILE) [MODULE]`, with its brackets; length 0: there is none.
static size_t module_of_main(const char *text, const char **ret_module) {
    for (const char *line = text; *line;) {
        size_t nr = strcspn(line, "\n");
        if (strncmp(line, "main ", 5) == 0 && nr && line[nr - 1] == ']') {
            const char *module = memrchr(line, '[', nr);
            if (module) {
                *ret_module = module;
                return (size_t)(line + nr - module);
            }
        }
        line += nr + (line[nr] == '\n');
    }
    return 0;
}

// The key with the executable as "[program]". NULL: out of memory.
static const char *normal_key(struct seep_arena *arena, const char *text, size_t length) {
    static const char program[] = "[program]";
    const char *module = NULL;
    size_t module_bytes = module_of_main(text, &module);
    if (!module_bytes)
        return seep_arena_strndup(arena, text, length);
    size_t nr_lines = 0;
    for (const char *at = text; *at; at++)
        nr_lines += *at == '\n';
    char *key = seep_arena_alloc(arena, length + nr_lines * sizeof(program) + 1, 1);
    char *to = key;
    for (const char *line = text; key && *line;) {
        size_t nr = strcspn(line, "\n");
        bool ours = nr > module_bytes && line[nr - module_bytes - 1] == ' ' &&
                    memcmp(line + nr - module_bytes, module, module_bytes) == 0;
        to = mempcpy(to, line, ours ? nr - module_bytes : nr);
        if (ours)
            to = stpcpy(to, program);
        line += nr + (line[nr] == '\n');
        *to++ = '\n';
    }
    if (key)
        *to = 0;
    return key;
}

static struct seep_error *finish_entry(struct seep_baseline *baseline, struct seep_baseline_entry *entry,
                                       struct builder *builder) {
    if (!builder->length)
        return NULL;
    entry->key = normal_key(&baseline->arena, builder->text, builder->length);
    builder->length = 0;
    return entry->key ? add_entry(baseline, entry) : seep_error_no_memory();
}

static struct seep_error *parse_heading(struct source *source, struct seep_baseline_entry *entry,
                                        struct builder *builder) {
    char line[256];
    const char *via;
    size_t nr = SEEP_MIN(source->length, sizeof(line) - 1);
    memcpy(line, source->text, nr);
    line[nr] = 0;
    *entry = (struct seep_baseline_entry){.line = source->line};
    if (nr < source->length || !take_heading(line, entry, &via) || strlen(via) > VIA_BYTES_MAX)
        return seep_error_hint(error_here(source, "'%.60s' does not begin an entry", line),
                               "as in: 120 bytes in 3 blocks, malloc");
    return append_line(builder, via, strlen(via)) ? NULL : seep_error_no_memory();
}

static struct seep_error *parse_line(struct seep_baseline *baseline, struct source *source,
                                     struct seep_baseline_entry *entry, struct builder *builder) {
    if (source->line == 1) {
        baseline->of_others = source->length < strlen(VERSION_START) ||
                              memcmp(source->text, VERSION_START, strlen(VERSION_START)) != 0;
        if (baseline->of_others)
            return seep_error_hint(
                error_here(source, "not a baseline of seep: its first line is not '%s'", VERSION_LINE),
                "name another file; --update-baseline makes a missing one");
    }
    if (memchr(source->text, 0, source->length))
        return error_here(source, "not a text: a zero byte");
    if (source->line == 1) {
        if (source->length != strlen(VERSION_LINE) || memcmp(source->text, VERSION_LINE, source->length) != 0)
            return error_here(source, "a baseline of another version of seep: '%.*s'",
                              (int)SEEP_MIN(source->length, (size_t)60), source->text);
        return NULL;
    }
    if (source->length == 0 || source->text[0] == '#')
        return NULL;
    if (!is_blank(source->text[0])) {
        struct seep_error *error = finish_entry(baseline, entry, builder);
        return error ? error : parse_heading(source, entry, builder);
    }
    if (!builder->length)
        return error_here(source, "a line of a stack without an entry before it");
    size_t blanks = 0;
    while (is_blank(source->text[blanks]))
        blanks++;
    return append_line(builder, source->text + blanks, source->length - blanks) ? NULL
                                                                                : seep_error_no_memory();
}

struct seep_error *seep_baseline_parse(struct seep_baseline *baseline, const char *file, const char *text,
                                       size_t nr_bytes) {
    struct source source = {.file = file, .at = text, .end = text + nr_bytes};
    struct seep_baseline_entry entry = {NULL};
    struct builder builder = {NULL};
    struct seep_error *error = NULL;
    while (!error && next_line(&source))
        error = parse_line(baseline, &source, &entry, &builder);
    if (!error && !source.line)
        error = seep_error_create(SEEP_E_FORMAT, "%s: an empty file is no baseline", file);
    if (!error)
        error = finish_entry(baseline, &entry, &builder);
    free(builder.text);
    return error;
}

struct seep_error *seep_baseline_read(struct seep_baseline *baseline, const char *path) {
    char *text = NULL;
    size_t nr = 0;
    struct seep_error *error = seep_text_file_read(path, "the baseline", BYTES_MAX, &text, &nr);
    if (!error)
        error = seep_baseline_parse(baseline, path, text, nr);
    free(text);
    return error;
}

// ---- writing ----

static int compare_keys(const void *left, const void *right) {
    const struct seep_baseline_entry *a = left, *b = right;
    return strcmp(a->key, b->key);
}

static void put_amount(FILE *out, uint64_t value, const char *word) {
    if (value == SEEP_BASELINE_ANY)
        fprintf(out, "any %ss", word);
    else
        fprintf(out, "%" PRIu64 " %s%s", value, word, seep_plural(value));
}

static void put_entry(FILE *out, const struct seep_baseline_entry *entry) {
    const char *stack = strchr(entry->key, '\n') + 1;
    fputc('\n', out);
    put_amount(out, entry->bytes, "byte");
    fputs(" in ", out);
    put_amount(out, entry->blocks, "block");
    fprintf(out, ", %.*s", (int)(stack - entry->key), entry->key);
    while (*stack) {
        size_t nr = strcspn(stack, "\n");
        fprintf(out, "    %.*s\n", (int)nr, stack);
        stack += nr + (stack[nr] == '\n');
    }
}

static struct seep_error *cannot_write(int trouble, const char *path) {
    return seep_error_hint(seep_error_system(trouble, "%s: cannot write the baseline", path),
                           "make room there, or name another file, and run it again");
}

struct seep_error *seep_baseline_write(const char *path, struct seep_baseline_entry *entries,
                                       size_t nr_entries) {
    struct seep_new_file file;
    int fd = seep_new_file_create(path, 0666, &file);
    if (fd < 0)
        return cannot_write(errno, path);
    FILE *out = fdopen(fd, "w");
    if (!out) {
        struct seep_error *error = cannot_write(errno, path);
        close(fd);
        seep_new_file_forget(&file, false);
        return error;
    }
    fputs(VERSION_LINE
          "\n"
          "# Leaks that are known and accepted: how much, then the stack, innermost function first, without\n"
          "# lines and offsets. Written by 'seep check --update-baseline'. A number may be 'any'.\n",
          out);
    if (nr_entries)
        qsort(entries, nr_entries, sizeof(*entries), compare_keys);
    for (size_t i = 0; i < nr_entries; i++)
        put_entry(out, &entries[i]);
    errno = 0;
    bool failed = fflush(out) != 0 || ferror(out) || !seep_new_file_give_name(&file, fd);
    failed |= fclose(out) != 0;
    failed = failed || rename(file.path, path) != 0;
    struct seep_error *error = failed ? cannot_write(errno ? errno : EIO, path) : NULL;
    seep_new_file_forget(&file, !failed);
    return error;
}
