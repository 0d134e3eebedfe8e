// SPDX-License-Identifier: BSD-2-Clause
//
// A child of fork that is stopped (by strace) between its first look at its parent's image and the copy of it. Meanwhile
// the parent adds more than the child saw room for: threads and pages of the heap map ("threads"), or modules and their
// paths ("modules": the libraries FOLDER/N.so).
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS = 200,
    MODULES = 800,
    BLOCKS = 1500,
    BLOCK_BYTES = 100000
}; // below M_MMAP_THRESHOLD, and 150 MB of addresses

static pthread_barrier_t all;
static void *kept[BLOCKS];

static void *work(void *unused) {
    free(malloc(64));
    pthread_barrier_wait(&all);
    return unused;
}

static void work_in_threads(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL) != 0)
            _exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void hold_much(void) {
    for (int i = 0; i < BLOCKS; i++)
        kept[i] = malloc(BLOCK_BYTES);
}

static void use_modules(const char *folder) {
    for (int i = 0; i < MODULES; i++) {
        char path[1024];
        snprintf(path, sizeof(path), "%s/%d.so", folder, i);
        void *library = dlopen(path, RTLD_NOW);
        if (!library)
            _exit(5);
        ((void *(*)(void))dlsym(library, "allocate"))();
    }
}

static void add(const char *what, const char *folder) {
    if (strcmp(what, "modules") == 0) {
        use_modules(folder);
    } else {
        work_in_threads();
        hold_much();
    }
}

// Until strace is there, and is gone.
static void say_and_wait(const char *word) {
    puts(word);
    fflush(stdout);
    if (getchar() == EOF)
        exit(2);
}

int main(int argc, char **argv) {
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    say_and_wait("ready");
    void *inherited = malloc(100);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        free(inherited); // the first call: the image is copied
        hold_much();
        exit(0);
    }
    int status;
    if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid || !WIFSTOPPED(status))
        return 3;
    say_and_wait("stopped");
    add(argc > 1 ? argv[1] : "threads", argv[argc - 1]);
    kill(pid, SIGCONT);
    if (waitpid(pid, &status, 0) != pid)
        return 4;
    printf("ends with %x\n", status);
    return 0;
}
