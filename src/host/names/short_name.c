// SPDX-License-Identifier: BSD-2-Clause
//
// Names as people read them, see short_name.h. The text is foreign: it is walked by brackets, with a limit on
// their depth and on its length, and what does not balance stays as it is.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "names/short_name.h"

#define DEPTH_MOST 48u
#define BYTES_MOST 16384u     // of longer names only lists of arguments are elided
#define READ_MOST  (4u << 20) // of a name, each time that a list is elided
#define ELLIPSIS   "…"

struct text {
    char *bytes;
    size_t nr;
    size_t capacity;
    bool failed;
};

static void put(struct text *text, const char *from, size_t nr) {
    text->failed |= !seep_grow(&text->bytes, &text->capacity, text->nr + nr + 1, 1);
    if (text->failed)
        return;
    memcpy(text->bytes + text->nr, from, nr);
    text->nr += nr;
    text->bytes[text->nr] = 0;
}

static bool begins(const char *at, const char *end, const char *with) {
    size_t nr = strlen(with);
    return (size_t)(end - at) >= nr && memcmp(at, with, nr) == 0;
}

// '<' and '>' of operators are no brackets. Behind the word are three characters at most, as in "<=>".
static bool is_operator(const char *start, const char *at) {
    static const char word[] = "operator";
    for (unsigned nr = 0;
         nr < 3 && at > start && (at[-1] == '<' || at[-1] == '>' || at[-1] == '=' || at[-1] == '-'); nr++)
        at--;
    return (size_t)(at - start) >= sizeof(word) - 1 &&
           memcmp(at - (sizeof(word) - 1), word, sizeof(word) - 1) == 0;
}

static char partner_of(char open) {
    return open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : 0;
}

// The bracket that closes the one at `at`; NULL: none does.
static const char *closing(const char *start, const char *at, const char *end) {
    char open[DEPTH_MOST];
    size_t nr = 0;
    for (; at < end; at++) {
        bool angle = *at == '<' || *at == '>';
        if (angle && (is_operator(start, at) || (*at == '>' && at > start && at[-1] == '-')))
            continue;
        if (partner_of(*at)) {
            if (nr == DEPTH_MOST)
                return NULL;
            open[nr++] = *at;
        } else if (*at == '>' || *at == ')' || *at == ']' || *at == '}') {
            if (!nr || partner_of(open[nr - 1]) != *at)
                return NULL;
            if (--nr == 0)
                return at;
        }
    }
    return NULL;
}

// Arguments that are not written: where they are the last they are what the template has by default.
static bool is_default(const char *argument) {
    static const char *const defaults[] = {"std::allocator<", "std::char_traits<", "std::less<",
                                           "std::hash<",      "std::equal_to<",    "std::default_delete<"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(defaults); i++)
        if (strncmp(argument, defaults[i], strlen(defaults[i])) == 0)
            return true;
    return false;
}

static void simplify(struct text *out, const char *from, const char *end, unsigned depth);

// "<...>" from `at` to `close`, by its arguments.
static void put_arguments(struct text *out, const char *at, const char *close, unsigned depth) {
    struct text arguments[16] = {{NULL}};
    size_t nr = 0;
    const char *from = at + 1;
    for (const char *look = from; look <= close; look++) {
        const char *inner =
            look < close && partner_of(*look) && !is_operator(at, look) ? closing(at, look, close) : NULL;
        if (inner) {
            look = inner;
            continue;
        }
        if (look != close && *look != ',')
            continue;
        if (nr == SEEP_ARRAY_SIZE(arguments))
            break;
        while (from < look && *from == ' ')
            from++;
        simplify(&arguments[nr++], from, look, depth + 1);
        from = look + 1;
    }
    bool all = from > close;
    while (all && nr > 1 && arguments[nr - 1].bytes && is_default(arguments[nr - 1].bytes))
        free(arguments[--nr].bytes);
    size_t name = out->nr;
    put(out, "<", 1);
    for (size_t i = 0; i < nr; i++) {
        put(out, ", ", i ? 2 : 0);
        put(out, arguments[i].bytes ? arguments[i].bytes : "", arguments[i].nr);
        out->failed |= arguments[i].failed;
        free(arguments[i].bytes);
    }
    if (!all)
        put(out, ", " ELLIPSIS, strlen(", " ELLIPSIS));
    put(out, ">", 1);
    // The two names that everybody knows by another.
    static const char *const known[][2] = {{"std::basic_string<char>", "std::string"},
                                           {"std::basic_string<wchar_t>", "std::wstring"},
                                           {"std::basic_string_view<char>", "std::string_view"}};
    for (size_t i = 0; !out->failed && i < SEEP_ARRAY_SIZE(known); i++) {
        size_t long_bytes = strlen(known[i][0]), before = strcspn(known[i][0], "<");
        if (name < before || out->nr - (name - before) != long_bytes ||
            memcmp(out->bytes + name - before, known[i][0], long_bytes) != 0)
            continue;
        out->nr = name - before;
        put(out, known[i][1], strlen(known[i][1]));
    }
}

