// SPDX-License-Identifier: BSD-2-Clause
// The end of a history, see history.h.
#include <stdlib.h>

#include "profile/history.h"

void seep_history_deinit(struct seep_history *history) {
    free(history->bins);
    free(history->changes);
    free(history->sites);
    free(history->resizes);
    free(history->handovers);
    free(history->pins);
    *history = (struct seep_history){.recorded = false};
}
