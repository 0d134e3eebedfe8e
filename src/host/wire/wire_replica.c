// SPDX-License-Identifier: BSD-2-Clause
//
// What a client has of the images, see wire.h. All that comes is checked here: ids lead to what is there,
// counts do not go back, and memory is taken for what came, not for what was announced.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sum.h"
#include "base/text_copy.h"
#include "profile/verdict.h"
#include "wire/wire.h"

#define NODES_MOST   (UINT32_C(1) << 27)
#define SITES_MOST   (UINT32_C(1) << 24)
#define MODULES_MOST (UINT32_C(1) << 16)
#define PATH_MOST    4096u
#define ITEMS_MOST   (UINT32_C(1) << 17) // thread sites that changes may make

struct replica_image {
    uint64_t pid;
    uint64_t start;
    int64_t duration_ns;
    bool there;   // in the answer that is being taken
    size_t place; // in `images`, once those that have ended are gone
    bool told_known;
    struct seep_put told; // what is told of the process, as it came
    struct seep_module *modules;
    char **paths; // theirs, malloc'ed
    uint32_t nr_modules;
    size_t modules_capacity, paths_capacity;
    struct seep_node *nodes;
    uint32_t nr_nodes;
    size_t nodes_capacity;
    struct seep_site *sites;
    uint32_t nr_sites;
    size_t sites_capacity;
    struct seep_thread_site *thread_sites;
    size_t nr_thread_sites;
    size_t thread_sites_capacity;
    bool one_thread; // its sites' figures are those of the thread
    // Differences of sites in the answer that is being taken, by id.
    struct site_change {
        uint32_t site;
        uint64_t values[SEEP_FIGURES_OF_THREAD];
    } * changes;
    size_t nr_changes;
    size_t changes_capacity;
};

struct seep_replica {
    struct seep_wire_look look;
    char limit[160];
    uint64_t had_epoch; // of the last answer that came whole
    uint64_t had_server;
    bool at_work;                 // an answer is being taken
    struct replica_image *images; // in the order of the last look, first those
    size_t nr_images;
    size_t capacity;
    size_t *order; // by process of the look: index in images
    size_t nr_order;
    size_t order_capacity;
};

struct seep_error *seep_replica_create(struct seep_replica **ret_replica) {
    *ret_replica = calloc(1, sizeof(**ret_replica));
    return *ret_replica ? NULL : seep_error_no_memory();
}

static void image_empty(struct replica_image *image) {
    for (uint32_t i = 0; i < image->nr_modules; i++)
        free(image->paths[i]);
    image->nr_modules = image->nr_nodes = image->nr_sites = 0;
    image->nr_thread_sites = 0;
    image->one_thread = false;
}

static void image_deinit(struct replica_image *image) {
    image_empty(image);
    seep_put_deinit(&image->told);
    free(image->modules);
    free(image->paths);
    free(image->nodes);
    free(image->sites);
    free(image->thread_sites);
    free(image->changes);
}

static void drop_images(struct seep_replica *replica) {
    for (size_t i = 0; i < replica->nr_images; i++)
        image_deinit(&replica->images[i]);
    replica->nr_images = 0;
}

void seep_replica_destroy(struct seep_replica *replica) {
    if (!replica)
        return;
    drop_images(replica);
    free(replica->images);
    free(replica->order);
    free(replica);
}

// An answer that broke off may have changed some of what is had: nothing is known to be of one epoch then.
struct seep_error *seep_replica_ask(const struct seep_replica *replica, size_t most,
                                    struct seep_wire_pull **ret_pull) {
    bool has = !replica->at_work && replica->had_server;
    size_t nr = has ? SEEP_MIN(replica->nr_images, most) : 0;
    struct seep_wire_pull *pull = malloc(sizeof(*pull) + nr * sizeof(pull->have[0]));
    if (!pull)
        return seep_error_no_memory();
    *pull = (struct seep_wire_pull){has ? replica->had_server : 0, has ? replica->had_epoch : 0,
                                    .nr_have = (uint32_t)nr};
    for (size_t i = 0; i < nr; i++) {
        const struct replica_image *image = &replica->images[i];
        pull->have[i] = (struct seep_wire_have){image->pid, image->start, image->nr_modules, image->nr_nodes,
                                                image->nr_sites};
    }
    *ret_pull = pull;
    return NULL;
}

