// SPDX-License-Identifier: BSD-2-Clause
// See whois.h.
#include <stdlib.h>

#include "view/whois.h"

void seep_whois_destroy(struct seep_whois *whois) {
    if (!whois)
        return;
    seep_arena_deinit(&whois->arena);
    free(whois);
}

const char *seep_place_name(enum seep_place place) {
    static const char *const names[SEEP_PLACE_NR] = {"block",   "free", "data",    "code",   "stack",
                                                     "mapping", "seep", "nothing", "unknown"};
    return place < SEEP_PLACE_NR ? names[place] : "unknown";
}
