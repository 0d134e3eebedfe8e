// SPDX-License-Identifier: BSD-2-Clause
// Reading suppression files, see suppress_rules.h.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/text_file.h"
#include "profile/profile.h"
#include "analysis/suppress_rules.h"

#define FRAMES_MAX 1024u   // location lines of one entry
#define LINES_MAX  100000u // patterns of all entries

#define KINDS_ALL                                                                                            \
    (1u << SEEP_KIND_LOST | 1u << SEEP_KIND_INDIRECT | 1u << SEEP_KIND_POSSIBLE | 1u << SEEP_KIND_REACHABLE)

void seep_suppress_rules_deinit(struct seep_suppress_rules *rules) {
    free(rules->rules);
    free(rules->lines);
    seep_arena_deinit(&rules->arena);
    *rules = (struct seep_suppress_rules)SEEP_SUPPRESS_RULES_INIT;
}

// The text at work. A line is without blanks at both ends.
struct source {
    struct seep_suppress_rules *rules;
    const char *file; // in the arena of the rules
    const char *at;
    const char *end;
    unsigned line; // number of the present one
    const char *text;
    size_t length;
};

static SEEP_PRINTF(3, 4) struct seep_error *error_at(const struct source *source, unsigned line,
                                                     const char *format, ...) {
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    return seep_error_create(SEEP_E_FORMAT, "%s:%u: %s", source->file, line, what);
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

// The next line that is not empty and no comment. false: there is none.
static bool next_line(struct source *source) {
    while (source->at < source->end) {
        const char *start = source->at;
        const char *stop = memchr(start, '\n', (size_t)(source->end - start));
        source->at = stop ? stop + 1 : source->end;
        stop = stop ? stop : source->end;
        source->line++;
        while (start < stop && is_blank(*start))
            start++;
        while (stop > start && is_blank(stop[-1]))
            stop--;
        if (start == stop || *start == '#')
            continue;
        source->text = start;
        source->length = (size_t)(stop - start);
        return true;
    }
    return false;
}

static bool is_line(const struct source *source, const char *text) {
    return source->length == strlen(text) && memcmp(source->text, text, source->length) == 0;
}

// What follows `prefix` in the present line, or NULL; *ret_length its length.
static const char *behind(const struct source *source, const char *prefix, size_t *ret_length) {
    size_t nr = strlen(prefix);
    if (source->length < nr || memcmp(source->text, prefix, nr) != 0)
        return NULL;
    *ret_length = source->length - nr;
    return source->text + nr;
}

// At most 60 bytes of the line, for messages.
#define SHOWN(source) (int)SEEP_MIN((source)->length, (size_t)60), (source)->text

static struct seep_error *add_line(struct seep_suppress_rules *rules, enum seep_suppress_line_kind kind,
                                   const char *pattern, size_t length) {
    if (rules->nr_lines >= LINES_MAX)
        return seep_error_create(SEEP_E_FORMAT, "more than %u lines of suppressions", LINES_MAX);
    if (!seep_grow(&rules->lines, &rules->lines_capacity, rules->nr_lines + 1, sizeof(*rules->lines)))
        return seep_error_no_memory();
    struct seep_suppress_line *line = &rules->lines[rules->nr_lines];
    *line = (struct seep_suppress_line){kind, seep_arena_strndup(&rules->arena, pattern, length)};
    if (!line->pattern)
        return seep_error_no_memory();
    rules->nr_lines++;
    return NULL;
}

static struct seep_error *add_rule(struct seep_suppress_rules *rules, const struct seep_suppress_rule *rule) {
    if (!seep_grow(&rules->rules, &rules->rules_capacity, rules->nr_rules + 1, sizeof(*rules->rules)))
        return seep_error_no_memory();
    rules->rules[rules->nr_rules++] = *rule;
    return NULL;
}

// ---- LeakSanitizer ----

// What other sanitizers suppress: such lines share files with leaks now and then.
static bool is_of_other_sanitizer(const char *kind, size_t length) {
    static const char *const kinds[] = {"interceptor_name",
                                        "interceptor_via_fun",
                                        "interceptor_via_lib",
                                        "odr_violation",
                                        "alloc_dealloc_mismatch",
                                        "race",
                                        "race_top",
                                        "mutex",
                                        "thread",
                                        "signal",
                                        "deadlock",
                                        "called_from_lib",
                                        "vptr_check",
                                        "undefined",
                                        "alignment",
                                        "bool",
                                        "bounds",
                                        "enum",
                                        "float-cast-overflow",
                                        "float-divide-by-zero",
                                        "function",
                                        "implicit-conversion",
                                        "integer-divide-by-zero",
                                        "nonnull-attribute",
                                        "null",
                                        "nullability-arg",
                                        "object-size",
                                        "pointer-overflow",
                                        "return",
                                        "returns-nonnull-attribute",
                                        "shift",
                                        "shift-base",
                                        "shift-exponent",
                                        "signed-integer-overflow",
                                        "unreachable",
                                        "unsigned-integer-overflow",
                                        "unsigned-shift-base",
                                        "vla-bound",
                                        "vptr"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(kinds); i++)
        if (strlen(kinds[i]) == length && memcmp(kinds[i], kind, length) == 0)
            return true;
    return false;
}

// Nothing but wildcards and anchors.
static bool matches_all(const char *pattern, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!memchr("^*$", pattern[i], 3))
            return false;
    return true;
}

