// SPDX-License-Identifier: BSD-2-Clause
// Reads the words of `seep attach`, see attach_options.h.
#include <stdlib.h>
#include <string.h>

#include "command/attach_options.h"
#include "session/source.h"

static const char *const backend_choices[] = {"auto", "bpf", NULL};
static const char *const source_choices[] = {"auto", "functions", "otel", NULL};
static const char *const children_choices[] = {"follow", "ignore", NULL};
static const char *const probes_choices[] = {"best", "multi", "perf", NULL};

// Much later than any program runs, and far from an overflow.
#define NEVER_NS (INT64_MAX / 4)

#define AT(field) offsetof(struct seep_attach_values, field)

static const struct seep_option attach_options[] = {
    {"pid", 'p', SEEP_OPTION_NUMBER, AT(pid), .min = 1, .max = INT32_MAX, .value = "PID",
     .help = "the process, where it is not the first operand"},
    {"command", 'c', SEEP_OPTION_STRING, AT(command), .value = "COMMAND",
     .help = "start COMMAND (words and quotes as in a shell) and trace it from the start"},
    {"cgroup", 0, SEEP_OPTION_STRING, AT(cgroup), .value = "PATH",
     .help = "the processes of a control group (a container), those to come as well"},
    {"all", 0, SEEP_OPTION_FLAG, AT(all), .help = "every process, those to come as well"},
    {"trace", 't', SEEP_OPTION_FLAG, AT(trace),
     .help = "a line for each call, with its time, and a report at the end only"},
    {"obj", 'O', SEEP_OPTION_STRING, AT(object), .value = "OBJ",
     .help = "the object with the allocator, by name or path (default: all that have a malloc)"},
    {"symbols-prefix", 'S', SEEP_OPTION_STRING, AT(prefix), .value = "P",
     .help = "what the names of the allocator's functions begin with, as je_ in je_malloc"},
    {"faults", 0, SEEP_OPTION_FLAG, AT(faults),
     .help = "page faults too: by which stacks the process grew in memory"},
    {"scan", 0, SEEP_OPTION_FLAG, AT(scan),
     .help = "at the end, tell which blocks are lost; stops the process for a moment"},
    {"backend", 0, SEEP_OPTION_CHOICE, AT(backend), .value = "HOW", .choices = backend_choices,
     .help = "auto: the image of libseep.so where the process has one (default); bpf: probes in any case"},
    {"source", 0, SEEP_OPTION_CHOICE, AT(source), .value = "WHAT", .choices = source_choices,
     .help =
         "the allocator's functions; otel: the samples that the program tells by otel_memory probes; auto"},
    {"children", 0, SEEP_OPTION_CHOICE, AT(children), .value = "WHAT", .choices = children_choices,
     .help = "follow or ignore the processes that it forks (default follow)"},
    {"buffer", 0, SEEP_OPTION_SIZE, AT(buffer),
     .help = "memory for events from the kernel (default 16M to 64M by free memory)"},
    {"no-args", 0, SEEP_OPTION_FLAG, AT(no_args),
     .help = "without the arguments of programs, but their names: passwords may be among them"},
    {"full-paths", 0, SEEP_OPTION_FLAG, AT(full_paths), .help = "whole paths of files and modules"},
    {"full-names", 0, SEEP_OPTION_FLAG, AT(full_names),
     .help = "whole names of functions: template arguments, ABI tags, clones"},
    {"full-stacks", 0, SEEP_OPTION_FLAG, AT(full_stacks),
     .help = "each frame of the C++ library, not only the one that was called"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"probes", 0, SEEP_OPTION_CHOICE, AT(probes), .value = "KIND", .choices = probes_choices, .hidden = true,
     .help = "use no newer kind of probe than this"},
    {NULL},
};

const struct seep_option_group seep_attach_group = {
    .title = "Options", .options = attach_options, .values_bytes = sizeof(struct seep_attach_values)};

// Splits as a shell does, without its substitutions. One block of memory: first the pointers, then the texts.
static struct seep_error *split_command(const char *command, char ***ret_words) {
    size_t room = strlen(command) + 1;
    char **words = calloc(1, (room / 2 + 2) * sizeof(*words) + room);
    if (!words)
        return seep_error_no_memory();
    char *to = (char *)(words + room / 2 + 2), quote = 0;
    size_t nr = 0;
    bool in_word = false;
    for (const char *at = command; *at; at++) {
        bool blank = !quote && (*at == ' ' || *at == '\t' || *at == '\n');
        if (blank) {
            if (in_word)
                *to++ = 0;
            in_word = false;
            continue;
        }
        if (!in_word)
            words[nr++] = to;
        in_word = true;
        if (quote ? *at == quote : *at == '\'' || *at == '"') {
            quote = quote ? 0 : *at;
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1])
            at++;
        *to++ = *at;
    }
    if (!quote && nr) {
        *ret_words = words;
        return NULL;
    }
    free(words);
    return seep_error_create(SEEP_E_USAGE, "--command: %s",
                             quote ? "a quote is not closed" : "no word in it");
}

