// SPDX-License-Identifier: BSD-2-Clause
//
// Saves a session as a trace: what each section holds, see docs/trace-format.md; trace_load.c is
// the other half. Element 0 of modules, nodes and sites means the same in every profile and is not
// written. Arrays are cut into sections of a few MiB, so that a reader needs little memory at a time
// and a file that was cut keeps most of what it had.
#include "file/session_file.h"
#include "file/sections.h"
#include "file/trace_index.h"
#include "file/trace.h"

// Close a section of rows when it is this long. Far below SEEP_TRACE_RAW_MAX, as one row may be long.
#define SECTION_BYTES      ((size_t)4 << 20)
#define LEAST_REASONS      16u // of losses, as the first traces have
#define BLOCKS_PER_SECTION ((size_t)256 << 10)

enum { COLUMN_ADDRESS, COLUMN_SIZE, COLUMN_SITE, COLUMN_THREAD, COLUMN_AGE, COLUMN_NR };

struct saver {
    struct seep_trace_writer *writer;
    const struct seep_profile *profile;
    struct seep_put put;  // the section as it will be
    struct seep_put rows; // its rows, while their number is not known
    struct seep_put columns[COLUMN_NR];
    uint64_t previous; // what the next row's delta is taken from; 0 at the start of a section
};

static struct seep_error *flush(struct saver *saver, uint32_t type) {
    if (saver->put.failed || saver->rows.failed)
        return seep_error_no_memory();
    struct seep_error *error =
        seep_trace_writer_section(saver->writer, type, 1, saver->put.bytes, saver->put.used);
    saver->put.used = 0;
    return error;
}

static struct seep_error *save_process(struct saver *saver) {
    const struct seep_profile *profile = saver->profile;
    const struct seep_process *process = &profile->process;
    struct seep_put *put = &saver->put;
    seep_put_leb(put, process->pid);
    seep_put_leb(put, process->ppid);
    seep_put_leb(put, process->forked_from);
    seep_put_leb(put, process->is_main);
    seep_put_text(put, process->exe);
    seep_put_leb(put, process->nr_args_all);
    seep_put_leb(put, process->nr_args);
    for (uint32_t i = 0; i < process->nr_args; i++)
        seep_put_text(put, process->args[i] ? process->args[i] : "");
    seep_put_zigzag(put, process->start_realtime_ns);
    seep_put_zigzag(put, process->duration_ns);
    seep_put_leb(put, process->exit_kind);
    seep_put_zigzag(put, process->exit_value);
    seep_put_leb(put, profile->nr_modules - 1);
    seep_put_leb(put, profile->nr_nodes - 1);
    seep_put_leb(put, profile->nr_sites - 1);
    seep_put_leb(put, profile->nr_threads);
    seep_put_leb(put, profile->nr_thread_sites);
    seep_put_leb(put, profile->nr_blocks);
    return flush(saver, SEEP_TRACE_PROCESS);
}

static struct seep_error *save_health(struct saver *saver) {
    const struct seep_health *health = &saver->profile->health;
    struct seep_put *put = &saver->put;
    seep_put_leb(put, health->events);
    size_t nr_reasons = SEEP_LOST_NR;
    while (nr_reasons > LEAST_REASONS && !health->lost[nr_reasons - 1])
        nr_reasons--;
    seep_put_list(put, health->lost, nr_reasons);
    seep_put_list(put, health->cut, SEEP_CUT_NR);
    seep_put_leb(put, health->stacks_cut);
    seep_put_leb(put, health->state);
    seep_put_leb(put, health->passive_reason);
    seep_put_leb(put, health->flags);
    seep_put_text(put, health->preempted_by);
    seep_put_leb(put, health->depth_limit);
    seep_put_leb(put, health->sample_bytes);
    seep_put_leb(put, health->nr_notes);
    for (size_t i = 0; i < health->nr_notes; i++)
        seep_put_text(put, health->notes[i].text);
    for (size_t i = 0; i < health->nr_notes; i++) {
        seep_put_leb(put, health->notes[i].code);
        seep_put_leb(put, health->notes[i].flags);
    }
    return flush(saver, SEEP_TRACE_HEALTH);
}

