// SPDX-License-Identifier: BSD-2-Clause
//
// The first SIGINT or SIGTERM ends a command that watches: it prints a last report. The second one kills it.
#ifndef SEEP_BASE_INTERRUPT_H
#define SEEP_BASE_INTERRUPT_H

#include <signal.h>

// 1 after the first signal. Written by the handler only.
extern volatile sig_atomic_t seep_interrupted;

// From now on both signals are caught, once each. *ret_ignored (or NULL) are those of them that were ignored
// before, as by nohup or in the background of a script: a program that we start still ignores them.
void seep_interrupt_catch(sigset_t *ret_ignored);
// The same for a command that waits by poll or clock_nanosleep only: a write into a full pipe goes on, and
// what is written stays whole.
void seep_interrupt_catch_whole(sigset_t *ret_ignored);

#endif
