// SPDX-License-Identifier: BSD-2-Clause
// `seep growth FILE...|PID`: what grows without bound, how fast, and when it comes to the limit.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/words.h"
#include "command/command.h"
#include "command/report_options.h"
#include "command/result_file.h"
#include "growth/growth.h"
#include "file/session_file.h"
#include "session/growth_sources.h"
#include "session/recording_history.h"
#include "session/session_open.h"

#define INTERVAL_NS       INT64_C(1000000000)
#define INTERVAL_LEAST_NS INT64_C(10000000)
#define COUNT             20u
#define PARTS             61u // of a recording; the last ends as the program does

struct growth_values {
    int64_t interval_ns;
    uint64_t count;
    const char *cgroup;
    const char *save;
    uint64_t error_exitcode;
};

#define AT(field) offsetof(struct growth_values, field)

static const struct seep_option growth_options[] = {
    {"cgroup", 0, SEEP_OPTION_STRING, AT(cgroup), .value = "PATH",
     .help = "the processes of a control group and the groups below it"},
    {"interval", 0, SEEP_OPTION_DURATION, AT(interval_ns), .help = "look at processes every T (default 1s)"},
    {"count", 0, SEEP_OPTION_NUMBER, AT(count), .value = "N",
     .help = "look N times (default 20); 0: until they end, or Ctrl-C"},
    {"output", 'o', SEEP_OPTION_STRING, AT(save), .value = "FILE",
     .help = "save what was seen as a trace, with its snapshots"},
    {"error-exitcode", 0, SEEP_OPTION_NUMBER, AT(error_exitcode), .min = 1, .max = 255,
     .help = "exit with N when something grows without bound"},
    {NULL},
};

static const struct growth_values growth_defaults = {.interval_ns = INTERVAL_NS, .count = COUNT};

static const struct seep_option_group growth_group = {.title = "Options",
                                                      .options = growth_options,
                                                      .values_bytes = sizeof(struct growth_values),
                                                      .defaults = &growth_defaults};

struct progress {
    bool shown;
    uint64_t count;
};

static void looked(void *data, uint64_t nr) {
    const struct progress *progress = data;
    if (!progress->shown)
        return;
    if (progress->count)
        fprintf(stderr, "\rlooked %llu of %llu times", (unsigned long long)nr,
                (unsigned long long)progress->count);
    else
        fprintf(stderr, "\rlooked %llu times, Ctrl-C ends it", (unsigned long long)nr);
}

static struct seep_error *look(const struct growth_values *values, pid_t pid,
                               struct seep_session **ret_session) {
    struct progress progress = {.shown = isatty(STDERR_FILENO), .count = values->count};
    struct seep_growth_look look = {.pid = pid,
                                    .cgroup = values->cgroup,
                                    .interval_ns = values->interval_ns,
                                    .count = values->count,
                                    .stop = &seep_interrupted,
                                    .looked = looked,
                                    .data = &progress};
    struct seep_growth_left_out left_out = {0};
    seep_interrupt_catch(NULL);
    struct seep_error *err = seep_growth_of_processes(&look, ret_session, &left_out);
    if (progress.shown)
        fputs("\r                                \r", stderr);
    if (!err && left_out.nr_short)
        fprintf(stderr, "seep: growth: left out: %zu process%s that ended after fewer than %u looks\n",
                left_out.nr_short, seep_plural_es(left_out.nr_short), SEEP_TREND_LEAST);
    if (!err && left_out.nr_beyond)
        fprintf(stderr,
                "seep: growth: left out: %zu process%s beyond those that are looked at at once (seep growth "
                "PID looks at one of them)\n",
                left_out.nr_beyond, seep_plural_es(left_out.nr_beyond));
    return err;
}

static bool has_growth(const struct seep_session *session) {
    bool any = false;
    for (size_t i = 0; i < session->nr_profiles; i++)
        any |= session->profiles[i]->growth != NULL;
    return any;
}

// A recording has all moments. The end of a program is none of them, because it may have freed all then.
static struct seep_error *take_moments(struct seep_session *session, const char *name) {
    struct seep_error *err = seep_history_snapshots(session, name, PARTS, NULL);
    for (size_t i = 0; !err && i < session->nr_profiles; i++) {
        struct seep_profile *profile = session->profiles[i];
        if (profile->nr_snapshots > 1 && profile->process.exit_kind != SEEP_EXIT_RUNNING)
            profile->nr_snapshots--;
        err = seep_growth_judge(profile, SEEP_GROWTH_RECORDING_NS);
    }
    return err;
}

static struct seep_error *open_file(const char *name, struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *err = seep_session_open(name, &session);
    if (!err && !has_growth(session))
        err = take_moments(session, name);
    if (!err && !has_growth(session))
        err = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "%s: there are no snapshots in it", name),
                              "'seep run --interval T' keeps some, a recording has all; or name several "
                              "traces that 'seep snap' made of one process");
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

