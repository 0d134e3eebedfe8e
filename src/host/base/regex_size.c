// SPDX-License-Identifier: BSD-2-Clause
// See regex_size.h.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex_size.h"
#include "core/attr.h"

struct size {
    uint64_t atoms;
    uint64_t choices;
};

// A group that is open: what comes before its last piece, and that piece, which may still be repeated.
struct group {
    struct size before;
    struct size piece;
};

static const struct size one_atom = {1, 0};
static const struct size one_choice = {1, 1}; // a group or an anchor too: what is empty is passed

static struct size sum(struct size a, struct size b) {
    return (struct size){a.atoms + b.atoms, a.choices + b.choices};
}

// Larger ones are all the same; so nothing overflows.
static struct size repeated(struct size piece, uint64_t copies, uint64_t choices) {
    const uint64_t most = SEEP_REGEX_ATOMS_MAX + 1;
    return (struct size){SEEP_MIN(piece.atoms * copies, most),
                         SEEP_MIN(piece.choices * copies + choices, most)};
}

static bool is_small(struct size size) {
    return size.atoms <= SEEP_REGEX_ATOMS_MAX && size.choices <= SEEP_REGEX_CHOICES_MAX;
}

static uint64_t take_count(const char **at, uint64_t otherwise) {
    if (**at < '0' || **at > '9')
        return otherwise;
    char *end;
    unsigned long count = strtoul(*at, &end, 10);
    *at = end;
    return SEEP_MIN(count, (unsigned long)SEEP_REGEX_ATOMS_MAX);
}

// Behind "{m,n}" at `at`, with *piece repeated; behind the brace where it is a character.
static const char *repeat(const char *at, struct size *piece) {
    const char *end = at + 1;
    uint64_t least = take_count(&end, 0), most = least;
    bool has_end = true;
    if (*end == ',') {
        end++;
        has_end = *end != '}';
        most = take_count(&end, least + 1);
    }
    if (*end != '}')
        return at + 1;
    uint64_t copies = SEEP_MAX(SEEP_MAX(least, most), UINT64_C(1));
    *piece = repeated(*piece, copies, has_end && most > least ? most - least : !has_end);
    return end + 1;
}

// Behind the set at `at`: "[]a]" and "[^]a]" end at their second bracket, "[[:alpha:]]" too.
static const char *skip_set(const char *at) {
    at += at[1] == '^' ? 2 : 1;
    for (const char *start = at; *at && (*at != ']' || at == start); at++) {
        if (*at != '[' || !at[1] || !strchr(":.=", at[1]))
            continue;
        const char closing[] = {at[1], ']', 0}, *end = strstr(at + 2, closing);
        if (!end)
            return strchr(at, 0);
        at = end + 1;
    }
    return *at ? at + 1 : at;
}

static bool is_anchor(const char *at) {
    return *at == '^' || *at == '$' || (*at == '\\' && at[1] && strchr("bB<>`'", at[1]));
}

bool seep_regex_is_small(const char *text) {
    struct group groups[SEEP_REGEX_DEPTH_MAX + 1] = {{{0, 0}, {0, 0}}}, *group = groups;
    for (const char *at = text; *at;) {
        bool opens = *at == '(', closes = *at == ')' && group > groups;
        bool repeats = *at && strchr("*+?{", *at);
        if (closes) {
            struct size whole = sum(group->before, group->piece);
            (--group)->piece = sum(whole, one_choice);
        } else if (!repeats) {
            group->before = sum(group->before, group->piece);
            group->piece = is_anchor(at) ? one_choice : one_atom;
        }
        if (opens && group == groups + SEEP_REGEX_DEPTH_MAX)
            return false;
        if (opens)
            *++group = (struct group){{0, 0}, {0, 0}};
        if (*at == '|')
            group->piece = one_choice;
        if (*at == '{')
            at = repeat(at, &group->piece);
        else if (*at == '[')
            at = skip_set(at);
        else if (repeats)
            group->piece = repeated(group->piece, *at++ == '+' ? 2 : 1, 1);
        else
            at += *at == '\\' && at[1] ? 2 : 1;
        if (!is_small(sum(group->before, group->piece)))
            return false;
    }
    return true;
}