const struct seep_wire_look *seep_replica_look(const struct seep_replica *replica) {
    return &replica->look;
}

uint64_t seep_replica_trace_bytes(const struct seep_replica *replica) {
    uint64_t nr_bytes = 0;
    for (size_t i = 0; i < replica->nr_images; i++) {
        const struct replica_image *image = &replica->images[i];
        seep_add_up(&nr_bytes, UINT64_C(64) * image->nr_nodes + UINT64_C(1024) * image->nr_sites);
        for (uint32_t k = 0; k < image->nr_sites; k++) {
            const struct seep_counters *c = &image->sites[k].counters;
            uint64_t nr_blocks = seep_above(c->allocations, c->frees);
            seep_add_up(&nr_bytes, SEEP_MIN(nr_blocks, UINT64_MAX / 64) * 64);
        }
    }
    return nr_bytes;
}

static struct seep_error *bad(const char *what) {
    return seep_error_create(SEEP_E_FORMAT, "the server's answer does not fit: %s", what);
}

// ---- frames ----

static struct seep_error *take_look(struct seep_replica *replica, struct seep_take *take) {
    struct seep_wire_look look = {0};
    size_t length = 0;
    look.server = seep_take_leb(take);
    look.epoch = seep_take_leb(take);
    look.ended = seep_take_bool(take);
    look.rss_bytes = seep_take_leb(take);
    look.used_bytes = seep_take_leb(take);
    look.limit_bytes = seep_take_leb(take);
    const char *limit = seep_take_text(take, &length);
    snprintf(replica->limit, sizeof(replica->limit), "%.*s", (int)SEEP_MIN(length, (size_t)150),
             limit ? limit : "");
    look.limit = replica->limit;
    look.nr_threads = seep_take_leb(take);
    look.nr_unseen = seep_take_leb(take);
    look.nr_processes = seep_take_leb(take);
    if (take->failed || !look.nr_processes || look.nr_processes > SEEP_WIRE_IMAGES_MAX || !look.server)
        return bad("a look");
    // After an incomplete answer the server sends everything anew, so the received part is dropped.
    if (replica->at_work)
        drop_images(replica);
    replica->look = look;
    replica->at_work = true;
    replica->nr_order = 0;
    for (size_t i = 0; i < replica->nr_images; i++)
        replica->images[i].there = false;
    return NULL;
}

// nr_images: there is none. Images are nearly in the order of the processes of a look.
static size_t find_image(const struct seep_replica *replica, uint64_t pid, uint64_t start) {
    for (size_t i = 0; i < replica->nr_images; i++) {
        size_t at = seep_index_from(replica->nr_order, i, replica->nr_images);
        if (replica->images[at].pid == pid && replica->images[at].start == start)
            return at;
    }
    return replica->nr_images;
}

static struct seep_error *take_process(struct seep_replica *replica, struct seep_take *take) {
    uint64_t index = seep_take_leb(take), pid = seep_take_leb(take), start = seep_take_leb(take);
    int64_t duration_ns = seep_take_zigzag(take);
    bool anew = seep_take_bool(take), all = seep_take_bool(take);
    if (take->failed || index != replica->nr_order || index >= replica->look.nr_processes || pid > UINT32_MAX)
        return bad("a process");
    size_t at = find_image(replica, pid, start);
    if (at < replica->nr_images && replica->images[at].there)
        return bad("a process is there twice");
    if (at == replica->nr_images) {
        if (!anew)
            return bad("a process that is not known");
        if (!seep_grow(&replica->images, &replica->capacity, at + 1, sizeof(*replica->images)))
            return seep_error_no_memory();
        replica->images[at] = (struct replica_image){.pid = pid, .start = start};
        replica->nr_images++;
    }
    struct replica_image *image = &replica->images[at];
    if (!seep_grow(&replica->order, &replica->order_capacity, replica->nr_order + 1, sizeof(*replica->order)))
        return seep_error_no_memory();
    replica->order[replica->nr_order++] = at;
    image->there = true;
    image->nr_changes = 0;
    image->duration_ns = duration_ns;
    if (anew)
        image_empty(image);
    if (!all)
        return image->told_known ? NULL : bad("nothing was told of a process");
    image->told.used = 0;
    seep_put_bytes(&image->told, take->at, seep_take_left(take));
    image->told_known = !image->told.failed;
    take->at = take->end;
    return image->told_known ? NULL : seep_error_no_memory();
}

