// SPDX-License-Identifier: BSD-2-Clause
//
// The files that some traced process has mapped as code: what is in them, and where the unwinder's tables
// have it. See attach_parts.h.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "source/attach/heap.skel.h"
#include "base/file_name.h"
#include "confine/opener.h"
#include "confine/untrusted.h"
#include "process/process_map.h"
#include "source/attach/attach_parts.h"

// A step is an entry or a row of call-frame information, or a symbol: 10 to 300 ns. The largest browsers have
// five million in one file; a file may be made to have as many as bytes.
#define OBJECT_STEPS (UINT64_C(8) << 20)
#define TARGET_STEPS (UINT64_C(24) << 20)
// A user can make processes and files without end. So the files of each user, except ours and root's, have
// two limits: how many are looked at, and how many steps are made for them, at once and then one a
// microsecond.
#define OWNER_FILES_MAX 2048u
#define OWNER_STEPS     (UINT64_C(256) << 20)
#define NOT_OPENED      UINT32_MAX // stands for the owner of what cannot be opened

void seep_attach_object_destroy(struct seep_attach_object *object) {
    if (!object)
        return;
    if (object->fd >= 0)
        close(object->fd);
    seep_elf_file_deinit(&object->elf);
    seep_unwind_table_deinit(&object->table);
    seep_allocator_file_deinit(&object->allocator);
    free(object->path);
    free(object);
}

static bool has_places(const struct seep_allocator_file *file) {
    for (size_t i = 0; i < SEEP_PROBE_NR; i++)
        if (file->places[i].nr)
            return true;
    return false;
}

// All but those of `source`. The loader's news are wanted from any object.
static void forget_places(struct seep_attach_object *object, enum seep_attach_source source) {
    struct seep_probe_places *places = object->allocator.places;
    if (source != SEEP_SOURCE_FUNCTIONS)
        places[SEEP_PROBE_ALLOC].nr = places[SEEP_PROBE_FREE].nr = places[SEEP_PROBE_NEW].nr = 0;
    if (source != SEEP_SOURCE_OTEL) {
        places[SEEP_PROBE_OTEL_ALLOC].nr = places[SEEP_PROBE_OTEL_FREE].nr = 0;
        free(object->allocator.otel_refused);
        object->allocator.otel_refused = NULL;
    }
}

void seep_attach_keep_source(const struct seep_attached *attached, struct seep_attach_object *object) {
    if (attached->options.source != SEEP_SOURCE_AUTO)
        forget_places(object, attached->options.source);
    if (object->fd >= 0 && !has_places(&object->allocator)) {
        close(object->fd);
        object->fd = -1;
    }
}

static bool is_called(const char *name, const char *wanted) {
    size_t nr = strlen(wanted);
    return strncmp(name, wanted, nr) == 0 && (name[nr] == 0 || name[nr] == '.' || name[nr] == '-');
}

// -O: its name, with or without what follows ".so" and without "lib" as for -l of a linker; or the end of its
// path.
static bool is_wanted(const struct seep_attached *attached, const char *path) {
    const char *wanted = attached->options.object;
    if (!wanted)
        return true;
    size_t nr = strlen(wanted), nr_path = strlen(path);
    if (strchr(wanted, '/'))
        return nr_path >= nr && strcmp(path + nr_path - nr, wanted) == 0;
    const char *name = seep_file_name(path);
    return is_called(name, wanted) || (strncmp(name, "lib", 3) == 0 && is_called(name + 3, wanted));
}

