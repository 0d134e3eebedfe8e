// SPDX-License-Identifier: BSD-2-Clause
// `seep run PROG ARGS`: traces a program from its start, saves the trace and reports when it ends.
// Whatever goes wrong with trace or report, the exit status stays the program's; only that a report which was
// asked for could not be made is no success.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "source/run/allocator.h"
#include "source/run/program.h"
#include "command/command.h"
#include "command/comparing.h"
#include "command/html.h"
#include "command/recording.h"
#include "command/reporting.h"
#include "command/result_file.h"
#include "command/running.h"
#include "command/trace_name.h"
#include "session/run_session.h"
#include "file/session_file.h"
#include "scan/holders.h"
#include "scan/scan.h"
#include "output/format.h"
#include "output/output.h"
#include "output/report.h"
#include "output/report_outstanding.h"

struct run_values {
    const char *output;
    const char *report;
    bool quiet;
    uint64_t error_exitcode;
    uint64_t depth;
    uint64_t sample_bytes;
    bool age;
    bool free_stacks;
    int wipe_freed; // -1: as the command has it
    int children;
    bool no_wait;
    bool no_args;
    const char *html;
    const char *allocator;
    uint64_t rounds;
    int mode; // enum mode
    bool drop;
    uint64_t keep_bytes;
    const char *log;
    uint64_t log_fd;
    const char *log_columns;
    int scan;
    int64_t interval_ns;
    uint64_t count;
    const char *snap_at;
};

#define INTERVAL_LEAST_NS INT64_C(10000000)

enum mode { MODE_LIVE, MODE_COUNT, MODE_LOG, MODE_RECORD };
static const char *const mode_choices[] = {"live", "count", "log", "record", NULL};
static const char *const scan_choices[] = {"yes", "no", NULL};
static const char *const wipe_choices[] = {"no", "yes", NULL};
static const char *const children_choices[] = {"follow", "ignore", NULL};

#define AT(field) offsetof(struct run_values, field)

static const struct seep_option run_options[] = {
    {"output", 'o', SEEP_OPTION_STRING, AT(output), .value = "FILE",
     .help = "save the trace in FILE (default seep.%e.%p.seep: %e program, %p pid; -: standard output)"},
    {"report", 0, SEEP_OPTION_STRING, AT(report), .value = "FILE",
     .help = "write the report to FILE (default: standard error; -: standard output)"},
    {"html", 0, SEEP_OPTION_STRING, AT(html), .value = "FILE",
     .help = "write a page for a browser to FILE, as seep html does"},
    {"quiet", 'q', SEEP_OPTION_FLAG, AT(quiet), .help = "no report"},
    {"error-exitcode", 0, SEEP_OPTION_NUMBER, AT(error_exitcode), .min = 1, .max = 255,
     .help = "exit with N when blocks are lost, indirectly too (with --scan no: when any remain)"},
    {"scan", 0, SEEP_OPTION_CHOICE, AT(scan), .choices = scan_choices,
     .help =
         "when a process leaves, look which of its blocks are lost, and who holds the others (default yes)"},
    {"mode", 0, SEEP_OPTION_CHOICE, AT(mode), .choices = mode_choices,
     .help =
         "live: stacks and live blocks (default); count: calls by function, thread and size, and no more; "
         "log: the same, and a line of text for each call; record: as live, and every event into the trace"},
    {"drop", 0, SEEP_OPTION_FLAG, AT(drop),
     .help = "with --mode record, never let the program wait: events that find no room are counted as lost"},
    {"keep-last", 0, SEEP_OPTION_SIZE, AT(keep_bytes),
     .help = "with --mode record, keep only the last SIZE of events (a flight recorder)"},
    {"log", 0, SEEP_OPTION_STRING, AT(log), .value = "FILE",
     .help = "with --mode log, append the lines to FILE (%e program, %p pid: one for each process)"},
    {"log-fd", 0, SEEP_OPTION_NUMBER, AT(log_fd), .max = INT32_MAX,
     .help = "with --mode log, write the lines to this descriptor (default 2)"},
    {"log-columns", 0, SEEP_OPTION_STRING, AT(log_columns), .value = "LIST",
     .help = "with --mode log, more columns: time, thread, caller (comma list)"},
    {"depth", 0, SEEP_OPTION_NUMBER, AT(depth), .min = 1, .max = 16384,
     .help = "keep the N innermost frames of a stack (default: all, up to 16384)"},
    {"age", 0, SEEP_OPTION_FLAG, AT(age),
     .help = "keep when, and by which thread, each live block was allocated"},
    {"free-stacks", 0, SEEP_OPTION_FLAG, AT(free_stacks),
     .help = "keep where each block was freed: a double free is shown with the first one"},
    {"wipe-freed", 0, SEEP_OPTION_CHOICE, AT(wipe_freed), .choices = wipe_choices,
     .help =
         "zero memory that is handed out again: old pointers in it hold nothing (default: yes for check)"},
    {"sample", 0, SEEP_OPTION_SIZE, AT(sample_bytes),
     .help = "record about one allocation in SIZE bytes (unbiased); 0, the default: all"},
    {"children", 0, SEEP_OPTION_CHOICE, AT(children), .value = "WHAT", .choices = children_choices,
     .help = "follow or ignore the processes that the program starts (default follow)"},
    {"no-args", 0, SEEP_OPTION_FLAG, AT(no_args),
     .help = "without the arguments of programs, but their names: passwords may be among them"},
    {"no-wait", 0, SEEP_OPTION_FLAG, AT(no_wait),
     .help =
         "report when the program has ended, whatever it started and still runs (default: wait for them)"},
    {"allocator", 0, SEEP_OPTION_STRING, AT(allocator), .value = "NAME",
     .help = "allocate with glibc, jemalloc, mimalloc, tcmalloc, scudo or a library (default next: what the "
             "program has); with a comma list, run the program with each in turn, untraced, and compare"},
    {"rounds", 0, SEEP_OPTION_NUMBER, AT(rounds), .min = 3, .max = 1000,
     .help = "with a list of allocators, rounds that count (default 10)"},
    {"interval", 0, SEEP_OPTION_DURATION, AT(interval_ns),
     .help = "look every T: report what is outstanding, and in the end what grows"},
    {"count", 0, SEEP_OPTION_NUMBER, AT(count), .min = 1,
     .help = "with --interval, N times (default: to the end)"},
    {"snap-at", 0, SEEP_OPTION_STRING, AT(snap_at), .value = "80%|SIZE",
     .help = "save a snapshot, once, when memory comes to that: of its limit, or SIZE"},
    {NULL},
};

