// SPDX-License-Identifier: BSD-2-Clause
// From the images of a run to a session, see run_session.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/map.h"
#include "capture/image_copy.h"
#include "model/profile_image.h"
#include "model/run_session.h"

struct member {
    struct seep_profile *profile;
    size_t order;
    bool is_main;
};

// What a look at a leaving process gave, by the order of its image.
struct looked {
    size_t order;
    struct seep_profile *profile; // NULL: `trouble` says why
    char *trouble;
};

struct gathering {
    const struct seep_exit_look *look; // NULL: nobody is looked at
    struct looked *looked;
    size_t nr_looked;
    size_t looked_capacity;
    struct member *members;
    size_t nr_members;
    size_t capacity;
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

static struct looked *find_looked(const struct gathering *gathering, const struct seep_run_image *image) {
    for (size_t i = 0; i < gathering->nr_looked; i++)
        if (gathering->looked[i].order == image->order)
            return &gathering->looked[i];
    return NULL;
}

static struct seep_error *look_at(void *data, struct seep_run_parked *parked) {
    struct gathering *gathering = data;
    if (find_looked(gathering, parked->image))
        return NULL; // abort() whose handler went on, or two threads that leave
    if (!seep_grow(&gathering->looked, &gathering->looked_capacity, gathering->nr_looked + 1,
                   sizeof(*gathering->looked)))
        return seep_error_no_memory();
    struct looked *looked = &gathering->looked[gathering->nr_looked++];
    *looked = (struct looked){.order = parked->image->order};
    struct seep_error *err = gathering->look->look(gathering->look->data, parked, &looked->profile);
    if (!err)
        return NULL;
    looked->trouble = strdup(err->message);
    seep_error_destroy(err);
    return looked->trouble ? NULL : seep_error_no_memory();
}

// The profile that was made when the process left, or one of the image as it is now, with a note why
// nobody looked.
static struct seep_error *profile_of(struct gathering *gathering, const struct seep_run_image *image,
                                     struct seep_profile **ret_profile) {
    struct looked *looked = find_looked(gathering, image);
    if (looked && looked->profile) {
        *ret_profile = looked->profile;
        looked->profile = NULL;
        return NULL;
    }
    struct seep_error *err = read_image(image, ret_profile);
    if (!err && looked) {
        err = seep_profile_note(*ret_profile, "what is lost is not known: %s", looked->trouble);
        if (err) {
            seep_profile_destroy(*ret_profile);
            *ret_profile = NULL;
        }
    }
    return err;
}

// The exit as far as the image and its process tell; that of the program itself is set later.
static struct seep_error *set_exit(const struct seep_run_image *image, struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    if (image->replaced) {
        process->exit_kind = SEEP_EXIT_UNKNOWN;
        return seep_profile_note(profile,
                                 "the process went on as another program (exec), which follows by itself");
    }
    if (process->exit_kind != SEEP_EXIT_RUNNING || image->is_main)
        return NULL;
    if (!seep_run_image_ended(image))
        return seep_profile_note(profile, "the process was still running when it was looked at");
    process->exit_kind = SEEP_EXIT_UNKNOWN;
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
    if (!image->is_main && !profile->health.events) {
        seep_profile_destroy(profile);
        return NULL;
    }
    profile->process.pid = image->pid > 0 ? (uint32_t)image->pid : profile->process.pid;
    profile->process.is_main = image->is_main;
    gathering->members[gathering->nr_members++] = (struct member){profile, image->order, image->is_main};
    return set_exit(image, profile);
}

static struct seep_error *gather_rest(struct gathering *gathering, const struct seep_run *run) {
    for (size_t i = 0; i < run->nr_images; i++) {
        struct seep_error *err = run->images[i].fd >= 0 ? gather(gathering, &run->images[i]) : NULL;
        if (err)
            return err;
    }
    return NULL;
}

// A profile that says only what was run, and why nothing is known of it.
static struct seep_error *add_untraced(struct gathering *gathering, const struct seep_run *run,
                                       char *const *argv) {
    struct seep_profile *profile;
    if (!seep_grow(&gathering->members, &gathering->capacity, gathering->nr_members + 1,
                   sizeof(*gathering->members)))
        return seep_error_no_memory();
    struct seep_error *err = seep_profile_create(&profile);
    if (err)
        return err;
    gathering->members[gathering->nr_members++] = (struct member){profile, 0, true};
    struct seep_process *process = &profile->process;
    process->pid = (uint32_t)run->main_pid;
    process->is_main = true;
    process->start_realtime_ns = run->start_realtime_ns;
    char *real = realpath(run->path, NULL);
    process->exe = seep_arena_strdup(&profile->arena, real ? real : run->path);
    free(real);
    while (argv[process->nr_args])
        process->nr_args++;
    process->nr_args_all = process->nr_args;
    const char **args = seep_arena_alloc(&profile->arena, process->nr_args, sizeof(*args));
    if (!process->exe || !args)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < process->nr_args; i++)
        if (!(args[i] = seep_arena_strdup(&profile->arena, argv[i])))
            return seep_error_no_memory();
    process->args = args;
    seep_profile_derive(profile);
    if (gathering->nr_unread)
        return seep_profile_note(profile, SEEP_NOTE_UNTRACED "its image could not be read");
    if (run->why_untraced)
        return seep_profile_note(profile, SEEP_NOTE_UNTRACED "%s", run->why_untraced);
    return seep_profile_note(
        profile,
        SEEP_NOTE_UNTRACED "no image came from the program: it ended before libseep.so was "
                           "ready (as one built with AddressSanitizer does), or the loader did not load it, "
                           "or a sandbox kept it from the socket, or there is no room (ulimit -v)");
}

