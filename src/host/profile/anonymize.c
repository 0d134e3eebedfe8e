// SPDX-License-Identifier: BSD-2-Clause
// Names become numbers, see anonymize.h.
#include <stdio.h>
#include <string.h>

#include "profile/anonymize.h"

// false: out of memory.
static bool number(struct seep_profile *profile, const char *what, uint64_t value, const char **ret_text) {
    char text[64];
    snprintf(text, sizeof(text), "%s%llu", what, (unsigned long long)value);
    *ret_text = seep_arena_strdup(&profile->arena, text);
    return *ret_text;
}

static bool hide_modules(struct seep_profile *profile) {
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        struct seep_module *module = &profile->modules[i];
        if (!number(profile, "module", i, &module->path))
            return false;
        module->build_id_bytes = 0;
        memset(module->build_id, 0, sizeof(module->build_id));
        module->names = NULL;
        module->nr_names = 0;
        module->places = NULL;
        module->nr_places = 0;
    }
    return true;
}

static bool hide_process(struct seep_profile *profile, size_t index) {
    struct seep_process *process = &profile->process;
    process->nr_args = process->nr_args_all = 0;
    memset(&process->platform, 0, sizeof(process->platform));
    profile->hints.nr_own = 0;
    if (!number(profile, "program", index + 1, &process->exe))
        return false;
    process->name = process->exe;
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        snprintf(profile->threads[i].name, sizeof(profile->threads[i].name), "thread%u", i);
    for (uint32_t i = 0; i < profile->nr_marks; i++)
        if (!number(profile, "mark", (uint64_t)i + 1, &profile->marks[i].name))
            return false;
    for (uint32_t i = 0; i < profile->nr_pools; i++)
        if (profile->pools[i].name && !number(profile, "pool", (uint64_t)i + 1, &profile->pools[i].name))
            return false;
    return true;
}

static bool hide_texts(struct seep_profile *profile) {
    struct seep_health *health = &profile->health;
    for (size_t i = 0; i < health->nr_notes; i++)
        if (!(health->notes[i].text =
                  seep_arena_strdup(&profile->arena, seep_note_name(health->notes[i].code))))
            return false;
    if (health->preempted_by)
        health->preempted_by = "(a module)";
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        profile->sites[i].held = NULL;
    profile->leaks.holders = NULL;
    profile->leaks.nr_holders = 0;
    profile->leaks.nr_held = 0;
    profile->leaks.nr_holders_all = 0;
    if (profile->limit)
        profile->limit = "limit";
    return true;
}

struct seep_error *seep_session_anonymize(struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++) {
        struct seep_profile *profile = session->profiles[i];
        if (!hide_modules(profile) || !hide_process(profile, i) || !hide_texts(profile))
            return seep_error_no_memory();
    }
    return NULL;
}
