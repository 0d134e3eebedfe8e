// SPDX-License-Identifier: BSD-2-Clause
//
// Help, all of it from the tables: the list of commands, the page of one command, and
// `seep help --dump`, the tables as JSON for completions, manual pages and the lint test.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "command/command.h"
#include "output/wrap.h"

struct help_options {
    bool dump;
};

static const struct seep_option_group help_group = {
    .title = "Options",
    .options =
        (const struct seep_option[]){
            {"dump", 0, SEEP_OPTION_FLAG, offsetof(struct help_options, dump),
             .help = "print all commands and options as JSON", .hidden = true},
            {NULL},
        },
    .values_bytes = sizeof(struct help_options),
};

// In a pipe lines are as wide as a pager usually shows them.
#define WIDTH_IN_PIPE 100u

static struct seep_style help_style(void) {
    struct seep_style style = seep_style_of(stdout);
    if (!style.width)
        style.width = WIDTH_IN_PIPE;
    return style;
}

void seep_help_commands(void) {
    struct seep_style style = help_style();
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stdout, &style);
    fputs("seep finds where the memory of a Linux program goes.\n\n", out);
    fputs("usage: seep COMMAND [options] ...\n\nCommands:\n", out);
    for (const struct seep_command *const *at = seep_commands; *at; at++)
        fprintf(out, "  %-8s  %s\n", (*at)->name, (*at)->summary);
    fputs("\n'seep help COMMAND' or 'seep COMMAND --help' tells more, with examples.\n", out);
    fputs("'seep --version' prints the version.\n", out);
    seep_wrap_done(&wrap);
}

// The option as the command takes it; false: it is not to be shown.
static bool option_of(const struct seep_command *command, const struct seep_option *option,
                      struct seep_option *ret_option) {
    *ret_option = *option;
    ret_option->choices = option->shown ? option->shown : option->choices;
    for (const struct seep_option_meant *at = command->meant; at && at->name; at++) {
        if (strcmp(at->name, option->name) != 0)
            continue;
        ret_option->help = at->help ? at->help : option->help;
        ret_option->choices = at->choices ? at->choices : ret_option->choices;
        ret_option->hidden |= at->refused;
    }
    return !ret_option->hidden;
}

static void print_option(FILE *out, const struct seep_option *option) {
    char left[80];
    const char *value = seep_option_value_name(option);
    int used = option->letter ? snprintf(left, sizeof(left), "  -%c, ", option->letter)
                              : snprintf(left, sizeof(left), "      ");
    if (option->kind == SEEP_OPTION_OPTIONAL || option->kind == SEEP_OPTION_TEXT)
        snprintf(left + used, sizeof(left) - (size_t)used, "--%s[=%s]", option->name, value);
    else
        snprintf(left + used, sizeof(left) - (size_t)used, "--%s%s%s", option->name, value ? " " : "",
                 value ? value : "");
    // A long left side gets a line of its own, so that the right sides stay in one column.
    if (strlen(left) > 26)
        fprintf(out, "%s\n%-28s%s", left, "", option->help);
    else
        fprintf(out, "%-28s%s", left, option->help);
    if (option->choices) {
        fputc(':', out);
        for (size_t i = 0; option->choices[i]; i++)
            fprintf(out, "%s %s", i ? "," : "", option->choices[i]);
    }
    fputc('\n', out);
}

// The words of a line behind what stands in `column`, in lines of `width`. The column behind them is
// returned.
static unsigned put_words(FILE *out, const char *line, size_t nr, unsigned column, unsigned width) {
    for (const char *at = line; at < line + nr; at += strspn(at, " ")) {
        unsigned nr_word = (unsigned)strcspn(at, " \n");
        bool fits = column + 1 + nr_word <= width;
        fprintf(out, "%s%.*s", !column ? "" : fits ? " " : "\n", (int)nr_word, at);
        column = column && fits ? column + 1 + nr_word : nr_word;
        at += nr_word;
    }
    return column;
}