static const struct run_values run_defaults = {.interval_ns = -1, .wipe_freed = -1, .log_fd = 2};

const struct seep_option_group seep_run_group = {.title = "Options",
                                                 .options = run_options,
                                                 .values_bytes = sizeof(struct run_values),
                                                 .defaults = &run_defaults};

// Whether two paths are one regular file, or would be when they are made.
static bool is_one_file(const char *a, const char *b) {
    struct stat of_a, of_b;
    bool has_a = stat(a, &of_a) == 0, has_b = stat(b, &of_b) == 0;
    if (has_a || has_b)
        return has_a && has_b && S_ISREG(of_a.st_mode) && of_a.st_dev == of_b.st_dev &&
               of_a.st_ino == of_b.st_ino;
    const char *slash_a = strrchr(a, '/'), *slash_b = strrchr(b, '/');
    char *folder_a = seep_folder_of(a), *folder_b = seep_folder_of(b);
    bool is = strcmp(slash_a ? slash_a + 1 : a, slash_b ? slash_b + 1 : b) == 0 && folder_a && folder_b &&
              stat(folder_a, &of_a) == 0 && stat(folder_b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
              of_a.st_ino == of_b.st_ino;
    free(folder_a);
    free(folder_b);
    return is;
}

// A run can take hours: that its trace has no place is said before it. `always`: it is saved without -o.
static struct seep_error *check_output(const struct run_values *values, bool always) {
    const char *output = values->output;
    if (output ? strcmp(output, "-") == 0 : !always)
        return NULL;
    struct seep_error *err = seep_trace_place_check(output ? output : SEEP_TRACE_NAME_DEFAULT);
    if (!err && output && values->report && is_one_file(output, values->report))
        err = seep_error_create(SEEP_E_USAGE, "%s: both the trace (-o) and the report (--report)", output);
    return err ? seep_error_hint(err, "the program was not started; name another place with -o") : NULL;
}

// Per cent of the limit, or bytes.
struct threshold {
    uint64_t bytes;
    unsigned percent;
};

static struct seep_error *parse_threshold(const char *text, struct threshold *ret_threshold) {
    size_t length = strlen(text);
    struct threshold threshold = {0};
    struct seep_error *err = NULL;
    if (length > 1 && text[length - 1] == '%') {
        char digits[32];
        uint64_t percent = 0;
        snprintf(digits, sizeof(digits), "%.*s", (int)SEEP_MIN(length - 1, sizeof(digits) - 1), text);
        err = seep_parse_number("--snap-at", digits, 1, 100, &percent);
        threshold.percent = (unsigned)percent;
    } else {
        err = seep_parse_size("--snap-at", text, &threshold.bytes);
        if (!err && !threshold.bytes)
            err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "--snap-at: '%s' is too small", text),
                                  "as in 80%% or 512M");
    }
    *ret_threshold = threshold;
    return err;
}