static struct replica_image *image_of(struct seep_replica *replica, uint64_t process) {
    return process < replica->nr_order ? &replica->images[replica->order[process]] : NULL;
}

static struct seep_error *take_modules(struct replica_image *image, struct seep_take *take, uint64_t first) {
    if (first != image->nr_modules)
        return bad("modules out of order");
    while (take->at < take->end && !take->failed) {
        size_t length = 0;
        struct seep_module module = {0};
        const char *path = seep_take_text(take, &length);
        module.bias_rt = seep_take_leb(take);
        module.start_rt = seep_take_leb(take);
        module.end_rt = seep_take_leb(take);
        module.first_seen_ns = seep_take_zigzag(take);
        module.unloaded_ns = seep_take_zigzag(take);
        uint64_t nr = seep_take_leb(take);
        const unsigned char *id = nr <= sizeof(module.build_id) ? seep_take_bytes(take, nr) : NULL;
        if (take->failed || !path || length > PATH_MOST || !id || image->nr_modules >= MODULES_MOST ||
            (image->nr_modules && !length))
            return bad("a module");
        memcpy(module.build_id, id, nr);
        module.build_id_bytes = (uint32_t)nr;
        if (!seep_grow(&image->modules, &image->modules_capacity, image->nr_modules + 1,
                       sizeof(*image->modules)) ||
            !seep_grow(&image->paths, &image->paths_capacity, image->nr_modules + 1, sizeof(*image->paths)))
            return seep_error_no_memory();
        char *copy = seep_text_copy(path, length);
        if (!copy)
            return seep_error_no_memory();
        image->paths[image->nr_modules] = copy;
        image->modules[image->nr_modules++] = module;
    }
    return NULL;
}

static struct seep_error *take_nodes(struct replica_image *image, struct seep_take *take, uint64_t first) {
    uint64_t last = 0;
    if (first != image->nr_nodes)
        return bad("nodes out of order");
    while (take->at < take->end && !take->failed) {
        uint64_t id = image->nr_nodes, up = seep_take_leb(take), what = seep_take_leb(take);
        struct seep_node node = {.exact = what & 1, .kind = what & 2 ? SEEP_NODE_CUT : SEEP_NODE_FRAME};
        node.offset = last += (uint64_t)seep_take_zigzag(take);
        uint64_t module = what >> 2;
        if (take->failed || up > id || (id && !up) || module >= SEEP_MAX(image->nr_modules, 1u) ||
            id >= NODES_MOST || (node.kind == SEEP_NODE_CUT && (up != id || node.offset >= SEEP_CUT_NR)))
            return bad("a node");
        node.parent = (uint32_t)(id - up);
        node.module = (uint32_t)module;
        if (!seep_grow(&image->nodes, &image->nodes_capacity, image->nr_nodes + 1, sizeof(*image->nodes)))
            return seep_error_no_memory();
        image->nodes[image->nr_nodes++] = node;
    }
    return NULL;
}

static struct seep_error *take_sites(struct replica_image *image, struct seep_take *take, uint64_t first) {
    uint64_t last = 0;
    if (first != image->nr_sites)
        return bad("sites out of order");
    while (take->at < take->end && !take->failed) {
        uint64_t node = last + (uint64_t)seep_take_zigzag(take), via = seep_take_leb(take);
        if (take->failed || node >= SEEP_MAX(image->nr_nodes, 1u) || via >= UINT32_MAX ||
            image->nr_sites >= SITES_MOST)
            return bad("a site");
        if (!seep_grow(&image->sites, &image->sites_capacity, image->nr_sites + 1, sizeof(*image->sites)))
            return seep_error_no_memory();
        image->sites[image->nr_sites++] = (struct seep_site){.node = (uint32_t)node, .via = (uint32_t)via};
        last = node;
    }
    return NULL;
}

static void fields_of(struct seep_counters *c, uint64_t *ret_fields[SEEP_FIGURES]) {
    uint64_t *const fields[SEEP_FIGURES] = {&c->allocations, &c->allocated_bytes, &c->frees,
                                            &c->freed_bytes, &c->temporary,       &c->peak_bytes,
                                            &c->size_min,    &c->size_max};
    memcpy(ret_fields, fields, sizeof(fields));
}

