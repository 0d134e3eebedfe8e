// SPDX-License-Identifier: BSD-2-Clause
// From the images of a run to a session, see run_session.h.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/numbers.h"
#include "base/words.h"
#include "base/map.h"
#include "confine/helpers.h"
#include "image/hello.h"
#include "source/image/image_copy.h"
#include "analysis/process_tree.h"
#include "source/image/profile_image.h"
#include "process/gone.h"
#include "process/process_title.h"
#include "profile/verdict.h"
#include "scan/stop.h"
#include "session/run_session.h"
#include "session/run_watch.h"
#include "profile/texts.h"
#include "source/image/unseen_allocators.h"

// No image is smaller, however much of its address space it gives up: a file of this size will do.
#define IMAGE_FILE_LEAST (UINT64_C(86) << 20)
// With less address space libseep.so makes no image (image_window.c).
#define ADDRESS_LIMIT_LEAST (UINT64_C(256) << 20)
// Two syncs cost a fifth of all that such a run of a small program takes.
#define BRIEF_NS INT64_C(1000000000)

struct member {
    struct seep_profile *profile;
    size_t order;
    bool is_main;
};

// What a look at a leaving process gave.
struct looked {
    bool done;
    struct seep_profile *profile; // NULL: `trouble` says why
    char *trouble;
};

struct gathering {
    const struct seep_exit_look *look; // NULL: none is looked at
    struct seep_store *store;
    const struct seep_run_watch *watch; // may be NULL
    bool wiped;                         // --wipe-freed
    int64_t over_ns;                    // wall clock: none was waited for any more; 0: not yet
    struct looked *looked;              // by the order of the image
    size_t nr_looked;
    size_t looked_capacity;
    struct member *members;
    size_t nr_members;
    size_t capacity;
    struct seep_unseen unseen;
    struct seep_watching watching;
    uint64_t nr_unread; // images that could not be read
    struct seep_error *first_unread;
};

static void gathering_deinit(struct gathering *gathering) {
    for (size_t i = 0; i < gathering->nr_members; i++)
        seep_profile_destroy(gathering->members[i].profile);
    free(gathering->members);
    for (size_t i = 0; i < gathering->nr_looked; i++) {
        seep_profile_destroy(gathering->looked[i].profile);
        free(gathering->looked[i].trouble);
    }
    free(gathering->looked);
    seep_unseen_deinit(&gathering->unseen);
    seep_watching_deinit(&gathering->watching);
    seep_error_destroy(gathering->first_unread);
}

static struct seep_error *read_image(const struct seep_run_image *image, struct seep_profile **ret_profile) {
    char name[64];
    snprintf(name, sizeof(name), "image of process %d", (int)image->pid);
    struct seep_image_copy *copy;
    struct seep_error *err = seep_image_copy_from_fd(image->fd, name, &copy);
    if (err)
        return err;
    if (image->replaced)
        copy->taken_ns = (uint64_t)image->replaced_ns; // nothing changed since
    err = seep_profile_from_image(copy, ret_profile);
    seep_image_copy_destroy(copy);
    return err;
}

// NULL: it was not looked at.
static struct looked *find_looked(const struct gathering *gathering, const struct seep_run_image *image) {
    bool is_there = image->order < gathering->nr_looked && gathering->looked[image->order].done;
    return is_there ? &gathering->looked[image->order] : NULL;
}

static struct looked *add_looked(struct gathering *gathering, size_t order) {
    if (!seep_grow(&gathering->looked, &gathering->looked_capacity, order + 1, sizeof(*gathering->looked)))
        return NULL;
    while (gathering->nr_looked <= order)
        gathering->looked[gathering->nr_looked++] = (struct looked){.done = false};
    gathering->looked[order].done = true;
    return &gathering->looked[order];
}

// A leaving process waits for the tool, but not for one that is stopped, nor for ever.
static const char too_late[] =
    "when the process left, seep was stopped or came too late, or a signal ended it: it was gone before it "
    "could be looked at";