static void simplify(struct text *out, const char *from, const char *end, unsigned depth) {
    static const char *const inner_spaces[] = {"std::__cxx11::", "std::__1::"};
    const char *start = from;
    while (depth && from < end && end[-1] == ' ')
        end--;
    while (from < end) {
        size_t skip = 0;
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(inner_spaces); i++)
            if (begins(from, end, inner_spaces[i]))
                skip = strlen(inner_spaces[i]);
        if (skip) {
            put(out, "std::", 5);
            from += skip;
            continue;
        }
        if (begins(from, end, "[abi:")) {
            const char *close = closing(start, from, end);
            if (close) {
                from = close + 1;
                continue;
            }
        }
        const char *close = *from == '<' && depth < DEPTH_MOST && !is_operator(start, from)
                                ? closing(start, from, end)
                                : NULL;
        if (close) {
            put_arguments(out, from, close, depth);
            from = close + 1;
        } else {
            put(out, from++, 1);
        }
    }
}

// " [clone .cold]", ".constprop.0", ".part.3": what the compiler made of the function, not what it is.
static size_t without_clones(const char *name) {
    static const char *const suffixes[] = {".constprop", ".isra", ".part", ".cold", ".lto_priv", ".llvm"};
    size_t nr = strlen(name);
    const char *clone = strstr(name, " [clone ");
    if (clone)
        nr = (size_t)(clone - name);
    for (bool again = true; again;) {
        again = false;
        size_t end = nr;
        while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
            end--;
        end = end && end < nr && name[end - 1] == '.' ? end - 1 : nr;
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(suffixes); i++) {
            size_t bytes = strlen(suffixes[i]);
            if (end > bytes && memcmp(name + end - bytes, suffixes[i], bytes) == 0) {
                nr = end - bytes;
                again = true;
                break;
            }
        }
    }
    return nr;
}

static size_t columns_of(const char *text) {
    size_t columns = 0;
    for (; *text; text++)
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    return columns;
}

// Where the list from `open` to `shut` is cut: behind its first nr_kept arguments, with the comma. NULL: it
// is no longer than that.
static char *behind_kept(char *open, char *shut, unsigned nr_kept) {
    char *at = open + 1;
    for (unsigned nr = 0; nr < nr_kept; at++) {
        const char *close = at < shut && partner_of(*at) ? closing(open, at, shut) : NULL;
        if (close)
            at += close - at;
        if (at >= shut)
            return NULL;
        nr += *at == ',';
    }
    return at + (nr_kept && *at == ' ');
}

// The longest list of arguments at the top becomes "…", those of the function before those of templates,
// which say more; of those of the function the first nr_kept stay. false: there is none.
static bool elide_one(struct text *text, bool is_type, unsigned nr_kept) {
    char *end = text->bytes + text->nr, *open = NULL, *shut = NULL;
    for (char *at = text->bytes; at < end; at++) {
        if ((*at != '<' && (*at != '(' || is_type)) || is_operator(text->bytes, at))
            continue;
        char *close = (char *)(uintptr_t)closing(text->bytes, at, end);
        if (!close)
            continue;
        char *from = behind_kept(at, close, *at == '(' ? nr_kept : 0);
        bool spoken = begins(at, end, "(anonymous namespace)") || !from || begins(from, end, ELLIPSIS);
        bool better = !open || (*at == '(' && *open == '<') || (*at == *open && close - at > shut - open);
        if (!spoken && close - from > 5 && better) {
            open = at;
            shut = close;
        }
        at = close;
    }
    if (!open)
        return false;
    char *from = behind_kept(open, shut, *open == '(' ? nr_kept : 0);
    size_t bytes = strlen(ELLIPSIS);
    memcpy(from, ELLIPSIS, bytes);
    memmove(from + bytes, shut, (size_t)(end - shut) + 1);
    text->nr -= (size_t)(shut - from) - bytes;
    return true;
}