static struct seep_error *check_interval(const struct run_values *values) {
    if (values->count && values->interval_ns < 0)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--count says how often --interval looks, and there is "
                                                 "no --interval"),
                               "as in --interval 10s --count 20");
    if (values->interval_ns < 0 || values->interval_ns >= INTERVAL_LEAST_NS)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--interval: less than 10ms"),
                           "each look reads the image of the process");
}

static struct seep_error *check_quiet(const struct run_values *values, const struct seep_view_options *view) {
    const char *other = values->report           ? "--report"
                        : view->format           ? "--format"
                        : view->json             ? "--json"
                        : view->csv              ? "--csv"
                        : view->tree             ? "--tree"
                        : view->gen_suppressions ? "--gen-suppressions"
                                                 : NULL;
    if (!values->quiet || !other)
        return NULL;
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "-q means no report, and %s asks for one", other),
                           "take one of them; 'seep report' makes a report of the trace later");
}

// What no run with these options could show. A report is written when it has ended: too late to say so.
static struct seep_error *check_shown(const struct run_values *values, const struct seep_view_options *view) {
    const char *unseen = values->scan ? "--scan no" : "--sample";
    if (view->kinds && (values->scan || values->sample_bytes))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--kind needs a scan, and with %s none is made", unseen),
            "the program was not started; take one of them");
    if (view->sort == SEEP_SORT_GROWTH && values->interval_ns < 0)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE,
                                                 "--sort growth needs snapshots, and there are none "
                                                 "without --interval"),
                               "the program was not started; as in --interval 10s --sort growth");
    return NULL;
}

static bool are_columns(const char *list) {
    static const char *const names[] = {"time", "thread", "caller"};
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        bool known = false;
        for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
            known |= strlen(names[i]) == length && memcmp(at, names[i], length) == 0;
        if (!known || !at[length])
            return known;
        at += length;
    }
}

// Where calls are counted and nothing else there are no blocks to look at, and no stacks; where events are
// recorded, they have it.
static struct seep_error *check_mode(const struct run_values *values) {
    const char *other = values->sample_bytes  ? "--sample"
                        : values->age         ? "--age"
                        : values->free_stacks ? "--free-stacks"
                                              : NULL;
    if (!other && values->mode != MODE_RECORD)
        other = values->error_exitcode     ? "--error-exitcode"
                : values->interval_ns >= 0 ? "--interval"
                : values->snap_at          ? "--snap-at"
                                           : NULL;
    if (values->mode != MODE_LIVE && other)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs --mode live", other),
                               values->mode == MODE_RECORD ? "a recording has every event with its time"
                                                           : "that mode counts calls, and knows no blocks");
    if (values->mode != MODE_RECORD && values->drop)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--drop needs --mode record"),
                               "nothing else lets a program wait");
    if (values->mode != MODE_RECORD && values->keep_bytes)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--keep-last needs --mode record"),
                               "nothing else grows with the time");
    const char *of_log = values->log           ? "--log"
                         : values->log_columns ? "--log-columns"
                         : values->log_fd != 2 ? "--log-fd"
                                               : NULL;
    if (values->mode != MODE_LOG && of_log)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s needs --mode log", of_log),
                               "as in --mode log %s", of_log);
    if (values->log_columns && !are_columns(values->log_columns))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--log-columns: bad value '%s'", values->log_columns),
            "a list of time, thread and caller");
    if (values->log && values->log_fd != 2)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--log and --log-fd exclude one another"),
                               "take one of them");
    return NULL;
}

// The program and its children may change their directory. What was in the file is gone, as of any result.
static struct seep_error *prepare_log(const char *file, char **ret_path) {
    char folder[PATH_MAX] = "";
    if (file[0] != '/' && !getcwd(folder, sizeof(folder)))
        return seep_error_system(errno, "cannot tell the current directory");
    if (asprintf(ret_path, "%s%s%s", folder, file[0] == '/' ? "" : "/", file) < 0) {
        *ret_path = NULL;
        return seep_error_no_memory();
    }
    if (strchr(file, '%'))
        return NULL;
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return seep_error_hint(seep_error_system(errno, "%s: cannot write the log", file),
                               "the program was not started; name another file with --log");
    close(fd);
    return NULL;
}

