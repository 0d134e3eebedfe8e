// SPDX-License-Identifier: BSD-2-Clause
// `seep service enable|disable|status UNIT`: a service of systemd is traced, by one drop-in and nothing else.
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/text_copy.h"
#include "base/words.h"
#include "command/command.h"
#include "output/format.h"
#include "output/wrap.h"
#include "service/drop_in.h"
#include "service/obstacles.h"
#include "service/output_folder.h"
#include "service/systemctl.h"
#include "service/watch_unit.h"
#include "session/session_open.h"
#include "source/run/program.h"
#include "source/run/run.h"

#define KEEP_DEFAULT (UINT64_C(512) << 20)

static const char *const modes[] = {"live", "count", "record", NULL};

struct service_values {
    bool user;
    bool dry_run;
    bool restart;
    bool age;
    int mode;
    const char *folder;
    const char *signal;
    const char *snap_at;
    uint64_t sample_bytes;
    uint64_t depth;
    uint64_t keep_bytes;
    int64_t every_ns;
};

static const struct seep_option service_options[] = {
    {"user", 0, SEEP_OPTION_FLAG, offsetof(struct service_values, user),
     .help = "a service of your own manager (systemctl --user)"},
    {"dry-run", 'n', SEEP_OPTION_FLAG, offsetof(struct service_values, dry_run),
     .help = "change nothing, print what would be done"},
    {"restart", 0, SEEP_OPTION_FLAG, offsetof(struct service_values, restart),
     .help = "restart the service, if it runs: it is traced, or not any more, from then on"},
    {NULL},
};

static const struct seep_option enable_options[] = {
    {"mode", 0, SEEP_OPTION_CHOICE, offsetof(struct service_values, mode), .value = "WHICH", .choices = modes,
     .help = "as seep run has it (default live)"},
    {"sample", 0, SEEP_OPTION_SIZE, offsetof(struct service_values, sample_bytes), .value = "SIZE",
     .max = SEEP_SAMPLE_BYTES_MAX, .help = "record about one allocation in SIZE bytes (default 0: all)"},
    {"depth", 0, SEEP_OPTION_NUMBER, offsetof(struct service_values, depth), .value = "N", .min = 1,
     .max = 16384, .help = "keep the N innermost frames of a stack (default: all)"},
    {"age", 0, SEEP_OPTION_FLAG, offsetof(struct service_values, age),
     .help = "keep when, and by which thread, each live block was allocated"},
    {"signal", 0, SEEP_OPTION_STRING, offsetof(struct service_values, signal), .value = "NAME",
     .help = "the service saves a snapshot when it gets this signal, PROF for example (default: none)"},
    {"every", 0, SEEP_OPTION_DURATION, offsetof(struct service_values, every_ns), .value = "T",
     .help = "a snapshot of each process every T (default: none)"},
    {"snap-at", 0, SEEP_OPTION_STRING, offsetof(struct service_values, snap_at), .value = "80%|SIZE",
     .help = "a snapshot, once a start, when memory comes to that: of its limit, or SIZE"},
    {"folder", 0, SEEP_OPTION_STRING, offsetof(struct service_values, folder), .value = "DIR",
     .help = "where traces go (default /var/lib/seep/UNIT, or the state folder of the user)"},
    {"keep", 0, SEEP_OPTION_SIZE, offsetof(struct service_values, keep_bytes), .value = "SIZE",
     .help = "the oldest traces go when the folder comes to more (default 512M; 0: no bound)"},
    {NULL},
};

// Both groups fill the same struct: options of enable stand under a heading of their own.
static const struct service_values defaults = {.keep_bytes = KEEP_DEFAULT};
static const struct seep_option_group service_group = {
    .title = "Options", .options = service_options, .values_bytes = sizeof(struct service_values)};
static const struct seep_option_group enable_group = {.title = "What enable writes",
                                                      .options = enable_options,
                                                      .values_bytes = sizeof(struct service_values),
                                                      .defaults = &defaults};

struct call {
    struct service_values values; // of both groups
    const char *unit;
};

// ---- enable ----