static struct seep_error *take_counters(struct replica_image *image, struct seep_take *take,
                                        uint64_t differences) {
    uint64_t site = 0;
    if (differences > 1)
        return bad("counters");
    while (take->at < take->end && !take->failed) {
        uint64_t gap = seep_take_leb(take), mask = seep_take_leb(take);
        uint64_t *fields[SEEP_FIGURES];
        site += gap;
        if (take->failed || !gap || gap > SITES_MOST || site >= image->nr_sites || mask >> SEEP_FIGURES)
            return bad("counters of a site");
        fields_of(&image->sites[site].counters, fields);
        struct site_change change = {.site = (uint32_t)site};
        for (unsigned i = 0; i < SEEP_FIGURES; i++) {
            bool told = mask >> i & 1;
            uint64_t value = *fields[i];
            int64_t more = told && differences ? seep_take_zigzag(take) : 0;
            if (differences)
                value += (uint64_t)more;
            else
                value = told ? seep_take_leb(take) : 0;
            // Allocations, frees and their bytes only grow. A figure below 0 appears as a number near 2^64.
            if (i < 4 && (value < *fields[i] || more < 0))
                return bad("counts that go back");
            if (i < SEEP_FIGURES_OF_THREAD)
                change.values[i] = value - *fields[i];
            *fields[i] = value;
        }
        if (!differences)
            continue;
        // Each site comes once: a server that repeats sites would fill our memory.
        if (image->nr_changes && image->changes[image->nr_changes - 1].site >= site)
            return bad("counters out of order");
        if (!seep_grow(&image->changes, &image->changes_capacity, image->nr_changes + 1,
                       sizeof(*image->changes)))
            return seep_error_no_memory();
        image->changes[image->nr_changes++] = change;
    }
    return take->failed ? bad("counters") : NULL;
}

static struct seep_error *take_all_threads(struct replica_image *image, struct seep_take *take) {
    uint64_t site = 0;
    image->nr_thread_sites = 0;
    while (take->at < take->end && !take->failed) {
        struct seep_thread_site of = {0};
        uint64_t *fields[SEEP_FIGURES];
        fields_of(&of.counters, fields);
        site += seep_take_leb(take);
        uint64_t thread = seep_take_leb(take);
        for (unsigned i = 0; i < SEEP_FIGURES_OF_THREAD; i++)
            *fields[i] = seep_take_leb(take);
        if (take->failed || site >= image->nr_sites || thread > UINT32_MAX)
            return bad("what a thread did");
        of.site = (uint32_t)site;
        of.thread = (uint32_t)thread;
        if (!seep_grow(&image->thread_sites, &image->thread_sites_capacity, image->nr_thread_sites + 1,
                       sizeof(*image->thread_sites)))
            return seep_error_no_memory();
        image->thread_sites[image->nr_thread_sites++] = of;
    }
    return take->failed ? bad("what a thread did") : NULL;
}

// The place of the item in [*at, nr), which are in order; a new one where there is none.
static struct seep_thread_site *thread_site_at(struct replica_image *image, size_t nr, size_t *at,
                                               const struct seep_thread_site *wanted) {
    while (*at < nr && seep_thread_site_compare(&image->thread_sites[*at], wanted) < 0)
        ++*at;
    if (*at < nr && seep_thread_site_compare(&image->thread_sites[*at], wanted) == 0)
        return &image->thread_sites[*at];
    if (!seep_grow(&image->thread_sites, &image->thread_sites_capacity, image->nr_thread_sites + 1,
                   sizeof(*image->thread_sites)))
        return NULL;
    image->thread_sites[image->nr_thread_sites] = *wanted;
    return &image->thread_sites[image->nr_thread_sites++];
}

static const struct site_change *change_at(const struct replica_image *image, size_t *at, uint64_t site) {
    while (*at < image->nr_changes && image->changes[*at].site < site)
        ++*at;
    return *at < image->nr_changes && image->changes[*at].site == site ? &image->changes[*at] : NULL;
}

