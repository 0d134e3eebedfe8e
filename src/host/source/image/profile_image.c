// SPDX-License-Identifier: BSD-2-Clause
// The process, the arrays and the totals; counters and heap map are image_counters.c and
// image_blocks.c. See profile_image.h.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/sum.h"
#include "base/words.h"
#include "image/sample.h"
#include "profile/verdict.h"
#include "source/image/image_reader.h"
#include "source/image/profile_image.h"

#define STRING_MAX 65536

// How many elements of an array are there. Arrays have no holes: a count that says more than there
// is data cannot be believed, and is not what memory is asked for. An element that begins in the data
// is there: its end may be in a page that is all zero.
uint32_t seep_image_nr_elements(struct seep_image_reader *reader, enum seep_area_kind kind, uint64_t dense) {
    const struct seep_image_area *area = &reader->copy->head.header.areas[kind];
    uint64_t element = area->element_bytes;
    uint64_t there = dense / element + (dense % element != 0);
    // Element 0 is all zero in most arrays, and so is site 1: alone in its page it leaves a hole.
    uint64_t nr_zero = kind == SEEP_AREA_SITES ? 2 : 1;
    if (there < nr_zero)
        there = SEEP_MIN(nr_zero, area->used);
    if (there < area->used)
        reader->nr_missing += area->used - there;
    return (uint32_t)there;
}

static uint32_t nr_elements(struct seep_image_reader *reader, enum seep_area_kind kind) {
    const struct seep_image_area *area = &reader->copy->head.header.areas[kind];
    return seep_image_nr_elements(
        reader, kind, seep_image_dense(reader->copy, area->off, area->used * area->element_bytes));
}

// Room for an array with at least its element 0.
static void *array_alloc(struct seep_image_reader *reader, uint32_t *nr, size_t element_bytes) {
    if (!*nr)
        *nr = 1;
    return seep_arena_alloc(&reader->profile->arena, *nr, element_bytes);
}

// The first elements of a long array: where they lie in one piece of the copy it is not looked for each.
struct elements {
    const struct seep_image_reader *reader;
    enum seep_area_kind kind;
    const unsigned char *bytes; // NULL: in several pieces
    size_t element_bytes;
};

static struct elements elements_of(const struct seep_image_reader *reader, enum seep_area_kind kind,
                                   uint32_t nr) {
    const struct seep_image_area *area = &reader->copy->head.header.areas[kind];
    return (struct elements){
        .reader = reader,
        .kind = kind,
        .bytes = seep_image_bytes(reader->copy, area->off, (size_t)nr * area->element_bytes),
        .element_bytes = area->element_bytes,
    };
}

static void element_at(const struct elements *elements, uint32_t i, void *ret_element) {
    if (SEEP_LIKELY(elements->bytes))
        seep_image_element_decode(&elements->reader->copy->head, elements->kind,
                                  elements->bytes + i * elements->element_bytes, ret_element);
    else
        seep_image_element(elements->reader->copy, elements->kind, i, ret_element);
}

bool seep_image_is_site(struct seep_image_reader *reader, uint32_t site) {
    if (site && site < reader->profile->nr_sites)
        return true;
    reader->nr_damaged++;
    return false;
}

// All of them at once, so that they take what is there however many elements name the same; one that is
// longer than any that capture writes is cut.
static struct seep_error *read_strings(struct seep_image_reader *reader) {
    const struct seep_image_area *area = &reader->copy->head.header.areas[SEEP_AREA_STRINGS];
    uint64_t nr = seep_image_dense(reader->copy, area->off, area->used);
    char *strings = seep_arena_alloc(&reader->profile->arena, (size_t)nr + 1, 1);
    if (!strings)
        return seep_error_no_memory();
    seep_image_read(reader->copy, area->off, strings, (size_t)nr);
    for (uint64_t at = 0; at < nr; at++) {
        at += strnlen(strings + at, (size_t)SEEP_MIN(nr - at, (uint64_t)STRING_MAX));
        strings[at] = 0;
    }
    reader->strings = strings;
    reader->strings_bytes = nr;
    return NULL;
}

