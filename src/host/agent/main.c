// SPDX-License-Identifier: BSD-2-Clause
//
// seep-agent: the server of docs/protocol.md for machines that have nothing else of seep. One static program:
// it starts programs with the library that it contains, lists traced processes, and answers clients on other
// machines. The client finds names and makes the reports.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/library_inside.h"
#include "base/standard_streams.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "base/version.h"
#include "server/server_address.h"
#include "server/server_stdio.h"
#include "live/look_process.h"
#include "process/gone.h"
#include "session/session_open.h"
#include "session/started_program.h"
#include "source/run/run.h"

static const char usage[] =
    "seep-agent " SEEP_VERSION ": traces programs of this machine for seep on another one\n"
    "\n"
    "  seep-agent run [--] PROG [ARG...]    run a program traced\n"
    "  seep-agent list                      the traced processes of this machine\n"
    "  seep-agent serve [--listen ADDR] [--key FILE] PID | [--keep] -- PROG [ARG...]\n"
    "                                       answer seep top and seep connect, which find the names;\n"
    "                                       --keep: also when PROG has ended and no client is connected\n"
    "\n"
    "ADDR: unix:PATH (default one in a folder of your own), stdio, or tcp:IP:PORT, which needs --key.\n"
    "On your machine: seep connect ssh://HOST/PID, or unix:PATH, or --key FILE tcp:IP:PORT.\n";

// Text of other origin is printed as one line, without escapes for a terminal.
static void put_plain(FILE *out, const char *text) {
    for (; *text; text++)
        fputc((unsigned char)*text < 32 || *text == 127 ? '?' : *text, out);
}

static int fail(struct seep_error *error, int status) {
    if (!status)
        status = error->code == SEEP_E_USAGE ? 2 : 1;
    fputs("seep-agent: ", stderr);
    put_plain(stderr, error->message);
    if (error->hint) {
        fputs(" (", stderr);
        put_plain(stderr, error->hint);
        fputc(')', stderr);
    }
    fputc('\n', stderr);
    seep_error_destroy(error);
    return status;
}

static struct seep_error *misused(const char *what) {
    return seep_error_hint(seep_error_create(SEEP_E_USAGE, "%s", what), "see 'seep-agent --help'");
}

// ---- run ----

// The result is not needed: the agent makes no report of a program that has ended.
static struct seep_error *drop_early(void *data, const struct seep_run_image *image) {
    (void)data, (void)image;
    return NULL;
}

// Processes that may execute another program need the library at its path.
static bool is_needed(const struct seep_run *run) {
    for (size_t i = 0; i < run->nr_images; i++)
        if (run->images[i].fd >= 0 && !run->images[i].replaced && !seep_run_image_ended(&run->images[i]))
            return true;
    return false;
}

static struct seep_error *run_program(char *const *program, int *ret_status) {
    const struct seep_run_options options = {.argv = program};
    const struct seep_run_events events = {.early = drop_early};
    struct seep_run *run = NULL;
    struct seep_error *error = seep_run_program(&options, &events, &run, ret_status);
    if (error) {
        seep_library_inside_remove();
        return error;
    }
    if (run->why_untraced) {
        fputs("seep-agent: not traced: ", stderr);
        put_plain(stderr, run->why_untraced);
        fputc('\n', stderr);
    }
    if (seep_library_inside_folder() && is_needed(run))
        fprintf(stderr, "seep-agent: %s is left: processes that use it are still running\n",
                seep_library_inside_folder());
    else
        seep_library_inside_remove();
    *ret_status =
        WIFSIGNALED(run->wait_status) ? 128 + WTERMSIG(run->wait_status) : WEXITSTATUS(run->wait_status);
    seep_run_destroy(run);
    return NULL;
}

// ---- list ----

static struct seep_error *list(void) {
    struct seep_error *error = seep_process_need_proc();
    if (error)
        return error;
    DIR *folder = opendir("/proc");
    if (!folder)
        return seep_error_system(errno, "cannot read /proc");
    printf("%10s %10s %10s  %s\n", "PID", "LIVE", "BLOCKS", "PROGRAM");
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct seep_session *session = NULL;
        int pid = atoi(entry->d_name);
        error = pid > 0 ? seep_session_from_pid(pid, &session) : NULL;
        seep_error_destroy(error); // it is not traced, or not ours
        if (!session)
            continue;
        const struct seep_profile *profile = session->profiles[0];
        printf("%10d %10s %10s  ", pid, seep_format_bytes(profile->totals.live_bytes).text,
               seep_format_count(profile->totals.live_blocks).text);
        put_plain(stdout, profile->process.name ? profile->process.name : "");
        fputc('\n', stdout);
        seep_session_destroy(session);
    }
    closedir(folder);
    return NULL;
}

