// SPDX-License-Identifier: BSD-2-Clause
// A program started behind a screen, see started_program.h.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text_copy.h"
#include "process/gone.h"
#include "session/started_program.h"
#include "session/session_open.h"
#include "source/run/program.h"

#define LINE_MAX_BYTES 2000u
#define WAIT_NS        INT64_C(20000000000)
#define STEP_NS        5000000
// For a program that does not load the library, but may execute another that does.
#define UNTRACED_NS INT64_C(3000000000)

static struct seep_error *open_output(int *ret_fd) {
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder)
        folder = "/tmp";
    int fd = open(folder, O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) { // not every file system has files without names
        char path[4096];
        snprintf(path, sizeof(path), "%s/seep-output-XXXXXX", folder);
        fd = mkostemp(path, O_APPEND | O_CLOEXEC);
        if (fd >= 0)
            unlink(path);
    }
    int trouble = errno;
    if (fd < 0) { // the folder may be read-only
        fd = memfd_create("seep-output", MFD_CLOEXEC);
        if (fd >= 0)
            fcntl(fd, F_SETFL, O_APPEND);
    }
    if (fd < 0)
        return seep_error_hint(
            seep_error_system(trouble, "no file in %s for what the program writes", folder),
            "name another folder by TMPDIR");
    *ret_fd = fd;
    return NULL;
}

// /dev/null. If that does not exist, as in a small root, a pipe without a writer.
static int open_nothing(void) {
    int ends[2];
    int fd = open("/dev/null", O_RDONLY);
    if (fd >= 0 || pipe(ends) != 0)
        return fd;
    close(ends[1]);
    return ends[0];
}

static _Noreturn void become(char *const *runner, char *const *program, bool own, int output) {
    size_t nr = 0, nr_first = 0;
    while (program[nr])
        nr++;
    while (runner[nr_first])
        nr_first++;
    char **words = calloc(nr_first + nr + 1, sizeof(*words));
    if (!words)
        _exit(127);
    memcpy(words, runner, nr_first * sizeof(*words));
    memcpy(words + nr_first, program, nr * sizeof(*words));
    if (!own) {
        int nothing = open_nothing();
        setpgid(0, 0);
        if (nothing >= 0)
            dup2(nothing, STDIN_FILENO);
        else
            close(STDIN_FILENO);
        dup2(output, STDOUT_FILENO);
        dup2(output, STDERR_FILENO);
    }
    execv("/proc/self/exe", words);
    dprintf(STDERR_FILENO, "%s: cannot run /proc/self/exe: %s\n", runner[0], strerror(errno));
    _exit(127);
}

// The first child of `seep run` that is traced.
static bool find_program(struct seep_started *started) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)started->run, (int)started->run);
    FILE *file = fopen(path, "re");
    int pid;
    bool found = false;
    while (file && !found && fscanf(file, "%d", &pid) == 1) {
        struct seep_session *session = NULL;
        struct seep_error *error = seep_session_from_pid(pid, &session);
        found = !error;
        started->program = pid;
        seep_error_destroy(error);
        seep_session_destroy(session);
    }
    if (file)
        fclose(file);
    return found;
}

// Reported before the other process reports it in its own words. `ret_why`: why the program will not load the
// library, malloc'ed, or NULL. The program is inspected without a search for libseep.so, because that may
// write libseep.so to a file.
static struct seep_error *check_program(const char *name, char **ret_why) {
    const char *library = getenv("SEEP_LIBRARY");
    struct seep_program program = {NULL};
    int status;
    struct seep_error *error = seep_program_find(name, &program, &status);
    if (!error)
        error = seep_program_inspect(&program, library ? library : "");
    *ret_why = program.why_untraced;
    program.why_untraced = NULL;
    seep_program_deinit(&program);
    return error;
}