// Fills lines up to the width. A line of the text that ends a sentence, or leads to a list, ends a paragraph.
// Lines that are indented are such a list.
static void put_about(FILE *out, const char *about, unsigned width) {
    unsigned column = 0;
    for (const char *line = about, *next; *line; line = next) {
        size_t nr = strcspn(line, "\n");
        next = line + nr + (line[nr] == '\n');
        bool ends = nr && strchr(".:", line[nr - 1]);
        if (*line == ' ')
            fprintf(out, "%.*s\n", (int)nr, line);
        else
            column = put_words(out, line, nr, column, width);
        if (column && (ends || !*next || *next == ' ')) {
            fputc('\n', out);
            column = 0;
        }
    }
}

void seep_help_command(const struct seep_command *command) {
    struct seep_style style = help_style();
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stdout, &style);
    fprintf(out, "seep %s: %s\n\nusage: seep %s %s\n", command->name, command->summary, command->name,
            command->usage);
    if (command->about) {
        fputc('\n', out);
        put_about(out, command->about, SEEP_MIN(style.width, WIDTH_IN_PIPE));
    }
    for (size_t g = 0; command->groups && command->groups[g]; g++) {
        if (command->groups[g]->options[0].hidden)
            continue;
        fprintf(out, "\n%s:\n", command->groups[g]->title);
        struct seep_option shown;
        for (const struct seep_option *o = command->groups[g]->options; o->name; o++)
            if (option_of(command, o, &shown))
                print_option(out, &shown);
    }
    fputs("\nExamples:\n", out);
    for (const struct seep_example *example = command->examples; example->line; example++)
        fprintf(out, "  %s\n      %s\n", example->line, example->what);
    seep_wrap_done(&wrap);
}

// ---- --dump ----

static json_t *dump_option(const struct seep_option *option) {
    char letter[2] = {option->letter, 0};
    const char *value = seep_option_value_name(option);
    json_t *choices = NULL;
    if (option->choices) {
        choices = json_array();
        for (size_t i = 0; option->choices[i]; i++)
            json_array_append_new(choices, json_string(option->choices[i]));
    }
    return json_pack("{s:s, s:s*, s:s, s:s*, s:s, s:o*}", "name", option->name, "letter",
                     option->letter ? letter : NULL, "kind", seep_option_kind_name(option->kind), "value",
                     value, "help", option->help, "choices", choices);
}

static json_t *dump_command(const struct seep_command *command) {
    json_t *groups = json_array();
    for (size_t g = 0; command->groups && command->groups[g]; g++) {
        json_t *options = json_array();
        struct seep_option shown;
        for (const struct seep_option *o = command->groups[g]->options; o->name; o++)
            if (option_of(command, o, &shown))
                json_array_append_new(options, dump_option(&shown));
        json_array_append_new(
            groups, json_pack("{s:s, s:o}", "title", command->groups[g]->title, "options", options));
    }
    json_t *examples = json_array();
    for (const struct seep_example *example = command->examples; example->line; example++)
        json_array_append_new(examples,
                              json_pack("{s:s, s:s}", "line", example->line, "what", example->what));
    return json_pack("{s:s, s:s, s:s, s:s*, s:o, s:o}", "name", command->name, "summary", command->summary,
                     "usage", command->usage, "about", command->about, "groups", groups, "examples",
                     examples);
}

static struct seep_error *dump_all(void) {
    json_t *commands = json_array();
    for (const struct seep_command *const *at = seep_commands; *at; at++)
        json_array_append_new(commands, dump_command(*at));
    json_t *root = json_pack("{s:s, s:o}", "version", SEEP_VERSION, "commands", commands);
    char *text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
    json_decref(root);
    if (!text)
        return seep_error_no_memory();
    puts(text);
    free(text);
    return NULL;
}

static struct seep_error *run_help(const struct seep_arguments *arguments, int *ret_status) {
    const struct help_options *options = seep_arguments_values(arguments, &help_group);
    if (options->dump)
        return dump_all();
    if (arguments->nr_operands == 0) {
        seep_help_commands();
        return NULL;
    }
    const struct seep_command *command = seep_command_find(arguments->operands[0]);
    if (!command)
        return seep_command_unknown(arguments->operands[0]);
    seep_help_command(command);
    return NULL;
}

const struct seep_command seep_command_help = {
    .name = "help",
    .summary = "what the commands do",
    .usage = "[COMMAND]",
    .groups = (const struct seep_option_group *const[]){&help_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep help", "list the commands"},
            {"seep help report", "the options of 'seep report'"},
            {NULL},
        },
    .operand = "COMMAND",
    .max_operands = 1,
    .run = run_help,
};
