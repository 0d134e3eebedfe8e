// SPDX-License-Identifier: BSD-2-Clause
//
// Runs one command and writes what it took to a file, as JSON: status, wall and CPU seconds, and the
// largest resident memory. A process of its own because the largest resident memory of a child starts
// at that of the process which forked it, and a Python process is large.
//
//   launch RESULT COMMAND [ARG...]
#include <sys/resource.h>
#include <sys/wait.h>

#include "bench.h"

static double seconds(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

int main(int nr_arguments, char **arguments) {
    if (nr_arguments < 3)
        return 2;
    // The settings of the traced program alone: "launch" itself must stay untraced.
    const char *preload = getenv("BENCH_PRELOAD");
    double begin = bench_wall_ns();
    pid_t pid = fork();
    if (pid < 0)
        bench_die("fork");
    if (pid == 0) {
        if (preload)
            setenv("LD_PRELOAD", preload, 1);
        unsetenv("BENCH_PRELOAD");
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    int status;
    struct rusage usage;
    if (wait4(pid, &status, 0, &usage) != pid)
        bench_die("wait4");
    double wall = (bench_wall_ns() - begin) / 1e9;
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    FILE *file = fopen(arguments[1], "w");
    if (!file)
        bench_die(arguments[1]);
    fprintf(file, "{\"status\": %d, \"wall_s\": %.6f, \"cpu_s\": %.6f, \"rss_kib\": %ld}\n", code, wall,
            seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
    fclose(file);
    return code;
}