const char *seep_image_string(struct seep_image_reader *reader, uint64_t off, const char *otherwise,
                              uint64_t *ret_end) {
    uint64_t used = reader->copy->head.header.areas[SEEP_AREA_STRINGS].used;
    bool is_there = off < reader->strings_bytes;
    const char *text = is_there ? reader->strings + off : "";
    reader->nr_damaged += off >= used && off != 0;
    if (ret_end)
        *ret_end = is_there ? off + strlen(text) + 1 : used;
    return *text ? text : otherwise;
}

// From the start of the image, never below 0: a forked child has modules from before its start.
static int64_t since_start(const struct seep_image_header *header, uint64_t ns) {
    return ns > header->start_ns && ns - header->start_ns <= INT64_MAX ? (int64_t)(ns - header->start_ns) : 0;
}

static struct seep_error *read_modules(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint32_t nr = nr_elements(reader, SEEP_AREA_MODULES);
    struct seep_module *modules = array_alloc(reader, &nr, sizeof(*modules));
    if (!modules)
        return seep_error_no_memory();
    modules[0] = profile->modules[0];
    for (uint32_t i = 1; i < nr; i++) {
        struct seep_image_module from;
        seep_image_element(reader->copy, SEEP_AREA_MODULES, i, &from);
        modules[i] = (struct seep_module){
            .path = seep_image_string(reader, from.path_off, "(unknown)", NULL),
            .bias_rt = from.bias_rt,
            .start_rt = from.start_rt,
            .end_rt = from.end_rt,
            .first_seen_ns = since_start(&reader->copy->head.header, from.first_seen_ns),
            .unloaded_ns = from.unloaded_ns ? since_start(&reader->copy->head.header, from.unloaded_ns) : -1,
            .build_id_bytes = SEEP_MIN(from.build_id_bytes, (uint32_t)sizeof(from.build_id)),
        };
        memcpy(modules[i].build_id, from.build_id, sizeof(from.build_id));
    }
    profile->modules = modules;
    profile->nr_modules = nr;
    return NULL;
}

struct seep_node seep_image_node_from(struct seep_image_reader *reader, uint32_t id,
                                      const struct seep_image_node *from) {
    struct seep_node node = {
        .parent = from->parent,
        .module = SEEP_FRAME_MODULE(from->frame),
        .offset = SEEP_FRAME_OFFSET(from->frame),
        .exact = SEEP_FRAME_EXACT(from->frame),
        .kind = SEEP_NODE_FRAME,
    };
    if (node.parent >= id) {
        reader->nr_damaged++;
        node.parent = 0;
    }
    if (SEEP_FRAME_IS_CUT(from->frame) && node.parent == 0) {
        node.kind = SEEP_NODE_CUT;
        node.module = 0;
        node.exact = false;
    } else if (node.module >= reader->profile->nr_modules) {
        reader->nr_damaged++;
        node.module = 0;
    }
    return node;
}

static struct seep_error *read_nodes(struct seep_image_reader *reader) {
    uint32_t nr = nr_elements(reader, SEEP_AREA_NODES);
    struct seep_node *nodes = array_alloc(reader, &nr, sizeof(*nodes));
    if (!nodes)
        return seep_error_no_memory();
    nodes[0] = (struct seep_node){.kind = SEEP_NODE_FRAME};
    struct elements elements = elements_of(reader, SEEP_AREA_NODES, nr);
    for (uint32_t i = 1; i < nr; i++) {
        struct seep_image_node from;
        element_at(&elements, i, &from);
        nodes[i] = seep_image_node_from(reader, i, &from);
    }
    reader->profile->nodes = nodes;
    reader->profile->nr_nodes = nr;
    return NULL;
}

static struct seep_error *read_sites(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint32_t nr = nr_elements(reader, SEEP_AREA_SITES);
    struct seep_site *sites = array_alloc(reader, &nr, sizeof(*sites));
    if (!sites)
        return seep_error_no_memory();
    struct elements elements = elements_of(reader, SEEP_AREA_SITES, nr);
    for (uint32_t i = 0; i < nr; i++) {
        struct seep_image_site from;
        element_at(&elements, i, &from);
        bool good = from.node < profile->nr_nodes && from.via < SEEP_VIA_NR;
        sites[i] = (struct seep_site){.node = good ? from.node : 0, .via = good ? from.via : SEEP_VIA_NONE};
        sites[i].counters.size_min = UINT64_MAX;
        reader->nr_damaged += !good;
    }
    sites[0].node = 0;
    profile->sites = sites;
    profile->nr_sites = nr;
    return NULL;
}