static const char gone_on[] =
    "the process went on after abort(): it was looked at then, and not when it ended";

// What an error says without the number of the process: notes that are alike are told as one.
static char *without_pid(const struct seep_error *error, pid_t pid) {
    char who[32], *text;
    int length = snprintf(who, sizeof(who), "process %d", (int)pid);
    const char *message = error->message, *at = strstr(message, who), *hint = error->hint;
    bool is_named = at && (at[length] < '0' || at[length] > '9');
    int before = is_named ? (int)(at - message) : 0;
    int done =
        asprintf(&text, "%.*s%s%s%s%s%s", before, message, is_named ? "the process" : "",
                 is_named ? at + length : message, hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
    return done < 0 ? NULL : text;
}

// abort() of a program that catches its signal: it was looked at, and need not have ended.
static bool may_have_gone_on(const struct seep_profile *profile) {
    return profile && profile->process.exit_kind == SEEP_EXIT_RUNNING;
}

static void forget(struct looked *looked) {
    seep_profile_destroy(looked->profile);
    free(looked->trouble);
    *looked = (struct looked){.done = true};
}

static struct seep_error *look_at(void *data, struct seep_run_parked *parked) {
    struct gathering *gathering = data;
    struct looked *looked = find_looked(gathering, parked->image);
    if (looked && !may_have_gone_on(looked->profile))
        return NULL; // two threads that leave
    if (!looked && !(looked = add_looked(gathering, parked->image->order)))
        return seep_error_no_memory();
    forget(looked);
    struct seep_process_map map = {NULL};
    char *title = seep_process_title(parked->image->pid); // read while the process is there
    struct seep_error *err = gathering->look->look(gathering->look->data, parked, &looked->profile, &map);
    if (!err) {
        err = seep_unseen_note_allocators(&gathering->unseen, looked->profile, &map);
        if (!err)
            err = seep_process_set_title(looked->profile, title);
        seep_process_map_deinit(&map);
        free(title);
        return err;
    }
    free(title);
    looked->trouble = err->code == SEEP_E_NOT_FOUND ? strdup(too_late) : without_pid(err, parked->image->pid);
    seep_error_destroy(err);
    return looked->trouble ? NULL : seep_error_no_memory();
}

// The profile that was made when the process left, or one of the image as it is now, with a note why
// there was no look.
static struct seep_error *profile_of(struct gathering *gathering, const struct seep_run_image *image,
                                     struct seep_profile **ret_profile) {
    struct looked *looked = find_looked(gathering, image);
    struct seep_error *err = NULL;
    if (looked && looked->profile && !may_have_gone_on(looked->profile)) {
        *ret_profile = looked->profile;
        looked->profile = NULL;
        return NULL;
    }
    if ((err = read_image(image, ret_profile)))
        return err;
    if (looked && looked->profile && looked->profile->health.events == (*ret_profile)->health.events) {
        seep_profile_destroy(*ret_profile);
        *ret_profile = looked->profile;
        looked->profile = NULL;
        return NULL;
    }
    err = seep_unseen_note_allocators(&gathering->unseen, *ret_profile, NULL);
    if (!err && looked)
        err = seep_profile_note(*ret_profile, SEEP_NOTE_SCAN_FAILED, "%s",
                                looked->trouble ? looked->trouble : gone_on);
    if (err) {
        seep_profile_destroy(*ret_profile);
        *ret_profile = NULL;
    }
    return err;
}

// It says by itself how it ended, and was to be looked at before that.
static struct seep_error *note_not_looked(const struct gathering *gathering, struct seep_profile *profile) {
    bool is_known = profile->leaks.known || !profile->totals.live_blocks || profile->health.sample_bytes ||
                    seep_profile_why_not_looked(profile);
    if (!gathering->look || is_known || profile->process.exit_kind != SEEP_EXIT_CODE)
        return NULL;
    if (gathering->over_ns &&
        profile->process.start_realtime_ns + profile->process.duration_ns >= gathering->over_ns)
        return seep_profile_note(profile, SEEP_NOTE_SCAN_UNREACHABLE,
                                 "the process left when seep was not waiting for it any more");
    return seep_profile_note(profile, SEEP_NOTE_SCAN_UNREACHABLE,
                             "the process could not ask to be looked at when it left: a signal ended it "
                             "first, or it has no free descriptor, a filter of system calls, or a user or "
                             "root from where seep's socket is out of reach; 'seep scan PID' looks at it "
                             "while it runs");
}

// For a process whose image does not say how the process ended.
static struct seep_error *note_no_exit(struct seep_profile *profile, const char *why) {
    if (profile->health.state == SEEP_STATE_PASSIVE)
        return seep_profile_note(profile, SEEP_NOTE_SCAN_UNREACHABLE,
                                 "seep had given up before the process left, and did not look at it then");
    return seep_profile_note(profile, SEEP_NOTE_SCAN_NO_EXIT, "%s", why);
}

// The status that a process told before its end may not be its last: a signal may have killed it while it
// left through exit(), or a handler given another. A process that was not scanned stays one that left by
// itself, because only of those the live blocks count as left behind.
static void correct_exit(const struct seep_run_image *image, struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    int status;
    if (process->exit_kind != SEEP_EXIT_CODE || !seep_run_image_status(image, &status) ||
        (WIFSIGNALED(status) && !profile->leaks.known))
        return;
    process->exit_kind = WIFSIGNALED(status) ? SEEP_EXIT_SIGNAL : SEEP_EXIT_CODE;
    process->exit_value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

// The exit as far as the image and its process tell; that of the program itself is set later.
static struct seep_error *set_exit(const struct gathering *gathering, const struct seep_run_image *image,
                                   struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    if (!(profile->health.flags & SEEP_FLAG_FORKED))
        process->forked_from = image->started_by;
    if (image->replaced || image->leaving) {
        process->exit_kind = SEEP_EXIT_EXEC;
        // What it could not tell of has come.
        if (image->replaced && profile->health.lost[SEEP_LOST_EXEC])
            profile->health.lost[SEEP_LOST_EXEC]--;
        return NULL;
    }
    if (image->is_main)
        return NULL;
    if (process->exit_kind != SEEP_EXIT_RUNNING) {
        struct seep_error *err = note_not_looked(gathering, profile);
        correct_exit(image, profile);
        return err;
    }
    if (!image->reused && !seep_run_image_ended(image))
        return seep_profile_note(profile, SEEP_NOTE_STILL_RUNNING,
                                 "the process was still running when it was looked at: 'seep report "
                                 "PID' shows what came later, while it runs");
    process->exit_kind = SEEP_EXIT_UNKNOWN;
    if (gathering->look && !find_looked(gathering, image))
        return note_no_exit(profile,
                            "the process did not leave through exit() and could not be looked at; a "
                            "signal ended it, or its own system call: end it so that it calls exit(), "
                            "or look at it by 'seep scan PID' while it runs");
    return NULL;
}

// One image that cannot be read must not cost the report of all others: it is counted, and said.
static struct seep_error *gather(void *data, const struct seep_run_image *image) {
    struct gathering *gathering = data;
    struct seep_profile *profile;
    if (!seep_grow(&gathering->members, &gathering->capacity, gathering->nr_members + 1,
                   sizeof(*gathering->members)))
        return seep_error_no_memory();
    struct seep_error *err = profile_of(gathering, image, &profile);
    if (err) {
        gathering->nr_unread++;
        if (gathering->first_unread)
            seep_error_destroy(err);
        else
            gathering->first_unread = err;
        return NULL;
    }
    profile->process.pid = image->pid > 0 ? (uint32_t)image->pid : profile->process.pid;
    profile->process.is_main = image->is_main;
    profile->process.start_realtime_ns = image->start_realtime_ns;
    gathering->members[gathering->nr_members++] = (struct member){profile, image->order, image->is_main};
    err = seep_watching_give(&gathering->watching, image->order, profile);
    return err ? err : set_exit(gathering, image, profile);
}

// While the program runs: what ends then is put away.
static struct seep_error *gather_early(void *data, const struct seep_run_image *image) {
    struct gathering *gathering = data;
    size_t before = gathering->nr_members;
    struct seep_error *err = gather(data, image);
    return err || gathering->nr_members == before
               ? err
               : seep_store_put(gathering->store, &gathering->members[before].profile);
}

static struct seep_error *gather_rest(struct gathering *gathering, const struct seep_run *run) {
    for (size_t i = 0; i < run->nr_images; i++) {
        struct seep_error *err = run->images[i].fd >= 0 ? gather(gathering, &run->images[i]) : NULL;
        if (err)
            return err;
    }
    return NULL;
}

// A profile that says only what was run; the note why nothing is known of it is for the caller.
static struct seep_error *add_untraced(struct gathering *gathering, uint32_t pid, int64_t start_ns,
                                       const char *path, struct seep_profile **ret_profile) {
    struct seep_profile *profile;
    if (!seep_grow(&gathering->members, &gathering->capacity, gathering->nr_members + 1,
                   sizeof(*gathering->members)))
        return seep_error_no_memory();
    struct seep_error *err = seep_profile_create(&profile);
    if (err)
        return err;
    gathering->members[gathering->nr_members++] = (struct member){.profile = profile, .order = SIZE_MAX};
    profile->process.pid = pid;
    profile->process.start_realtime_ns = start_ns;
    profile->process.exe = seep_arena_strdup(&profile->arena, path);
    seep_profile_derive(profile);
    *ret_profile = profile;
    return profile->process.exe ? NULL : seep_error_no_memory();
}

// What libseep.so can raise its soft limit to for the time that it takes; RLIM_INFINITY: none. In bytes.
static uint64_t file_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 ? limit.rlim_max : RLIM_INFINITY;
}

// The limit that the program began with, in bytes; RLIM_INFINITY: none.
static uint64_t address_limit(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

static struct seep_error *add_main(struct gathering *gathering, const struct seep_run *run,
                                   char *const *argv) {
    struct seep_profile *profile;
    char *real = realpath(run->path, NULL);
    struct seep_error *err = add_untraced(gathering, (uint32_t)run->main_pid, run->start_realtime_ns,
                                          real ? real : run->path, &profile);
    free(real);
    if (err)
        return err;
    gathering->members[gathering->nr_members - 1].is_main = true;
    struct seep_process *process = &profile->process;
    process->is_main = true;
    while (argv[process->nr_args])
        process->nr_args++;
    process->nr_args_all = process->nr_args;
    const char **args = seep_arena_alloc(&profile->arena, process->nr_args, sizeof(*args));
    if (!args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < process->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(&profile->arena, argv[i])))
            return seep_error_no_memory();
    process->args = args;
    seep_process_name_derive(profile);
    if (gathering->nr_unread)
        return seep_profile_note(profile, SEEP_NOTE_IMAGE_UNREADABLE, "its image could not be read");
    if (run->why_untraced)
        return seep_profile_note(profile, SEEP_NOTE_CANNOT_PRELOAD, "%s", run->why_untraced);
    uint64_t limit_bytes = file_limit();
    if (limit_bytes < IMAGE_FILE_LEAST) {
        bool is_small = limit_bytes && limit_bytes < 1024;
        char files[40];
        snprintf(files, sizeof(files), "%llu %s",
                 (unsigned long long)(is_small ? limit_bytes : limit_bytes >> 10),
                 is_small ? "bytes" : "KiB");
        return seep_profile_note(profile, SEEP_NOTE_FILE_LIMIT,
                                 "files may have %s at most (ulimit -f), and an image is a sparse file of "
                                 "%llu MiB at least: start it with 'ulimit -f unlimited'",
                                 files, (unsigned long long)(IMAGE_FILE_LEAST >> 20));
    }
    limit_bytes = address_limit();
    if (limit_bytes < ADDRESS_LIMIT_LEAST)
        return seep_profile_note(
            profile, SEEP_NOTE_NO_IMAGE,
            "the program is limited to %llu KiB of address space (ulimit -v), and an image needs %llu MiB: "
            "start it with 'ulimit -v %llu' or more",
            (unsigned long long)(limit_bytes >> 10), (unsigned long long)(ADDRESS_LIMIT_LEAST >> 20),
            (unsigned long long)(ADDRESS_LIMIT_LEAST >> 10));
    return seep_profile_note(
        profile, SEEP_NOTE_NO_IMAGE,
        "no image came from the program: it ended before libseep.so was "
        "ready, or the loader did not load it, "
        "or a sandbox kept it from the socket, or there is no room (ulimit -v, -d, -f or -n)");
}

// ---- descendants of which no image came --------------------------------------------------------------

// One that has ended is there until its parent has waited for it.
static bool is_running(pid_t pid) {
    return (kill(pid, 0) == 0 || errno != ESRCH) && !seep_process_is_zombie(pid) && !seep_is_helper(pid);
}

static struct seep_error *add_descendant(struct gathering *gathering, const struct seep_run *run,
                                         const struct seep_run_notice *notice) {
    struct seep_profile *profile;
    const char *name = *notice->path ? notice->path : "(a program by descriptor)";
    struct seep_error *err =
        add_untraced(gathering, (uint32_t)notice->pid,
                     run->start_realtime_ns + notice->came_ns - run->start_ns, name, &profile);
    if (err)
        return err;
    profile->process.forked_from = notice->started_by == (uint32_t)notice->pid ? 0 : notice->started_by;
    profile->process.duration_ns = -1;
    profile->process.exit_kind = is_running(notice->pid) ? SEEP_EXIT_RUNNING : SEEP_EXIT_UNKNOWN;
    if (notice->why)
        return seep_profile_note(profile, SEEP_NOTE_CANNOT_PRELOAD, "%s", notice->why);
    if (notice->flags & SEEP_NOTICE_SECURE)
        return seep_profile_note(
            profile, SEEP_NOTE_CANNOT_PRELOAD,
            "%s was executed with an effective user or group that is not the real one, so the loader ignores "
            "LD_PRELOAD: trace it by 'seep attach'",
            name);
    if (notice->foreign)
        return seep_profile_note(
            profile, SEEP_NOTE_OTHER_USER,
            "%s was executed as another user, who cannot reach seep's socket (nor, it may be, "
            "libseep.so): run seep as that user, or trace it by 'seep attach'",
            name);
    if (notice->flags & SEEP_NOTICE_NO_PRELOAD)
        return seep_profile_note(
            profile, SEEP_NOTE_NO_PRELOAD,
            "%s was started with an environment of its own, without libseep.so in LD_PRELOAD or without "
            "SEEP_SOCKET: have LD_PRELOAD and SEEP_* handed on to it, or trace it by 'seep attach'",
            name);
    if (notice->is_unfound)
        return seep_profile_note(profile, SEEP_NOTE_NO_IMAGE,
                                 "no image came from %s, and its file, which may tell why, was not found at "
                                 "the end, because it is gone or named from another folder or PATH: it was "
                                 "static, set-user-ID or of another kind without libseep.so, or ended before "
                                 "libseep.so was ready, or a sandbox kept it from the socket, or there was "
                                 "no room (ulimit -v, -d, -f or -n)",
                                 name);
    return seep_profile_note(profile, SEEP_NOTE_NO_IMAGE,
                             "no image came from %s: it ended before libseep.so was ready, or a sandbox "
                             "kept it from the socket, or there was no room (ulimit -v, -d, -f or -n)",
                             name);
}

// Those that run on and have made no heap operation are known by their number only.
static struct seep_error *note_idle(const struct seep_run *run, struct seep_profile *main_profile) {
    char list[512] = "";
    size_t used = 0;
    size_t nr_listed = 0;
    for (; nr_listed < run->nr_idle && used + 64 < sizeof(list); nr_listed++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d (%s)", nr_listed ? ", " : "",
                                 (int)run->idle[nr_listed].pid, run->idle[nr_listed].name);
    if (run->outrun)
        return seep_profile_note(main_profile, SEEP_NOTE_LEFT_RUNNING,
                                 "when the program had ended, processes were started and ended faster than "
                                 "seep could look at them: descendants may run on, and are not in this");
    if (!run->nr_idle)
        return NULL;
    return seep_profile_note(main_profile, SEEP_NOTE_LEFT_RUNNING,
                             "%s process%s still ran when the program had ended, without a heap operation of "
                             "%s own until then: %s%s; 'seep report PID' shows what came later",
                             seep_format_count(run->nr_idle).text, seep_plural_es(run->nr_idle),
                             run->nr_idle == 1 ? "its" : "their", list,
                             nr_listed < run->nr_idle ? ", ..." : "");
}

// ---- traced, and nothing to tell ---------------------------------------------------------------------

static struct seep_error *note_silent(struct seep_profile *main_profile, const struct seep_texts *names,
                                      const uint64_t *counts, size_t nr_all) {
    char list[512] = "";
    size_t used = 0;
    size_t i = 0;
    for (; i < names->nr && used + 300 < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%.200s (%s)", i ? ", " : "",
                                 names->texts[i], seep_format_count(counts[i]).text);
    return seep_profile_note(main_profile, SEEP_NOTE_SILENT_PROCESSES,
                             "%s process%s that made no heap operation %s not listed: %s%s",
                             seep_format_count(nr_all).text, seep_plural_es(nr_all),
                             nr_all == 1 ? "is" : "are", list, i < names->nr ? ", ..." : "");
}

// Drops traced processes without any heap operation, unless others were started by them, or seep may have
// missed what they did.
static struct seep_error *drop_silent(struct seep_session *session) {
    struct seep_process_tree tree;
    struct seep_error *err = seep_process_tree_init(session, &tree);
    if (err)
        return err;
    struct seep_texts names = {NULL}; // borrowed from the profiles, so those are ended last
    uint64_t *counts = calloc(session->nr_profiles, sizeof(*counts));
    struct seep_profile **silent_ones = calloc(session->nr_profiles, sizeof(*silent_ones));
    size_t nr_silent = 0;
    size_t nr_kept = 0;
    if (!counts || !silent_ones)
        err = seep_error_no_memory();
    size_t nr_all = session->nr_profiles;
    for (size_t i = 0; counts && silent_ones && i < nr_all; i++) {
        struct seep_profile *profile = session->profiles[i];
        const struct seep_process_node *node = &tree.nodes[i];
        // A forked one has an image because it has done something: if not in the heap, then in its own pools.
        bool silent = i && !profile->health.events && !(profile->health.flags & SEEP_FLAG_FORKED) &&
                      seep_profile_verdict(profile) == SEEP_VERDICT_COMPLETE &&
                      profile->process.exit_kind != SEEP_EXIT_EXEC && node->first_child == SEEP_NO_PROCESS;
        uint32_t id;
        if (silent && !err && !(err = seep_texts_add(&names, profile->process.name, &id)))
            counts[id]++;
        if (silent)
            silent_ones[nr_silent++] = profile;
        else
            session->profiles[nr_kept++] = profile;
    }
    session->nr_profiles = nr_all - nr_silent;
    if (!err && nr_silent)
        err = note_silent(session->profiles[0], &names, counts, nr_silent);
    for (size_t i = 0; i < nr_silent; i++)
        seep_profile_destroy(silent_ones[i]);
    free(silent_ones);
    free(counts);
    seep_texts_deinit(&names);
    seep_process_tree_deinit(&tree);
    return err;
}

static struct member *main_member(struct gathering *gathering) {
    for (size_t i = 0; i < gathering->nr_members; i++)
        if (gathering->members[i].is_main)
            return &gathering->members[i];
    return NULL;
}

// Where the program went on as one that was not traced, that one is what it ended as.
static void choose_main(struct gathering *gathering) {
    struct member *before = main_member(gathering);
    for (size_t i = 0; before && i < gathering->nr_members; i++) {
        struct member *other = &gathering->members[i];
        if (!(other->profile->health.flags & SEEP_HEALTH_UNTRACED) || other == before ||
            other->profile->process.pid != before->profile->process.pid)
            continue;
        before->is_main = before->profile->process.is_main = false;
        other->is_main = other->profile->process.is_main = true;
        before = other;
    }
}

static struct seep_error *finish_main(const struct gathering *gathering, const struct seep_run *run,
                                      struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    bool is_open = process->exit_kind == SEEP_EXIT_RUNNING;
    // It could not tell, and no image came of the program that it became: that one is what ended.
    bool became_untold = is_open && profile->health.lost[SEEP_LOST_EXEC];
    // Where libc has no way to tell the status at exit (musl), the image has the end without it.
    bool left_open = profile->health.events && is_open && WIFEXITED(run->wait_status) && !became_untold;
    process->exit_kind = WIFSIGNALED(run->wait_status) ? SEEP_EXIT_SIGNAL : SEEP_EXIT_CODE;
    process->exit_value =
        WIFSIGNALED(run->wait_status) ? WTERMSIG(run->wait_status) : WEXITSTATUS(run->wait_status);
    // Without an end of its own the image only knows when it was read.
    if (process->duration_ns <= 0 || process->duration_ns > run->duration_ns)
        process->duration_ns = run->duration_ns;
    struct seep_error *err = NULL;
    if (left_open && gathering->look && !profile->leaks.known)
        err = note_no_exit(profile,
                           "the program left by a system call, not through exit(), as Go does; '--scan no' "
                           "counts the blocks that it held");
    if (!err && !became_untold)
        err = note_not_looked(gathering, profile);
    if (!err)
        err = seep_watching_note_memory(&gathering->watching, run, profile);
    if (!err)
        err = note_idle(run, profile);
    if (!err && gathering->wiped)
        err = seep_profile_note(
            profile, SEEP_NOTE_WIPED,
            "memory was wiped when it was handed out again%s, so that old pointers in it hold "
            "nothing: --wipe-freed no leaves it as it is",
            getenv("MALLOC_PERTURB_") ? ", or filled by glibc as MALLOC_PERTURB_ says" : "");
    if (!err && gathering->first_unread)
        err = seep_profile_note(profile, SEEP_NOTE_IMAGES_UNREADABLE, "%llu image%s could not be read: %s",
                                (unsigned long long)gathering->nr_unread, seep_plural(gathering->nr_unread),
                                gathering->first_unread->message);
    if (!err && gathering->watching.nr_failed)
        err = seep_profile_note(
            profile, SEEP_NOTE_SNAPSHOTS_FAILED, "%llu look%s at a running process failed: %s",
            (unsigned long long)gathering->watching.nr_failed, seep_plural(gathering->watching.nr_failed),
            gathering->watching.trouble ? gathering->watching.trouble : "out of memory");
    if (!err && run->nr_refused)
        err =
            seep_profile_note(profile, SEEP_NOTE_MESSAGES_REFUSED,
                              "messages at the socket that were refused, as not from our user or not ours: "
                              "%llu; what sent them was not traced: run seep as that user, or 'seep attach'",
                              (unsigned long long)run->nr_refused);
    if (!err && run->descriptors_ran_out)
        err = seep_profile_note(profile, SEEP_NOTE_OUT_OF_DESCRIPTORS,
                                "more processes at once than the tool may have descriptors (ulimit -n): some "
                                "descendants may be missing");
    if (!err && run->notices_ran_out)
        err = seep_profile_note(profile, SEEP_NOTE_NOTICES_CUT,
                                "more programs were started than are noted: which of them were not traced is "
                                "not known of all");
    return err;
}

static int compare_members(const void *left, const void *right) {
    const struct member *a = left;
    const struct member *b = right;
    if (a->is_main != b->is_main)
        return a->is_main ? -1 : 1;
    int64_t start_a = a->profile->process.start_realtime_ns;
    int64_t start_b = b->profile->process.start_realtime_ns;
    if (start_a != start_b)
        return start_a < start_b ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static struct seep_error *make_session(struct gathering *gathering, struct seep_session **ret_session) {
    struct seep_session *session;
    struct seep_error *err = seep_session_create(&session);
    if (err)
        return err;
    qsort(gathering->members, gathering->nr_members, sizeof(*gathering->members), compare_members);
    for (size_t i = 0; i < gathering->nr_members && !err; i++) {
        struct seep_profile *profile = gathering->members[i].profile;
        gathering->members[i].profile = NULL;
        err = seep_session_add(session, profile);
    }
    if (!err)
        err = drop_silent(session);
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

static void waiting(void *data, const struct seep_run_idle *left, size_t nr_left) {
    const struct gathering *gathering = data;
    gathering->watch->waiting(gathering->watch->data, left, nr_left);
}

static struct seep_error *record(void *data, const struct seep_run_image *image) {
    const struct gathering *gathering = data;
    return seep_recorder_add(gathering->watch->recorder, image);
}

static void look_on(void *data, const struct seep_run *run, int64_t now_ns, int64_t *ret_next_ns) {
    struct gathering *gathering = data;
    seep_watching_look_on(&gathering->watching, run, now_ns, ret_next_ns);
}

static bool holds(void *data) {
    (void)data;
    return seep_stop_holds();
}

struct seep_error *seep_session_run(const struct seep_run_options *options, const struct seep_exit_look *look,
                                    const struct seep_run_watch *watch, struct seep_store *store,
                                    struct seep_session **ret_session, int *ret_status) {
    struct gathering gathering = {
        .look = options->scan ? look : NULL, .store = store, .watch = watch, .wiped = options->wipe_freed};
    seep_watching_init(&gathering.watching, watch);
    struct seep_run_events events = {.early = gather_early,
                                     .parked = gathering.look ? look_at : NULL,
                                     .arrived = watch && watch->recorder ? record : NULL,
                                     .look_on = gathering.watching.watch ? look_on : NULL,
                                     .holds = gathering.look ? holds : NULL,
                                     .waiting = watch && watch->waiting ? waiting : NULL,
                                     .data = &gathering};
    struct seep_run *run = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_run_program(options, &events, &run, ret_status);
    seep_recorder_ended(watch ? watch->recorder : NULL);
    if (!err) {
        *ret_status =
            WIFSIGNALED(run->wait_status) ? 128 + WTERMSIG(run->wait_status) : WEXITSTATUS(run->wait_status);
        gathering.over_ns = run->start_realtime_ns + run->watched_ns;
        err = gather_rest(&gathering, run);
        if (!err && !main_member(&gathering))
            err = add_main(&gathering, run, options->argv);
        for (size_t i = 0; !err && i < run->nr_notices; i++)
            if (!run->notices[i].answered)
                err = add_descendant(&gathering, run, &run->notices[i]);
        choose_main(&gathering);
        if (!err)
            err = finish_main(&gathering, run, main_member(&gathering)->profile);
        if (!err)
            err = make_session(&gathering, &session);
    }
    if (!err)
        session->brief = run->duration_ns < BRIEF_NS;
    gathering_deinit(&gathering);
    seep_run_destroy(run);
    if (!err)
        *ret_session = session;
    return err;
}
