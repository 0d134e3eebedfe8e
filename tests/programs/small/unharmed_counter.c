// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
// Forbids itself to read the processor's counter, in the way of its first argument (prctl, syscall, or exec: so it
// begins), and allocates in two threads, the second argument's times three. Exits with 7.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int nr_blocks = 20000;

static void *work(void *unused) {
    for (int i = 0; i < nr_blocks; i++) {
        void *volatile block = malloc((size_t)(10 + i % 1000));
        free(block);
    }
    return unused;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    pthread_t thread;
    if (argc > 2)
        nr_blocks = atoi(argv[2]);
    work(NULL);
    if (strcmp(how, "syscall") == 0)
        syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    else if (*how)
        prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    if (strcmp(how, "exec") == 0) {
        execl(argv[0], argv[0], NULL);
        return 1;
    }
    work(NULL);
    return pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL) ? 1 : 7;
}
