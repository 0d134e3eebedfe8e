// SPDX-License-Identifier: BSD-2-Clause
// Reads the list of --allocator, see allocator_choice.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replay/allocator_choice.h"
#include "source/run/allocator.h"

static struct seep_error *take_tunable(const char *name, const char *setting,
                                       struct seep_allocator_choice *ret_choice) {
    if (!strchr(setting, '='))
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "--allocator %s: no value", name),
                               "glibc:arena_max=1, for example");
    if (asprintf(&ret_choice->tunables, "GLIBC_TUNABLES=%s%s",
                 strncmp(setting, "glibc.", 6) == 0 ? "" : "glibc.malloc.", setting) >= 0)
        return NULL;
    ret_choice->tunables = NULL;
    return seep_error_no_memory();
}

struct seep_error *seep_allocator_choose(const char *name, bool own,
                                         struct seep_allocator_choice *ret_choice) {
    bool tunes = strncmp(name, "glibc:", 6) == 0, is_glibc = tunes || strcmp(name, "glibc") == 0;
    *ret_choice = (struct seep_allocator_choice){.name = name};
    struct seep_error *error = tunes ? take_tunable(name, name + 6, ret_choice) : NULL;
    char *path = NULL;
    if (!error && (own || !is_glibc))
        error = seep_allocator_find(is_glibc ? "glibc" : name, &path);
    if (!error && path && asprintf(&ret_choice->preload, "LD_PRELOAD=%s", path) < 0) {
        ret_choice->preload = NULL;
        error = seep_error_no_memory();
    }
    free(path);
    return error;
}

void seep_allocator_choice_deinit(struct seep_allocator_choice *choice) {
    free(choice->preload);
    free(choice->tunables);
    choice->preload = choice->tunables = NULL;
}

struct seep_error *seep_allocators_split(char *list, const char **names, size_t *ret_nr) {
    *ret_nr = 0;
    for (char *rest = list, *name; (name = strsep(&rest, ","));) {
        if (!*name)
            return seep_error_create(SEEP_E_USAGE, "--allocator: an empty name in the list");
        if (*ret_nr == SEEP_ALLOCATORS_MAX)
            return seep_error_create(SEEP_E_USAGE, "--allocator: more than %u names", SEEP_ALLOCATORS_MAX);
        names[(*ret_nr)++] = name;
    }
    return NULL;
}
