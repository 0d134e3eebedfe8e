// SPDX-License-Identifier: BSD-2-Clause
// Runs systemctl and reads what it says, see systemctl.h.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/systemctl.h"

extern char **environ;

enum { ARGUMENTS_MAX = 12, OUTPUT_MAX = 1 << 20 };

struct said {
    char *text; // ends with NUL
    size_t nr;
};

static bool take(struct said *said, int fd, bool *ret_end) {
    char bytes[4096];
    ssize_t nr = read(fd, bytes, sizeof(bytes));
    if (nr < 0 && errno == EINTR)
        return true;
    *ret_end = nr <= 0;
    if (nr <= 0 || said->nr + (size_t)nr > OUTPUT_MAX) // what is beyond is read and left out
        return true;
    char *text = realloc(said->text, said->nr + (size_t)nr + 1);
    if (!text)
        return false;
    memcpy(text + said->nr, bytes, (size_t)nr);
    said->text = text;
    said->nr += (size_t)nr;
    said->text[said->nr] = 0;
    return true;
}

// Both pipes at once: a child that waits for room in one must not wait for us at the other.
static bool read_both(const int *fds, struct said *said) {
    struct pollfd polls[2] = {{.fd = fds[0], .events = POLLIN}, {.fd = fds[1], .events = POLLIN}};
    bool good = true;
    while (good && (polls[0].fd >= 0 || polls[1].fd >= 0)) {
        if (poll(polls, 2, -1) < 0 && errno != EINTR)
            return false;
        for (int i = 0; i < 2 && good; i++) {
            bool end = false;
            if (polls[i].fd >= 0 && polls[i].revents)
                good = take(&said[i], fds[i], &end);
            if (end)
                polls[i].fd = -1;
        }
    }
    return good;
}

static struct seep_error *complaint(const struct said *said, int status) {
    const char *text = said->text ? said->text : "";
    int length = (int)strcspn(text, "\n");
    // "Failed to connect to bus", and since systemd 257 "to user scope bus via local transport".
    if (strstr(text, "not been booted with systemd") || strstr(text, "Failed to connect to "))
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "no systemd answers: %.*s", length, text),
            "seep service needs a running systemd; without one, start the program with 'seep run'");
    if (length)
        return seep_error_create(SEEP_E_IO, "systemctl: %.*s", length, text);
    return seep_error_create(SEEP_E_IO, "systemctl ended with status %d",
                             WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static void close_both(int *pipe_fds) {
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static struct seep_error *spawn(char **argv, int out, int err, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return seep_error_no_memory();
    int trouble = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!trouble)
        trouble = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (!trouble)
        trouble = posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
    if (!trouble)
        trouble = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (trouble == ENOENT)
        return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "there is no systemctl here"),
                               "seep service needs systemd; without it, start the program with 'seep run'");
    return trouble ? seep_error_system(trouble, "cannot run systemctl") : NULL;
}

struct seep_error *seep_systemctl(bool user, const char *const *arguments, char **ret_output) {
    const char *argv[ARGUMENTS_MAX + 4] = {"systemctl", "--no-pager", user ? "--user" : "--system"};
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[3 + i] = arguments[i];
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return seep_error_system(errno, "cannot make a pipe");
    if (pipe2(err, O_CLOEXEC) != 0) {
        close_both(out);
        return seep_error_system(errno, "cannot make a pipe");
    }
    pid_t pid = 0;
    struct seep_error *error = spawn((char **)argv, out[1], err[1], &pid); // it writes to none of them
    close(out[1]);
    close(err[1]);
    struct said said[2] = {{NULL, 0}, {NULL, 0}};
    int status = 0;
    if (!error && !read_both((const int[]){out[0], err[0]}, said))
        error = seep_error_no_memory();
    close(out[0]);
    close(err[0]);
    while (pid && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!error && status != 0)
        error = complaint(&said[1], status);
    if (!error && ret_output && !said[0].text && !(said[0].text = strdup("")))
        error = seep_error_no_memory();
    if (!error && ret_output) {
        *ret_output = said[0].text;
        said[0].text = NULL;
    }
    free(said[0].text);
    free(said[1].text);
    return error;
}