static struct seep_error *open_report(const struct run_values *values, FILE **ret_out) {
    *ret_out = stderr;
    if (!values->report || values->quiet)
        return NULL;
    if (strcmp(values->report, "-") == 0) {
        *ret_out = stdout;
        return NULL;
    }
    FILE *out = fopen(values->report, "we");
    if (!out)
        return seep_error_hint(seep_error_system(errno, "%s: cannot write the report", values->report),
                               "the program was not started; name another file with --report");
    *ret_out = out;
    return NULL;
}

// What to do where a report could not be written.
static const char *again(bool saved) {
    return saved ? "make room, and 'seep report' of the trace makes it again"
                 : "make room, or name another file with --report, and run it again";
}

// stdout is checked by main, and what stderr does not take cannot be told. `made`: there is a report in
// it.
static struct seep_error *close_report(FILE *out, const struct run_values *values, bool made, bool saved) {
    if (out == stdout || out == stderr)
        return NULL;
    struct seep_error *err = seep_result_close(out, values->report, "the report", again(saved));
    if (!err && !made)
        seep_result_drop(values->report);
    return err;
}

// *ret_name: the file it was saved in, malloc'ed; NULL for standard output.
static struct seep_error *save(const struct seep_session *session, const char *pattern, const char *program,
                               struct seep_recording *recording, char **ret_name) {
    char *name = NULL;
    if (recording && seep_recording_is_open(recording))
        return seep_recording_save(recording, session, ret_name);
    if (pattern && strcmp(pattern, "-") == 0)
        return seep_session_save(session, "-");
    struct seep_error *err = seep_trace_name(pattern ? pattern : SEEP_TRACE_NAME_DEFAULT, program,
                                             session->profiles[0]->process.pid, &name);
    if (!err && !pattern) {
        err = seep_session_save_beside(session, name, ret_name);
        free(name);
        return err;
    }
    if (!err)
        err = seep_session_save(session, name);
    if (err) {
        free(name);
        return err;
    }
    *ret_name = name;
    return NULL;
}

// ---- leaks ----

// Without a scan, all that remains. Processes that went on with exec or were killed had no chance to
// free anything.
static uint64_t nr_leaks(const struct seep_profile *profile, uint32_t kinds) {
    uint64_t nr = 0;
    if (!profile->leaks.known)
        return profile->process.exit_kind == SEEP_EXIT_CODE && !seep_profile_why_not_looked(profile)
                   ? seep_profile_leaked(profile).blocks
                   : 0;
    for (uint32_t kind = SEEP_KIND_LOST; kind < SEEP_KIND_NR; kind++)
        nr += kinds >> kind & 1 ? profile->leaks.blocks[kind] : 0;
    return nr;
}

// Those of them that --ignore-last lets go.
static uint64_t nr_late(const struct seep_profile *profile, uint32_t kinds, unsigned percent) {
    uint64_t nr = 0;
    for (size_t i = 0; percent && i < profile->nr_blocks; i++) {
        uint32_t kind = profile->block_kinds ? profile->block_kinds[i] : SEEP_KIND_UNKNOWN;
        if (profile->block_kinds && !(kinds >> kind & 1))
            continue;
        nr += !seep_profile_block_suppressed(profile, i) &&
              seep_profile_is_late(profile, &profile->blocks[i], percent);
    }
    return nr;
}

// A check must not pass because there was no look.
static bool fails_unseen(const struct seep_profile *profile) {
    const struct seep_note *note;
    if (profile->process.exit_kind != SEEP_EXIT_CODE ||
        seep_profile_verdict(profile, &note) != SEEP_VERDICT_NOT_TRACED)
        return false;
    seep_command_fail(seep_error_hint(
        seep_error_create(SEEP_E_UNSUPPORTED,
                          "--error-exitcode: the program was not traced, its leaks are not known"),
        "the report says why"));
    return true;
}

// Nor while somebody who has blocks is still at work, and may yet lose them, or where one ended unseen.
static bool fails_unknown(const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        const struct seep_profile *profile = session->profiles[i];
        bool running = profile->process.exit_kind == SEEP_EXIT_RUNNING;
        bool unseen = profile->process.exit_kind == SEEP_EXIT_UNKNOWN || seep_profile_why_not_looked(profile);
        if (!(running || unseen) || profile->leaks.known || !profile->totals.live_blocks)
            continue;
        seep_command_fail(seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "--error-exitcode: process %u %s, its leaks are not known",
                              (unsigned)profile->process.pid,
                              running ? "was still running when the program had ended"
                                      : "ended before it could be looked at"),
            running ? "let the program wait for it, or leave such processes out: "
                      "--children ignore"
                    : "the report says why; children may be left out: --children ignore"));
        return true;
    }
    return false;
}

