// SPDX-License-Identifier: BSD-2-Clause
// Signals that end a command which watches, see interrupt.h.
#include "base/interrupt.h"
#include "core/attr.h"

volatile sig_atomic_t seep_interrupted;

static void note_signal(int signal_number) {
    (void)signal_number;
    seep_interrupted = 1;
}

static void catch (unsigned flags, sigset_t *ret_ignored) {
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)(SA_RESETHAND | flags)}, before;
    const int caught[] = {SIGINT, SIGTERM};
    if (ret_ignored)
        sigemptyset(ret_ignored);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(caught); i++)
        if (sigaction(caught[i], &action, &before) == 0 && before.sa_handler == SIG_IGN && ret_ignored)
            sigaddset(ret_ignored, caught[i]);
}

void seep_interrupt_catch(sigset_t *ret_ignored) {
    catch (0, ret_ignored);
}

void seep_interrupt_catch_whole(sigset_t *ret_ignored) {
    catch (SA_RESTART, ret_ignored);
}