static struct seep_error *save_totals(struct saver *saver) {
    const struct seep_totals *totals = &saver->profile->totals;
    struct seep_put *put = &saver->put;
    seep_put_leb(put, totals->allocations);
    seep_put_leb(put, totals->allocated_bytes);
    seep_put_leb(put, totals->frees);
    seep_put_leb(put, totals->freed_bytes);
    seep_put_leb(put, totals->live_blocks);
    seep_put_leb(put, totals->live_bytes);
    seep_put_leb(put, totals->peak_bytes);
    seep_put_leb(put, totals->peak_exact);
    seep_put_leb(put, totals->peak_error_bytes);
    seep_put_leb(put, totals->temporary);
    seep_put_leb(put, totals->failed);
    seep_put_leb(put, totals->unknown_frees);
    seep_put_list(put, totals->by_function, SEEP_VIA_HEAP_NR);
    seep_put_list(put, totals->releases, SEEP_RELEASE_NR);
    seep_put_list(put, totals->size_class, SEEP_IMAGE_SIZE_CLASSES);
    seep_put_leb(put, totals->inherited_blocks);
    seep_put_leb(put, totals->inherited_bytes);
    return flush(saver, SEEP_TRACE_TOTALS);
}

static void put_difference(struct seep_put *put, uint64_t from, uint64_t to) {
    seep_put_zigzag(put, (int64_t)(to - from)); // modulo 2^64: exact whatever the two are
}

static void put_module(struct saver *saver, size_t id) {
    const struct seep_module *module = &saver->profile->modules[id];
    struct seep_put *put = &saver->rows;
    seep_put_text(put, module->path);
    seep_put_leb(put, module->bias_rt);
    put_difference(put, module->bias_rt, module->start_rt);
    put_difference(put, module->start_rt, module->end_rt);
    seep_put_zigzag(put, module->first_seen_ns);
    seep_put_zigzag(put, module->unloaded_ns);
    seep_put_leb(put, module->build_id_bytes);
    seep_put_bytes(put, module->build_id, module->build_id_bytes);
}

static void put_node(struct saver *saver, size_t id) {
    const struct seep_node *node = &saver->profile->nodes[id];
    seep_put_leb(&saver->rows, id - 1 - node->parent);
    seep_put_leb(&saver->rows, (uint64_t)node->module << 3 | (uint64_t)node->exact << 2 | node->kind);
    seep_put_leb(&saver->rows, node->offset);
}

static void put_counters(struct seep_put *put, const struct seep_counters *counters) {
    seep_put_leb(put, counters->allocations);
    seep_put_leb(put, counters->allocated_bytes);
    put_difference(put, counters->frees, counters->allocations);
    put_difference(put, counters->freed_bytes, counters->allocated_bytes);
    seep_put_leb(put, counters->temporary);
    seep_put_leb(put, counters->peak_bytes);
    seep_put_leb(put, counters->size_max);
    put_difference(put, counters->size_min, counters->size_max);
}

static void put_site(struct saver *saver, size_t id) {
    const struct seep_site *site = &saver->profile->sites[id];
    put_difference(&saver->rows, saver->previous, site->node);
    seep_put_leb(&saver->rows, site->via);
    put_counters(&saver->rows, &site->counters);
    saver->previous = site->node;
}

static void put_thread(struct saver *saver, size_t id) {
    const struct seep_thread *thread = &saver->profile->threads[id];
    struct seep_put *put = &saver->rows;
    seep_put_leb(put, thread->tid);
    seep_put_leb(put, thread->nr_owners);
    seep_put_text(put, thread->name);
    seep_put_leb(put, thread->allocations);
    seep_put_leb(put, thread->allocated_bytes);
    seep_put_leb(put, thread->frees);
    seep_put_leb(put, thread->freed_bytes);
}

static void put_thread_site(struct saver *saver, size_t id) {
    const struct seep_thread_site *row = &saver->profile->thread_sites[id];
    seep_put_leb(&saver->rows, row->site - saver->previous);
    seep_put_leb(&saver->rows, row->thread);
    put_counters(&saver->rows, &row->counters);
    saver->previous = row->site;
}

static struct seep_error *save_rows(struct saver *saver, uint32_t type, size_t first, size_t nr,
                                    void (*put_row)(struct saver *, size_t)) {
    for (size_t id = first; id < nr;) {
        size_t begin = id;
        saver->rows.used = 0;
        saver->previous = 0;
        while (id < nr && saver->rows.used < SECTION_BYTES && !saver->rows.failed)
            put_row(saver, id++);
        seep_put_leb(&saver->put, begin);
        seep_put_leb(&saver->put, id - begin);
        seep_put_bytes(&saver->put, saver->rows.bytes, saver->rows.used);
        struct seep_error *error = flush(saver, type);
        if (error)
            return error;
    }
    return NULL;
}