static bool has_leaks(const struct seep_session *session, const struct seep_view_options *view) {
    uint32_t kinds = view->kinds ? view->kinds : SEEP_KINDS_LEAKED;
    unsigned percent = view->ignore_last;
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (nr_leaks(session->profiles[i], kinds) > nr_late(session->profiles[i], kinds, percent))
            return true;
    return fails_unseen(session->profiles[0]) || fails_unknown(session);
}

// A process is leaving: it is let go as soon as its memory has been read.
static struct seep_error *look(void *data, struct seep_run_parked *parked,
                               struct seep_profile **ret_profile) {
    struct seep_scan_target target = {
        .pid = parked->image->pid, .image_fd = parked->image->fd, .parked_sp_rt = parked->sp_rt};
    struct seep_scan_options options = {.roots = SEEP_ROOTS_ALL, .variables = data};
    struct seep_scan *scan = NULL;
    struct seep_error *err = seep_scan_look(&target, &options, &scan);
    seep_run_release(parked);
    if (!err)
        err = seep_scan_finish(scan, ret_profile);
    seep_scan_destroy(scan);
    return err;
}

// ---- while it runs ----

// The file with the trace so far.
struct kept {
    char *name; // malloc'ed; NULL: none yet
    dev_t device;
    ino_t inode;
};

struct watcher {
    const struct run_values *values;
    const struct seep_view_options *view;
    struct seep_symbols *symbols;
    FILE *out; // NULL: no reports
    const char *program;
    struct kept kept;
};

static void looked(void *data, const struct seep_session *session) {
    struct watcher *watcher = data;
    struct seep_view_options view = *watcher->view;
    view.by = SEEP_BY_SITE;
    view.sort = view.sort == SEEP_SORT_AUTO || view.sort == SEEP_SORT_GROWTH ? SEEP_SORT_LIVE : view.sort;
    view.kinds = 0;
    if (!watcher->out)
        return;
    struct seep_error *err = seep_report_outstanding(watcher->out, session, watcher->symbols, &view);
    fflush(watcher->out);
    if (err)
        seep_command_fail(err);
    if (ferror(watcher->out))
        watcher->out = NULL; // they are not read; the trace goes on
}

// "app.seep" becomes "app.snap.seep".
static struct seep_error *snap_name(const struct watcher *watcher, uint32_t pid, char **ret_name) {
    const char *pattern = watcher->values->output;
    if (!pattern || strcmp(pattern, "-") == 0)
        pattern = SEEP_TRACE_NAME_DEFAULT;
    size_t length = strlen(pattern);
    bool ends = length > 5 && strcmp(pattern + length - 5, ".seep") == 0;
    char *longer = NULL;
    if (asprintf(&longer, "%.*s.snap.seep", (int)(ends ? length - 5 : length), pattern) < 0)
        return seep_error_no_memory();
    struct seep_error *err = seep_trace_name(longer, watcher->program, pid, ret_name);
    free(longer);
    return err;
}

// Others may write to the folder, too: what they put there in its stead is not replaced.
static bool is_ours(const struct kept *kept) {
    struct stat there;
    return lstat(kept->name, &there) == 0 && there.st_dev == kept->device && there.st_ino == kept->inode;
}

// Saves under the name of the final trace: the first time, and again.
static struct seep_error *save_kept(struct kept *kept, const struct seep_session *session,
                                    const struct run_values *values, const char *program) {
    struct stat there;
    struct seep_error *err = NULL;
    if (kept->name && values->output)
        return seep_session_save(session, kept->name);
    if (kept->name && is_ours(kept)) {
        err = seep_session_save_over(session, kept->name);
    } else {
        free(kept->name);
        kept->name = NULL;
        err = save(session, values->output, program, NULL, &kept->name);
    }
    if (!err && lstat(kept->name, &there) == 0) {
        kept->device = there.st_dev;
        kept->inode = there.st_ino;
    }
    return err;
}

// A pipe or a device takes one trace, the final one.
static bool takes_many(const struct watcher *watcher, const struct seep_session *session) {
    char *name = NULL;
    struct stat there;
    struct seep_error *err = !watcher->values->output
                                 ? NULL
                                 : seep_trace_name(watcher->values->output, watcher->program,
                                                   session->profiles[0]->process.pid, &name);
    bool is_file = !err && (!name || stat(name, &there) != 0 || S_ISREG(there.st_mode));
    seep_error_destroy(err); // the final trace says it
    free(name);
    return is_file;
}

