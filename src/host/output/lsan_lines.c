// SPDX-License-Identifier: BSD-2-Clause
// Functions as lines for LeakSanitizer, see lsan_lines.h.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "output/lsan_lines.h"

static const char anonymous[] = "(anonymous namespace)";
#define ANONYMOUS_BYTES (sizeof(anonymous) - 1)

// The end of the group in brackets that begins at `at`.
static const char *skip_group(const char *at) {
    int nesting = 0;
    for (; *at; at++) {
        nesting += strchr("({[<", *at) ? 1 : strchr(")}]>", *at) ? -1 : 0;
        if (!nesting)
            return at + 1;
    }
    return at;
}

// The end of "operator()", "operator<<", "operator new"; brackets of its name are none.
static const char *skip_operator(const char *at) {
    at += strlen("operator");
    at += strncmp(at, "()", 2) == 0 ? 2 : 0;
    return at + strcspn(at, "(");
}

static bool is_operator(const char *at) {
    static const char word[] = "operator";
    return strncmp(at, word, sizeof(word) - 1) == 0 && !isalnum((unsigned char)at[sizeof(word) - 1]) &&
           at[sizeof(word) - 1] != '_';
}

// The last part of a demangled name, without its arguments: "fill" of "(anonymous namespace)::Z::fill(int)".
static const char *bare_name(const char *function, size_t *ret_nr) {
    const char *name = function, *end = NULL;
    for (const char *at = function; *at;) {
        if (strncmp(at, anonymous, ANONYMOUS_BYTES) == 0) {
            at += ANONYMOUS_BYTES;
        } else if (at == name && is_operator(at)) {
            at = skip_operator(at);
            end = at;
        } else if (strncmp(at, "::", 2) == 0 || (*at == ' ' && !end)) {
            at += *at == ' ' ? 1 : 2;
            name = at;
            end = NULL;
        } else if (strchr("({[<", *at)) {
            end = *at == '(' && !end ? at : end;
            at = skip_group(at);
        } else {
            at++;
        }
    }
    *ret_nr = end ? (size_t)(end - name) : strlen(name);
    return name;
}

// A name as a pattern. `*` stands for what is written in different ways, and for characters that would break
// the line or are not printable.
static void put_pattern(FILE *out, const char *name, size_t nr) {
    char last = 0;
    for (const char *at = name, *end = name + nr; at < end;) {
        const unsigned shown = seep_shown_next(at);
        char c = *at;
        size_t step = shown ? shown : 1;
        if (c == '{') {
            c = '*';
            step = (size_t)(skip_group(at) - at);
        } else if (strncmp(at, "$_", 2) == 0) {
            c = '*';
            step = 2 + strspn(at + 2, "0123456789");
        } else if (c == '$' || !shown || (c == ' ' && last == '>' && at[1] == '>')) {
            c = '*';
        }
        if (c != '*')
            fwrite(at, 1, step, out);
        else if (last != '*')
            fputc(c, out);
        last = c;
        at += step;
    }
}

// The copies that the compiler makes of a function have its name and more behind it.
static size_t without_clone(const char *function) {
    const char *clone = strstr(function, " [clone ");
    return clone ? (size_t)(clone - function) : strlen(function);
}

// NULL: no memory.
static char *make_line(const char *start, const char *name, size_t nr, const char *end) {
    char *line = NULL;
    size_t size;
    FILE *out = open_memstream(&line, &size);
    if (!out)
        return NULL;
    fputs(start, out);
    put_pattern(out, name, nr);
    fputs(end, out);
    return fclose(out) == 0 ? line : NULL;
}

static char *whole_line(const char *function) {
    size_t nr = without_clone(function);
    return make_line("leak:^", function, nr, function[nr] ? "" : "$"); // "": more may be there, or not
}

static char *bare_line(const char *name, size_t nr) {
    // DWARF and demanglers do not agree on arguments of templates.
    const char *arguments = is_operator(name) ? NULL : memchr(name, '<', nr);
    return make_line("leak:^", name, arguments ? (size_t)(arguments - name) : nr, arguments ? "<*>$" : "$");
}

char *seep_lsan_module_line(const char *name) {
    return make_line("leak:", name, strlen(name), "");
}

// Source: Itanium C++ ABI 5.1: L before a name, Z for what is inside of a function, N for a name in names.
static bool is_of_file(const char *linkage) {
    if (strncmp(linkage, "_Z", 2) != 0)
        return false;
    const char *at = linkage + 2;
    if (*at == 'L' || *at == 'Z' || strstr(at, "_GLOBAL__N_"))
        return true;
    at += *at == 'N' ? 1 : 0;
    at += strspn(at, "rVKRO");
    while (isdigit((unsigned char)*at)) {
        char *name;
        size_t nr = strtoul(at, &name, 10);
        at = name + strnlen(name, nr);
    }
    return at[0] == 'L' && isdigit((unsigned char)at[1]);
}

bool seep_lsan_lines_init(struct seep_lsan_lines *lines, const char *function, const char *linkage) {
    *lines = (struct seep_lsan_lines){.whole = whole_line(function)};
    if (!lines->whole || !linkage)
        return lines->whole;
    size_t nr;
    const char *name = bare_name(function, &nr);
    bool of_file = is_of_file(linkage) || (name != function && strcmp(linkage, name) == 0);
    lines->vague = of_file && is_operator(name);
    // A template's name does not say whether it is static.
    bool maybe_of_file = of_file || (!is_operator(name) && memchr(name, '<', nr));
    if (nr && maybe_of_file)
        lines->bare = bare_line(name, nr);
    if (lines->bare || !nr || !maybe_of_file)
        return true;
    seep_lsan_lines_deinit(lines);
    return false;
}

void seep_lsan_lines_deinit(struct seep_lsan_lines *lines) {
    free(lines->whole);
    free(lines->bare);
    *lines = (struct seep_lsan_lines){NULL, NULL, false};
}