static struct seep_error *parse_snap_at(const char *text, struct seep_service_options *options) {
    if (!text)
        return NULL;
    size_t length = strlen(text);
    if (!length || text[length - 1] != '%')
        return seep_parse_size("--snap-at", text, &options->at_bytes);
    char *number = seep_text_copy(text, length - 1);
    uint64_t percent = 0;
    struct seep_error *error =
        number ? seep_parse_number("--snap-at", number, 1, 99, &percent) : seep_error_no_memory();
    free(number);
    options->at_percent = (uint32_t)percent;
    return error;
}

static struct seep_error *own_path(char *ret_path, size_t room) {
    ssize_t nr = readlink("/proc/self/exe", ret_path, room - 1);
    if (nr <= 0)
        return seep_error_create(SEEP_E_NOT_FOUND, "cannot tell where seep itself is");
    ret_path[nr] = 0;
    return NULL;
}

static struct seep_error *check_words(const struct seep_service_options *options) {
    const char *const words[] = {options->tool, options->library, options->folder, options->signal};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(words); i++)
        for (const char *at = words[i]; at && *at; at++)
            if ((unsigned char)*at < ' ' || *at == 0x7f)
                return seep_error_create(SEEP_E_USAGE,
                                         "a name with control characters cannot go into a unit");
    if (strpbrk(options->library, ": "))
        return seep_error_create(SEEP_E_UNSUPPORTED, "%s: LD_PRELOAD takes no path with a space or a colon",
                                 options->library);
    if (*options->folder != '/')
        return seep_error_create(SEEP_E_USAGE, "--folder %s: an absolute path is wanted", options->folder);
    return NULL;
}

static struct seep_error *show_obstacles(const struct seep_unit *unit,
                                         const struct seep_service_options *options) {
    struct seep_obstacles found;
    seep_obstacles_find(unit, options, &found);
    struct seep_style style = seep_style_of(stderr);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stderr, &style);
    bool fatal = false;
    for (size_t i = 0; i < found.nr_items; i++) {
        fputs(found.items[i].fatal ? "seep: it would not be traced: " : "seep: note: ", out);
        seep_put_escaped(out, found.items[i].text);
        fputc('\n', out);
        fatal |= found.items[i].fatal;
    }
    seep_wrap_done(&wrap);
    return fatal ? seep_error_create(SEEP_E_UNSUPPORTED, "%s: nothing was changed", unit->id) : NULL;
}

static void show_preload(const struct seep_unit *unit, const char *library) {
    if (!*unit->preload)
        return;
    struct seep_style style = seep_style_of(stderr);
    struct seep_wrap wrap;
    FILE *out = seep_wrap_begin(&wrap, stderr, &style);
    fputs("seep: note: it has LD_PRELOAD=", out);
    seep_put_escaped(out, unit->preload);
    fputs(", which stays, behind ", out);
    seep_put_escaped(out, library);
    fputc('\n', out);
    seep_wrap_done(&wrap);
}

// What follows a change of the drop-in: the manager reads it, and the service starts anew if that is asked
// for.
static struct seep_error *apply(const struct call *call, const struct seep_unit *unit) {
    const char *manager = call->values.user ? "systemctl --user" : "systemctl";
    if (call->values.dry_run) {
        printf("run    %s daemon-reload\n", manager);
        if (call->values.restart)
            printf("run    %s try-restart %s\n", manager, unit->id);
        return NULL;
    }
    struct seep_error *error =
        seep_systemctl(call->values.user, (const char *const[]){"daemon-reload", NULL}, NULL);
    if (!error && call->values.restart)
        error = seep_systemctl(call->values.user, (const char *const[]){"try-restart", "--", unit->id, NULL},
                               NULL);
    return error;
}