// The low bits that are zero in all addresses of a section are not written.
static unsigned common_shift(const struct seep_block *blocks, size_t nr_blocks) {
    uint64_t all = 0;
    for (size_t i = 0; i < nr_blocks; i++)
        all |= blocks[i].address;
    return all ? (unsigned)__builtin_ctzll(all) : 0;
}

static void fill_columns(struct saver *saver, const struct seep_block *blocks, size_t nr_blocks,
                         unsigned shift, bool with_threads, bool with_ages) {
    uint64_t address = 0;
    uint64_t age = 0;
    for (size_t i = 0; i < nr_blocks; i++) {
        seep_put_leb(&saver->columns[COLUMN_ADDRESS], (blocks[i].address - address) >> shift);
        seep_put_leb(&saver->columns[COLUMN_SIZE], blocks[i].size);
        seep_put_leb(&saver->columns[COLUMN_SITE], blocks[i].site);
        address = blocks[i].address;
        if (with_threads) // + 1: "not kept" becomes 0
            seep_put_leb(&saver->columns[COLUMN_THREAD], (uint32_t)(blocks[i].thread + 1));
        if (with_ages) {
            put_difference(&saver->columns[COLUMN_AGE], age, (uint64_t)blocks[i].age_ns);
            age = (uint64_t)blocks[i].age_ns;
        }
    }
}

static struct seep_error *save_block_section(struct saver *saver, size_t begin, size_t nr_blocks) {
    const struct seep_block *blocks = saver->profile->blocks + begin;
    bool with_threads = false;
    bool with_ages = false;
    for (size_t i = 0; i < nr_blocks; i++) {
        with_threads |= blocks[i].thread != UINT32_MAX;
        with_ages |= blocks[i].age_ns != -1;
    }
    unsigned shift = common_shift(blocks, nr_blocks);
    for (size_t i = 0; i < COLUMN_NR; i++)
        saver->columns[i].used = 0;
    fill_columns(saver, blocks, nr_blocks, shift, with_threads, with_ages);

    struct seep_put *put = &saver->put;
    seep_put_leb(put, begin);
    seep_put_leb(put, nr_blocks);
    seep_put_leb(put, shift);
    for (size_t i = 0; i < COLUMN_NR; i++)
        seep_put_leb(put, saver->columns[i].used);
    for (size_t i = 0; i < COLUMN_NR; i++) {
        if (saver->columns[i].failed)
            return seep_error_no_memory();
        seep_put_bytes(put, saver->columns[i].bytes, saver->columns[i].used);
    }
    return flush(saver, SEEP_TRACE_BLOCKS);
}

static struct seep_error *save_blocks(struct saver *saver) {
    size_t nr = saver->profile->nr_blocks;
    for (size_t begin = 0; begin < nr; begin += BLOCKS_PER_SECTION) {
        struct seep_error *error = save_block_section(saver, begin, SEEP_MIN(nr - begin, BLOCKS_PER_SECTION));
        if (error)
            return error;
    }
    return NULL;
}

static struct seep_error *broken(const struct seep_profile *profile, const char *what, size_t index) {
    return seep_error_hint(seep_error_create(SEEP_E_FORMAT,
                                             "process %u cannot be saved: %s %zu is out of range",
                                             profile->process.pid, what, index),
                           "this is a fault in seep: please report it");
}