static struct seep_error *not_traced(const struct seep_started *started, const char *why) {
    int pid = (int)started->program;
    struct seep_error *error =
        seep_error_create(SEEP_E_NOT_FOUND, "the program runs as process %d, but is not traced%s%s", pid,
                          why ? ": " : "", why ? why : "");
    return why ? error : seep_error_hint(error, "'seep run' says why when it ends");
}

// `wait_status`: of the runner, which ends as the program did.
static struct seep_error *ended_early(struct seep_started *started, char *const *runner, int wait_status) {
    char *last = NULL, *line;
    while ((line = seep_started_line(started))) {
        free(last);
        last = line;
    }
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
    struct seep_error *error = seep_error_create(
        SEEP_E_NOT_FOUND, "the program ended before it could be looked at, with status %d%s%s", status,
        last ? ": " : "", last ? last : "");
    free(last);
    return seep_error_hint(error, "'%s %s' shows what it did", runner[0], runner[1]);
}

static struct seep_error *not_begun(const struct seep_started *started) {
    return seep_error_hint(
        seep_error_create(SEEP_E_NOT_FOUND, "no program has begun within %d s", (int)(WAIT_NS / 1000000000)),
        "process %d, which starts it, still runs", (int)started->run);
}

struct seep_error *seep_started_look_error(struct seep_started *started, char *const *runner,
                                           struct seep_error *error) {
    if (!error || error->code != SEEP_E_NOT_FOUND || !seep_process_is_ending(started->program))
        return error;
    int status;
    for (int i = 0; waitpid(started->run, &status, WNOHANG) == 0; i++) { // its status is the program's
        if (i == WAIT_NS / STEP_NS)
            return error;
        usleep(STEP_NS / 1000);
    }
    seep_error_destroy(error);
    return ended_early(started, runner, status);
}

struct seep_error *seep_started_begin(char *const *runner, char *const *program, bool own,
                                      struct seep_started *ret_started) {
    struct seep_started started = {.output_fd = -1};
    char *why;
    struct seep_error *error = check_program(program[0], &why);
    if (!error)
        error = open_output(&started.output_fd);
    if (error) {
        free(why);
        return error;
    }
    started.run = fork();
    if (started.run == 0)
        become(runner, program, own, started.output_fd);
    if (started.run < 0) {
        error = seep_error_system(errno, "cannot start a process");
        close(started.output_fd);
        free(why);
        return error;
    }
    int64_t until_ns = seep_monotonic_ns() + (why ? UNTRACED_NS : WAIT_NS);
    bool found = false, ended = false;
    int status = -1;
    while (!found && !ended && seep_monotonic_ns() < until_ns) {
        found = find_program(&started);
        ended = !found && waitpid(started.run, &status, WNOHANG) != 0;
        if (!found && !ended)
            usleep(STEP_NS / 1000);
    }
    if (!found) {
        error = ended             ? ended_early(&started, runner, status)
                : started.program ? not_traced(&started, why)
                                  : not_begun(&started);
        close(started.output_fd);
        free(why);
        return error;
    }
    free(why);
    *ret_started = started;
    return NULL;
}

char *seep_started_line(struct seep_started *started) {
    char text[LINE_MAX_BYTES + 1];
    ssize_t nr = pread(started->output_fd, text, LINE_MAX_BYTES, started->told);
    if (nr <= 0)
        return NULL;
    char *end = memchr(text, '\n', (size_t)nr);
    if (!end && nr < (ssize_t)LINE_MAX_BYTES)
        return NULL; // it is being written
    size_t length = end ? (size_t)(end - text) : (size_t)nr;
    started->told += (off_t)length + (end ? 1 : 0);
    for (size_t i = 0; i < length; i++)
        if (!text[i])
            text[i] = ' ';
    return seep_text_copy(text, length);
}

void seep_started_end(struct seep_started *started) {
    waitpid(started->run, NULL, WNOHANG);
    if (started->output_fd >= 0)
        close(started->output_fd);
}