static struct seep_error *write_drop_in(const struct call *call, const struct seep_unit *unit,
                                        const struct seep_service_options *options) {
    char *path = NULL, *text = NULL;
    struct seep_error *error = seep_drop_in_path(unit, &path);
    if (!error)
        error = seep_drop_in_text(unit, options, &text);
    if (!error && call->values.dry_run)
        printf("make   %s\nmake   %s/exit\nwrite  %s\n%s", options->folder, options->folder, path, text);
    else if (!error)
        error = seep_output_folder_make(unit, options->folder);
    if (!error && !call->values.dry_run) {
        error = seep_drop_in_write(path, text);
        if (error)
            seep_output_folder_drop(options->folder);
        else
            printf("wrote  %s\n", path);
    }
    free(text);
    free(path);
    return error;
}

static struct seep_error *enable_with(const struct call *call, const struct seep_unit *unit,
                                      struct seep_service_options *options) {
    struct seep_error *error = check_words(options);
    if (!error)
        error = show_obstacles(unit, options);
    if (error)
        return error;
    show_preload(unit, options->library);
    error = write_drop_in(call, unit, options);
    if (!error)
        error = apply(call, unit);
    if (error || call->values.dry_run)
        return error;
    printf("traces %s", options->folder);
    if (options->keep_bytes)
        printf(", at most %s", seep_format_bytes(options->keep_bytes).text);
    const char *user = call->values.user ? " --user" : "";
    if (call->values.restart)
        printf("\nnext:  seep service status%s %s\n", user, unit->id);
    else
        printf("\nnext:  systemctl%s restart %s   (it is traced from then on)\n", user, unit->id);
    return NULL;
}

static struct seep_error *enable(const struct call *call, struct seep_unit *unit) {
    char *path = NULL;
    struct seep_error *error = seep_drop_in_path(unit, &path);
    if (error)
        return error;
    unit->added = seep_drop_in_calls(path);
    free(path);
    const struct service_values *values = &call->values;
    struct seep_service_options options = {.mode = values->mode ? modes[values->mode] : NULL,
                                           .signal = values->signal,
                                           .sample_bytes = values->sample_bytes,
                                           .depth = values->depth,
                                           .keep_bytes = values->keep_bytes,
                                           .every_ns = values->every_ns,
                                           .age = values->age,
                                           .nr_filters = seep_process_filters(unit->main_pid)};
    seep_filter_missing(unit, options.calls, sizeof(options.calls));
    char tool[PATH_MAX], *library = NULL, *folder = NULL;
    error = parse_snap_at(values->snap_at, &options);
    if (!error)
        error = own_path(tool, sizeof(tool));
    if (!error)
        error = seep_library_place(options.mode != NULL, &library);
    if (!error && !seep_library_can_be_named(library)) // a link would last until the next boot
        error = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                  "cannot preload '%s': its path has a space or a colon",
                                                  library),
                                "copy it elsewhere and name it with SEEP_LIBRARY");
    if (!error && !values->folder)
        error = seep_output_folder_name(unit, &folder);
    if (!error) {
        options.tool = tool;
        options.library = library;
        options.folder = values->folder ? values->folder : folder;
        error = enable_with(call, unit, &options);
    }
    free(folder);
    free(library);
    return error;
}

// ---- disable ----

static struct seep_error *disable(const struct call *call, const struct seep_unit *unit) {
    char *path = NULL, *folder = NULL;
    uint64_t keep_bytes = 0;
    bool was = false;
    struct seep_error *error = seep_drop_in_path(unit, &path);
    if (!error)
        error = seep_drop_in_read(path, &folder, &keep_bytes);
    if (!error && !folder)
        error = seep_error_create(SEEP_E_NOT_FOUND, "%s is not enabled: there is no %s", unit->id, path);
    if (!error && call->values.dry_run)
        printf("remove %s\n", path);
    else if (!error)
        error = seep_drop_in_remove(path, &was);
    if (was)
        printf("removed %s\n", path);
    if (!error)
        error = apply(call, unit);
    if (!error && !call->values.dry_run) {
        struct seep_output_folder_sum sum = {0, 0};
        seep_output_folder_drop(folder);
        if (access(folder, F_OK) == 0) {
            seep_error_destroy(seep_output_folder_trim(folder, 0, &sum));
            printf("kept    %s: %" PRIu64 " trace%s, %s\n", folder, sum.nr_files, seep_plural(sum.nr_files),
                   seep_format_bytes(sum.nr_bytes).text);
        }
        if (!call->values.restart && unit->main_pid)
            printf("next:   systemctl%s restart %s   (until then it stays as it is)\n",
                   call->values.user ? " --user" : "", unit->id);
    }
    free(folder);
    free(path);
    return error;
}