// ---- serve ----

static char own_name[] = "seep-agent", own_run[] = "run", own_end[] = "--";
static char *const runner[] = {own_name, own_run, own_end, NULL};

static void tell(const struct seep_server_listens *listens) {
    if (listens->made_key)
        fprintf(stderr, "seep-agent: made the key %s: clients need a copy of it\n", listens->made_key);
    if (*listens->address) {
        puts(listens->address);
        fflush(stdout);
    }
}

static struct seep_error *serve_started(char *const *program, const char *where, const char *key_file,
                                        bool keep) {
    struct seep_started started = {.output_fd = -1};
    struct seep_live_source source = {.is_pid = true};
    struct seep_error *error = seep_started_begin(runner, program, !seep_server_is_stdio(where), &started);
    if (error)
        return error;
    source.pid = started.program;
    source.is_ours = true;
    source.started = seep_look_started(source.pid);
    error = seep_server_address_serve(&source, where, key_file, keep, tell);
    error = seep_started_look_error(&started, runner, error);
    seep_started_end(&started);
    return error;
}

static struct seep_error *serve_pid(const char *text, const char *where, const char *key_file) {
    struct seep_live_source source = {.name = text};
    struct seep_error *error = seep_parse_pid(text, &source.is_pid, &source.pid);
    if (!error && !source.is_pid)
        error = misused("serve: PID must be a number");
    if (error)
        return error;
    source.started = seep_look_started(source.pid);
    bool done = false;
    if (seep_server_is_stdio(where))
        error = seep_server_stdio_run(&source, &done);
    return error || done ? error : seep_server_address_serve(&source, where, key_file, true, tell);
}

static struct seep_error *serve(char **words) {
    const char *where = NULL, *key_file = NULL;
    bool ended = false, keep = false;
    for (; *words && **words == '-' && !ended; words++) {
        ended = strcmp(*words, "--") == 0;
        if (strcmp(*words, "--keep") == 0) {
            keep = true;
            continue;
        }
        const char **value = strcmp(*words, "--listen") == 0 ? &where
                             : strcmp(*words, "--key") == 0  ? &key_file
                                                             : NULL;
        if (!ended && (!value || !words[1]))
            return misused(value ? "serve: an option without its value" : "serve: there is no such option");
        if (value)
            *value = *++words;
    }
    struct seep_error *error = seep_server_address_check(where, key_file);
    if (!error && (!*words || (!ended && words[1])))
        error = misused("serve: one PID, or a program behind --");
    if (error)
        return error;
    seep_interrupt_catch(NULL);
    return ended ? serve_started(words, where, key_file, keep) : serve_pid(*words, where, key_file);
}

int main(int argc, char **argv) {
    seep_hold_standard_streams();
    int status = 0;
    struct seep_error *error = NULL;
    const char *command = argc > 1 ? argv[1] : "";
    char **words = argv + (argc > 1 ? 2 : 1);
    if (strcmp(command, "run") == 0) {
        bool ended = *words && strcmp(*words, "--") == 0;
        words += ended;
        error =
            *words && **words == '-' && !ended
                ? misused(
                      "run: it has no options; a recording is made by 'seep run', and what a program holds "
                      "is shown by 'seep connect'")
            : *words ? run_program(words, &status)
                     : misused("run: no program");
    } else if (strcmp(command, "list") == 0) {
        error = *words ? misused("list: takes no words") : list();
    } else if (strcmp(command, "serve") == 0) {
        error = serve(words);
    } else if (strcmp(command, "--version") == 0 || strcmp(command, "-V") == 0) {
        puts("seep-agent " SEEP_VERSION);
    } else if (strcmp(command, "--help") == 0 || strcmp(command, "-h") == 0 || strcmp(command, "help") == 0) {
        fputs(usage, stdout);
    } else {
        error = misused(*command ? "there is no such command" : "no command");
    }
    if (error)
        return fail(error, status);
    if (fflush(stdout) != 0 && !status)
        return fail(seep_error_hint(seep_error_system(errno, "cannot write to standard output"),
                                    "write to another place"),
                    0);
    return status;
}