// Saves the trace so far.
static void keep(void *data, const struct seep_session *session) {
    struct watcher *watcher = data;
    // The program itself gives the name.
    if (!takes_many(watcher, session) || (!watcher->kept.name && !session->profiles[0]->process.is_main))
        return;
    // Of the last one it is told.
    seep_error_destroy(save_kept(&watcher->kept, session, watcher->values, watcher->program));
}

// Said at once: whatever comes next may come to us, too.
static void reached(void *data, const struct seep_session *session, const struct seep_run_reached *reached) {
    const struct watcher *watcher = data;
    char *name = NULL, *saved = NULL;
    struct seep_error *err = snap_name(watcher, session->profiles[0]->process.pid, &name);
    if (!err)
        err = seep_session_save_beside(session, name, &saved);
    if (err)
        seep_command_fail(seep_error_prefix(err, "--snap-at"));
    else if (!watcher->values->quiet)
        seep_report_reached(stderr, saved, reached->bytes, reached->limit_bytes, reached->what);
    free(saved);
    free(name);
}

// One line, whatever --quiet says: without it seep would seem to hang.
static void waiting(void *data, const struct seep_run_idle *left, size_t nr_left) {
    enum { LISTED_MAX = 5 };
    const struct watcher *watcher = data;
    fputs("seep: ", stderr);
    seep_put_escaped(stderr, watcher->program);
    fprintf(stderr, " has ended, and %zu process%s that it started run%s on: ", nr_left,
            seep_plural_es(nr_left), nr_left == 1 ? "s" : "");
    for (size_t i = 0; i < nr_left && i < LISTED_MAX; i++) {
        fputs(i ? ", " : "", stderr);
        seep_put_escaped(stderr, left[i].name);
        fprintf(stderr, " (%d)", (int)left[i].pid);
    }
    fprintf(stderr, "%s; Ctrl-C reports now, --no-wait never waits\n", nr_left > LISTED_MAX ? ", ..." : "");
}

// What a run comes to when the program has ended.
struct ending {
    const struct run_values *values;
    const struct seep_view_options *view;
    struct seep_suppress *suppress;
    const struct seep_judge *judge; // NULL: none
    struct seep_symbols *symbols;
    FILE *out;
    struct seep_recording *recording;
    struct kept kept; // the file with the trace until then; finish() takes it
    int *status;
};

static struct seep_error *judge(const struct ending *ending, struct seep_session *session,
                                struct seep_symbols *symbols) {
    const struct seep_judge *judge = ending->judge;
    const struct run_values *values = ending->values;
    int failure_status = values->error_exitcode ? (int)values->error_exitcode : 1;
    return judge ? judge->judge(judge->data, session, symbols, values->quiet, failure_status, ending->status)
                 : NULL;
}

static struct seep_error *report(const struct ending *ending, struct seep_session *session,
                                 struct seep_symbols *symbols, const char *source) {
    if (ending->values->quiet || (ending->judge && !ending->values->report))
        return NULL;
    struct seep_error *err = seep_report_selected(ending->out, session, symbols, ending->view, source);
    if (!err || !ending->values->report)
        return err;
    err = seep_error_prefix(err, "%s", ending->values->report);
    return err->code == SEEP_E_IO ? seep_error_hint(err, "%s", again(source != NULL)) : err;
}

// false: something of it failed, which has been said.
static bool finish(struct ending *ending, struct seep_session *session, const char *program) {
    const struct run_values *values = ending->values;
    char *saved = NULL;
    struct seep_error *err = NULL;
    if (ending->kept.name) {
        err = save_kept(&ending->kept, session, values, program);
        saved = ending->kept.name;
        ending->kept.name = NULL;
    } else if (!ending->judge || values->output) {
        err = save(session, values->output, program, ending->recording, &saved);
    }
    if (err) {
        seep_command_fail(err);
        *ending->status = *ending->status ? *ending->status : 1;
    }
    struct seep_symbols *symbols = ending->symbols;
    err = NULL;
    bool looks = !values->quiet || values->html || values->error_exitcode || ending->judge;
    err = looks ? seep_store_complete(session) : NULL;
    if (err) {
        seep_command_fail(err);
        *ending->status = ending->judge || values->error_exitcode ? 1 : *ending->status;
        free(saved);
        return false;
    }
    if (looks)
        err = seep_suppress_apply(ending->suppress, session, symbols);
    if (!err)
        err = report(ending, session, symbols, saved);
    if (!err && values->html) {
        struct seep_page_source page = {.session = session,
                                        .name = saved ? saved : program,
                                        .symbols = symbols,
                                        .options = ending->view,
                                        .max_bytes = SEEP_HTML_BYTES};
        err = seep_html_write(&page, values->html);
    }
    bool done = !err;
    if (err) {
        seep_command_fail(err);
        *ending->status = ending->judge || !*ending->status ? 1 : *ending->status;
    }
    free(saved);
    err = judge(ending, session, symbols);
    if (err) {
        seep_command_fail(err);
        *ending->status = 1;
    }
    return done;
}

