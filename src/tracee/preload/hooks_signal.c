// SPDX-License-Identifier: BSD-2-Clause
//
// sigaltstack: a block that is the alternate signal stack of a thread may have no other holder than the
// kernel, which tells the address to that thread only.
#include <signal.h>

#include "preload/hooks.h"

SEEP_EXPORT int sigaltstack(const stack_t *stack, stack_t *before) {
    seep_start();
    int result = seep_g.real.sigaltstack ? seep_g.real.sigaltstack(stack, before)
                                         : SEEP_BY_CALL(SYS_sigaltstack, stack, before, 0, 0);
    if (result == 0 && stack)
        seep_thread_has_signal_stack();
    return result;
}