uint8_t seep_image_cut_of(const struct seep_node *node, uint32_t id, const uint8_t *before) {
    if (node->kind == SEEP_NODE_CUT)
        return (uint8_t)(1 + node->offset % SEEP_CUT_NR);
    return id ? before[node->parent] : 0;
}

// Counts the sites with a cut stack. The library does not, because the outermost frame of a deep stack is far
// from its site.
static struct seep_error *count_cut(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    uint8_t *cut = calloc((size_t)profile->nr_nodes + 1, 1); // of each node, 1 + the reason
    if (!cut)
        return seep_error_no_memory();
    for (uint32_t i = 1; i < profile->nr_nodes; i++)
        cut[i] = seep_image_cut_of(&profile->nodes[i], i, cut);
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        if (cut[profile->sites[i].node])
            profile->health.cut[cut[profile->sites[i].node] - 1]++;
    free(cut);
    return NULL;
}

static struct seep_error *read_args(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    const struct seep_image_area *strings = &header->areas[SEEP_AREA_STRINGS];
    struct seep_process *process = &reader->profile->process;
    process->nr_args_all = header->nr_args_all;
    uint64_t at = header->args_off;
    // An argument takes at least its NUL; what is not data is no argument.
    uint64_t room =
        at < strings->used ? seep_image_dense(reader->copy, strings->off + at, strings->used - at) : 0;
    uint32_t nr = (uint32_t)SEEP_MIN((uint64_t)header->nr_args, room);
    const char **args = seep_arena_alloc(&reader->profile->arena, nr, sizeof(*args));
    if (!args)
        return seep_error_no_memory();
    uint32_t done = 0;
    for (; done < nr && at < strings->used; done++)
        args[done] = seep_image_string(reader, at, "", &at);
    reader->nr_damaged += done < header->nr_args;
    process->args = args;
    process->nr_args = done;
    process->nr_args_all = SEEP_MAX(process->nr_args_all, done);
    return NULL;
}

static int64_t duration_ns(const struct seep_image_copy *copy) {
    const struct seep_image_header *header = &copy->head.header;
    uint64_t end = header->end_ns ? header->end_ns : copy->taken_ns;
    return since_start(header, end);
}

static struct seep_error *read_process(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    struct seep_process *process = &reader->profile->process;
    process->pid = header->pid;
    process->ppid = header->ppid;
    process->forked_from = header->forked_from;
    process->platform = reader->copy->head.platform;
    process->start_realtime_ns = (int64_t)header->start_realtime_ns;
    process->duration_ns = duration_ns(reader->copy);
    bool exited = header->state == SEEP_STATE_EXITED;
    bool code_known = exited && header->exit_code != INT32_MIN;
    process->exit_kind = code_known                          ? SEEP_EXIT_CODE
                         : !exited && reader->copy->taken_ns ? SEEP_EXIT_RUNNING
                                                             : SEEP_EXIT_UNKNOWN;
    process->exit_value = code_known ? header->exit_code : 0;
    process->exe = seep_image_string(reader, header->exe_off, "", NULL);
    return read_args(reader);
}

// A program under a limit of address space should know who else lives there.
static struct seep_error *note_space(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    if (!header->space_bytes)
        return NULL;
    return seep_profile_note(
        reader->profile, SEEP_NOTE_ADDRESS_LIMIT,
        "address space is limited (ulimit -v): seep takes %llu MiB of it, and at most %llu MiB",
        (unsigned long long)((header->space_bytes + (1 << 20) - 1) >> 20),
        (unsigned long long)(header->space_most_bytes >> 20));
}

