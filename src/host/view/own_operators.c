// SPDX-License-Identifier: BSD-2-Clause
//
// Operators new and delete that a library has for itself, see own_operators.h. Array forms often jump to the
// plain forms and leave no frame, so all forms count as one.
#include <string.h>

#include "image/layout.h"
#include "view/own_operators.h"

// Mangled names too, because --no-demangle keeps them.
static bool is_operator(const char *function) {
    static const char *const beginnings[] = {"operator new", "operator delete", "_Znw",
                                             "_Zna",         "_ZdlP",           "_ZdaP"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++)
        if (strncmp(function, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static bool is_operators(uint32_t via) {
    return via == SEEP_VIA_NEW || via == SEEP_VIA_NEW_ARRAY || via == SEEP_VIA_FREE + SEEP_RELEASE_DELETE ||
           via == SEEP_VIA_FREE + SEEP_RELEASE_DELETE_ARRAY;
}

struct seep_error *seep_is_own_operator(struct seep_stacks *stacks, const struct seep_profile *profile,
                                        const uint32_t *nodes, const struct seep_wrong_release *wrong,
                                        bool *ret_is) {
    *ret_is = false;
    if (wrong->kind != SEEP_MISUSE_MISMATCH)
        return NULL;
    const struct seep_site *made = &profile->sites[wrong->site];
    const struct seep_site *freed = &profile->sites[wrong->release_site];
    if (is_operators(made->via) == is_operators(freed->via))
        return NULL;
    const struct seep_site *other = is_operators(made->via) ? freed : made;
    uint32_t frame = stacks->nodes[nodes[other->node]].frame;
    if (frame == SEEP_NO_FRAME)
        return NULL;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(stacks, frame, &symbol);
    for (unsigned i = 0; !error && i < symbol->nr_frames; i++)
        *ret_is |= symbol->frames[i].function && is_operator(symbol->frames[i].function);
    return error;
}