static struct seep_error *parse_lsan(struct source *source) {
    struct seep_suppress_rules *rules = source->rules;
    size_t length;
    const char *pattern = behind(source, "leak:", &length);
    if (!pattern) {
        const char *colon = memchr(source->text, ':', source->length);
        if (colon && is_of_other_sanitizer(source->text, (size_t)(colon - source->text))) {
            rules->nr_skipped++;
            return NULL;
        }
        return seep_error_hint(error_at(source, source->line, "'%.*s' is no suppression", SHOWN(source)),
                               "leak:PATTERN as LeakSanitizer has it, or an entry in { } as Valgrind has it");
    }
    if (matches_all(pattern, length))
        return seep_error_hint(error_at(source, source->line, "leak: without a pattern"),
                               "name a function, source file or module; a line that matches all is refused");
    struct seep_suppress_rule rule = {
        .name = seep_arena_strndup(&rules->arena, source->text, source->length),
        .file = source->file,
        .line = source->line,
        // What is held is no leak to LeakSanitizer.
        .kinds = 1u << SEEP_KIND_UNKNOWN | (KINDS_ALL & ~(1u << SEEP_KIND_REACHABLE)),
        .first_line = (uint32_t)rules->nr_lines,
        .nr_lines = 1,
    };
    if (!rule.name)
        return seep_error_no_memory();
    struct seep_error *error = add_line(rules, SEEP_SUPPRESS_LSAN, pattern, length);
    return error ? error : add_rule(rules, &rule);
}

// ---- Valgrind ----

static struct seep_error *check_text(const struct source *source) {
    return memchr(source->text, 0, source->length) ? error_at(source, source->line, "not a text: a zero byte")
                                                   : NULL;
}

// The next line of an entry that began at line `first`.
static struct seep_error *entry_line(struct source *source, unsigned first) {
    if (!next_line(source))
        return error_at(source, first, "the entry that begins here has no '}'");
    if (is_line(source, "{"))
        return error_at(source, source->line, "'{' inside of an entry; the one from line %u has no '}'",
                        first);
    return check_text(source);
}

// "Memcheck,Addrcheck:Leak"
static struct seep_error *parse_kind(struct source *source, bool *ret_leak) {
    const char *colon = memchr(source->text, ':', source->length);
    if (!colon || colon == source->text || colon + 1 == source->text + source->length)
        return seep_error_hint(error_at(source, source->line, "'%.*s' is no kind of error", SHOWN(source)),
                               "the second line of an entry is TOOL:KIND, for leaks Memcheck:Leak");
    size_t kind_length = (size_t)(source->text + source->length - colon) - 1;
    bool leak = kind_length == 4 && memcmp(colon + 1, "Leak", 4) == 0;
    bool memcheck = false;
    for (const char *at = source->text; at < colon;) {
        const char *comma = memchr(at, ',', (size_t)(colon - at));
        const char *stop = comma ? comma : colon;
        memcheck |= stop - at == 8 && memcmp(at, "Memcheck", 8) == 0;
        at = stop + 1;
    }
    *ret_leak = leak && memcheck;
    return NULL;
}

static struct seep_error *parse_leak_kinds(struct source *source, const char *list, size_t length,
                                           uint32_t *ret_kinds) {
    static const struct {
        const char *name;
        uint32_t bits;
    } names[] = {{"definite", 1u << SEEP_KIND_LOST},
                 {"indirect", 1u << SEEP_KIND_INDIRECT},
                 {"possible", 1u << SEEP_KIND_POSSIBLE},
                 {"reachable", 1u << SEEP_KIND_REACHABLE},
                 {"all", KINDS_ALL},
                 {"none", 0}};
    const char *at = list, *end = list + length;
    uint32_t kinds = 0;
    while (at < end) {
        const char *stop = memchr(at, ',', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *next = stop + (stop < end);
        while (at < stop && is_blank(*at))
            at++;
        while (stop > at && is_blank(stop[-1]))
            stop--;
        size_t i = 0;
        while (i < SEEP_ARRAY_SIZE(names) && (strlen(names[i].name) != (size_t)(stop - at) ||
                                              memcmp(names[i].name, at, (size_t)(stop - at)) != 0))
            i++;
        if (i == SEEP_ARRAY_SIZE(names))
            return seep_error_hint(error_at(source, source->line, "match-leak-kinds: unknown kind '%.*s'",
                                            (int)SEEP_MIN(stop - at, (ptrdiff_t)60), at),
                                   "a list of definite, indirect, possible, reachable, or all or none");
        kinds |= names[i].bits;
        at = next;
    }
    *ret_kinds = kinds;
    return NULL;
}

static struct seep_error *parse_location(struct source *source) {
    static const struct {
        const char *prefix;
        enum seep_suppress_line_kind kind;
    } kinds[] = {
        {"fun:", SEEP_SUPPRESS_FUNCTION}, {"obj:", SEEP_SUPPRESS_MODULE}, {"src:", SEEP_SUPPRESS_SOURCE}};
    if (is_line(source, "..."))
        return add_line(source->rules, SEEP_SUPPRESS_ANY_FRAMES, "...", 3);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(kinds); i++) {
        size_t length;
        const char *pattern = behind(source, kinds[i].prefix, &length);
        if (pattern && length)
            return add_line(source->rules, kinds[i].kind, pattern, length);
    }
    return seep_error_hint(error_at(source, source->line, "'%.*s' is no place in a stack", SHOWN(source)),
                           "fun:FUNCTION, obj:MODULE, src:FILE or ...");
}