static struct member *main_member(struct gathering *gathering) {
    for (size_t i = 0; i < gathering->nr_members; i++)
        if (gathering->members[i].is_main)
            return &gathering->members[i];
    return NULL;
}

static struct seep_error *finish_main(const struct gathering *gathering, const struct seep_run *run,
                                      struct seep_profile *profile) {
    struct seep_process *process = &profile->process;
    bool left_open =
        profile->health.events && process->exit_kind != SEEP_EXIT_CODE && WIFEXITED(run->wait_status);
    process->exit_kind = WIFSIGNALED(run->wait_status) ? SEEP_EXIT_SIGNAL : SEEP_EXIT_CODE;
    process->exit_value =
        WIFSIGNALED(run->wait_status) ? WTERMSIG(run->wait_status) : WEXITSTATUS(run->wait_status);
    // Without an end of its own the image only knows when it was read.
    if (process->duration_ns == 0 || process->duration_ns > run->duration_ns)
        process->duration_ns = run->duration_ns;
    struct seep_error *err = NULL;
    if (left_open)
        err = seep_profile_note(profile,
                                "the program did not leave through exit(): it made the system call itself, "
                                "or went on (exec) as a program that could not be traced");
    if (!err && gathering->first_unread)
        err = seep_profile_note(profile, "%llu images could not be read: %s",
                                (unsigned long long)gathering->nr_unread, gathering->first_unread->message);
    if (!err && run->nr_refused)
        err = seep_profile_note(profile,
                                "%llu messages at the socket were refused: not from our user, or not ours",
                                (unsigned long long)run->nr_refused);
    if (!err && run->descriptors_ran_out)
        err = seep_profile_note(profile,
                                "more processes at once than the tool may have descriptors (ulimit -n): some "
                                "descendants may be missing");
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
    if (err) {
        seep_session_destroy(session);
        return err;
    }
    *ret_session = session;
    return NULL;
}

struct seep_error *seep_session_run(const struct seep_run_options *options, const struct seep_exit_look *look,
                                    struct seep_session **ret_session, int *ret_status) {
    struct gathering gathering = {.look = options->scan ? look : NULL};
    struct seep_run_events events = {
        .early = gather, .parked = gathering.look ? look_at : NULL, .data = &gathering};
    struct seep_run *run = NULL;
    struct seep_session *session = NULL;
    struct seep_error *err = seep_run_program(options, &events, &run, ret_status);
    if (!err) {
        *ret_status =
            WIFSIGNALED(run->wait_status) ? 128 + WTERMSIG(run->wait_status) : WEXITSTATUS(run->wait_status);
        err = gather_rest(&gathering, run);
        if (!err && !main_member(&gathering))
            err = add_untraced(&gathering, run, options->argv);
        if (!err)
            err = finish_main(&gathering, run, main_member(&gathering)->profile);
        if (!err)
            err = make_session(&gathering, &session);
    }
    gathering_deinit(&gathering);
    seep_run_destroy(run);
    if (!err)
        *ret_session = session;
    return err;
}
