// SPDX-License-Identifier: BSD-2-Clause
//
// Whose entries of /proc tell of a process. A main thread may leave by pthread_exit() while the others go on:
// then /proc/PID/{maps,mem,exe,fd,root,...} are empty or refused, and those of another thread are not.
#ifndef SEEP_BASE_LIVE_THREAD_H
#define SEEP_BASE_LIVE_THREAD_H

#include <sys/types.h>

// `pid` itself, or a thread of it that has its memory where the main thread has left; /proc/TID has all that
// /proc/PID has, though no listing shows it. `pid` too where none has any: it has ended, or is a kernel
// thread. errno stays as it is.
pid_t seep_live_thread(pid_t pid);

#endif
