// SPDX-License-Identifier: BSD-2-Clause
// Allocators that the library does not see, see unseen_allocators.h.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "confine/opener.h"
#include "confine/worker.h"
#include "confine/untrusted.h"
#include "process/beside_malloc.h"
#include "process/own_allocator.h"
#include "process/past_malloc.h"
#include "profile/verdict.h"
#include "source/image/unseen_allocators.h"

#define BUILD_ID_KEPT 44u // bytes of a build-id that the image keeps: struct seep_image_module

struct seep_unseen_file {
    struct stat status; // of the file
    struct seep_own_allocator own;
    bool is_past_known; // `is_past` is looked for only on demand
    bool is_past;       // see past_malloc.h
    bool frees_past;    // libc's own free
    uint8_t build_id[BUILD_ID_KEPT];
    uint32_t build_id_bytes;
};

void seep_unseen_deinit(struct seep_unseen *unseen) {
    seep_worker_destroy(unseen->worker);
    seep_map_deinit(&unseen->ids);
    seep_map_deinit(&unseen->known);
    free(unseen->found);
    *unseen = (struct seep_unseen)SEEP_UNSEEN_INIT;
}

// -1: none that may be read.
static int open_regular(const char *path, struct stat *ret_status) {
    int fd = seep_open_regular(-1, path);
    if (fd < 0 || seep_file_status(fd, ret_status))
        return fd;
    close(fd);
    return -1;
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

// A file that is no ELF file of ours, or damaged, has none that we know of.
static struct seep_error *look_here(int fd, const char *path, struct seep_unseen_file *file) {
    struct seep_elf_file elf;
    struct seep_imports imports;
    struct seep_error *err = seep_elf_file_init(fd, path, &elf);
    if (!err) {
        file->build_id_bytes = seep_elf_build_id(&elf, file->build_id, sizeof(file->build_id));
        err = seep_own_allocator_find(&elf, &file->own, &imports);
        if (!err)
            err = seep_past_free_find(&elf, &imports, &file->frees_past);
        seep_elf_file_deinit(&elf);
    }
    if (!err || err->code == SEEP_E_MEMORY)
        return err;
    seep_error_destroy(err);
    file->own = (struct seep_own_allocator){.kind = SEEP_OWN_NONE};
    return NULL;
}

static struct seep_error *look_for_past(int fd, const char *path, bool *ret_is_past) {
    struct seep_elf_file elf;
    struct seep_error *err = seep_elf_file_init(fd, path, &elf);
    *ret_is_past = false;
    if (!err) {
        err = seep_past_malloc_find(&elf, ret_is_past);
        seep_elf_file_deinit(&elf);
    }
    if (!err || err->code == SEEP_E_MEMORY)
        return err;
    seep_error_destroy(err);
    return NULL;
}

// A worker's question is the file, and 1 if it is about calls past malloc. The answer to that is 1 or 0;
// otherwise the answer is the build-id, whether the file frees past free, and what seep_own_allocator_put
// puts.
static bool serve(void *context, struct seep_worker_end *end, struct seep_take *words, int fd,
                  struct seep_put *answer) {
    struct seep_unseen_file file = {.build_id_bytes = 0};
    (void)context;
    (void)end;
    if (seep_take_left(words) && seep_take_leb(words)) {
        struct seep_error *past_err = look_for_past(fd, "", &file.is_past);
        bool is_known = !past_err;
        seep_error_destroy(past_err);
        seep_put_leb(answer, file.is_past);
        return is_known;
    }
    struct seep_error *err = look_here(fd, "", &file);
    bool is_answered = !err;
    seep_error_destroy(err);
    seep_put_leb(answer, file.build_id_bytes);
    seep_put_bytes(answer, file.build_id, file.build_id_bytes);
    seep_put_leb(answer, file.frees_past);
    seep_own_allocator_put(answer, &file.own);
    return is_answered;
}

// A stranger's file at which the worker dies has no allocator that we know of: what becomes of its names says
// why.
static void ask(struct seep_worker *worker, int fd, struct seep_unseen_file *file) {
    struct seep_put words = {NULL}, answer = {NULL};
    const struct seep_worker_question question = {
        .words = &words, .file = fd, .answer_max = 4096, .cpu_s = 10};
    if (seep_worker_ask(worker, &question, &answer) == SEEP_WORKER_ANSWERED) {
        struct seep_take take = seep_take_of(&answer);
        uint64_t nr_bytes = seep_take_leb(&take);
        const unsigned char *id = seep_take_bytes(&take, SEEP_MIN(nr_bytes, (uint64_t)BUILD_ID_KEPT));
        bool frees_past = seep_take_leb(&take) == 1;
        if (seep_own_allocator_take(&take, &file->own) && id) {
            file->build_id_bytes = (uint32_t)SEEP_MIN(nr_bytes, (uint64_t)BUILD_ID_KEPT);
            memcpy(file->build_id, id, file->build_id_bytes);
            file->frees_past = frees_past;
        }
    }
    seep_put_deinit(&answer);
}

static bool ask_for_past(struct seep_worker *worker, int fd) {
    struct seep_put words = {NULL}, answer = {NULL};
    seep_put_leb(&words, 1);
    const struct seep_worker_question question = {.words = &words, .file = fd, .answer_max = 16, .cpu_s = 10};
    bool is_past = false;
    if (seep_worker_ask(worker, &question, &answer) == SEEP_WORKER_ANSWERED) {
        struct seep_take take = seep_take_of(&answer);
        is_past = seep_take_leb(&take) == 1;
    }
    seep_put_deinit(&words);
    seep_put_deinit(&answer);
    return is_past;
}

static struct seep_error *look_into(struct seep_unseen *unseen, int fd, const char *path,
                                    struct seep_unseen_file *file) {
    if (!seep_file_is_untrusted(fd))
        return look_here(fd, path, file);
    file->own = (struct seep_own_allocator){.kind = SEEP_OWN_NONE};
    struct seep_error *err = unseen->worker ? NULL : seep_worker_start(serve, NULL, &unseen->worker);
    if (!err)
        ask(unseen->worker, fd, file);
    if (!err || err->code == SEEP_E_MEMORY)
        return err;
    seep_error_destroy(err); // its names tell that it was not read
    return NULL;
}

// *ret_file: NULL where it is not to be had.
static struct seep_error *find_file(struct seep_unseen *unseen, const char *path,
                                    const struct seep_unseen_file **ret_file) {
    struct stat status;
    *ret_file = NULL;
    int fd = open_regular(path, &status);
    if (fd < 0)
        return NULL;
    uint64_t key =
        (uint64_t)status.st_ino ^ (uint64_t)status.st_dev << 40 ^ (uint64_t)status.st_mtim.tv_nsec << 20;
    uint64_t *place = seep_map_at(&unseen->ids, key, NULL);
    struct seep_error *err = NULL;
    if (!place ||
        !seep_grow(&unseen->found, &unseen->capacity, unseen->nr_found + 1, sizeof(*unseen->found))) {
        err = seep_error_no_memory();
    } else if (!*place || !same_file(&unseen->found[*place - 1].status, &status)) {
        struct seep_unseen_file *file = &unseen->found[unseen->nr_found];
        *file = (struct seep_unseen_file){.status = status};
        err = look_into(unseen, fd, path, file);
        *place = ++unseen->nr_found;
    }
    close(fd);
    if (!err)
        *ret_file = &unseen->found[*place - 1];
    return err;
}

// A hash of the file that the process has loaded under that name. 0: it cannot be told from others.
static uint64_t key_of(const char *path, const struct seep_module *module,
                       const struct seep_code_area *area) {
    uint64_t key = seep_hash_bytes(path, strlen(path));
    if (area)
        return seep_hash64(key ^ seep_hash64(area->inode ^ area->device << 40));
    return module && module->build_id_bytes
               ? seep_hash64(key ^ seep_hash_bytes(module->build_id, module->build_id_bytes))
               : 0;
}

// As find_file, for files of many processes: what has been found for one is not looked for again.
static struct seep_error *find_known(struct seep_unseen *unseen, const char *path, uint64_t key,
                                     const struct seep_unseen_file **ret_file) {
    const uint64_t *known = key ? seep_map_find(&unseen->known, key) : NULL;
    if (known) {
        *ret_file = &unseen->found[*known - 1];
        return NULL;
    }
    struct seep_error *err = find_file(unseen, path, ret_file);
    if (err || !*ret_file || !key)
        return err;
    uint64_t *place = seep_map_at(&unseen->known, key, NULL);
    if (!place)
        return seep_error_no_memory();
    *place = (uint64_t)(*ret_file - unseen->found) + 1;
    return NULL;
}

static bool is_of_module(const struct seep_unseen_file *file, const struct seep_module *module) {
    return !module->build_id_bytes ||
           (file->build_id_bytes == module->build_id_bytes &&
            memcmp(file->build_id, module->build_id, SEEP_MIN(module->build_id_bytes, BUILD_ID_KEPT)) == 0);
}

static struct seep_error *note(struct seep_profile *profile, const char *path,
                               const struct seep_own_allocator *own) {
    switch (own->kind) {
    case SEEP_OWN_NAMED:
        return seep_profile_note(
            profile, SEEP_NOTE_OWN_ALLOCATOR,
            "%s has an allocator of its own, %s, called as %smalloc: what it allocates is "
            "not here; 'seep attach --symbols-prefix %s PID' sees it",
            path, own->allocator, own->prefix, own->prefix);
    case SEEP_OWN_MALLOC:
        return seep_profile_note(
            profile, SEEP_NOTE_OWN_MALLOC,
            "%s has a malloc of its own that it does not export: what it allocates is not "
            "here; 'seep attach -O %s PID' sees it",
            path, path);
    case SEEP_OWN_MESSAGE:
        return seep_profile_note(
            profile, SEEP_NOTE_OWN_ALLOCATOR_LIKELY,
            "%s seems to have %s inside (by its messages; its symbols are stripped): what that "
            "allocates is not here; build it with symbols, and 'seep attach' sees it",
            path, own->allocator);
    case SEEP_OWN_GO:
        return seep_profile_note(
            profile, SEEP_NOTE_GO_RUNTIME,
            "%s has a Go runtime: blocks of its C code are here, runtime/pprof has the heap of Go", path);
    case SEEP_OWN_NONE:
        break;
    }
    return NULL;
}

// Allocators with functions beside malloc, a bit for each: see beside_malloc.h.
struct beside_seen {
    unsigned loaded;
    unsigned called;
};

// The file at the path if it is that of `module` or `area`; NULL: it is not, or it is not known.
static struct seep_error *find_file_of(struct seep_unseen *unseen, const char *path,
                                       const struct seep_module *module, const struct seep_code_area *area,
                                       const struct seep_unseen_file **ret_file) {
    const struct seep_unseen_file *file = NULL;
    struct seep_error *err =
        path[0] == '/' ? find_known(unseen, path, key_of(path, module, area), &file) : NULL;
    bool is_it = !err && file && (!module || is_of_module(file, module)) &&
                 (!area || file->status.st_ino == area->inode);
    *ret_file = is_it ? file : NULL;
    return err;
}

// One note is enough, as of calls of libc's own malloc.
static struct seep_error *note_frees(struct seep_profile *profile, const char *path) {
    if (seep_profile_has_note(profile, SEEP_NOTE_PAST_FREE))
        return NULL;
    return seep_profile_note(
        profile, SEEP_NOTE_PAST_FREE,
        "%s may call libc's own free past seep (it opens libc by name and looks up free): a "
        "block that it frees so counts as live, and may count as lost",
        path);
}

// Notes what is in a file once, however often it was loaded. `module` or `area` is what it must be the file
// of.
static struct seep_error *note_file(struct seep_unseen *unseen, struct seep_profile *profile,
                                    struct seep_map *noted, const char *path,
                                    const struct seep_module *module, const struct seep_code_area *area,
                                    struct beside_seen *seen) {
    const struct seep_unseen_file *file;
    bool is_new = false;
    struct seep_error *err = find_file_of(unseen, path, module, area, &file);
    seen->loaded |= seep_beside_of_path(path);
    if (err || !file)
        return err;
    seen->called |= file->own.calls & ~seep_beside_of_path(path);
    if (file->frees_past && (err = note_frees(profile, path)))
        return err;
    if (file->own.kind == SEEP_OWN_NONE)
        return NULL;
    if (!seep_map_at(noted, (uint64_t)(file - unseen->found), &is_new))
        return seep_error_no_memory();
    return is_new ? note(profile, path, &file->own) : NULL;
}

// Looks once into each file; one that cannot be looked into has no such call.
static struct seep_error *find_past(struct seep_unseen *unseen, const char *path,
                                    struct seep_unseen_file *file) {
    struct stat status;
    struct seep_error *err = NULL;
    int fd = file->is_past_known ? -1 : open_regular(path, &status);
    if (fd < 0)
        return NULL;
    if (!same_file(&file->status, &status))
        file->is_past = false;
    else if (!seep_file_is_untrusted(fd))
        err = look_for_past(fd, path, &file->is_past);
    else if (unseen->worker || !(err = seep_worker_start(serve, NULL, &unseen->worker)))
        file->is_past = ask_for_past(unseen->worker, fd);
    file->is_past_known = true;
    close(fd);
    if (!err || err->code == SEEP_E_MEMORY)
        return err;
    seep_error_destroy(err);
    return NULL;
}

// One note is enough: of the first file that may call libc's own malloc.
static struct seep_error *note_past(struct seep_unseen *unseen, struct seep_profile *profile,
                                    const char *path, const struct seep_module *module,
                                    const struct seep_code_area *area) {
    const struct seep_unseen_file *found;
    if (seep_profile_has_note(profile, SEEP_NOTE_PAST_MALLOC))
        return NULL;
    struct seep_error *err = find_file_of(unseen, path, module, area, &found);
    if (err || !found)
        return err;
    err = find_past(unseen, path, &unseen->found[found - unseen->found]);
    if (err || !found->is_past)
        return err;
    return seep_profile_note(profile, SEEP_NOTE_PAST_MALLOC,
                             "%s may call libc's own malloc past seep (it looks up malloc or one of its "
                             "family by dlsym): a block of that malloc can have the address of a block that "
                             "was freed before, so a second free and a free inside a block are not certain",
                             path);
}

static bool has_uncertain(const struct seep_profile *profile) {
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++)
        if (seep_misuse_may_be_unseen(profile->wrong_releases[i].kind))
            return true;
    return false;
}