// Who asks for ages wants them kept.
static bool needs_ages(const struct seep_view_options *view) {
    return view->older_ns >= 0 || view->ignore_last || view->since || view->until ||
           view->sort == SEEP_SORT_AGE || view->sort == SEEP_SORT_EXIT;
}

struct seep_error *seep_run_judged(const struct seep_arguments *arguments, const struct seep_judge *judge,
                                   int *ret_status) {
    const struct run_values *values = seep_arguments_values(arguments, &seep_run_group);
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    if (values->no_args)
        seep_process_drop_args();
    struct seep_run_options options = {.argv = arguments->operands,
                                       .depth = values->depth,
                                       .sample_bytes = values->sample_bytes,
                                       .age = values->age || needs_ages(view),
                                       .free_stacks = values->free_stacks,
                                       .wipe_freed =
                                           values->wipe_freed < 0 ? judge != NULL : values->wipe_freed,
                                       .ignore_children = values->children == 1,
                                       .wait = !values->no_wait,
                                       .mode = values->mode != MODE_LIVE ? mode_choices[values->mode] : NULL,
                                       .drop = values->drop,
                                       .log_fd = values->log_fd,
                                       .log_columns = values->log_columns,
                                       .scan = values->scan == 0 && !values->sample_bytes &&
                                               values->mode != MODE_COUNT && values->mode != MODE_LOG};
    struct seep_symbols *symbols = NULL;
    FILE *out;
    char *allocator = NULL, *log = NULL;
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct threshold threshold = {0};
    struct seep_error *err = seep_report_check(view);
    if (!err && values->rounds)
        err = seep_error_hint(seep_error_create(SEEP_E_USAGE, "--rounds needs a list of allocators"),
                              "as in seep run --allocator glibc,jemalloc");
    if (!err)
        err = check_quiet(values, view);
    if (!err && !values->quiet && (!judge || values->report))
        err = check_shown(values, view);
    if (!err)
        err = check_interval(values);
    if (!err)
        err = check_mode(values);
    if (!err && values->snap_at)
        err = parse_threshold(values->snap_at, &threshold);
    if (!err)
        err = check_output(values, !judge);
    if (!err && values->html)
        err = seep_trace_place_check(values->html);
    if (!err)
        err = seep_suppress_read(arguments, &suppress);
    if (!err && values->allocator)
        err = seep_allocator_find(values->allocator, &allocator);
    if (!err)
        err = open_report(values, &out);
    if (!err && values->log)
        err = prepare_log(values->log, &log);
    if (!err && values->mode == MODE_RECORD)
        log = seep_recording_rest(values->output ? values->output : SEEP_TRACE_NAME_DEFAULT);
    options.allocator = allocator;
    options.log = log;
    if (!err)
        err = seep_report_symbols(view, NULL, &symbols);
    if (err) {
        free(allocator);
        free(log);
        seep_suppress_deinit(&suppress);
        return err;
    }
    struct seep_symbols *variables = NULL; // of all processes that are looked at
    struct seep_exit_look at_exit = {.look = look};
    struct seep_session *session = NULL;
    struct seep_store *store = NULL;
    int status = 1;
    bool reported = true;
    struct watcher watcher = {
        .values = values, .view = view, .symbols = symbols, .program = arguments->operands[0]};
    bool silent = values->quiet || (judge && !values->report) || seep_output_of(view) != &seep_output_text;
    watcher.out = silent ? NULL : out;
    struct seep_run_watch watch = {.interval_ns = SEEP_MAX(values->interval_ns, INT64_C(0)),
                                   .count = values->count,
                                   .looked = looked,
                                   .snap_bytes = threshold.bytes,
                                   .snap_percent = threshold.percent,
                                   .reached = reached,
                                   .waiting = waiting,
                                   .data = &watcher};
    err = seep_store_create(&store);
    if (!err)
        err = seep_holders_variables(0, &variables);
    at_exit.data = variables;
    struct seep_recording recording = {.pattern = values->output ? values->output : SEEP_TRACE_NAME_DEFAULT,
                                       .program = arguments->operands[0],
                                       .rest = log,
                                       .keep_bytes = values->keep_bytes,
                                       .keeps_others = !values->output};
    if (!err && values->mode == MODE_RECORD)
        err = seep_recording_begin(&recording);
    watch.recorder = recording.recorder;
    bool saves = values->output ? strcmp(values->output, "-") != 0 : !judge;
    watch.keep = saves && values->mode != MODE_RECORD ? keep : NULL;
    if (!err)
        err = seep_session_run(&options, &at_exit, &watch, store, &session, &status);
    if (err) {
        seep_command_fail(err);
        reported = false;
    } else {
        struct ending ending = {values, view,       &suppress,    judge,  symbols,
                                out,    &recording, watcher.kept, &status};
        watcher.kept.name = NULL;
        reported = finish(&ending, session, arguments->operands[0]);
        bool killed = session->profiles[0]->process.exit_kind == SEEP_EXIT_SIGNAL;
        if (!judge && values->error_exitcode && !killed && has_leaks(session, view))
            status = (int)values->error_exitcode;
    }
    free(watcher.kept.name);
    seep_recording_deinit(&recording);
    seep_session_destroy(session);
    seep_store_destroy(store);
    seep_symbols_destroy(variables);
    free(allocator);
    free(log);
    seep_suppress_deinit(&suppress);
    seep_symbols_destroy(symbols);
    err = close_report(out, values, reported, !judge || values->output);
    if (err)
        status = status ? status : 1;
    if (err && reported)
        seep_command_fail(err);
    else
        seep_error_destroy(err);
    *ret_status = status;
    return NULL;
}

