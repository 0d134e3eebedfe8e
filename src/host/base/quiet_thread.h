// SPDX-License-Identifier: BSD-2-Clause
//
// Threads beside the one that handles signals.
#ifndef SEEP_BASE_QUIET_THREAD_H
#define SEEP_BASE_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>

// Starts a thread that takes no signals but those of its own instructions: a file that is read through a
// mapping may be cut meanwhile (names/symbol_file.c). 0, or the errno of pthread_create().
static inline int seep_quiet_thread_start(pthread_t *ret_thread, void *(*work)(void *data), void *data) {
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int trouble = pthread_create(ret_thread, NULL, work, data);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return trouble;
}

#endif
