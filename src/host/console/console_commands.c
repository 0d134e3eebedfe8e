// SPDX-License-Identifier: BSD-2-Clause
// The table of all commands of the console, and the commands about the console itself, see console.h.
#include <string.h>

#include "console/console_answer.h"
#include "output/grid.h"

static struct seep_error *run_quit(struct seep_console *console, char *const *words, FILE *out) {
    console->quit = true;
    return NULL;
}

static struct seep_error *run_help(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {{"name", "command", SEEP_GRID_TEXT},
                                                      {"usage", "", SEEP_GRID_TEXT},
                                                      {"help", "", SEEP_GRID_TEXT},
                                                      {NULL}};
    struct seep_error *error = NULL;
    const struct seep_console_command *only = words[0] ? seep_console_find(words[0], &error) : NULL;
    if (error)
        return error;
    const struct seep_console_command *at;
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    for (size_t i = 0; !error && (at = seep_console_command(i)); i++) {
        if (only && at != only)
            continue;
        error = seep_grid_text(&grid, at->name);
        if (!error)
            error = seep_grid_text(&grid, at->usage);
        if (!error)
            error = seep_grid_text(&grid, at->help);
    }
    if (error || console->json)
        return seep_console_answer(console, out, "help", &grid, error);
    for (size_t i = 0; (at = seep_console_command(i)); i++)
        if (!only || at == only)
            fprintf(out, "  %-10s %-18s %s\n", at->name, at->usage, at->help);
    seep_grid_deinit(&grid);
    if (!only)
        fputs("A beginning of a name is enough where it is no other's. COMMAND > FILE writes the answer "
              "there.\n",
              out);
    return NULL;
}

static const struct seep_console_command own_commands[] = {
    {"detach", "", "leave; the program goes on", true, run_quit},
    {"quit", "", "the same", true, run_quit},
    {"help", "[COMMAND]", "this", true, run_help},
    {NULL},
};

// In the order of help.
static const struct seep_console_command *const groups[] = {
    seep_console_process_commands, seep_console_row_commands,
    seep_console_block_commands,   seep_console_scan_commands,
    seep_console_since_commands,   seep_console_setting_commands,
    seep_console_file_commands,    own_commands,
};

const struct seep_console_command *seep_console_command(size_t index) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(groups); i++)
        for (const struct seep_console_command *at = groups[i]; at->name; at++)
            if (!index--)
                return at;
    return NULL;
}

const struct seep_console_command *seep_console_find(const char *word, struct seep_error **ret_error) {
    const struct seep_console_command *found = NULL, *at;
    char names[512] = "";
    size_t nr = 0;
    for (size_t i = 0; (at = seep_console_command(i)); i++) {
        if (strcmp(at->name, word) == 0)
            return at;
        if (*word && strncmp(at->name, word, strlen(word)) == 0) {
            found = at;
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", nr++ ? ", " : "",
                     at->name);
        }
    }
    if (nr == 1)
        return found;
    *ret_error = nr ? seep_error_create(SEEP_E_USAGE, "'%s' may be %s", word, names)
                    : seep_error_hint(seep_error_create(SEEP_E_USAGE, "there is no command '%s'", word),
                                      "help lists them");
    return NULL;
}