static struct seep_error *look_into(struct seep_attached *attached, struct seep_budget *budget,
                                    struct seep_attach_object *object) {
    struct seep_object_contents contents;
    const struct seep_object_question question = {.fd = object->fd,
                                                  .name = object->path,
                                                  .prefix = attached->options.prefix,
                                                  .wants_table = true,
                                                  .budget = budget};
    struct seep_error *err = seep_object_read(&attached->reader, &question, &contents, &object->trouble);
    object->unreadable = err || object->trouble;
    if (object->unreadable)
        return err;
    object->elf = contents.elf;
    memcpy(object->build_id, contents.build_id, sizeof(object->build_id));
    object->build_id_bytes = contents.build_id_bytes;
    object->table = contents.table;
    object->base = contents.table.base;
    object->allocator = contents.allocator;
    return NULL;
}

static bool is_limited(uint32_t owner) {
    return owner == NOT_OPENED || (owner != 0 && owner != geteuid());
}

static uint32_t owner_of(int fd) {
    struct stat status;
    return fd >= 0 && seep_file_status(fd, &status) ? status.st_uid : NOT_OPENED;
}

// false: this owner has reached the limit.
static bool count_file(struct seep_attached *attached, uint32_t owner) {
    uint64_t *nr = is_limited(owner) ? seep_map_at(&attached->owner_files, owner, NULL) : NULL;
    return !nr || ++*nr <= OWNER_FILES_MAX;
}

static uint64_t steps_left(const struct seep_attached *attached, uint32_t owner, uint64_t used_by_target) {
    uint64_t left = SEEP_MIN(OBJECT_STEPS, TARGET_STEPS - used_by_target);
    const uint64_t *used = is_limited(owner) ? seep_map_find(&attached->owner_steps, owner) : NULL;
    uint64_t most = OWNER_STEPS + (uint64_t)SEEP_MAX(attached->now_ns, INT64_C(0)) / 1000;
    return used ? SEEP_MIN(left, most - SEEP_MIN(*used, most)) : left;
}

// A file that cannot be read has no rows and no probes, and the frames in it no names: no more.
static struct seep_error *read_object(struct seep_attached *attached, pid_t pid,
                                      const struct seep_code_area *area, struct seep_attach_object *object) {
    object->fd = seep_code_area_open(pid, area);
    object->unreadable = object->fd < 0;
    if (object->unreadable && errno == ETIMEDOUT)
        object->trouble = "its file system does not answer";
    uint32_t owner = owner_of(object->fd);
    object->left_out = !count_file(attached, owner);
    if (object->left_out && object->fd >= 0) {
        close(object->fd);
        object->fd = -1;
        object->unreadable = true;
    }
    if (object->unreadable)
        return NULL;
    uint64_t *used = seep_map_at(&attached->steps, (uint32_t)pid, NULL);
    uint64_t *used_of_owner = seep_map_at(&attached->owner_steps, owner, NULL);
    if (!used || !used_of_owner)
        return seep_error_no_memory();
    uint64_t steps = steps_left(attached, owner, *used);
    struct seep_budget budget = {steps, attached->options.stop};
    struct seep_error *err = look_into(attached, &budget, object);
    *used += steps - budget.steps;
    *used_of_owner += steps - budget.steps;
    object->is_cut = budget.steps == 0;
    if (err || object->unreadable)
        return err;
    // For a probe the kernel reads the file, and who asks for it would wait.
    if (!is_wanted(attached, object->path) || seep_is_handle(object->fd))
        forget_places(object, SEEP_SOURCE_AUTO);
    seep_attach_keep_source(attached, object);
    return NULL;
}

// By what the kernel knows of a mapping, for processes whose mappings we have not read yet. A full table is
// no loss: then their stacks are cut for some milliseconds.
static void name_code(struct seep_attached *attached, const struct seep_attach_object *object) {
    for (uint32_t i = 0; i < object->elf.nr_segments && object->inode; i++) {
        const Elf64_Phdr *segment = &object->elf.segments[i];
        uint64_t before = segment->p_offset & 4095;
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        struct seep_bpf_file file = {object->device, object->inode, segment->p_offset >> 12};
        struct seep_bpf_file_code code = {.base = object->base - (segment->p_vaddr - before),
                                          .first_page = object->place.first_page,
                                          .nr_pages = object->place.nr_pages};
        bpf_map_update_elem(bpf_map__fd(attached->bpf->maps.seep_files), &file, &code, BPF_ANY);
    }
}

