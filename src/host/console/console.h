// SPDX-License-Identifier: BSD-2-Clause
//
// The console: commands in words, on a process that runs, on what it left, or on a saved file; their answers
// as text or as JSON, a line each. It has no terminal: a line comes in, an answer goes out.
#ifndef SEEP_CONSOLE_CONSOLE_H
#define SEEP_CONSOLE_CONSOLE_H

#include <signal.h>
#include <stdio.h>

#include "live/live_table.h"

#define SEEP_CONSOLE_WORDS 16u

struct seep_console {
    struct seep_live_source *source; // borrowed, as the next three
    struct seep_symbols *symbols;
    const volatile sig_atomic_t *stop; // becomes 1 when a command is to end
    struct seep_live live;
    bool json;
    bool paused; // the last look is what all commands are of
    bool quit;
    uint64_t top;
    int sort; // enum seep_live_sort
    uint32_t tid;
    char filter[200];
    // Blocks that were lost in the scan before, by address.
    uint64_t *lost;
    size_t nr_lost;
    uint64_t lost_new; // in the last scan and not before
    uint64_t lost_new_bytes;
    unsigned nr_marks;
    struct seep_session *whole; // over a link, as it was fetched last; NULL: not yet
    // Takes suppressed blocks out of the leaks, as reports do, once for a session. NULL: none are suppressed.
    struct seep_error *(*suppress)(struct seep_session *session, struct seep_symbols *symbols);
};

// Makes the first look.
SEEP_MUST_CHECK struct seep_error *seep_console_init(struct seep_console *console,
                                                     struct seep_live_source *source,
                                                     struct seep_symbols *symbols);
void seep_console_deinit(struct seep_console *console);

// Runs one line and writes its answer, or what is wrong with it, to `out`, or to the file that the line names
// behind >. Returns whether it did what it was asked.
bool seep_console_run(struct seep_console *console, const char *line, FILE *out);

// ---- words ----

struct seep_console_line {
    char text[4096];
    char *words[SEEP_CONSOLE_WORDS + 1]; // within text, ends with NULL
    size_t nr_words;
    const char *file; // behind >; NULL: none
};
// Words are separated by blanks; quotes, single or double, keep them together, and a backslash keeps the next
// character. What is behind a # is left out. false: *ret_why says what is wrong.
bool seep_console_split(const char *line, struct seep_console_line *ret_line, const char **ret_why);

// ---- commands ----

struct seep_console_command {
    const char *name;
    const char *usage; // what follows the name
    const char *help;  // one line
    bool stays;        // it needs no new look
    struct seep_error *(*run)(struct seep_console *console, char *const *words, FILE *out);
};
// The commands of each subject; a NULL name ends a group. Each group is in the file of its functions.
extern const struct seep_console_command seep_console_process_commands[];
extern const struct seep_console_command seep_console_row_commands[];
extern const struct seep_console_command seep_console_block_commands[];
extern const struct seep_console_command seep_console_scan_commands[];
extern const struct seep_console_command seep_console_since_commands[];
extern const struct seep_console_command seep_console_setting_commands[];
extern const struct seep_console_command seep_console_file_commands[];
// "set KEY" or "set KEY VALUE", for completion; ends with NULL.
extern const char *const seep_console_setting_words[];
// The commands of all groups by number, in the order of help. NULL: there are no more.
const struct seep_console_command *seep_console_command(size_t index);
// By its name, or the beginning of one that is no other's. NULL: *ret_error says why.
const struct seep_console_command *seep_console_find(const char *word, struct seep_error **ret_error);

#endif
