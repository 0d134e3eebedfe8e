// SPDX-License-Identifier: BSD-2-Clause
// Reads what events refer to out of a live image, see event_stacks_image.h.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/read_at.h"
#include "source/image/event_stacks_image.h"
#include "source/image/image_decode.h"

// The longest path that is taken.
enum { TEXT_MAX = 4096 };

struct look {
    int fd;
    struct seep_image_head head;
    struct seep_recorded_stacks *to;
    uint64_t data_bytes; // of the image
    char text[TEXT_MAX + 1];
};

static bool read_elements(const struct look *look, enum seep_area_kind kind, uint64_t first, uint64_t nr,
                          void *ret_elements) {
    return seep_image_elements_read(look->fd, &look->head, kind, first, nr, ret_elements);
}

// A count in an image may be any number, but elements that exist have data in the file.
static bool are_there(const struct look *look, enum seep_area_kind kind, uint64_t nr) {
    return nr <= look->data_bytes / look->head.header.areas[kind].element_bytes;
}

// "" where there is none.
static const char *read_text(struct look *look, uint64_t off, size_t *ret_bytes) {
    const struct seep_image_area *area = &look->head.header.areas[SEEP_AREA_STRINGS];
    size_t nr = off < area->used ? (size_t)SEEP_MIN(area->used - off, (uint64_t)TEXT_MAX) : 0;
    if (!nr || !seep_read_at(look->fd, area->off + off, look->text, nr))
        nr = 0;
    look->text[nr] = 0;
    *ret_bytes = strlen(look->text) + 1;
    return look->text;
}

static bool take_process(struct look *look) {
    struct seep_process *process = &look->to->process;
    const struct seep_image_header *header = &look->head.header;
    struct seep_arena *arena = &look->to->arena;
    size_t bytes;
    process->pid = header->pid;
    process->ppid = header->ppid;
    process->forked_from = header->forked_from;
    process->platform = look->head.platform;
    process->start_realtime_ns = (int64_t)header->start_realtime_ns;
    look->to->image_flags = header->flags;
    process->exe = seep_arena_strdup(arena, read_text(look, header->exe_off, &bytes));
    enum { ARGS_MAX = 64 };
    uint32_t nr = SEEP_MIN(header->nr_args, (uint32_t)ARGS_MAX);
    const char **args = seep_arena_alloc(arena, nr + 1, sizeof(*args));
    uint64_t at = header->args_off;
    for (uint32_t i = 0; args && i < nr; i++, at += bytes)
        if (!(args[i] = seep_arena_strdup(arena, read_text(look, at, &bytes))))
            return false;
    process->args = args;
    process->nr_args = process->nr_args_all = nr;
    return process->exe && args;
}

// Sites up to `site`, and the highest node that they are of.
static bool take_sites(struct look *look, uint32_t site, uint32_t *ret_node) {
    uint32_t nr = site >= look->to->first_site ? site + 1 - look->to->first_site : 0;
    if (!are_there(look, SEEP_AREA_SITES, nr))
        return false;
    struct seep_image_site *from = calloc(nr + 1, sizeof(*from));
    look->to->sites = seep_arena_alloc(&look->to->arena, nr + 1, sizeof(*look->to->sites));
    bool good =
        from && look->to->sites && read_elements(look, SEEP_AREA_SITES, look->to->first_site, nr, from);
    for (uint32_t i = 0; good && i < nr; i++) {
        look->to->sites[i] = (struct seep_site){.node = from[i].node, .via = from[i].via};
        *ret_node = SEEP_MAX(*ret_node, from[i].node);
        good = from[i].node < look->head.header.areas[SEEP_AREA_NODES].used;
    }
    look->to->nr_sites = good ? nr : 0;
    free(from);
    return good;
}

static bool take_nodes(struct look *look, uint32_t node, uint32_t *ret_module) {
    uint32_t nr = node >= look->to->first_node ? node + 1 - look->to->first_node : 0;
    if (!are_there(look, SEEP_AREA_NODES, nr))
        return false;
    struct seep_image_node *from = calloc(nr + 1, sizeof(*from));
    look->to->nodes = seep_arena_alloc(&look->to->arena, nr + 1, sizeof(*look->to->nodes));
    bool good =
        from && look->to->nodes && read_elements(look, SEEP_AREA_NODES, look->to->first_node, nr, from);
    for (uint32_t i = 0; good && i < nr; i++) {
        struct seep_node *to = &look->to->nodes[i];
        *to = (struct seep_node){.parent = from[i].parent < look->to->first_node + i ? from[i].parent : 0,
                                 .module = SEEP_FRAME_MODULE(from[i].frame),
                                 .offset = SEEP_FRAME_OFFSET(from[i].frame),
                                 .exact = SEEP_FRAME_EXACT(from[i].frame),
                                 .kind = SEEP_NODE_FRAME};
        if (SEEP_FRAME_IS_CUT(from[i].frame)) {
            to->kind = SEEP_NODE_CUT;
            to->parent = to->module = 0;
            to->exact = false;
        } else if (to->module >= look->head.header.areas[SEEP_AREA_MODULES].used) {
            to->module = 0;
        }
        *ret_module = SEEP_MAX(*ret_module, to->module);
    }
    look->to->nr_nodes = good ? nr : 0;
    free(from);
    return good;
}