// Tells the programs where the arguments are.
static void place_usdt(struct seep_attached *attached, struct seep_allocator_file *file) {
    struct seep_probe_places *kinds[] = {&file->places[SEEP_PROBE_OTEL_ALLOC],
                                         &file->places[SEEP_PROBE_OTEL_FREE]};
    bool fits = file->nr_usdt <= SEEP_BPF_USDT_MAX - attached->nr_usdt;
    for (size_t kind = 0; kind < SEEP_ARRAY_SIZE(kinds); kind++) {
        for (size_t i = 0; i < kinds[kind]->nr && fits; i++) {
            uint32_t id = attached->nr_usdt++;
            bpf_map_update_elem(bpf_map__fd(attached->bpf->maps.seep_usdt), &id,
                                &file->usdt[kinds[kind]->cookies[i]], BPF_ANY);
            kinds[kind]->cookies[i] = id;
        }
        if (!fits && kinds[kind]->nr && !file->otel_refused)
            file->otel_refused = strdup("otel_memory (too many places)");
        kinds[kind]->nr = fits ? kinds[kind]->nr : 0;
    }
}

void seep_attach_place_table(struct seep_attached *attached, struct seep_attach_object *object) {
    place_usdt(attached, &object->allocator);
    attached->nr_without_table += !seep_bpf_tables_add(&attached->tables, &object->table, &object->place);
    seep_unwind_table_deinit(&object->table);
    if (!object->unreadable)
        name_code(attached, object);
}

struct seep_error *seep_attach_find_object(struct seep_attached *attached, pid_t pid,
                                           const struct seep_code_area *area, size_t *ret_index) {
    for (size_t i = 0; i < attached->nr_objects; i++) {
        const struct seep_attach_object *known = attached->objects[i];
        if (known->device == area->device && known->inode == area->inode &&
            (area->inode || strcmp(known->path, area->path) == 0)) {
            *ret_index = i;
            return NULL;
        }
    }
    struct seep_attach_object *object = calloc(1, sizeof(*object));
    if (!object || !(object->path = strdup(area->path)) ||
        !seep_grow(&attached->objects, &attached->objects_capacity, attached->nr_objects + 1,
                   sizeof(struct seep_attach_object *))) {
        if (object)
            free(object->path);
        free(object);
        return seep_error_no_memory();
    }
    object->device = area->device;
    object->inode = area->inode;
    object->fd = -1;
    struct seep_error *err = read_object(attached, pid, area, object);
    if (!err && object->left_out) { // all of them are one
        attached->nr_left_out++;
        if (attached->left_out) {
            seep_attach_object_destroy(object);
            *ret_index = attached->left_out - 1;
            return NULL;
        }
        object->inode = UINT64_MAX; // of no file
        attached->left_out = attached->nr_objects + 1;
    }
    if (err) {
        seep_attach_object_destroy(object);
        return err;
    }
    if (attached->bpf)
        seep_attach_place_table(attached, object);
    *ret_index = attached->nr_objects;
    attached->objects[attached->nr_objects++] = object;
    return NULL;
}

struct seep_error *seep_attach_learn(struct seep_attached *attached, const char *path) {
    char real[PATH_MAX];
    struct stat status;
    size_t index;
    if (*path != '/' || !realpath(path, real) || stat(real, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    int fd = seep_open_regular(-1, real);
    bool is_other = fd >= 0 && !seep_is_handle(fd) && !seep_attach_is_traced_kind(fd);
    if (fd >= 0)
        close(fd);
    if (is_other)
        return NULL;
    struct seep_code_area area = seep_code_area_of_file(&status, real);
    return seep_attach_find_object(attached, getpid(), &area, &index);
}