static struct seep_error *take_thread_changes(struct replica_image *image, struct seep_take *take) {
    uint64_t site = 0;
    size_t nr = image->nr_thread_sites, at = 0, change = 0;
    while (take->at < take->end && !take->failed) {
        site += seep_take_leb(take);
        uint64_t what = seep_take_leb(take), thread = what >> 1;
        uint64_t mask = what & 1 ? 0 : seep_take_leb(take);
        const struct site_change *whole = change_at(image, &change, site);
        if (take->failed || site >= image->nr_sites || thread > UINT32_MAX ||
            mask >> SEEP_FIGURES_OF_THREAD || (what & 1 && !whole))
            return bad("what a thread did since");
        struct seep_thread_site wanted = {.site = (uint32_t)site, .thread = (uint32_t)thread};
        struct seep_thread_site *of = thread_site_at(image, nr, &at, &wanted);
        uint64_t *fields[SEEP_FIGURES];
        if (!of)
            return seep_error_no_memory();
        fields_of(&of->counters, fields);
        for (unsigned i = 0; i < SEEP_FIGURES_OF_THREAD; i++)
            *fields[i] += what & 1 ? whole->values[i] : mask >> i & 1 ? (uint64_t)seep_take_zigzag(take) : 0;
    }
    if (image->nr_thread_sites > nr)
        qsort(image->thread_sites, image->nr_thread_sites, sizeof(*image->thread_sites),
              seep_thread_site_compare);
    return take->failed || image->nr_thread_sites > ITEMS_MOST ? bad("what a thread did since") : NULL;
}

static struct seep_error *take_thread_sites(struct replica_image *image, struct seep_take *take,
                                            uint64_t how) {
    image->one_thread = how == SEEP_WIRE_THREADS_ONE;
    if (how == SEEP_WIRE_THREADS_ONE)
        image->nr_thread_sites = 0;
    return how == SEEP_WIRE_THREADS_ONE       ? NULL
           : how == SEEP_WIRE_THREADS_CHANGED ? take_thread_changes(image, take)
           : how == SEEP_WIRE_THREADS_ALL     ? take_all_threads(image, take)
                                              : bad("what threads did");
}

static struct seep_error *take_end(struct seep_replica *replica, struct seep_take *take) {
    uint64_t epoch = seep_take_leb(take);
    if (take->failed || epoch != replica->look.epoch || replica->nr_order != replica->look.nr_processes)
        return bad("its end");
    for (size_t p = 0; p < replica->nr_order; p++) {
        const struct replica_image *image = image_of(replica, p);
        if (!image->nr_modules || !image->nr_nodes || !image->nr_sites)
            return bad("a process without a root");
    }
    // Those that are not in the look have ended.
    size_t nr = 0;
    for (size_t i = 0; i < replica->nr_images; i++)
        if (replica->images[i].there)
            replica->images[i].place = nr++;
        else
            image_deinit(&replica->images[i]);
    for (size_t p = 0; p < replica->nr_order; p++)
        replica->order[p] = replica->images[replica->order[p]].place;
    for (size_t i = 0; i < replica->nr_images; i++)
        if (replica->images[i].there)
            replica->images[replica->images[i].place] = replica->images[i];
    replica->nr_images = nr;
    replica->had_epoch = epoch;
    replica->had_server = replica->look.server;
    replica->at_work = false;
    return NULL;
}

struct seep_error *seep_replica_take(struct seep_replica *replica, uint8_t type, const unsigned char *bytes,
                                     size_t nr, bool *ret_ended) {
    struct seep_take take = {bytes, bytes + nr, false};
    *ret_ended = false;
    if (type == SEEP_WIRE_LOOK)
        return take_look(replica, &take);
    if (!replica->at_work)
        return bad("it does not begin with a look");
    if (type == SEEP_WIRE_PROCESS)
        return take_process(replica, &take);
    if (type == SEEP_WIRE_END) {
        *ret_ended = true;
        return take_end(replica, &take);
    }
    if (type < SEEP_WIRE_MODULES || type > SEEP_WIRE_THREAD_SITES)
        return NULL; // of a later version
    uint64_t process = seep_take_leb(&take), first = seep_take_leb(&take);
    struct replica_image *image = take.failed ? NULL : image_of(replica, process);
    if (!image)
        return bad("a list of no process");
    switch (type) {
    case SEEP_WIRE_MODULES:
        return take_modules(image, &take, first);
    case SEEP_WIRE_NODES:
        return take_nodes(image, &take, first);
    case SEEP_WIRE_SITES:
        return take_sites(image, &take, first);
    case SEEP_WIRE_COUNTERS:
        return take_counters(image, &take, first);
    default:
        return take_thread_sites(image, &take, first);
    }
}

// ---- a session of it ----