struct seep_error *seep_unseen_note_allocators(struct seep_unseen *unseen, struct seep_profile *profile,
                                               const struct seep_process_map *map) {
    struct seep_map noted = SEEP_MAP_INIT; // by index in `found`
    struct beside_seen seen = {0};
    struct seep_error *err = NULL;
    for (uint32_t i = 1; i < profile->nr_modules && !err; i++)
        err = note_file(unseen, profile, &noted, profile->modules[i].path, &profile->modules[i], NULL, &seen);
    for (size_t i = 0; map && i < map->nr_areas && !err; i++)
        err = note_file(unseen, profile, &noted, map->areas[i].path, NULL, &map->areas[i], &seen);
    bool is_doubtful = has_uncertain(profile);
    for (uint32_t i = 1; is_doubtful && i < profile->nr_modules && !err; i++)
        err = note_past(unseen, profile, profile->modules[i].path, &profile->modules[i], NULL);
    for (size_t i = 0; is_doubtful && map && i < map->nr_areas && !err; i++)
        err = note_past(unseen, profile, map->areas[i].path, NULL, &map->areas[i]);
    seep_map_deinit(&noted);
    return !err && seen.loaded & seen.called ? seep_profile_note_beside(profile) : err;
}

struct seep_error *seep_profile_note_allocators(struct seep_profile *profile, pid_t pid) {
    struct seep_unseen unseen = SEEP_UNSEEN_INIT;
    struct seep_process_map map = {NULL};
    // It may have ended: then what its image knows is all.
    if (pid)
        seep_error_destroy(seep_process_map_init(pid, &map));
    struct seep_error *err = seep_unseen_note_allocators(&unseen, profile, &map);
    seep_process_map_deinit(&map);
    seep_unseen_deinit(&unseen);
    return err;
}
