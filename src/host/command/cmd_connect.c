// SPDX-License-Identifier: BSD-2-Clause
// `seep connect PID|FILE`: the console, by hand or from a script.
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "command/command.h"
#include "command/report_options.h"
#include "console/console.h"
#include "console/line_editor.h"
#include "output/format.h"
#include "output/wrap.h"

struct connect_values {
    struct seep_option_strings lines;
    const char *file;
    const char *key;
    bool json;
    bool no_demangle;
    const char *sysroot;
};

#define AT(field) offsetof(struct connect_values, field)

static const struct seep_option connect_options[] = {
    {"execute", 'e', SEEP_OPTION_STRINGS, AT(lines), .value = "COMMANDS",
     .help = "run these and leave; several are separated by ;"},
    {"file", 'f', SEEP_OPTION_STRING, AT(file), .value = "FILE",
     .help = "run the lines of a file and leave; - is standard input"},
    {"key", 0, SEEP_OPTION_STRING, AT(key), .value = "FILE",
     .help = "for tcp:HOST:PORT: the key that the server has"},
    {"json", 0, SEEP_OPTION_FLAG, AT(json), .help = "each answer as a line of JSON"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"sysroot", 0, SEEP_OPTION_STRING, AT(sysroot), .value = "DIR",
     .help = "programs and libraries are those under DIR, if their build-ids are the same"},
    {NULL},
};

static const struct seep_option_group connect_group = {
    .title = "Options", .options = connect_options, .values_bytes = sizeof(struct connect_values)};

// Ctrl-C ends a command, not the session.
static volatile sig_atomic_t stopped;

static void note_stop(int number) {
    (void)number;
    stopped = 1;
}

static void catch_interrupts(void) {
    struct sigaction action = {.sa_handler = note_stop}; // without SA_RESTART: a line that is read ends, too
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN); // a pager that is left
}

static size_t count_lines(const char *text) {
    size_t nr = 0;
    for (; *text; text++)
        nr += *text == '\n';
    return nr;
}

// What is longer than the screen goes through the pager.
static void put_paged(const char *text, size_t nr) {
    struct winsize window;
    const char *pager = getenv("PAGER");
    FILE *to = NULL;
    if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 &&
        window.ws_row && count_lines(text) >= window.ws_row)
        to = popen(pager && *pager ? pager : "less -FX", "we");
    if (!to) {
        fwrite(text, 1, nr, stdout);
        return;
    }
    fwrite(text, 1, nr, to);
    if (pclose(to) == 127 << 8) // there is none
        fwrite(text, 1, nr, stdout);
}

static bool run_line(struct seep_console *console, const char *line) {
    char *text = NULL;
    size_t nr = 0;
    FILE *out = open_memstream(&text, &nr);
    if (!out)
        return false;
    const struct seep_style style = console->json ? (struct seep_style){false, 0} : seep_style_of(stdout);
    struct seep_wrap wrap;
    stopped = 0;
    bool done = seep_console_run(console, line, seep_wrap_begin(&wrap, out, &style));
    seep_wrap_done(&wrap);
    if (fclose(out) == 0)
        put_paged(text, nr);
    fflush(stdout);
    free(text);
    return done;
}

// `a; b`: a ; within quotes is none.
static bool run_several(struct seep_console *console, const char *lines) {
    bool all = true;
    char *copy = strdup(lines), *at = copy, *begin = copy;
    char quote = 0;
    for (; copy && !console->quit; at++) {
        if (quote && *at == quote)
            quote = 0;
        else if (!quote && (*at == '"' || *at == '\''))
            quote = *at;
        if (*at && (*at != ';' || quote) && *at != '\n')
            continue;
        bool last = !*at;
        *at = 0;
        all &= run_line(console, begin);
        begin = at + 1;
        if (last)
            break;
    }
    free(copy);
    return all && copy;
}

