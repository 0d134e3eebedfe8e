// SPDX-License-Identifier: BSD-2-Clause
//
// For test_top.py and test_connect.py: a shop that does one step for each line that it is given, and says "ok".
// What each step does is fixed, so the figures on a screen are known.
//
//   live-shop           steps by standard input: a number of sessions to make, or "churn N", "lose", "both",
//                       "child", "exec", "end"
//   live-shop free MS   by itself: a session each MS milliseconds, until it is killed
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CACHE_SLOTS 12
#define SESSION     640
#define LOST        48

struct session {
    struct session *next;
    char state[SESSION - sizeof(void *)];
};

static struct session *sessions;
static void *cache[CACHE_SLOTS];

__attribute__((noinline)) static void session_new(void) {
    struct session *session = malloc(sizeof(*session));
    session->next = sessions;
    sessions = session;
}

__attribute__((noinline)) static void cache_init(void) {
    for (int i = 0; i < CACHE_SLOTS; i++)
        cache[i] = calloc(1, 256 << 10);
}

__attribute__((noinline)) static void parse_header(void) {
    void *volatile header = malloc(100);
    free(header);
}

__attribute__((noinline)) static void lose(void) {
    void *volatile lost = malloc(LOST);
    lost = NULL;
    (void)lost;
}

static void *in_thread(void *data) {
    // An output of the name must not let it out: it would turn the terminal red and clear it.
    prctl(PR_SET_NAME, "\033[31m\033[2Jred");
    for (int i = 0; i < 10; i++)
        session_new();
    return data;
}

// Two threads allocate at one site.
static void *one_more(void *data) {
    session_new();
    return data;
}

static void both(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, one_more, NULL);
    pthread_join(thread, NULL);
    one_more(NULL);
}

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void child(void) {
    static int to_child[2];
    if (pipe(to_child) != 0)
        exit(1);
    pid_t pid = fork();
    if (pid)
        return; // it lives until we have ended, which closes the pipe
    close(to_child[1]);
    session_new();
    char byte;
    while (read(to_child[0], &byte, 1) > 0)
        continue;
    _exit(0);
}

static void step(const char *line) {
    long nr;
    if (sscanf(line, "churn %ld", &nr) == 1)
        for (long i = 0; i < nr; i++)
            parse_header();
    else if (strncmp(line, "child", 5) == 0)
        child();
    else if (strncmp(line, "lose", 4) == 0)
        lose();
    else if (strncmp(line, "both", 4) == 0)
        both();
    else if (strncmp(line, "exec", 4) == 0)
        execl("/proc/self/exe", "live-shop", NULL);
    else
        for (nr = atol(line); nr > 0; nr--)
            session_new();
}

int main(int argc, char **argv) {
    pthread_t thread;
    cache_init();
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    if (argc > 2) {
        for (;;) {
            session_new();
            for (int i = 0; i < 20; i++)
                parse_header();
            wait_ms(atol(argv[2]));
        }
    }
    // Nothing is allocated but by steps, whatever comes between two of them.
    static char line[64], in[4096], out[4096];
    setvbuf(stdin, in, _IOFBF, sizeof(in));
    setvbuf(stdout, out, _IOFBF, sizeof(out));
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin) && strncmp(line, "end", 3) != 0) {
        step(line);
        printf("ok\n");
        fflush(stdout);
    }
    return 0;
}
