// SPDX-License-Identifier: BSD-2-Clause
// Profiles that wait on disk, see session_store.h.
#include "file/session_file.h"
#include "session/session_store.h"

struct seep_store {
    struct seep_trace_writer *spool; // NULL: nothing was put away yet
    bool refuses;                    // it failed once: what comes stays in memory
};

struct seep_error *seep_store_create(struct seep_store **ret_store) {
    *ret_store = calloc(1, sizeof(**ret_store));
    return *ret_store ? NULL : seep_error_no_memory();
}

void seep_store_destroy(struct seep_store *store) {
    if (!store)
        return;
    seep_trace_writer_destroy(store->spool);
    free(store);
}

static bool copy_args(struct seep_profile *to, const struct seep_process *process) {
    const char **args = seep_arena_alloc(&to->arena, process->nr_args, sizeof(*args));
    for (uint32_t i = 0; args && i < process->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(&to->arena, process->args[i])))
            return false;
    to->process.args = args;
    return args != NULL;
}

// Notes are not copied: nothing reads them before they are back.
static struct seep_error *make_light(const struct seep_profile *profile, struct seep_profile **ret_light) {
    struct seep_profile *light;
    struct seep_error *err = seep_profile_create(&light);
    if (err)
        return err;
    light->process = profile->process;
    light->totals = profile->totals;
    light->health = profile->health;
    light->health.notes = NULL;
    light->health.nr_notes = 0;
    light->health.preempted_by = NULL;
    light->process.exe = seep_arena_strdup(&light->arena, profile->process.exe);
    if (!light->process.exe || !copy_args(light, &profile->process)) {
        seep_profile_destroy(light);
        return seep_error_no_memory();
    }
    seep_process_name_derive(light);
    *ret_light = light;
    return NULL;
}

static bool write_down(struct seep_store *store, const struct seep_profile *profile,
                       struct seep_trace_span *ret_span) {
    struct seep_error *err = store->spool ? NULL : seep_trace_spool_create(&store->spool);
    if (!err) {
        seep_trace_span_begin(store->spool, ret_span);
        err = seep_profile_save(profile, store->spool);
        if (!err)
            err = seep_trace_spool_end(store->spool, ret_span);
        if (err)
            seep_trace_spool_back(store->spool, ret_span);
    }
    store->refuses = err != NULL;
    seep_error_destroy(err);
    return !store->refuses;
}

struct seep_error *seep_store_put(struct seep_store *store, struct seep_profile **profile) {
    struct seep_profile *light = NULL;
    struct seep_trace_span span;
    if (store->refuses || !write_down(store, *profile, &span))
        return NULL;
    struct seep_error *err = make_light(*profile, &light);
    if (err)
        return err;
    struct seep_stored *stored = seep_arena_alloc(&light->arena, 1, sizeof(*stored));
    if (!stored) {
        seep_profile_destroy(light);
        return seep_error_no_memory();
    }
    *stored = (struct seep_stored){store->spool, span};
    light->stored = stored;
    seep_profile_destroy(*profile);
    *profile = light;
    return NULL;
}

static struct seep_error *bring_back(struct seep_profile **profile) {
    const struct seep_stored *stored = (*profile)->stored;
    const struct seep_trace_span *span = &stored->span;
    unsigned char *bytes = NULL;
    struct seep_profile *whole;
    struct seep_error *err = seep_trace_spool_read(stored->spool, span, &bytes);
    struct seep_trace_reader reader;
    if (!err) {
        seep_trace_reader_part(bytes, span->bytes, span->off, "the temporary file", SEEP_TRACE_MINOR,
                               &reader);
        err = seep_profile_load(&reader, &whole);
    }
    free(bytes);
    if (err)
        return err;
    seep_profile_destroy(*profile);
    *profile = whole;
    return NULL;
}

struct seep_error *seep_store_complete(struct seep_session *session) {
    struct seep_error *err = NULL;
    for (size_t i = 0; !err && i < session->nr_profiles; i++)
        if (session->profiles[i]->stored)
            err = bring_back(&session->profiles[i]);
    return err;
}
