// SPDX-License-Identifier: BSD-2-Clause
// Looks of a server, see look_images.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/search.h"
#include "live/look_images.h"
#include "live/look_process.h"
#include "process/gone.h"
#include "process/memory_limit.h"
#include "process/process_group.h"
#include "source/image/image_copy.h"
#include "source/image/profile_image.h"

void seep_images_deinit(struct seep_images *images) {
    for (size_t i = 0; i < images->nr; i++)
        seep_image_look_destroy(images->items[i]);
    free(images->items);
    *images = (struct seep_images){NULL};
}

// A look that is being made. It takes over the images of the look before whose processes still run.
struct making {
    struct seep_images *before;
    struct seep_images now;
    size_t capacity;
    size_t before_at; // where the next one is looked for in `before`: nearly all have the same order
    uint64_t epoch;
};

// ---- one process ----

static struct seep_error *write_copy(const struct seep_image_copy *copy, int fd) {
    const uint64_t end = copy->head.header.file_size;
    const unsigned char *bytes;
    size_t nr;
    if (ftruncate(fd, (off_t)end) != 0)
        return seep_error_create(SEEP_E_MEMORY, "no room for the copy of an image");
    for (uint64_t at = 0; (nr = seep_image_next(copy, &at, end, &bytes)); at += nr)
        if (pwrite(fd, bytes, nr, (off_t)at) != (ssize_t)nr)
            return seep_error_create(SEEP_E_MEMORY, "no room for the copy of an image");
    return NULL;
}

// Copies the image into a file of our own, where its file cannot be opened.
static struct seep_error *copy_image(pid_t pid, int *ret_fd, int64_t *ret_start) {
    struct seep_image_copy *copy = NULL;
    struct seep_error *error = seep_image_copy_from_pid(pid, 0, &copy);
    if (error)
        return error;
    int fd = memfd_create("seep-copy", MFD_CLOEXEC);
    error = fd < 0 ? seep_error_create(SEEP_E_MEMORY, "no memory file for the copy of an image")
                   : write_copy(copy, fd);
    *ret_start = (int64_t)copy->head.header.start_realtime_ns;
    seep_image_copy_destroy(copy);
    if (error && fd >= 0)
        close(fd);
    if (!error)
        *ret_fd = fd;
    return error;
}

// The image of the same process in the look before. Each copy is a new file, so pid and start identify it.
static struct seep_image_look *find_before(struct making *making, pid_t pid, int fd, bool is_copy,
                                           int64_t start) {
    const struct seep_images *before = making->before;
    for (size_t i = 0; i < before->nr; i++) {
        size_t at = seep_index_from(making->before_at, i, before->nr);
        struct seep_image_look *image = before->items[at];
        const struct seep_process *process = &seep_image_look_profile(image)->process;
        if (process->pid == (uint32_t)pid &&
            (is_copy ? process->start_realtime_ns == start : seep_image_look_is_of(image, fd))) {
            making->before_at = at + 1;
            return image;
        }
    }
    return NULL;
}

static struct seep_error *open_image(struct making *making, pid_t pid, struct seep_image_look **ret_image,
                                     bool *ret_is_new) {
    int64_t start = 0;
    int fd = seep_image_open_pid(pid);
    bool is_copy = fd < 0;
    struct seep_error *error = is_copy ? copy_image(pid, &fd, &start) : NULL;
    if (error)
        return error;
    *ret_image = find_before(making, pid, fd, is_copy, start);
    *ret_is_new = !*ret_image;
    if (!*ret_image)
        return seep_image_look_create(fd, pid, ret_image);
    if (is_copy)
        seep_image_look_move(*ret_image, fd);
    else
        close(fd);
    return NULL;
}

static struct seep_error *look_at(struct making *making, pid_t pid) {
    struct seep_image_look *image = NULL;
    bool is_new = false;
    if (!seep_grow(&making->now.items, &making->capacity, making->now.nr + 1, sizeof(*making->now.items)))
        return seep_error_no_memory();
    struct seep_error *error = open_image(making, pid, &image, &is_new);
    if (error)
        return error;
    error = seep_image_look_take(image, making->epoch);
    if (!error)
        error = seep_look_note_files(seep_image_look_profile(image),
                                     making->now.noted_ns ? seep_image_look_profile_before(image) : NULL);
    if (error) {
        if (is_new)
            seep_image_look_destroy(image);
        return error;
    }
    seep_image_look_profile(image)->process.is_main = !making->now.nr;
    seep_image_look_profile(image)->process.cpu_ns = seep_process_cpu_ns(pid);
    making->now.items[making->now.nr++] = image;
    making->now.rss_bytes += seep_process_rss(pid);
    making->now.nr_threads += seep_look_nr_threads(pid);
    return NULL;
}

// Reads the images of the look before once more, when the process has ended.
static struct seep_error *look_back(struct making *making) {
    making->now.nr = 0;
    for (size_t i = 0; i < making->before->nr; i++) {
        struct seep_image_look *image = making->before->items[i];
        if (!seep_grow(&making->now.items, &making->capacity, making->now.nr + 1, sizeof(*making->now.items)))
            return seep_error_no_memory();
        struct seep_error *error = seep_image_look_take(image, making->epoch);
        if (error)
            return error;
        seep_image_look_profile(image)->process.is_main = !making->now.nr;
        making->now.items[making->now.nr++] = image;
    }
    return NULL;
}