// Nothing is written that the loader would refuse.
static struct seep_error *check(const struct seep_profile *profile) {
    if (!profile->nr_modules || !profile->nr_nodes || !profile->nr_sites)
        return broken(profile, "table", 0);
    for (uint32_t i = 1; i < profile->nr_modules; i++)
        if (!profile->modules[i].path ||
            profile->modules[i].build_id_bytes > sizeof(profile->modules[i].build_id))
            return broken(profile, "module", i);
    for (uint32_t i = 1; i < profile->nr_nodes; i++) {
        const struct seep_node *node = &profile->nodes[i];
        if (node->parent >= i || node->module >= profile->nr_modules || node->kind > SEEP_NODE_CUT ||
            (node->kind == SEEP_NODE_CUT && node->parent))
            return broken(profile, "node", i);
    }
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        if (profile->sites[i].node >= profile->nr_nodes)
            return broken(profile, "site", i);
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        if (!memchr(profile->threads[i].name, 0, sizeof(profile->threads[i].name)))
            return broken(profile, "thread", i);
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *row = &profile->thread_sites[i];
        if (row->site >= profile->nr_sites || row->thread >= profile->nr_threads ||
            (i && (row->site < row[-1].site || (row->site == row[-1].site && row->thread <= row[-1].thread))))
            return broken(profile, "thread count", i);
    }
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        if (block->site >= profile->nr_sites || (i && block->address < block[-1].address) ||
            (block->thread != UINT32_MAX && block->thread >= profile->nr_threads))
            return broken(profile, "block", i);
    }
    for (uint32_t i = 0; i < profile->nr_mapping_sites; i++)
        if (profile->mapping_sites[i].site >= profile->nr_sites ||
            (i && profile->mapping_sites[i].site <= profile->mapping_sites[i - 1].site))
            return broken(profile, "mapping site", i);
    for (uint32_t i = 0; i < profile->nr_mappings; i++)
        if (profile->mappings[i].site >= profile->nr_sites ||
            (i && profile->mappings[i].start < profile->mappings[i - 1].start))
            return broken(profile, "mapping", i);
    for (uint32_t i = 0; i < profile->nr_wrong_releases; i++)
        if (profile->wrong_releases[i].site >= profile->nr_sites ||
            profile->wrong_releases[i].release_site >= profile->nr_sites ||
            profile->wrong_releases[i].first_site >= profile->nr_sites)
            return broken(profile, "wrong release", i);
    return NULL;
}

static struct seep_error *save_sections(struct saver *saver, const struct seep_section *section) {
    uint32_t nr = section->nr(saver->profile);
    struct seep_error *error = NULL;
    for (uint32_t i = 0; i < nr && !error; i++) {
        section->put(&saver->put, saver->profile, i);
        if (saver->put.used || saver->put.failed)
            error = flush(saver, section->type);
    }
    return error;
}

static struct seep_error *save_group(struct saver *saver) {
    const struct seep_profile *profile = saver->profile;
    struct seep_error *error = save_process(saver);
    if (!error)
        error = save_health(saver);
    if (!error)
        error = save_totals(saver);
    if (!error)
        error = save_rows(saver, SEEP_TRACE_MODULES, 1, profile->nr_modules, put_module);
    if (!error)
        error = save_rows(saver, SEEP_TRACE_NODES, 1, profile->nr_nodes, put_node);
    if (!error)
        error = save_rows(saver, SEEP_TRACE_SITES, 1, profile->nr_sites, put_site);
    if (!error)
        error = save_rows(saver, SEEP_TRACE_THREADS, 0, profile->nr_threads, put_thread);
    if (!error)
        error = save_rows(saver, SEEP_TRACE_THREAD_SITES, 0, profile->nr_thread_sites, put_thread_site);
    if (!error)
        error = save_blocks(saver);
    for (size_t i = 0; i < seep_nr_sections && !error; i++)
        error = save_sections(saver, seep_sections[i]);
    return error;
}

static void saver_deinit(struct saver *saver) {
    seep_put_deinit(&saver->put);
    seep_put_deinit(&saver->rows);
    for (size_t i = 0; i < COLUMN_NR; i++)
        seep_put_deinit(&saver->columns[i]);
}

static struct seep_error *save_checked(const struct seep_profile *profile, struct seep_trace_writer *writer) {
    struct saver saver = {.writer = writer, .profile = profile};
    struct seep_error *error = save_group(&saver);
    saver_deinit(&saver);
    return error;
}

struct seep_error *seep_profile_save(const struct seep_profile *profile, struct seep_trace_writer *writer) {
    struct seep_error *error = check(profile);
    return error ? error : save_checked(profile, writer);
}

// ---- The whole.

static struct seep_error *save_one(struct seep_trace_writer *writer, const struct seep_profile *profile,
                                   struct seep_index_entry *ret_entry) {
    struct seep_trace_span span;
    seep_trace_span_begin(writer, &span);
    const struct seep_stored *stored = profile->stored;
    struct seep_error *error =
        stored ? seep_trace_writer_copy(writer, stored->spool, &stored->span) : save_checked(profile, writer);
    seep_trace_span_end(writer, &span);
    const struct seep_process *process = &profile->process;
    *ret_entry = (struct seep_index_entry){.pid = process->pid,
                                           .exe = process->exe ? process->exe : "",
                                           .first_arg = process->nr_args ? process->args[0] : NULL,
                                           .off = span.off,
                                           .bytes = span.bytes};
    return error;
}