// The stack of an entry, up to its '}'.
static struct seep_error *parse_stack(struct source *source, struct seep_suppress_rule *rule,
                                      unsigned first) {
    struct seep_suppress_rules *rules = source->rules;
    rule->first_line = (uint32_t)rules->nr_lines;
    bool says_something = false;
    for (; !is_line(source, "}");) {
        if (rules->nr_lines - rule->first_line == FRAMES_MAX)
            return error_at(source, source->line, "more than %u lines of stack", FRAMES_MAX);
        struct seep_error *error = parse_location(source);
        if (error)
            return error;
        says_something |= rules->lines[rules->nr_lines - 1].kind != SEEP_SUPPRESS_ANY_FRAMES;
        error = entry_line(source, first);
        if (error)
            return error;
    }
    rule->nr_lines = (uint32_t)rules->nr_lines - rule->first_line;
    if (!says_something)
        return error_at(source, source->line,
                        rule->nr_lines ? "an entry of '...' only would match every stack"
                                       : "an entry without a stack");
    return NULL;
}

static struct seep_error *parse_entry(struct source *source) {
    struct seep_suppress_rules *rules = source->rules;
    unsigned first = source->line;
    struct seep_suppress_rule rule = {.file = source->file, .line = first, .kinds = KINDS_ALL};
    struct seep_error *error = entry_line(source, first);
    if (error)
        return error;
    if (is_line(source, "}"))
        return error_at(source, source->line, "an entry without a name");
    rule.name = seep_arena_strndup(&rules->arena, source->text, source->length);
    if (!rule.name)
        return seep_error_no_memory();
    error = entry_line(source, first);
    bool leak = false;
    if (!error)
        error = parse_kind(source, &leak);
    if (error)
        return error;
    error = entry_line(source, first);
    while (!error && !leak && !is_line(source, "}"))
        error = entry_line(source, first);
    if (error)
        return error;
    if (!leak) {
        rules->nr_skipped++;
        return NULL;
    }
    size_t length;
    const char *list = behind(source, "match-leak-kinds:", &length);
    if (list) {
        error = parse_leak_kinds(source, list, length, &rule.kinds);
        if (!error)
            error = entry_line(source, first);
    }
    rule.kinds |= rule.kinds ? 1u << SEEP_KIND_UNKNOWN : 0;
    if (!error)
        error = parse_stack(source, &rule, first);
    return error ? error : add_rule(rules, &rule);
}

// ---- the whole ----

struct seep_error *seep_suppress_rules_parse(struct seep_suppress_rules *rules, const char *file,
                                             const char *text, size_t nr_bytes) {
    struct source source = {.rules = rules, .at = text, .end = text + nr_bytes};
    // Some editors begin each file with this mark of UTF-8.
    static const char mark[] = "\xef\xbb\xbf";
    if (nr_bytes >= sizeof(mark) - 1 && memcmp(text, mark, sizeof(mark) - 1) == 0)
        source.at += sizeof(mark) - 1;
    source.file = seep_arena_strdup(&rules->arena, file);
    if (!source.file)
        return seep_error_no_memory();
    while (next_line(&source)) {
        struct seep_error *error = check_text(&source);
        if (!error)
            error = is_line(&source, "{") ? parse_entry(&source) : parse_lsan(&source);
        if (error)
            return error;
    }
    return NULL;
}

struct seep_error *seep_suppress_rules_read(struct seep_suppress_rules *rules, const char *path) {
    char *text = NULL;
    size_t nr = 0;
    struct seep_error *error =
        seep_text_file_read(path, "the suppressions", SEEP_SUPPRESS_FILE_MAX, &text, &nr);
    if (!error)
        error = seep_suppress_rules_parse(rules, path, text, nr);
    else if (error->sys_errno == ENOENT)
        error = seep_error_hint(error,
                                "check its path; 'seep report --gen-suppressions TRACE' prints such rules");
    else if (error->sys_errno == EISDIR)
        error = seep_error_hint(error, "name a file in it");
    free(text);
    return error;
}