static const char *text_of(struct seep_arena *arena, struct seep_take *take, const char *otherwise,
                           bool *no_memory) {
    size_t length = 0;
    const char *text = seep_take_text(take, &length);
    if (!text)
        return otherwise;
    const char *copy = seep_arena_strndup(arena, text, length);
    *no_memory |= !copy;
    return copy ? copy : "";
}

// As many as both sides know; what the other has beyond that is passed by.
static void take_list(struct seep_take *take, uint64_t *values, size_t nr) {
    uint64_t there = seep_take_leb(take);
    for (uint64_t i = 0; i < there && !take->failed; i++) {
        uint64_t value = seep_take_leb(take);
        if (i < nr)
            values[i] = value;
    }
}

static struct seep_error *take_notes(struct seep_profile *profile, struct seep_take *take) {
    uint64_t nr = seep_take_leb(take);
    bool no_memory = false;
    struct seep_error *error = NULL;
    for (uint64_t i = 0; !error && i < nr && i < 64 && !take->failed; i++) {
        uint64_t code = seep_take_leb(take);
        const char *text = text_of(&profile->arena, take, "", &no_memory);
        if (!take->failed)
            error = seep_profile_note(
                profile, code < SEEP_NOTE_NR ? (enum seep_note_code)code : SEEP_NOTE_OTHER, "%s", text);
    }
    return no_memory && !error ? seep_error_no_memory() : error;
}

static struct seep_error *take_threads(struct seep_profile *profile, struct seep_take *take) {
    uint64_t nr = seep_take_leb(take);
    if (take->failed || nr > 4096)
        return bad("threads");
    profile->threads =
        seep_arena_alloc(&profile->arena, SEEP_MAX(nr, UINT64_C(1)), sizeof(*profile->threads));
    if (!profile->threads)
        return seep_error_no_memory();
    for (uint64_t i = 0; i < nr; i++) {
        struct seep_thread *thread = &profile->threads[i];
        size_t length = 0;
        thread->tid = seep_take_u32(take);
        thread->nr_owners = seep_take_u32(take);
        const char *name = seep_take_text(take, &length);
        snprintf(thread->name, sizeof(thread->name), "%.*s", (int)SEEP_MIN(length, (size_t)16),
                 name ? name : "");
        thread->allocations = seep_take_leb(take);
        thread->allocated_bytes = seep_take_leb(take);
        thread->frees = seep_take_leb(take);
        thread->freed_bytes = seep_take_leb(take);
    }
    profile->nr_threads = (uint32_t)nr;
    return take->failed ? bad("threads") : NULL;
}

static struct seep_error *take_told(struct seep_profile *profile, const struct seep_put *told) {
    struct seep_take take = {told->bytes, told->bytes + told->used, false};
    struct seep_process *process = &profile->process;
    bool no_memory = false;
    process->ppid = seep_take_u32(&take);
    process->forked_from = seep_take_u32(&take);
    uint64_t exit_kind = seep_take_leb(&take);
    process->exit_kind = exit_kind <= SEEP_EXIT_EXEC ? (enum seep_exit_kind)exit_kind : SEEP_EXIT_UNKNOWN;
    process->exit_value = (int)seep_take_zigzag(&take);
    process->is_main = seep_take_bool(&take);
    process->platform.machine = (uint16_t)seep_take_u32(&take);
    process->platform.word_bytes = (uint8_t)seep_take_u32(&take);
    process->platform.big_endian = (uint8_t)seep_take_u32(&take);
    process->exe = text_of(&profile->arena, &take, "", &no_memory);
    uint64_t nr_args = seep_take_leb(&take);
    process->nr_args_all = seep_take_u32(&take);
    if (take.failed || nr_args > 64)
        return bad("arguments");
    const char **args = seep_arena_alloc(&profile->arena, nr_args + 1, sizeof(*args));
    if (!args)
        return seep_error_no_memory();
    for (uint64_t i = 0; i < nr_args; i++)
        args[i] = text_of(&profile->arena, &take, "", &no_memory);
    process->args = args;
    process->nr_args = (uint32_t)nr_args;
    process->nr_args_all = SEEP_MAX(process->nr_args_all, process->nr_args);
    struct seep_totals *totals = &profile->totals;
    totals->peak_bytes = seep_take_leb(&take);
    totals->peak_exact = seep_take_bool(&take);
    totals->peak_error_bytes = seep_take_leb(&take);
    totals->failed = seep_take_leb(&take);
    totals->unknown_frees = seep_take_leb(&take);
    totals->inherited_blocks = seep_take_leb(&take);
    totals->inherited_bytes = seep_take_leb(&take);
    take_list(&take, totals->releases, SEEP_RELEASE_NR);
    take_list(&take, totals->size_class, SEEP_IMAGE_SIZE_CLASSES);
    struct seep_health *health = &profile->health;
    health->state = seep_take_u32(&take);
    health->passive_reason = seep_take_u32(&take);
    health->flags = seep_take_u32(&take);
    health->depth_limit = seep_take_u32(&take);
    health->sample_bytes = seep_take_leb(&take);
    health->preempted_by = text_of(&profile->arena, &take, NULL, &no_memory);
    take_list(&take, health->lost, SEEP_LOST_NR);
    take_list(&take, health->cut, SEEP_CUT_NR);
    if (no_memory)
        return seep_error_no_memory();
    struct seep_error *error = take.failed ? bad("a process") : take_notes(profile, &take);
    return error ? error : take_threads(profile, &take);
}