// A list of allocators. Nothing is traced then, so what asks for a trace or its report contradicts it.
static struct seep_error *compare(const struct seep_arguments *arguments, const struct run_values *values,
                                  int *ret_status) {
    const struct seep_view_options *view = seep_arguments_values(arguments, &seep_report_group);
    struct run_values plain;
    memcpy(&plain, &run_defaults, sizeof(plain)); // with the bytes between members
    plain.allocator = values->allocator;
    plain.rounds = values->rounds;
    plain.report = values->report;
    bool asks_more = values->quiet || memcmp(&plain, values, sizeof(plain)) != 0;
    const struct seep_output *output = seep_output_of(view);
    bool json = output == &seep_output_json, csv = output == &seep_output_csv;
    if (asks_more || !(json || csv || output == &seep_output_text))
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "a list of allocators compares them, and nothing is traced"),
            "only --rounds, --report, --json and --csv go with it");
    struct seep_compared_run run = {.argv = arguments->operands,
                                    .allocators = values->allocator,
                                    .nr_rounds = values->rounds ? (uint32_t)values->rounds : 10,
                                    .report = values->report,
                                    .json = json,
                                    .csv = csv};
    struct seep_error *error = seep_run_compared(&run, ret_status);
    if (!error)
        return NULL;
    int status = *ret_status;
    *ret_status = seep_command_fail(error);
    if (status == SEEP_EXIT_NOT_FOUND || status == SEEP_EXIT_NOT_EXECUTABLE)
        *ret_status = status;
    return NULL;
}

static struct seep_error *run_run(const struct seep_arguments *arguments, int *ret_status) {
    const struct run_values *values = seep_arguments_values(arguments, &seep_run_group);
    if (values->allocator && strchr(values->allocator, ','))
        return compare(arguments, values, ret_status);
    return seep_run_judged(arguments, NULL, ret_status);
}

const struct seep_command seep_command_run = {
    .name = "run",
    .summary = "trace a program from its start, report when it ends",
    .usage = "[options] [--] PROG [ARG...]",
    .about =
        "The program's input, output and exit status are its own; the report goes to standard error when it\n"
        "has ended, the trace to a file. Exits with 126 or 127 when the program cannot be run.\n",
    .groups = (const struct seep_option_group *const[]){&seep_run_group, &seep_report_group,
                                                        &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep run ./app input.txt", "what app allocated, and what it did not free"},
            {"seep run -q -o app.seep -- ./app --its-own-option",
             "only save the trace, for 'seep report app.seep'"},
            {"seep run --report report.json --json ./app", "the report as JSON, into a file"},
            {"seep run --error-exitcode 9 ./test", "in a script: fail when blocks are lost"},
            {"seep run --allocator glibc,jemalloc ./app", "which allocator would be faster, or smaller?"},
            {NULL},
        },
    .operand = "PROG",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .stop_at_operand = true,
    .run = run_run,
};