// ---- status ----

static void show_process(FILE *out, pid_t pid, bool is_main, uint64_t *nr_traced) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_from_pid(pid, &session);
    if (error) {
        if (is_main) {
            fprintf(out, "process  %d is not traced: ", (int)pid);
            seep_put_escaped(out, error->message);
            fputc('\n', out);
        }
        seep_error_destroy(error);
        return;
    }
    const struct seep_profile *profile = session->profiles[0];
    ++*nr_traced;
    fprintf(out, "process  %d ", (int)pid);
    seep_put_escaped(out, profile->process.name);
    fprintf(out, ": traced since %s, holds %s in %s blocks\n",
            seep_format_time(profile->process.start_realtime_ns).text,
            seep_format_bytes(profile->totals.live_bytes).text,
            seep_format_count(profile->totals.live_blocks).text);
    seep_session_destroy(session);
}

static struct seep_error *show_processes(FILE *out, const struct seep_unit *unit, bool enabled) {
    pid_t *pids = NULL;
    size_t nr = 0;
    uint64_t nr_traced = 0;
    struct seep_error *error = seep_unit_processes(unit->group, &pids, &nr);
    if (!error && !nr)
        fprintf(out, "process  none: it does not run\n");
    for (size_t i = 0; !error && i < nr; i++)
        show_process(out, pids[i], pids[i] == unit->main_pid, &nr_traced);
    free(pids);
    if (!error && enabled && !nr_traced && nr)
        fprintf(out,
                "next:    systemctl%s restart %s   (it has been running since before it was enabled, or "
                "cannot be "
                "traced)\n",
                unit->user ? " --user" : "", unit->id);
    else if (!error && nr_traced && unit->main_pid)
        fprintf(out, "next:    seep report %d\n", (int)unit->main_pid);
    return error;
}

static struct seep_error *put_status(FILE *out, const struct seep_unit *unit, int *ret_status) {
    char *path = NULL, *folder = NULL;
    uint64_t keep_bytes = 0;
    struct seep_error *error = seep_drop_in_path(unit, &path);
    if (!error)
        error = seep_drop_in_read(path, &folder, &keep_bytes);
    if (!error) {
        fprintf(out, "service  %s, %s since %s\n", unit->id, unit->active,
                *unit->state_time ? unit->state_time : "-");
        fprintf(out, "enabled  %s%s%s%s\n", folder ? "yes, by " : "no", folder ? path : "",
                folder && !unit->enabled ? ", which systemd has not read yet: systemctl daemon-reload" : "",
                !folder && unit->enabled ? ", but systemd still has the drop-in: systemctl daemon-reload"
                                         : "");
        *ret_status = folder ? 0 : 3; // as systemctl status of what does not run
    }
    if (!error && folder) {
        struct seep_output_folder_sum sum = {0, 0};
        struct seep_error *trouble = seep_output_folder_trim(folder, 0, &sum);
        fprintf(out, "traces   %s: ", folder);
        if (trouble)
            fprintf(out, "%s\n", trouble->message);
        else
            fprintf(out, "%" PRIu64 ", %s%s%s\n", sum.nr_files, seep_format_bytes(sum.nr_bytes).text,
                    keep_bytes ? " of at most " : "", keep_bytes ? seep_format_bytes(keep_bytes).text : "");
        seep_error_destroy(trouble);
    }
    if (!error)
        error = show_processes(out, unit, folder != NULL);
    free(folder);
    free(path);
    return error;
}

static struct seep_error *status_of(const struct call *call, const struct seep_unit *unit, int *ret_status) {
    struct seep_style style = seep_style_of(stdout);
    struct seep_wrap wrap;
    struct seep_error *error = put_status(seep_wrap_begin(&wrap, stdout, &style), unit, ret_status);
    return seep_wrap_end(&wrap, error);
}

