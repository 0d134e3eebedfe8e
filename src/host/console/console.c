// SPDX-License-Identifier: BSD-2-Clause
// Lines of the console and the command that each of them names, see console.h.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "console/console.h"
#include "output/format.h"
#include "output/grid.h"

struct seep_error *seep_console_init(struct seep_console *console, struct seep_live_source *source,
                                     struct seep_symbols *symbols) {
    static const volatile sig_atomic_t never;
    *console = (struct seep_console){.source = source, .symbols = symbols, .stop = &never, .top = 10};
    seep_live_init(&console->live);
    struct seep_look look;
    seep_look_make(source, NULL, &look);
    return seep_live_take(&console->live, &look);
}

void seep_console_deinit(struct seep_console *console) {
    seep_live_deinit(&console->live);
    seep_session_destroy(console->whole);
    free(console->lost);
}

// ---- words ----

static bool is_blank(char byte) {
    return byte == ' ' || byte == '\t';
}

// One word at *at, to be written at *out, which never is behind *at. false: a quote has no end.
static bool take_word(const char **at, char **out) {
    char quote = 0;
    for (; **at && (quote || (!is_blank(**at) && **at != '>')); ++*at) {
        char byte = **at;
        if (quote && byte == quote) {
            quote = 0;
        } else if (!quote && (byte == '"' || byte == '\'')) {
            quote = byte;
        } else if (byte == '\\' && quote != '\'' && (*at)[1] && strchr("\\\"' \t>#", (*at)[1])) {
            *(*out)++ = *++*at;
        } else {
            *(*out)++ = byte;
        }
    }
    return !quote;
}

bool seep_console_split(const char *line, struct seep_console_line *ret_line, const char **ret_why) {
    ret_line->nr_words = 0;
    ret_line->file = NULL;
    size_t length = strcspn(line, "\r\n");
    if (length >= sizeof(ret_line->text) / 2) {
        *ret_why = "the line is too long";
        return false;
    }
    char copy[sizeof(ret_line->text)];
    memcpy(copy, line, length);
    copy[length] = 0;
    const char *at = copy;
    char *out = ret_line->text;
    bool to_file = false;
    for (;;) {
        while (is_blank(*at))
            at++;
        if (!*at || *at == '#')
            break;
        if (*at == '>') {
            if (to_file) {
                *ret_why = "more than one >";
                return false;
            }
            to_file = true;
            at++;
            continue;
        }
        char *word = out;
        if (!take_word(&at, &out)) {
            *ret_why = "a quote has no end";
            return false;
        }
        *out++ = 0;
        if (to_file && ret_line->file) {
            *ret_why = "one file behind >";
            return false;
        }
        if (to_file) {
            ret_line->file = word;
        } else if (ret_line->nr_words == SEEP_CONSOLE_WORDS) {
            *ret_why = "too many words";
            return false;
        } else {
            ret_line->words[ret_line->nr_words++] = word;
        }
    }
    ret_line->words[ret_line->nr_words] = NULL;
    if (to_file && (!ret_line->file || !*ret_line->file)) {
        *ret_why = "no file behind >";
        return false;
    }
    return true;
}

// ---- lines ----

static void put_error(const struct seep_console *console, FILE *out, const char *name,
                      struct seep_error *error) {
    if (console->json) {
        seep_grid_put_error(out, name, error);
    } else {
        seep_put_escaped(out, error->message);
        if (error->hint) {
            fputs(" (", out);
            seep_put_escaped(out, error->hint);
            fputc(')', out);
        }
        fputc('\n', out);
    }
    seep_error_destroy(error);
}

static struct seep_error *look_again(struct seep_console *console) {
    if (console->paused || !console->source->is_pid || console->live.look.ended)
        return NULL;
    struct seep_look look;
    seep_look_make(console->source, &console->live.look, &look);
    if (console->source->link && look.error) { // what was seen last is not what is now
        struct seep_error *error = look.error;
        look.error = NULL;
        seep_look_deinit(&look);
        return error;
    }
    return seep_live_take(&console->live, &look);
}

static struct seep_error *run_to_file(struct seep_console *console,
                                      const struct seep_console_command *command, char *const *words,
                                      const char *path) {
    FILE *file = fopen(path, "we");
    if (!file)
        return seep_error_system(errno, "cannot write %s", path);
    struct seep_error *error = command->run(console, words, file);
    struct seep_error *written = seep_stream_check(file, path);
    fclose(file);
    if (!error)
        return written;
    seep_error_destroy(written);
    return error;
}

// A command takes as many words as its usage has.
static struct seep_error *check_words(const struct seep_console_command *command,
                                      const struct seep_console_line *line) {
    size_t nr_most = *command->usage != 0;
    for (const char *at = command->usage; *at; at++)
        nr_most += *at == ' ';
    if (line->nr_words <= nr_most + 1)
        return NULL;
    struct seep_error *error = seep_error_create(SEEP_E_USAGE, "what is '%s' for?", line->words[nr_most + 1]);
    return nr_most ? seep_error_hint(error, "its words are %s", command->usage)
                   : seep_error_hint(error, "it takes no words");
}

bool seep_console_run(struct seep_console *console, const char *text, FILE *out) {
    struct seep_console_line line;
    const char *why = NULL;
    struct seep_error *error = NULL;
    if (!seep_console_split(text, &line, &why))
        error = seep_error_create(SEEP_E_USAGE, "%s", why);
    else if (!line.nr_words)
        return true;
    const struct seep_console_command *command = error ? NULL : seep_console_find(line.words[0], &error);
    if (command)
        error = check_words(command, &line);
    if (command && !error && !command->stays)
        error = look_again(console);
    if (command && !error)
        error = line.file ? run_to_file(console, command, line.words + 1, line.file)
                          : command->run(console, line.words + 1, out);
    if (!error)
        return true;
    put_error(console, out, command ? command->name : "", error);
    return false;
}