// ---- the process and its descendants ----

static struct seep_error *look_at_family(const struct seep_live_source *source, struct making *making) {
    struct seep_pids pids = {NULL};
    struct seep_error *error = seep_pids_add_family(&pids, source->pid);
    const size_t most = seep_look_most(pids.nr_items, 1);
    for (size_t i = 1; i < pids.nr_items && !error; i++) {
        if (making->now.nr >= most) {
            making->now.nr_unseen++;
            continue;
        }
        struct seep_error *refused = look_at(making, pids.items[i]);
        if (refused && refused->code == SEEP_E_MEMORY) {
            error = refused;
        } else if (refused) { // it is not traced, has no image yet, or has ended
            making->now.nr_unseen += !seep_process_is_ending(pids.items[i]);
            seep_error_destroy(refused);
        }
    }
    seep_pids_deinit(&pids);
    struct seep_memory_limit limit;
    seep_memory_limit_find(source->pid, "", &limit);
    making->now.limit_bytes = limit.bytes;
    making->now.used_bytes = seep_memory_limit_used(&limit);
    snprintf(making->now.limit, sizeof(making->now.limit), "%s", limit.what);
    return error;
}

static struct seep_error *look_at_all(const struct seep_live_source *source, struct making *making) {
    bool gone = seep_look_is_gone(source);
    struct seep_error *error = gone ? NULL : look_at(making, source->pid);
    // The process may end between two calls. After an exec it has no image for a while.
    if (making->before->nr && (gone || (error && seep_process_is_zombie(source->pid)))) {
        seep_error_destroy(error);
        making->now.ended = true;
        return look_back(making);
    }
    if (gone)
        return seep_process_gone(source->pid, "name a running process");
    return error ? error : look_at_family(source, making);
}

// *at: where the search for the image begins, then the place behind the image.
static bool has(const struct seep_images *images, const struct seep_image_look *image, size_t *at) {
    for (size_t i = 0; i < images->nr; i++) {
        size_t place = seep_index_from(*at, i, images->nr);
        if (images->items[place] == image) {
            *at = place + 1;
            return true;
        }
    }
    return false;
}

// Destroys the images of `of` that `other` does not have.
static void drop_others(const struct seep_images *of, const struct seep_images *other) {
    for (size_t i = 0, at = 0; i < of->nr; i++)
        if (!has(other, of->items[i], &at))
            seep_image_look_destroy(of->items[i]);
    free(of->items);
}

struct seep_error *seep_images_take(const struct seep_live_source *source, struct seep_images *images,
                                    uint64_t epoch) {
    int64_t begin_ns = seep_monotonic_ns(), begin_cpu_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    struct making making = {.before = images, .epoch = epoch};
    if (images->nr && begin_ns - images->noted_ns < SEEP_LOOK_NOTED_NS)
        making.now.noted_ns = images->noted_ns;
    struct seep_error *error = look_at_all(source, &making);
    if (error) {
        drop_others(&making.now, images);
        return error;
    }
    drop_others(images, &making.now);
    if (!making.now.noted_ns)
        making.now.noted_ns = begin_ns;
    making.now.at_ns = seep_monotonic_ns();
    // The rest between looks depends on what a look costs, not on the load of the machine.
    making.now.took_ns = seep_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_cpu_ns;
    *images = making.now;
    return NULL;
}

// ---- a session of the images ----

static struct seep_error *profile_of(const struct seep_image_look *image, struct seep_profile **ret_profile) {
    const struct seep_profile *seen = seep_image_look_profile(image);
    struct seep_profile *profile = NULL;
    struct seep_error *error =
        seep_profile_from_fd(seep_image_look_fd(image), (pid_t)seen->process.pid, &profile);
    if (error)
        return error;
    profile->process.is_main = seen->process.is_main;
    error = seep_look_keep_notes(profile, seen);
    if (error) {
        seep_profile_destroy(profile);
        return error;
    }
    *ret_profile = profile;
    return NULL;
}

struct seep_error *seep_images_session(const struct seep_images *images, struct seep_session **ret_session) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_create(&session);
    for (size_t i = 0; !error && i < images->nr; i++) {
        struct seep_profile *profile = NULL;
        error = profile_of(images->items[i], &profile);
        if (!error)
            error = seep_session_add(session, profile);
    }
    if (error) {
        seep_session_destroy(session);
        return error;
    }
    *ret_session = session;
    return NULL;
}

struct seep_error *seep_images_control(const struct seep_images *images,
                                       const struct seep_image_control *asked, bool *ret_done) {
    struct seep_pids pids = {NULL};
    for (size_t i = 0; i < images->nr; i++) {
        pid_t pid = (pid_t)seep_image_look_profile(images->items[i])->process.pid;
        struct seep_error *error = seep_pids_add(&pids, pid);
        if (error) {
            seep_pids_deinit(&pids);
            return error;
        }
    }
    return seep_look_control_pids(&pids, asked, ret_done);
}
