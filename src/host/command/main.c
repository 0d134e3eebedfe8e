// SPDX-License-Identifier: BSD-2-Clause
//
// The tool: finds the command, has its options parsed, runs it, prints its error. Standard output is
// checked at the end: a report that could not be written is an error, not a success. SIGPIPE keeps
// its usual meaning, so that `seep report x | head` ends quietly; where it is ignored the broken
// pipe is reported like any other failed write.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/large.h"
#include "base/standard_streams.h"
#include "base/version.h"
#include "command/command.h"
#include "command/options.h"
#include "command/own_stack.h"
#include "command/result_file.h"
#include "output/format.h"

static int run_command(const struct seep_command *command, int argc, char **argv) {
    struct seep_arguments arguments;
    struct seep_error *error = seep_arguments_parse(command, argc, argv, &arguments);
    if (error)
        return seep_command_fail(error);
    int status = 0;
    if (arguments.help)
        seep_help_command(command);
    else
        error = command->run(&arguments, &status);
    seep_arguments_deinit(&arguments);
    return error ? seep_command_fail(error) : status;
}

// The status, or 1 with a message where standard output did not take all that was written.
static int close_output(int status) {
    struct seep_error *error = seep_stream_check(stdout, "to standard output");
    if (!error)
        return status;
    int failure = seep_command_fail(error);
    return status ? status : failure;
}

static struct seep_error *unknown_option(const char *option) {
    static const char *const known[] = {"--version", "--help", NULL};
    const char *nearest = seep_nearest(option, known);
    struct seep_error *error =
        seep_error_create(SEEP_E_USAGE, "unknown option '%s' before the command", option);
    if (nearest)
        return seep_error_hint(
            error, "did you mean '%s'? other options come after the command; see 'seep help'", nearest);
    return seep_error_hint(error, "the command comes first: 'seep COMMAND [options]'; see 'seep help'");
}

static int dispatch(int argc, char **argv) {
    if (argc < 2)
        return seep_command_fail(
            seep_error_hint(seep_error_create(SEEP_E_USAGE, "no command given"), "see 'seep help'"));
    const char *name = argv[1];
    if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0) {
        printf("seep %s\n", SEEP_VERSION);
        return 0;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        seep_help_commands();
        return 0;
    }
    if (name[0] == '-')
        return seep_command_fail(unknown_option(name));
    const struct seep_command *command = seep_command_find(name);
    if (!command)
        return seep_command_fail(seep_command_unknown(name));
    return run_command(command, argc - 1, argv + 1);
}

static void file_is_too_big(int signal) {
    (void)signal; // the write that did it fails with EFBIG, which is reported
}

// Beyond `ulimit -f` a write fails like any other. A handler, not SIG_IGN: exec sets it back, so that the
// programs that we start have what we were started with.
static void survive_file_limit(void) {
    struct sigaction before;
    const struct sigaction action = {.sa_handler = file_is_too_big, .sa_flags = SA_RESTART};
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

// A terminal gets each line at once, so it keeps the buffer of stdio.
static void enlarge_output(void) {
    static char buffer[SEEP_OUTPUT_BUFFER_BYTES];
    if (!isatty(STDOUT_FILENO))
        (void)setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
}

int main(int argc, char **argv) {
    seep_hold_standard_streams();
    seep_large_reuse();
    enlarge_output();
    survive_file_limit();
    return close_output(seep_on_large_stack(dispatch, argc, argv));
}
