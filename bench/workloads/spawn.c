// SPDX-License-Identifier: BSD-2-Clause
//
// Start-up time: runs commands in turn, COUNT times each, and prints for each the microseconds that
// every run took, as JSON. Commands are separated by "::"; NAME=VALUE words before a command are set
// in its environment.
//
//   spawn COUNT [NAME=VALUE...] COMMAND [ARG...] [:: [NAME=VALUE...] COMMAND [ARG...]]...
#include <spawn.h>
#include <sys/wait.h>

#include "bench.h"

extern char **environ;

struct command {
    char **environment, **arguments;
    double *took_us;
};

static char **with_settings(char **settings, int nr) {
    int old = 0;
    while (environ[old])
        old++;
    char **environment = bench_check(calloc((size_t)(old + nr) + 1, sizeof(*environment)));
    for (int i = 0; i < nr; i++)
        environment[i] = settings[i];
    for (int i = 0; i < old; i++)
        environment[nr + i] = environ[i];
    return environment;
}

// The command at `word`, up to "::" or the end; returns the word after it.
static char **read_command(char **word, struct command *ret_command) {
    char **settings = word;
    while (*word && strchr(*word, '=') && strcmp(*word, "::"))
        word++;
    ret_command->environment = with_settings(settings, (int)(word - settings));
    ret_command->arguments = word;
    while (*word && strcmp(*word, "::"))
        word++;
    if (!*word)
        return word;
    *word = NULL;
    return word + 1;
}

static double run_once(const struct command *command) {
    pid_t pid;
    int status;
    double begin = bench_wall_ns();
    if (posix_spawn(&pid, command->arguments[0], NULL, NULL, command->arguments, command->environment))
        bench_die(command->arguments[0]);
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "spawn: %s ended with status 0x%x\n", command->arguments[0], status);
        exit(1);
    }
    return (bench_wall_ns() - begin) / 1e3;
}

int main(int nr_arguments, char **arguments) {
    enum { MOST = 16 };
    struct command commands[MOST];
    int nr = 0;
    if (nr_arguments < 3)
        return 2;
    int count = atoi(arguments[1]);
    for (char **word = arguments + 2; *word && nr < MOST; nr++) {
        word = read_command(word, &commands[nr]);
        commands[nr].took_us = bench_check(calloc((size_t)count, sizeof(double)));
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < nr; k++)
            commands[k].took_us[i] = run_once(&commands[k]);
    printf("[");
    for (int k = 0; k < nr; k++) {
        printf(k ? ", [" : "[");
        for (int i = 0; i < count; i++)
            printf(i ? ", %.1f" : "%.1f", commands[k].took_us[i]);
        printf("]");
    }
    printf("]\n");
    return 0;
}