static bool is_digits(const char *text) {
    return *text && !text[strspn(text, "0123456789")];
}

static bool is_duration(const char *text) {
    size_t nr = strspn(text, "0123456789.");
    const char *unit = text + nr;
    return nr && (strcmp(unit, "ms") == 0 || (*unit && strchr("smh", *unit) && !unit[1]));
}

// What is no number may be a program. NULL: there is no such operand.
static struct seep_error *check_interval(const char *operand, const char *how_to_start) {
    if (!operand || (*operand >= '0' && *operand <= '9'))
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "INTERVAL: bad value '%s'", operand),
                           "a duration, as in 5s; to start a program and trace it, %s: seep attach -- %s",
                           how_to_start, operand);
}

// Which of the ways to name what is traced was taken; *ret_operands: those that follow.
static struct seep_error *read_target(const struct seep_arguments *arguments,
                                      const struct seep_attach_values *values, struct seep_attach_plan *plan,
                                      char *const **ret_operands) {
    char *const *operands = arguments->operands;
    *ret_operands = operands;
    int nr = (values->pid != 0) + (values->command != NULL) + (values->cgroup != NULL) + values->all;
    if (nr > 1)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--pid, --command, --cgroup and --all exclude one another"),
            "take one of them");
    plan->cgroup = values->cgroup;
    plan->all = values->all;
    if (values->command) {
        struct seep_error *err = split_command(values->command, &plan->words);
        plan->argv = plan->words;
        return err;
    }
    plan->pid = (pid_t)values->pid;
    if (nr)
        return check_interval(*operands, values->pid   ? "name no PID"
                                         : values->all ? "without --all"
                                                       : "without --cgroup");
    if (!*operands)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "which process?"),
                               "seep attach PID, or seep attach -- PROG ARGS");
    if (is_duration(*operands))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "'%s': INTERVAL and COUNT go with a PID", *operands),
            "seep attach PID %s, or seep attach -- PROG ARGS; a program of that name: ./%s", *operands,
            *operands);
    if (!is_digits(*operands)) {
        plan->argv = operands;
        *ret_operands = operands + arguments->nr_operands;
        return NULL;
    }
    bool is_pid;
    *ret_operands = operands + 1;
    struct seep_error *err = check_interval(operands[1], "name no PID");
    if (err)
        return err;
    return seep_parse_pid(*operands, &is_pid, &plan->pid);
}

static struct seep_error *check_buffer(const struct seep_attach_values *values) {
    if (!values->buffer || (values->buffer >= 4096 && (values->buffer & (values->buffer - 1)) == 0 &&
                            values->buffer <= UINT64_C(1) << 30))
        return NULL;
    return seep_error_hint(
        seep_error_create(SEEP_E_USAGE, "--buffer: %llu bytes", (unsigned long long)values->buffer),
        "a power of two from 4K to 1G");
}

static struct seep_error *check_values(const struct seep_attach_values *values,
                                       const struct seep_watch_values *shown) {
    struct seep_error *err = seep_watch_check(shown);
    if (err)
        return err;
    if (values->trace && shown->json)
        return seep_error_create(SEEP_E_USAGE, "--trace prints lines: not with --json");
    if (values->scan && shown->sample > 1)
        return seep_error_create(SEEP_E_USAGE, "--scan needs every block: not with --sample-rate");
    bool otel = values->source == SEEP_ATTACH_SOURCE_OTEL;
    if (otel && values->scan)
        return seep_error_create(SEEP_E_USAGE, "--scan needs every block: not with --source otel");
    if (otel && shown->sample > 1)
        return seep_error_create(SEEP_E_USAGE, "--sample-rate is of calls: not with --source otel");
    if (otel && values->prefix)
        return seep_error_create(SEEP_E_USAGE, "--symbols-prefix is of functions: not with --source otel");
    if (values->scan && (values->cgroup || values->all))
        return seep_error_create(SEEP_E_USAGE, "--scan is of one process: not with --cgroup or --all");
    if (values->children == SEEP_ATTACH_CHILDREN_IGNORE && (values->cgroup || values->all))
        return seep_error_create(SEEP_E_USAGE,
                                 "--cgroup and --all are of children too: not with --children ignore");
    return check_buffer(values);
}

struct seep_error *seep_attach_read_plan(const struct seep_arguments *arguments,
                                         struct seep_attach_plan *ret_plan) {
    const struct seep_attach_values *values = seep_arguments_values(arguments, &seep_attach_group);
    const struct seep_watch_values *shown = seep_arguments_values(arguments, &seep_watch_group);
    struct seep_attach_plan plan = {.shown = shown};
    char *const *operands;
    struct seep_error *err = check_values(values, shown);
    if (!err)
        err = read_target(arguments, values, &plan, &operands);
    if (!err)
        err = seep_watch_rounds(shown, operands, &plan.watch);
    if (!err && plan.argv && !*operands)
        plan.watch.interval_ns =
            NEVER_NS; // the output of a program is not interrupted unless that is asked for
    if (err)
        free(plan.words);
    else
        *ret_plan = plan;
    return err;
}
