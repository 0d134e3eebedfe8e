// SPDX-License-Identifier: BSD-2-Clause
// The profiles of processes that are traced by probes: what their heaps are, and who they are; see
// profile_traced.h.
#include <sys/wait.h>

#include "profile/verdict.h"
#include "source/attach/profile_traced.h"

static struct seep_error *set_process(const struct seep_traced_process *from, struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    process->pid = (uint32_t)from->heap.pid;
    process->ppid = from->ppid;
    process->forked_from = from->forked_from;
    process->exe = seep_arena_strdup(&profile->arena, from->exe);
    const char **args = seep_arena_alloc(&profile->arena, from->nr_args, sizeof(*args));
    if (!process->exe || !args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < from->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(&profile->arena, from->args[i])))
            return seep_error_no_memory();
    process->args = args;
    process->nr_args = process->nr_args_all = from->nr_args;
    process->start_realtime_ns = from->start_realtime_ns;
    process->duration_ns = SEEP_MAX(from->duration_ns - from->begun_ns, (int64_t)0);
    process->platform = seep_platform_here();
    process->exit_kind = from->execed ? SEEP_EXIT_EXEC : from->ended ? SEEP_EXIT_UNKNOWN : SEEP_EXIT_RUNNING;
    if (from->has_status && !from->execed) {
        bool killed = WIFSIGNALED(from->wait_status);
        process->exit_kind = killed ? SEEP_EXIT_SIGNAL : SEEP_EXIT_CODE;
        process->exit_value = killed ? WTERMSIG(from->wait_status) : WEXITSTATUS(from->wait_status);
    }
    struct seep_error *err = NULL;
    for (size_t i = 0; i < from->nr_notes && !err; i++)
        err = seep_profile_note(profile, from->notes[i].code, "%s", from->notes[i].text);
    return err;
}

static struct seep_error *make_profile(const struct seep_traced_process *from,
                                       struct seep_profile **ret_profile) {
    struct seep_profile *profile;
    struct seep_error *err = seep_heap_profile(&from->heap, from->duration_ns, &profile);
    if (err)
        return err;
    err = set_process(from, profile);
    if (err) {
        seep_profile_destroy(profile);
        return err;
    }
    profile->health.flags |= from->forked_from ? SEEP_FLAG_FORKED : 0;
    seep_profile_derive(profile);
    *ret_profile = profile;
    return NULL;
}

struct seep_error *seep_profile_from_trace(const struct seep_attached *attached, size_t index,
                                           struct seep_profile **ret_profile) {
    struct seep_traced_process *const *processes;
    struct seep_profile *profile;
    seep_attached_processes(attached, &processes);
    struct seep_error *err = make_profile(processes[index], &profile);
    if (err)
        return err;
    profile->process.is_main = index == 0;
    err = seep_attached_notes(attached, profile);
    if (err)
        seep_profile_destroy(profile);
    else
        *ret_profile = profile;
    return err;
}

struct seep_error *seep_session_from_trace(const struct seep_attached *attached,
                                           struct seep_session **ret_session) {
    struct seep_session *session;
    struct seep_error *err = seep_session_create(&session);
    if (err)
        return err;
    struct seep_traced_process *const *processes;
    size_t nr = seep_attached_processes(attached, &processes);
    for (size_t i = 0; i < nr && !err; i++) {
        struct seep_profile *profile = NULL;
        // Of hundreds most do nothing.
        if (i > 0 && seep_attached_is_open(attached) && !seep_heap_has_events(&processes[i]->heap))
            continue;
        err = make_profile(processes[i], &profile);
        if (!err) {
            profile->process.is_main = i == 0;
            err = i == 0 ? seep_attached_notes(attached, profile) : NULL;
            if (err)
                seep_profile_destroy(profile);
            else
                err = seep_session_add(session, profile);
        }
    }
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}