// The process that is to be looked at; *ret_pid is 0 where it is a file.
static struct seep_error *find_process(const char *operand, pid_t *ret_pid) {
    struct seep_source source;
    struct seep_error *err = seep_source_open(operand, NULL, &source);
    if (err)
        return err;
    *ret_pid = source.ops->is_live ? source.pid : 0;
    seep_source_close(&source);
    return NULL;
}

static struct seep_error *open_sources(const struct seep_arguments *arguments,
                                       const struct growth_values *values,
                                       struct seep_session **ret_session) {
    if (!arguments->nr_operands)
        return look(values, 0, ret_session);
    if (arguments->nr_operands > 1)
        return seep_growth_of_files(arguments->operands, (size_t)arguments->nr_operands, ret_session);
    pid_t pid;
    struct seep_error *err = find_process(arguments->operands[0], &pid);
    if (err)
        return err;
    return pid ? look(values, pid, ret_session) : open_file(arguments->operands[0], ret_session);
}

static bool any_grows(const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_growth *growth = session->profiles[i]->growth;
        if (growth && (growth->nr_verdicts[SEEP_TREND_GROWING] || seep_growth_is_beside_heap(growth)))
            return true;
    }
    return false;
}

// A gate without a look is not open.
static struct seep_error *check_known(const struct seep_session *session) {
    if (seep_growth_is_known(session))
        return NULL;
    int64_t least_ns = 0;
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (session->profiles[i]->growth)
            least_ns = SEEP_MAX(least_ns, session->profiles[i]->growth->least_ns);
    if (least_ns)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "--error-exitcode: too short a time to say what grows"),
            "at least %s, a minute is good", seep_format_duration(least_ns).text);
    return seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED, "--error-exitcode: too few snapshots to say what grows"),
        "%u are needed, 20 are good: a larger --count, or a longer look", SEEP_TREND_LEAST);
}

static struct seep_error *run_growth(const struct seep_arguments *arguments, int *ret_status) {
    const struct growth_values *values = seep_arguments_values(arguments, &growth_group);
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    struct seep_view_options options = *view;
    if (options.sort == SEEP_SORT_AUTO)
        options.sort = SEEP_SORT_GROWTH;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_report_check(&options);
    if (!err && values->interval_ns < INTERVAL_LEAST_NS)
        err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "--interval: less than 10ms"),
                              "each look reads the image of the process");
    if (!err && values->count && values->count < SEEP_TREND_LEAST)
        err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "--count %u: too few looks to say what grows",
                                                (unsigned)values->count),
                              "%u are needed, 20 are good", SEEP_TREND_LEAST);
    if (!err && !values->cgroup == !arguments->nr_operands)
        err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "growth: of what?"),
                              "name one of these: a process, traces, or --cgroup PATH");
    if (!err)
        err = seep_result_is_no_input(values->save, (const char *const *)arguments->operands,
                                      arguments->nr_operands);
    if (!err)
        err = seep_suppress_read(arguments, &suppress);
    if (!err)
        err = open_sources(arguments, values, &session);
    const char *source = arguments->nr_operands ? arguments->operands[arguments->nr_operands - 1] : NULL;
    if (!err)
        err = seep_report_session(stdout, session, &suppress, &options, values->save ? values->save : source);
    if (!err && values->save)
        err = seep_session_save(session, values->save);
    if (!err && values->error_exitcode)
        err = check_known(session);
    if (!err && values->error_exitcode && any_grows(session))
        *ret_status = (int)values->error_exitcode;
    seep_suppress_deinit(&suppress);
    seep_session_destroy(session);
    return err;
}

const struct seep_command seep_command_growth = {
    .name = "growth",
    .summary = "what grows without bound, how fast, and when it comes to the limit",
    .usage = "[options] FILE...|PID",
    .about =
        "FILE is a recording, or a trace of 'seep run --interval T', or several traces that 'seep snap' "
        "made\n"
        "of one process.\n"
        "PID is a process that is being traced: it and its traced descendants are looked at, and neither\n"
        "stopped nor signalled.\n"
        "What fills and stops, as caches do, what rises and falls, and one step do not count as growth.\n",
    .groups = (const struct seep_option_group *const[]){&growth_group, &seep_report_group,
                                                        &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep growth 1234", "look 20 times, a second apart, and say what grows"},
            {"seep growth 1234 --interval 1m --count 60 --limit 2G", "for an hour; when are 2 GiB reached?"},
            {"seep growth --cgroup /sys/fs/cgroup/system.slice/app.service", "of a service and its workers"},
            {"seep growth app.seep", "of a recording, or what 'seep run --interval 10s' made"},
            {"seep growth monday.seep tuesday.seep ...", "of seven snapshots or more of one process"},
            {NULL},
        },
    .operand = "FILE|PID",
    .min_operands = 0,
    .max_operands = SEEP_OPERANDS_ANY,
    .run = run_growth,
};