static struct seep_error *run_file(struct seep_console *console, const char *path, bool *ret_all) {
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (!file)
        return seep_error_hint(seep_error_system(errno, "cannot read %s", path),
                               "name a file of commands, one a line, or - for standard input");
    char *line = NULL;
    size_t room = 0;
    while (!console->quit && getline(&line, &room, file) >= 0)
        *ret_all &= run_line(console, line);
    free(line);
    if (file != stdin)
        fclose(file);
    return NULL;
}

// ---- by hand ----

static struct seep_error *run_by_hand(struct seep_console *console) {
    const struct seep_console_command *command;
    const char *words[96] = {NULL};
    size_t nr = 0;
    for (size_t i = 0; (command = seep_console_command(i)) && nr + 1 < SEEP_ARRAY_SIZE(words); i++)
        words[nr++] = command->name;
    for (size_t i = 0; seep_console_setting_words[i] && nr + 1 < SEEP_ARRAY_SIZE(words); i++)
        words[nr++] = seep_console_setting_words[i];
    (void)run_line(console, "status");
    struct seep_line_editor *editor = seep_line_editor_create("seep> ", words);
    char *read = NULL;
    size_t room = 0;
    while (!console->quit) {
        const char *line = NULL;
        if (editor) {
            line = seep_line_editor_read(editor);
        } else {
            fputs("seep> ", stdout);
            fflush(stdout);
            line = getline(&read, &room, stdin) >= 0 ? read : NULL;
            if (!line && stopped) {
                clearerr(stdin);
                putchar('\n');
                stopped = 0;
                continue;
            }
        }
        if (!line)
            break;
        (void)run_line(console, line);
    }
    free(read);
    seep_line_editor_destroy(editor);
    return NULL;
}

static struct seep_error *run_connect(const struct seep_arguments *arguments, int *ret_status) {
    const struct connect_values *values = seep_arguments_values(arguments, &connect_group);
    struct seep_view_options view = {.no_demangle = values->no_demangle, .sysroot = values->sysroot};
    struct seep_symbols *symbols = NULL;
    struct seep_live_source source;
    struct seep_console console;
    bool all = true;
    struct seep_error *error = seep_live_source_of(arguments->operands[0], values->key, &source);
    if (!error)
        error = seep_report_symbols(&view, arguments->operands[0], &symbols);
    if (error)
        return error;
    catch_interrupts();
    if (source.link)
        seep_wire_client_stop_by(source.link, &stopped);
    error = seep_console_init(&console, &source, symbols);
    console.json = values->json;
    console.stop = &stopped;
    console.suppress = seep_suppress_apply_defaults;
    bool scripted = values->lines.nr_items || values->file;
    for (size_t i = 0; !error && i < values->lines.nr_items && !console.quit; i++)
        all &= run_several(&console, values->lines.items[i]);
    if (!error && values->file && !console.quit)
        error = run_file(&console, values->file, &all);
    if (!error && !scripted)
        error = isatty(STDIN_FILENO) ? run_by_hand(&console) : run_file(&console, "-", &all);
    seep_console_deinit(&console);
    seep_live_source_deinit(&source);
    seep_symbols_destroy(symbols);
    if (!all)
        *ret_status = 1;
    return error;
}

const struct seep_command seep_command_connect = {
    .name = "connect",
    .summary = "a console on a traced process or a saved trace",
    .usage = "[options] PID|FILE|ADDR",
    .about =
        "Commands in words: help lists them. The program is only looked at, but for scan and whois, which\n"
        "stop it while its memory is read; questions still work after its end. Ctrl-C ends a command,\n"
        "quit the session. With -e or -f, or where standard input is no terminal, the exit status is 1 when\n"
        "a command failed.\n"
        "\n" SEEP_HELP_ADDRESS,
    .groups = (const struct seep_option_group *const[]){&connect_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep connect 1234", "ask a traced process"},
            {"seep connect 1234 -e 'status; sites 3'", "from a script"},
            {"seep connect ssh://board7/1234", "ask a process of another machine"},
            {"seep connect --json -e 'functions 0' app.seep", "a saved trace, for programs"},
            {NULL},
        },
    .operand = "PID|FILE",
    .min_operands = 1,
    .max_operands = 1,
    .run = run_connect,
};