// A function template's name begins with what it returns: it ends at the last blank outside of brackets.
static void drop_return_type(struct text *text) {
    char *end = text->bytes + text->nr, *name = text->bytes;
    if (strstr(text->bytes, "operator") || !strchr(text->bytes, '<'))
        return;
    for (char *at = text->bytes; at < end; at++) {
        if (*at == '(' && !begins(at, end, "(anonymous namespace)"))
            break;
        const char *close = partner_of(*at) ? closing(text->bytes, at, end) : NULL;
        if (partner_of(*at) && !close) // a blank may be inside of it
            return;
        if (close)
            at += close - at;
        else if (*at == ' ')
            name = at + 1;
    }
    if (name == text->bytes || name >= end || *name == '(')
        return;
    text->nr -= (size_t)(name - text->bytes);
    memmove(text->bytes, name, text->nr + 1);
}

static struct seep_error *shorten(const char *name, bool is_type, unsigned columns, unsigned nr_kept,
                                  char **ret_short) {
    *ret_short = NULL;
    size_t nr = strlen(name), kept = is_type ? nr : without_clones(name);
    if (nr == kept && nr <= columns && !strchr(name, '<') && !strstr(name, "__cxx11") &&
        !strstr(name, "[abi:"))
        return NULL;
    struct text text = {NULL};
    if (kept <= BYTES_MOST)
        simplify(&text, name, name + kept, 0);
    else
        put(&text, name, kept);
    if (!is_type && !text.failed && text.bytes)
        drop_return_type(&text);
    for (size_t nr_read = 0; !text.failed && text.bytes && nr_read < READ_MOST &&
                             columns_of(text.bytes) > columns && elide_one(&text, is_type, nr_kept);
         nr_read += text.nr)
        if (columns_of(text.bytes) > columns) // arguments stay only where there is room for them
            nr_kept = 0;
    if (text.failed) {
        free(text.bytes);
        return seep_error_no_memory();
    }
    if (text.bytes && strcmp(text.bytes, name) == 0) {
        free(text.bytes);
        text.bytes = NULL;
    }
    *ret_short = text.bytes;
    return NULL;
}

struct seep_error *seep_name_shorten(const char *name, char **ret_short) {
    return shorten(name, false, SEEP_SHORT_NAME_COLUMNS, 0, ret_short);
}

struct seep_error *seep_name_shorten_to(const char *name, unsigned columns, unsigned nr_kept,
                                        char **ret_short) {
    return shorten(name, false, columns, nr_kept, ret_short);
}

struct seep_error *seep_type_shorten(const char *type, char **ret_short) {
    return shorten(type, true, SEEP_SHORT_NAME_COLUMNS, 0, ret_short);
}

void seep_name_drop_scopes(char *name, unsigned columns) {
    char *end = name + strlen(name), *before = name, *last = name, *kept = NULL; // the last two parts
    size_t all = columns_of(name);
    for (char *at = name; at < end && all > columns; at++) {
        bool opens = partner_of(*at) && !is_operator(name, at);
        const char *close = opens ? closing(name, at, end) : NULL;
        if (opens && !close) // what is within it is not known
            return;
        if (close)
            at += close - at;
        if (*at != ':' || at[1] != ':')
            continue;
        before = last;
        last = at + 2;
        if (before > name && (!kept || columns_of(kept) + 3 > columns))
            kept = before;
    }
    if (!kept || (size_t)(kept - name) < strlen(ELLIPSIS "::"))
        return;
    memcpy(name, ELLIPSIS "::", strlen(ELLIPSIS "::"));
    memmove(name + strlen(ELLIPSIS "::"), kept, (size_t)(end - kept) + 1);
}