static struct seep_error *read_health(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    struct seep_health *health = &reader->profile->health;
    seep_image_losses(reader->copy, health->lost); // those of SEEP_LOST_STOPPED come with the threads
    health->state = header->state;
    health->passive_reason = header->passive_reason;
    health->flags = header->flags & SEEP_HEALTH_IMAGE_FLAGS;
    health->depth_limit = header->depth_limit;
    health->sample_bytes = header->sample_bytes;
    if (header->flags & SEEP_FLAG_PREEMPTED)
        health->preempted_by = seep_image_string(reader, header->preempted_by_off, "(unknown)", NULL);
    for (size_t i = 0; i < reader->copy->nr_notes; i++) {
        struct seep_error *err = seep_profile_note(reader->profile, reader->copy->notes[i].code, "%s",
                                                   reader->copy->notes[i].text);
        if (err)
            return err;
    }
    return note_space(reader);
}

static struct seep_error *read_threads(struct seep_image_reader *reader) {
    struct seep_profile *profile = reader->profile;
    struct seep_totals *totals = &profile->totals;
    uint32_t nr = nr_elements(reader, SEEP_AREA_THREADS);
    profile->threads = seep_arena_alloc(&profile->arena, nr, sizeof(*profile->threads));
    if (!profile->threads)
        return seep_error_no_memory();
    profile->nr_threads = nr;
    for (uint32_t i = 0; i < nr; i++) {
        struct seep_image_thread from;
        seep_image_element(reader->copy, SEEP_AREA_THREADS, i, &from);
        struct seep_thread *thread = &profile->threads[i];
        thread->tid = from.tid;
        thread->nr_owners = from.nr_owners;
        memcpy(thread->name, from.name, sizeof(from.name));
        totals->unknown_frees += from.unknown_frees;
        totals->failed += from.failed;
        if (!reader->copy->head.header.sample_bytes)
            profile->health.lost[SEEP_LOST_STOPPED] += from.skipped_allocations;
        for (size_t j = 0; j < SEEP_RELEASE_NR; j++)
            totals->releases[j] += from.releases[j];
        for (size_t j = 0; j < SEEP_IMAGE_SIZE_CLASSES; j++)
            totals->size_class[j] += from.size_class[j];
        if (nr == 1)
            totals->peak_bytes = from.peak_bytes > 0 ? (uint64_t)from.peak_bytes : 0;
    }
    const struct seep_image_header *header = &reader->copy->head.header;
    for (size_t j = 0; header->sample_bytes && j < SEEP_IMAGE_SIZE_CLASSES; j++)
        totals->size_class[j] = seep_sample_blocks(totals->size_class[j]);
    for (size_t j = 0; header->sample_bytes && j < SEEP_RELEASE_NR; j++)
        totals->releases[j] = seep_sample_blocks(totals->releases[j]);
    totals->inherited_blocks =
        header->sample_bytes ? seep_sample_blocks(header->inherited_blocks) : header->inherited_blocks;
    totals->inherited_bytes = header->inherited_bytes;
    return NULL;
}

// Where everything is recorded, capture does not count what free freed: it is the rest. Where it samples,
// so the parts add up, rounded as each of them is.
static void set_releases(struct seep_image_reader *reader) {
    struct seep_totals *totals = &reader->profile->totals;
    uint64_t rest = totals->frees;
    for (size_t i = 0; i < SEEP_RELEASE_NR; i++)
        if (i != SEEP_RELEASE_FREE)
            rest -= SEEP_MIN(rest, totals->releases[i]);
    totals->releases[SEEP_RELEASE_FREE] = rest;
}

// Of several threads: what they flushed, or what was live when the counters were last copied, which the
// thread that copied them knew. Both are as exact.
static uint64_t peak_of_threads(const struct seep_image_header *header) {
    bool is_copied = header->at_peak_which == 1 || header->at_peak_which == 2;
    uint64_t copied = is_copied ? header->at_peak[header->at_peak_which - 1].peak_bytes : 0;
    return SEEP_MAX(header->peak_bytes_flushed, copied);
}

// Once the live bytes are known: exact with one thread slot.
static void set_peak(struct seep_image_reader *reader) {
    struct seep_totals *totals = &reader->profile->totals;
    const struct seep_image_header *header = &reader->copy->head.header;
    uint32_t nr = reader->profile->nr_threads;
    totals->peak_exact = nr <= 1 && !header->sample_bytes;
    if (nr > 1) {
        totals->peak_bytes = peak_of_threads(header);
        if (__builtin_mul_overflow(header->peak_slack_bytes, (uint64_t)nr, &totals->peak_error_bytes))
            totals->peak_error_bytes = UINT64_MAX;
    }
    // No peak can be above what was allocated. It is read later than the counters of a program that goes on.
    totals->peak_bytes = SEEP_MAX(SEEP_MIN(totals->peak_bytes, totals->allocated_bytes), totals->live_bytes);
    // Nor below nothing.
    totals->peak_error_bytes = SEEP_MIN(totals->peak_error_bytes, totals->allocated_bytes);
}

