// SPDX-License-Identifier: BSD-2-Clause
//
// A program to look at while it runs: makes known leaks, says "ready", then does one step per line of its
// input: "leak N", "free N", "exit N", "_exit N", "abort", "segv". It waits in epoll_wait, which ends with
// EINTR when somebody stops or signals the process: then it leaves with 97. At the end of input it leaves with 0.
// EXPECT:
// {
//   "sites": [
//     {"in": "at_start", "via": "malloc", "allocations": 1000, "frees": 500, "live_blocks": 500, "live_bytes": 50000}
//   ]
// }
#include "program.h"
#include <sys/epoll.h>
#include <unistd.h>

static void *held[100000];
static int nr_held;

APART static void at_start(void) {
    for (int i = 0; i < 1000; i++) {
        void *p = keep(malloc(100));
        if (i % 2)
            free(p);
    }
}

APART static void leak(int nr) {
    for (int i = 0; i < nr; i++)
        held[nr_held++] = keep(malloc(64));
}

static void give_back(int nr) {
    while (nr-- > 0 && nr_held > 0)
        free(held[--nr_held]);
}

static void say(const char *text) {
    CHECK(write(1, text, strlen(text)) == (ssize_t)strlen(text));
}

APART static void step(const char *line) {
    int n = 0;
    if (sscanf(line, "leak %d", &n) == 1)
        leak(n);
    else if (sscanf(line, "free %d", &n) == 1)
        give_back(n);
    else if (sscanf(line, "exit %d", &n) == 1)
        exit(n);
    else if (sscanf(line, "_exit %d", &n) == 1)
        _exit(n);
    else if (!strcmp(line, "abort"))
        abort();
    else if (!strcmp(line, "segv"))
        *(volatile int *)hide(8) = 1;
    say("ok\n");
}

// One line of input without its newline; false at the end. stdin may be a file: then there is no waiting.
static int next_line(int epoll, char *line, size_t size) {
    size_t n = 0;
    for (;;) {
        struct epoll_event event;
        if (epoll >= 0 && epoll_wait(epoll, &event, 1, -1) != 1)
            _exit(97);
        if (n + 1 == size || read(0, line + n, 1) != 1)
            return 0;
        if (line[n] == '\n') {
            line[n] = '\0';
            return 1;
        }
        n++;
    }
}

int main(void) {
    char line[100];
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(0);
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, 0, &event) != 0)
        epoll = -1;
    at_start();
    say("ready\n");
    while (next_line(epoll, line, sizeof(line)))
        step(line);
    return 0;
}
