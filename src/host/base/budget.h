// SPDX-License-Identifier: BSD-2-Clause
//
// How much work something that a stranger made may cause: steps, of which each is about as long as the
// others. The work asks before each; with the last of them, or when the user wants to stop, the answer
// is no.
#ifndef SEEP_BASE_BUDGET_H
#define SEEP_BASE_BUDGET_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct seep_budget {
    uint64_t steps;                    // left
    const volatile sig_atomic_t *stop; // set by a signal; NULL: it is not asked to stop
};

// NULL: no bounds.
static inline bool seep_budget_take(struct seep_budget *budget, uint64_t steps) {
    if (!budget)
        return true;
    if (budget->steps < steps || (budget->stop && *budget->stop)) {
        budget->steps = 0; // what needs less must not go on where this was left out
        return false;
    }
    budget->steps -= steps;
    return true;
}

#endif