// What the slots had at most, together, is no less than the peak: a process that allocated little is bound by
// that, and not by what its threads may have without a flush.
void seep_image_narrow_peak(struct seep_image_reader *reader) {
    struct seep_totals *totals = &reader->profile->totals;
    uint64_t most = 0;
    if (reader->profile->nr_threads <= 1 || reader->copy->head.header.sample_bytes)
        return;
    for (uint32_t i = 0; i < reader->profile->nr_threads; i++) {
        struct seep_image_thread from;
        seep_image_element(reader->copy, SEEP_AREA_THREADS, i, &from);
        seep_add_up(&most, from.peak_bytes > 0 ? (uint64_t)from.peak_bytes : 0);
    }
    uint64_t above = most > totals->peak_bytes ? most - totals->peak_bytes : 0;
    uint64_t below = totals->peak_bytes - totals->live_bytes;
    // Not 0: that is of peaks of which no bound is known. The peaks of sites are not exact in any case.
    totals->peak_error_bytes =
        SEEP_MIN(totals->peak_error_bytes, SEEP_MAX(SEEP_MAX(above, below), UINT64_C(1)));
}

// Libraries whose calls went past us. `nr` calls opened them, maybe one library more than once; the name of
// the first is kept.
static struct seep_error *note_load(struct seep_image_reader *reader, enum seep_note_code code, uint32_t nr,
                                    uint64_t name_off, const char *how) {
    if (!nr)
        return NULL;
    const char *name = seep_image_string(reader, name_off, "a library", NULL);
    char more[64] = "";
    if (nr > 1)
        snprintf(more, sizeof(more), ", the first of %" PRIu32 " such calls", nr);
    return seep_profile_note(
        reader->profile, code,
        "%.400s was opened %s%s: calls of malloc and free went past libseep.so and are not "
        "here; 'seep attach PID' sees them",
        name, how, more);
}

static struct seep_error *note_loads(struct seep_image_reader *reader) {
    const struct seep_image_header *header = &reader->copy->head.header;
    struct seep_error *err = note_load(reader, SEEP_NOTE_DEEP_BOUND, header->nr_deep_bound,
                                       header->deep_bound_off, "with RTLD_DEEPBIND");
    return err ? err
               : note_load(reader, SEEP_NOTE_OTHER_NAMESPACE, header->nr_namespaces, header->namespace_off,
                           "by dlmopen, with a libc of its own");
}

struct seep_error *seep_image_add_notes(struct seep_image_reader *reader) {
    struct seep_error *err = note_loads(reader);
    if (!err && reader->nr_damaged)
        err = seep_profile_note(reader->profile, SEEP_NOTE_IMAGE_DAMAGED,
                                "%llu reference%s of the image %s left out, because nothing is there: "
                                "the program may have overwritten it",
                                (unsigned long long)reader->nr_damaged, seep_plural(reader->nr_damaged),
                                reader->nr_damaged == 1 ? "was" : "were");
    if (!err && reader->nr_missing)
        err = seep_profile_note(reader->profile, SEEP_NOTE_IMAGE_INCOMPLETE,
                                "%llu element%s that the image counts %s not in it",
                                (unsigned long long)reader->nr_missing, seep_plural(reader->nr_missing),
                                reader->nr_missing == 1 ? "is" : "are");
    return err;
}

// Tools of Valgrind that have a malloc of their own put it in place of that of each library, ours too, while
// they translate it: no look-up tells the program. The others (none, callgrind) preload the core alone.
static bool is_valgrinds_malloc(const char *path) {
    const char *name = seep_file_name(path);
    return strncmp(name, "vgpreload_", 10) == 0 && strncmp(name, "vgpreload_core", 14) != 0;
}