static bool copy_array(struct seep_arena *arena, void *array_of_any, const void *from, size_t nr,
                       size_t bytes) {
    void **array = array_of_any;
    *array = seep_arena_alloc(arena, SEEP_MAX(nr, (size_t)1), bytes);
    if (*array && nr)
        memcpy(*array, from, nr * bytes);
    return *array != NULL;
}

// For a process with one thread: makes thread sites of the sites' figures.
static bool set_thread_sites(struct seep_profile *profile) {
    profile->thread_sites =
        seep_arena_alloc(&profile->arena, profile->nr_sites, sizeof(*profile->thread_sites));
    if (!profile->thread_sites)
        return false;
    for (uint32_t i = 1; i < profile->nr_sites; i++) {
        const struct seep_counters *c = &profile->sites[i].counters;
        if (c->allocations || c->frees)
            profile->thread_sites[profile->nr_thread_sites++] =
                (struct seep_thread_site){.site = i,
                                          .counters = {.allocations = c->allocations,
                                                       .allocated_bytes = c->allocated_bytes,
                                                       .frees = c->frees,
                                                       .freed_bytes = c->freed_bytes,
                                                       .temporary = c->temporary}};
    }
    return true;
}

static struct seep_error *profile_of(const struct replica_image *image, struct seep_profile **ret_profile) {
    struct seep_profile *profile = NULL;
    struct seep_error *error = seep_profile_create(&profile);
    if (error)
        return error;
    profile->process.pid = (uint32_t)image->pid;
    profile->process.start_realtime_ns = (int64_t)image->start;
    profile->process.duration_ns = image->duration_ns;
    error = take_told(profile, &image->told);
    struct seep_arena *arena = &profile->arena;
    if (!error &&
        (!copy_array(arena, &profile->modules, image->modules, image->nr_modules, sizeof(*image->modules)) ||
         !copy_array(arena, &profile->nodes, image->nodes, image->nr_nodes, sizeof(*image->nodes)) ||
         !copy_array(arena, &profile->sites, image->sites, image->nr_sites, sizeof(*image->sites)) ||
         !copy_array(arena, &profile->thread_sites, image->thread_sites, image->nr_thread_sites,
                     sizeof(*image->thread_sites))))
        error = seep_error_no_memory();
    for (uint32_t i = 0; !error && i < image->nr_modules; i++) {
        profile->modules[i].path = seep_arena_strdup(arena, image->paths[i]);
        if (!profile->modules[i].path)
            error = seep_error_no_memory();
    }
    if (error) {
        seep_profile_destroy(profile);
        return error;
    }
    profile->nr_modules = image->nr_modules;
    profile->nr_nodes = image->nr_nodes;
    profile->nr_sites = image->nr_sites;
    profile->nr_thread_sites = image->nr_thread_sites;
    if (image->one_thread && !set_thread_sites(profile)) {
        seep_profile_destroy(profile);
        return seep_error_no_memory();
    }
    seep_profile_derive(profile);
    *ret_profile = profile;
    return NULL;
}

struct seep_error *seep_replica_session(const struct seep_replica *replica,
                                        struct seep_session **ret_session) {
    if (replica->at_work || !replica->nr_order)
        return bad("it is not whole");
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_create(&session);
    for (size_t i = 0; !error && i < replica->nr_order; i++) {
        struct seep_profile *profile = NULL;
        error = profile_of(&replica->images[replica->order[i]], &profile);
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