static struct seep_error *save_index(struct seep_trace_writer *writer, const struct seep_index *index) {
    struct seep_put put = {0};
    struct seep_error *error = seep_index_put(&put, index);
    if (!error)
        error = seep_trace_writer_plain(writer, SEEP_TRACE_INDEX, 1, put.bytes, put.used);
    seep_put_deinit(&put);
    return error;
}

static struct seep_error *save_processes(struct seep_trace_writer *writer, const struct seep_session *session,
                                         struct seep_index *index) {
    struct seep_put put = {0};
    seep_put_leb(&put, session->nr_profiles);
    struct seep_error *error =
        put.failed ? seep_error_no_memory()
                   : seep_trace_writer_section(writer, SEEP_TRACE_SESSION, 1, put.bytes, put.used);
    seep_put_deinit(&put);
    for (; !error && index->nr < session->nr_profiles; index->nr++)
        error = save_one(writer, session->profiles[index->nr], &index->entries[index->nr]);
    return error;
}

static struct seep_error *save_all(struct seep_trace_writer *writer, const struct seep_session *session) {
    struct seep_index index = {.nr = 0};
    index.entries = seep_arena_alloc(&index.arena, session->nr_profiles, sizeof(*index.entries));
    struct seep_error *error = index.entries ? NULL : seep_error_no_memory();
    if (!error)
        error = save_processes(writer, session, &index);
    if (!error && index.nr > 1)
        error = save_index(writer, &index);
    seep_index_deinit(&index);
    return error ? error : seep_trace_writer_commit(writer, !session->brief);
}

static struct seep_error *check_all(const struct seep_session *session, const char *path) {
    if (!session->nr_profiles)
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "%s: nothing to save: no process was traced", path),
            "check that the program started and is not static or set-uid");
    for (size_t i = 0; i < session->nr_profiles; i++) {
        struct seep_error *error = check(session->profiles[i]);
        if (error)
            return error;
    }
    return NULL;
}

struct seep_error *seep_session_save_behind(const struct seep_session *session, const char *path,
                                            struct seep_trace_writer *writer) {
    struct seep_error *error = check_all(session, path);
    return error ? error : save_all(writer, session);
}

struct seep_error *seep_session_save_fd(const struct seep_session *session, int fd, const char *name) {
    struct seep_trace_writer *writer = NULL;
    struct seep_error *error = check_all(session, name);
    if (!error)
        error = seep_trace_writer_create_fd(fd, name, &writer);
    if (!error)
        error = save_all(writer, session);
    seep_trace_writer_destroy(writer);
    return error;
}

// Takes the writer.
static struct seep_error *save_to(const struct seep_session *session, struct seep_trace_writer *writer,
                                  const char *path, char **ret_name) {
    struct seep_error *error = save_all(writer, session);
    if (!error && ret_name) {
        const char *name = seep_trace_writer_path(writer);
        *ret_name = strdup(name ? name : path);
        error = *ret_name ? NULL : seep_error_no_memory();
    }
    seep_trace_writer_destroy(writer);
    return error;
}

struct seep_error *seep_session_save(const struct seep_session *session, const char *path) {
    struct seep_trace_writer *writer;
    struct seep_error *error = check_all(session, path);
    if (!error)
        error = seep_trace_writer_create(path, &writer);
    return error ? error : save_to(session, writer, path, NULL);
}

struct seep_error *seep_session_save_over(const struct seep_session *session, const char *path,
                                          struct seep_trace_file *file, char **ret_name) {
    struct seep_trace_writer *writer;
    struct seep_error *error = check_all(session, path);
    if (!error)
        error = seep_trace_writer_create_entry(path, file, &writer);
    if (error)
        return error;
    struct seep_trace_file fresh = seep_trace_writer_file(writer);
    error = save_to(session, writer, path, ret_name);
    if (!error)
        *file = fresh;
    return error;
}

struct seep_error *seep_session_save_beside(const struct seep_session *session, const char *path,
                                            char **ret_name) {
    struct seep_trace_file none = {.inode = 0};
    return seep_session_save_over(session, path, &none, ret_name);
}