// A malloc in front of ours that calls ours, as interposers do, leaves nothing out.
static void set_preempted(struct seep_profile *profile) {
    const uint64_t *by_function = profile->totals.by_function;
    struct seep_health *health = &profile->health;
    if (by_function[SEEP_VIA_MALLOC] || by_function[SEEP_VIA_CALLOC]) {
        health->flags &= ~SEEP_FLAG_PREEMPTED;
        return;
    }
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        if (!is_valgrinds_malloc(profile->modules[i].path))
            continue;
        health->flags |= SEEP_FLAG_PREEMPTED;
        health->preempted_by = SEEP_PREEMPTED_BY_VALGRIND;
    }
}

typedef struct seep_error *step(struct seep_image_reader *reader);

static struct seep_error *go(struct seep_image_reader *reader, step *const *steps, size_t nr) {
    struct seep_error *err = NULL;
    for (size_t i = 0; i < nr && !err; i++)
        err = steps[i](reader);
    return err;
}

struct seep_error *seep_image_read_small(struct seep_image_reader *reader) {
    static step *const steps[] = {read_strings, read_process, read_health, read_modules, read_threads};
    return go(reader, steps, SEEP_ARRAY_SIZE(steps));
}

void seep_image_set_totals(struct seep_image_reader *reader) {
    set_preempted(reader->profile);
    set_releases(reader);
    set_peak(reader);
}

static struct seep_error *read_all(struct seep_image_reader *reader) {
    // In this order: each checks its ids against those before it.
    static step *const steps[] = {
        seep_image_read_small,
        read_nodes,
        read_sites,
        count_cut,
        seep_image_read_counters,
        seep_image_read_blocks,
        seep_image_read_mappings,
        seep_image_read_annotations,
    };
    struct seep_error *err = go(reader, steps, SEEP_ARRAY_SIZE(steps));
    if (err)
        return err;
    seep_profile_derive(reader->profile);
    seep_image_set_totals(reader);
    err = seep_image_read_peak(reader);
    seep_image_narrow_peak(reader);
    return err ? err : seep_image_add_notes(reader);
}

struct seep_error *seep_profile_from_image(const struct seep_image_copy *copy,
                                           struct seep_profile **ret_profile) {
    struct seep_image_reader reader = {.copy = copy};
    struct seep_error *err = seep_profile_create(&reader.profile);
    if (err)
        return err;
    err = read_all(&reader);
    if (err) {
        seep_profile_destroy(reader.profile);
        return err;
    }
    *ret_profile = reader.profile;
    return NULL;
}

struct seep_error *seep_profile_from_fd(int fd, pid_t pid, struct seep_profile **ret_profile) {
    char name[64];
    snprintf(name, sizeof(name), "image of process %d", (int)pid);
    struct seep_image_copy *copy = NULL;
    struct seep_error *err = seep_image_copy_from_fd(fd, name, &copy);
    if (!err)
        err = seep_profile_from_image(copy, ret_profile);
    seep_image_copy_destroy(copy);
    if (!err && pid > 0)
        (*ret_profile)->process.pid = (uint32_t)pid;
    return err;
}

// Takes the copy.
static struct seep_error *session_of(struct seep_image_copy *copy, pid_t pid,
                                     struct seep_session **ret_session) {
    struct seep_profile *profile = NULL;
    struct seep_error *err = seep_profile_from_image(copy, &profile);
    seep_image_copy_destroy(copy);
    if (err)
        return err;
    if (pid > 0)
        profile->process.pid = (uint32_t)pid;
    profile->process.is_main = true;
    return seep_session_of(profile, ret_session);
}

struct seep_error *seep_session_from_image_pid(pid_t pid, struct seep_session **ret_session) {
    struct seep_image_copy *copy = NULL;
    struct seep_error *err = seep_image_copy_from_pid(pid, 0, &copy);
    return err ? err : session_of(copy, pid, ret_session);
}

struct seep_error *seep_session_from_raw(const void *bytes, size_t nr_bytes, const char *name,
                                         struct seep_session **ret_session) {
    struct seep_image_copy *copy = NULL;
    struct seep_error *err = seep_image_copy_from_raw(bytes, nr_bytes, name, &copy);
    return err ? err : session_of(copy, 0, ret_session);
}