static int64_t since_start(const struct look *look, uint64_t ns) {
    uint64_t start = look->head.header.start_ns;
    return ns > start && ns - start <= INT64_MAX ? (int64_t)(ns - start) : 0;
}

static bool take_modules(struct look *look, uint32_t module) {
    uint32_t nr = module >= look->to->first_module ? module + 1 - look->to->first_module : 0;
    if (!are_there(look, SEEP_AREA_MODULES, nr))
        return false;
    struct seep_image_module *from = calloc(nr + 1, sizeof(*from));
    look->to->modules = seep_arena_alloc(&look->to->arena, nr + 1, sizeof(*look->to->modules));
    bool good =
        from && look->to->modules && read_elements(look, SEEP_AREA_MODULES, look->to->first_module, nr, from);
    for (uint32_t i = 0; good && i < nr; i++) {
        struct seep_module *to = &look->to->modules[i];
        size_t bytes;
        const char *path = read_text(look, from[i].path_off, &bytes);
        *to = (struct seep_module){.path = seep_arena_strdup(&look->to->arena, *path ? path : "(unknown)"),
                                   .bias_rt = from[i].bias_rt,
                                   .start_rt = from[i].start_rt,
                                   .end_rt = from[i].end_rt,
                                   .first_seen_ns = since_start(look, from[i].first_seen_ns),
                                   .unloaded_ns = -1,
                                   .build_id_bytes =
                                       SEEP_MIN(from[i].build_id_bytes, (uint32_t)sizeof(to->build_id))};
        memcpy(to->build_id, from[i].build_id, sizeof(to->build_id));
        good = to->path;
    }
    look->to->nr_modules = good ? nr : 0;
    free(from);
    return good;
}

static bool take_threads(struct look *look, uint32_t thread) {
    uint32_t nr = thread >= look->to->first_thread ? thread + 1 - look->to->first_thread : 0;
    if (!are_there(look, SEEP_AREA_THREADS, nr))
        return false;
    struct seep_image_thread *from = calloc(nr + 1, sizeof(*from));
    look->to->threads = seep_arena_alloc(&look->to->arena, nr + 1, sizeof(*look->to->threads));
    bool good =
        from && look->to->threads && read_elements(look, SEEP_AREA_THREADS, look->to->first_thread, nr, from);
    for (uint32_t i = 0; good && i < nr; i++) {
        look->to->threads[i] = (struct seep_thread){.tid = from[i].tid, .nr_owners = from[i].nr_owners};
        memcpy(look->to->threads[i].name, from[i].name, sizeof(from[i].name));
    }
    look->to->nr_threads = good ? nr : 0;
    free(from);
    return good;
}

static bool look_at(struct look *look, uint32_t site, uint32_t thread) {
    uint32_t node = 0, module = 0;
    struct stat status;
    const struct seep_image_area *areas = look->head.header.areas;
    if (site >= areas[SEEP_AREA_SITES].used || thread >= areas[SEEP_AREA_THREADS].used)
        return false;
    look->data_bytes = fstat(look->fd, &status) == 0 ? (uint64_t)status.st_blocks * 512 : 0;
    return take_process(look) && take_sites(look, site, &node) && take_nodes(look, node, &module) &&
           take_modules(look, module) && take_threads(look, thread);
}

// Element 0 of these but the threads is the same in every profile.
static struct seep_recorded_stacks behind(const struct seep_image_stacks *stacks) {
    return (struct seep_recorded_stacks){.first_module = SEEP_MAX(stacks->nr_modules, 1u),
                                         .first_node = SEEP_MAX(stacks->nr_nodes, 1u),
                                         .first_site = SEEP_MAX(stacks->nr_sites, 1u),
                                         .first_thread = stacks->nr_threads};
}

struct seep_error *seep_image_stacks_process(const struct seep_image_stacks *stacks,
                                             struct seep_recorded_stacks *ret_stacks) {
    struct look *look = calloc(1, sizeof(*look));
    if (!look)
        return seep_error_no_memory();
    *ret_stacks = behind(stacks);
    look->fd = stacks->fd;
    look->to = ret_stacks;
    bool good = seep_image_head_try(stacks->fd, &look->head) && take_process(look);
    free(look);
    if (!good) { // its profile says what it is
        seep_recorded_stacks_deinit(ret_stacks);
        *ret_stacks = behind(stacks);
    }
    return NULL;
}

struct seep_error *seep_image_stacks_look(struct seep_image_stacks *stacks, uint32_t site, uint32_t thread,
                                          struct seep_recorded_stacks *ret_new) {
    *ret_new = behind(stacks);
    if (site < stacks->nr_sites && thread < stacks->nr_threads)
        return NULL;
    struct look *look = calloc(1, sizeof(*look));
    if (!look)
        return seep_error_no_memory();
    look->fd = stacks->fd;
    look->to = ret_new;
    // Where it cannot be read its profile says what it is.
    bool good = seep_image_head_try(stacks->fd, &look->head) && look_at(look, site, thread);
    free(look);
    if (!good) {
        seep_recorded_stacks_deinit(ret_new);
        return NULL;
    }
    stacks->nr_modules = ret_new->first_module + ret_new->nr_modules;
    stacks->nr_nodes = ret_new->first_node + ret_new->nr_nodes;
    stacks->nr_sites = ret_new->first_site + ret_new->nr_sites;
    stacks->nr_threads = ret_new->first_thread + ret_new->nr_threads;
    return NULL;
}