// ---- what the drop-in starts ----

static void print_trouble(void *data, const struct seep_error *error) {
    fputs("seep: ", stderr); // the journal
    seep_put_escaped(stderr, error->message);
    fputc('\n', stderr);
}

// The start of the service waits for us: the watching is a child's.
static struct seep_error *watch(const struct call *call) {
    const char *pid = getenv("MAINPID");
    struct seep_service_options options = {.folder = call->values.folder};
    struct seep_error *error = options.folder ? parse_snap_at(call->values.snap_at, &options)
                                              : seep_error_create(SEEP_E_USAGE, "watch: --folder is missing");
    if (error)
        return error;
    struct seep_unit_watch watching = {.folder = options.folder,
                                       .keep_bytes = call->values.keep_bytes,
                                       .every_ns = call->values.every_ns,
                                       .at_bytes = options.at_bytes,
                                       .at_percent = options.at_percent,
                                       .main_pid = pid ? (pid_t)strtol(pid, NULL, 10) : 0,
                                       .trouble = print_trouble};
    pid_t child = fork();
    if (child)
        return child < 0 ? seep_error_create(SEEP_E_IO, "watch: cannot fork") : NULL;
    if (chdir("/") != 0)
        return seep_error_create(SEEP_E_IO, "watch: cannot go to /");
    seep_interrupt_catch(NULL);
    return seep_unit_watch(&watching);
}

// ---- the command ----

static struct seep_error *run_service(const struct seep_arguments *arguments, int *ret_status) {
    static const char *const actions[] = {"enable", "disable", "status", NULL};
    const char *action = arguments->operands[0];
    const struct service_values *common = seep_arguments_values(arguments, &service_group);
    struct call call = {.values =
                            *(const struct service_values *)seep_arguments_values(arguments, &enable_group),
                        .unit = arguments->operands[1]};
    call.values.user = common->user;
    call.values.dry_run = common->dry_run;
    call.values.restart = common->restart;
    if (strcmp(action, "watch") == 0)
        return watch(&call);
    size_t which = 0;
    while (actions[which] && strcmp(actions[which], action) != 0)
        which++;
    if (!actions[which]) {
        const char *near = seep_nearest(action, actions);
        struct seep_error *error = seep_error_create(SEEP_E_USAGE, "service: unknown action '%s'", action);
        return seep_error_hint(error, "%s%s%s", near ? "did you mean '" : "enable, disable or status",
                               near ? near : "", near ? "'?" : "");
    }
    struct seep_unit *unit = NULL;
    struct seep_error *error = seep_unit_find(call.values.user, call.unit, &unit);
    if (!error)
        error = which == 0   ? enable(&call, unit)
                : which == 1 ? disable(&call, unit)
                             : status_of(&call, unit, ret_status);
    seep_unit_destroy(unit);
    return error;
}

const struct seep_command seep_command_service = {
    .name = "service",
    .summary = "trace a service of systemd, by one drop-in",
    .usage = "enable|disable|status [options] UNIT",
    .about = "enable writes one drop-in, 50-seep.conf, and nothing else; disable removes exactly that file. "
             "What would\n"
             "keep the service from being traced is named before anything is written. status says whether "
             "the running\n"
             "processes are traced, since when, and what they hold. Snapshots, and the last state of a "
             "process that is\n"
             "killed, are saved by a process that runs beside the service and ends with it.\n",
    .groups = (const struct seep_option_group *const[]){&service_group, &enable_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep service enable --restart nginx", "trace it from now on"},
            {"seep service enable --dry-run nginx", "what would be written and run"},
            {"seep service enable --sample 512K --every 6h --keep 200M nginx", "for weeks, on a small disk"},
            {"seep service status nginx", "is it really traced, and what does it hold?"},
            {"seep service disable --restart nginx", "as before"},
            {NULL},
        },
    .operand = "ACTION UNIT",
    .min_operands = 2,
    .max_operands = 2,
    .run = run_service,
};
