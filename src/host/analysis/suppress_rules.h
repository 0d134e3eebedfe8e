// SPDX-License-Identifier: BSD-2-Clause
//
// Suppression rules as they are read from files, in the two languages that people have them in. The
// files are hostile input: bounded, checked, and an error names file and line.
//
// LeakSanitizer: a line `leak:PATTERN`. PATTERN is looked for in the module, function and source file
// of every frame; `*` stands for anything, `^` and `$` for the beginning and the end.
// Valgrind: an entry in braces: a name, `Memcheck:Leak`, `match-leak-kinds:` if wanted, then from the
// allocation function outward `fun:`, `obj:`, `src:` or `...` for any number of frames; `*` and `?`.
// Both may stand in one file; `#` begins a comment line.
// Source: clang, LeakSanitizer.html and SanitizerSpecialCaseList; Valgrind manual 2.5 and 4.4.
#ifndef SEEP_ANALYSIS_SUPPRESS_RULES_H
#define SEEP_ANALYSIS_SUPPRESS_RULES_H

#include "base/arena.h"
#include "base/error.h"

enum seep_suppress_line_kind {
    SEEP_SUPPRESS_ANY_FRAMES, // "..."
    SEEP_SUPPRESS_FUNCTION,
    SEEP_SUPPRESS_MODULE,
    SEEP_SUPPRESS_SOURCE,
    SEEP_SUPPRESS_LSAN, // the one line of a LeakSanitizer rule
};

// One line of a rule, compared with one frame. The text is the arena's of its rules.
struct seep_suppress_line {
    enum seep_suppress_line_kind kind;
    const char *pattern;
};

struct seep_suppress_rule {
    const char *name;   // of the entry, or "leak:PATTERN"
    const char *file;   // where it was read
    unsigned line;      // 1 is the first; 0: built in
    bool of_program;    // the program says it itself
    const char *reason; // built in: why; else NULL
    uint32_t kinds;     // bits 1 << enum seep_kind that it takes
    uint32_t first_line;
    uint32_t nr_lines;
};

struct seep_suppress_rules {
    struct seep_arena arena; // the texts
    struct seep_suppress_rule *rules;
    size_t nr_rules;
    size_t rules_capacity;
    struct seep_suppress_line *lines; // of all rules
    size_t nr_lines;
    size_t lines_capacity;
    uint64_t nr_skipped; // entries about other things than leaks
};

// No rules. _deinit frees all that were read into it.
#define SEEP_SUPPRESS_RULES_INIT                                                                             \
    { SEEP_ARENA_INIT }
void seep_suppress_rules_deinit(struct seep_suppress_rules *rules);

#define SEEP_SUPPRESS_FILE_MAX ((size_t)16 << 20)

// Adds the rules of `text`. `file` is for messages, which are "<file>:<line>: <what>". On failure the
// rules are as far as they were read.
SEEP_MUST_CHECK struct seep_error *seep_suppress_rules_parse(struct seep_suppress_rules *rules,
                                                             const char *file, const char *text,
                                                             size_t nr_bytes);
// The same from a file.
SEEP_MUST_CHECK struct seep_error *seep_suppress_rules_read(struct seep_suppress_rules *rules,
                                                            const char *path);

// LeakSanitizer's match: `pattern` is somewhere in `text`, unless ^ or $ hold it to an end.
bool seep_suppress_search(const char *pattern, const char *text);
// Valgrind's: `pattern` is the whole of `text`.
bool seep_suppress_glob(const char *pattern, const char *text);

#endif
