// SPDX-License-Identifier: BSD-2-Clause
//
// From sites to the rows of a view: each site, thread or size class is added to the row of its key.
// Invariant: everything that passes the filters is in exactly one row, so rows add up.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "view/stacks_alike.h"
#include "view/view_build.h"

#define NO_MODULE UINT32_MAX
// Keys of rows without a name do not meet those with one.
#define KEY_NAMELESS (UINT64_C(1) << 63)
#define KEY_NOWHERE  UINT64_MAX

static struct seep_error *row_of(struct seep_view_build *build, uint64_t key,
                                 const struct seep_view_label *label, uint32_t *ret_row) {
    bool is_new;
    uint64_t *slot = seep_map_at(&build->row_of_key, key, &is_new);
    if (!slot)
        return seep_error_no_memory();
    if (!is_new) {
        *ret_row = (uint32_t)*slot;
        return NULL;
    }
    size_t nr = build->nr_rows;
    if (nr >= UINT32_MAX || !seep_grow(&build->rows, &build->rows_capacity, nr + 1, sizeof(*build->rows)) ||
        !seep_grow(&build->labels, &build->labels_capacity, nr + 1, sizeof(*build->labels)))
        return seep_error_no_memory();
    build->rows[nr] =
        (struct seep_view_row){.known = SEEP_KNOWN_ALL, .oldest_ns = -1, .cut = -1, .thread = UINT32_MAX};
    build->rows[nr].counters.size_min = UINT64_MAX;
    build->labels[nr] = *label;
    *slot = nr;
    *ret_row = (uint32_t)nr;
    build->nr_rows = nr + 1;
    return NULL;
}

// Processes come one after the other, so a row's share of the present one is its last.
static struct seep_error *add_share(struct seep_view_build *build, struct seep_view_row *row,
                                    uint32_t process, const struct seep_view_figures *figures) {
    if (!row->nr_shares || row->shares[row->nr_shares - 1].process != process) {
        uint32_t nr = row->nr_shares;
        if ((nr & (nr - 1)) == 0) { // room for the power of two at or above nr
            struct seep_view_share *larger =
                seep_arena_alloc(&build->view->arena, nr ? nr * (size_t)2 : 1, sizeof(*larger));
            if (!larger)
                return seep_error_no_memory();
            for (uint32_t i = 0; i < nr; i++)
                larger[i] = row->shares[i];
            row->shares = larger;
        }
        row->shares[row->nr_shares++] = (struct seep_view_share){.process = process};
    }
    struct seep_view_share *share = &row->shares[row->nr_shares - 1];
    seep_add_signed(&share->live_bytes, figures->live_bytes);
    seep_add_signed(&share->live_blocks, figures->live_blocks);
    return NULL;
}

// Whether what was live in the process went with its program, when it executed the next one.
static bool is_gone(const struct seep_view_build *build, uint32_t process) {
    return build->nr_parts > 1 && seep_process_went_on(&build->view->session->profiles[process]->process);
}

static struct seep_error *add_to_row(struct seep_view_build *build, uint32_t index, uint32_t process,
                                     const struct seep_view_figures *figures, uint64_t nr_sites) {
    struct seep_view_row *row = &build->rows[index];
    seep_counters_merge(&row->counters, &figures->counters);
    seep_add_signed(&row->live_blocks, figures->live_blocks);
    seep_add_signed(&row->live_bytes, figures->live_bytes);
    row->known &= figures->known;
    row->nr_sites += nr_sites;
    if (row->nr_sites != 1)
        row->known &= ~SEEP_KNOWN_PEAK;
    row->peak_exact = figures->peak_exact;
    row->oldest_ns = SEEP_MAX(row->oldest_ns, figures->oldest_ns);
    seep_add_signed(&row->leaked_bytes, figures->leaked_bytes);
    seep_add_up(&row->owned.blocks, figures->owned.blocks);
    seep_add_up(&row->owned.bytes, figures->owned.bytes);
    row->exit_all = figures->exit_all && (row->nr_sites == 1 || row->exit_all);
    seep_add_up(&row->exit_blocks, figures->exit_blocks);
    seep_add_up(&row->exit_bytes, figures->exit_bytes);
    seep_add_signed(&row->suppressed_blocks, figures->suppressed_blocks);
    seep_add_signed(&row->suppressed_bytes, figures->suppressed_bytes);
    if (is_gone(build, process)) {
        seep_add_signed(&row->gone_blocks, figures->live_blocks - figures->suppressed_blocks);
        seep_add_signed(&row->gone_bytes, figures->live_bytes - figures->suppressed_bytes);
    }
    if (figures->suppressed_by && !row->suppressed_by)
        row->suppressed_by = figures->suppressed_by;
    for (uint32_t i = 0; i < SEEP_KIND_NR; i++) {
        seep_add_up(&row->kinds.blocks[i], figures->kinds.blocks[i]);
        seep_add_up(&row->kinds.bytes[i], figures->kinds.bytes[i]);
    }
    bool worse = figures->kind && (!row->kind || figures->kind < row->kind);
    if (worse)
        row->kind = figures->kind;
    if (figures->held && (!row->held || worse)) {
        row->held = figures->held;
        row->held_kind = figures->held_kind;
        row->held_process = process;
        row->held_site = figures->held_site;
    }
    const struct seep_view_share *last = row->nr_shares ? &row->shares[row->nr_shares - 1] : NULL;
    row->retains_twice |=
        last && last->process == process && last->live_blocks > 0 && figures->live_blocks > 0;
    row->retained_bytes = row->retains_twice ? 0 : row->retained_bytes + figures->retained_bytes;
    seep_add_up(&row->slab_bytes, figures->slab_bytes);
    return add_share(build, row, process, figures);
}

static bool is_nothing(const struct seep_view_build *build, const struct seep_view_figures *figures) {
    if (build->filter_blocks)
        return figures->live_blocks == 0;
    return !figures->counters.allocations && !figures->counters.frees && !figures->live_blocks;
}

// ---- keys ----

static struct seep_error *id_of_text(struct seep_map *ids, struct seep_texts *texts, const char *text,
                                     uint32_t *ret_id) {
    bool is_new;
    uint64_t *slot = seep_map_at(ids, (uintptr_t)text, &is_new);
    struct seep_error *error = !slot    ? seep_error_no_memory()
                               : is_new ? seep_texts_add(texts, text, ret_id)
                                        : NULL;
    if (!error && is_new)
        *slot = *ret_id;
    else if (!error)
        *ret_id = (uint32_t)*slot;
    return error;
}

// The key and label of the frame that the stack is attributed to.
static struct seep_error *frame_key(struct seep_view_build *build, uint32_t node, uint64_t *ret_key,
                                    struct seep_view_label *ret_label) {
    int by = build->view->options.by;
    struct seep_stacks *stacks = build->stacks;
    uint32_t frame;
    unsigned inlined;
    struct seep_error *error = seep_stacks_self(stacks, node, by != SEEP_BY_MODULE, &frame, &inlined);
    if (error)
        return error;
    if (frame == SEEP_NO_FRAME) {
        *ret_key = KEY_NOWHERE;
        *ret_label = (struct seep_view_label){.text = "(stack not recorded)", .module = NO_MODULE};
        return NULL;
    }
    uint32_t module = stacks->frames[frame].module;
    *ret_key = KEY_NAMELESS | module;
    *ret_label = (struct seep_view_label){.module = module};
    if (by == SEEP_BY_MODULE)
        return NULL;
    const struct seep_symbol_frame *f = &stacks->frames[frame].symbol->frames[inlined];
    uint32_t id;
    if (by == SEEP_BY_FUNCTION && f->function) {
        error = id_of_text(&build->function_ids, &build->functions, f->function, &id);
        *ret_key = id;
        ret_label->text = f->function;
    } else if (by != SEEP_BY_FUNCTION && f->file) {
        error = id_of_text(&build->file_ids, &build->files, f->file, &id);
        unsigned line = by == SEEP_BY_LINE ? f->line : 0;
        *ret_key = (uint64_t)(id & 0x7fffffff) << 32 | line;
        ret_label->file = f->file;
        ret_label->line = line;
    }
    return error;
}

static struct seep_error *site_key(struct seep_view_build *build, const struct seep_view_part *part,
                                   uint32_t site, uint64_t *ret_key, struct seep_view_label *ret_label) {
    const struct seep_site *s = &part->profile->sites[site];
    uint32_t node = part->nodes[s->node];
    switch (build->view->options.by) {
    case SEEP_BY_SITE:
        node = build->view->alike ? build->view->alike[node] : node;
        *ret_key = (uint64_t)node << 8 | (s->via & 0xff);
        *ret_label = (struct seep_view_label){.module = NO_MODULE};
        return NULL;
    case SEEP_BY_PROCESS: {
        const struct seep_process *process = &part->profile->process;
        *ret_key = part->process;
        *ret_label = (struct seep_view_label){.module = NO_MODULE};
        if (seep_map_find(&build->row_of_key, part->process))
            return NULL; // the row has its label
        const char *title = seep_process_title_of(process);
        ret_label->text =
            title || seep_process_is_named_otherwise(process)
                ? seep_arena_printf(&build->view->arena, "%" PRIu32 " %s (%s)", process->pid,
                                    title ? title : process->name, process->exe)
                : seep_arena_printf(&build->view->arena, "%" PRIu32 " %s", process->pid, process->exe);
        return ret_label->text ? NULL : seep_error_no_memory();
    }
    default:
        return frame_key(build, node, ret_key, ret_label);
    }
}

static struct seep_error *rows_of_sites(struct seep_view_build *build, struct seep_view_part *part) {
    for (uint32_t i = 1; i < part->profile->nr_sites; i++) {
        const struct seep_view_figures *figures = &part->figures[i];
        if (!part->site_ok[i] || is_nothing(build, figures) || !seep_via_is_heap(part->profile->sites[i].via))
            continue;
        uint64_t key = 0;
        struct seep_view_label label;
        uint32_t row = 0;
        struct seep_error *error = site_key(build, part, i, &key, &label);
        if (!error)
            error = row_of(build, key, &label, &row);
        if (!error)
            error = add_to_row(build, row, part->process, figures, 1);
        if (error)
            return error;
        part->site_row[i] = row + 1;
        if (build->view->options.measure)
            seep_add_signed(
                &build->rows[row].measure,
                build->view->options.measure(build->view->options.measure_data, part->process, i));
        if (build->view->options.by == SEEP_BY_SITE) {
            uint32_t node = part->nodes[part->profile->sites[i].node];
            build->rows[row].node = build->view->alike ? build->view->alike[node] : node;
            build->rows[row].via = part->profile->sites[i].via;
            build->rows[row].cut = build->stacks->nodes[build->rows[row].node].cut;
        }
    }
    return seep_view_add_growth(build, part);
}

// ---- threads ----

// "worker (tid 12 and 1 before it)". A forked child goes on with the slots of its parent: the threads that
// were there are not in it, and what they did stands in its counters.
static const char *thread_label(struct seep_view_build *build, const struct seep_view_part *part,
                                const struct seep_thread *thread) {
    bool forked = part->profile->health.flags & SEEP_FLAG_FORKED;
    char who[96], before[64] = "", where[32] = "";
    if (forked && !thread->tid && thread->nr_owners > 1)
        snprintf(who, sizeof(who), "%" PRIu32 " threads of the parent, before the fork", thread->nr_owners);
    else if (forked && !thread->tid)
        snprintf(who, sizeof(who), "of the parent, before the fork");
    else
        snprintf(who, sizeof(who), "tid %" PRIu32, thread->tid);
    if (thread->nr_owners > 1 && thread->tid)
        snprintf(before, sizeof(before), " and %" PRIu32 " before it%s", thread->nr_owners - 1,
                 forked ? " or before the fork" : "");
    if (build->nr_parts > 1)
        snprintf(where, sizeof(where), ", in pid %" PRIu32, part->profile->process.pid);
    return seep_arena_printf(&build->view->arena, "%s (%s%s%s)", thread->name[0] ? thread->name : "(no name)",
                             who, before, where);
}

// "812 bash": in place of threads the kernel's memory has the processes that allocated.
static const char *kernel_label(struct seep_view_build *build, const struct seep_view_part *part,
                                const struct seep_thread *process) {
    char text[SEEP_KERNEL_PROCESS_NAME];
    return seep_arena_printf(&build->view->arena, "%s%s%s", seep_kernel_process_name(process, text),
                             build->nr_parts > 1 ? ", in " : "",
                             build->nr_parts > 1 ? part->profile->process.exe : "");
}

static struct seep_error *thread_row(struct seep_view_build *build, const struct seep_view_part *part,
                                     uint32_t thread, uint32_t *ret_row) {
    struct seep_view_label label = {.text = "(thread not recorded)", .module = NO_MODULE};
    if (thread >= part->profile->nr_threads)
        return row_of(build, KEY_NOWHERE, &label, ret_row);
    uint64_t key = (uint64_t)part->process << 32 | thread;
    bool is_kernel = seep_profile_is_kernel(part->profile);
    if (!seep_map_find(&build->row_of_key, key) && !(label.text = (is_kernel ? kernel_label : thread_label)(
                                                         build, part, &part->profile->threads[thread])))
        return seep_error_no_memory();
    struct seep_error *error = row_of(build, key, &label, ret_row);
    if (!error)
        build->rows[*ret_row].thread = thread;
    return error;
}

static int64_t net(uint64_t plus, uint64_t minus) {
    uint64_t gap = plus >= minus ? plus - minus : minus - plus;
    int64_t value = gap > INT64_MAX ? INT64_MAX : (int64_t)gap;
    return plus >= minus ? value : -value;
}

static struct seep_error *rows_of_threads(struct seep_view_build *build, struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *ts = &profile->thread_sites[i];
        bool of_known_thread = ts->thread < profile->nr_threads;
        if (ts->site >= profile->nr_sites || !part->site_ok[ts->site] ||
            !seep_via_is_heap(profile->sites[ts->site].via) ||
            (of_known_thread && !part->thread_ok[ts->thread]) ||
            (!of_known_thread && build->view->options.thread))
            continue;
        struct seep_view_figures figures;
        seep_view_figures_init(&figures);
        figures.counters = ts->counters;
        figures.slab_bytes = build->filter_blocks ? 0 : ts->slab_bytes;
        figures.known = part->figures[ts->site].known & ~(SEEP_KNOWN_PEAK | SEEP_KNOWN_AT_PEAK);
        if (!build->blocks_of_thread) {
            figures.live_blocks = net(ts->counters.allocations, ts->counters.frees);
            figures.live_bytes = net(ts->counters.allocated_bytes, ts->counters.freed_bytes);
        }
        uint32_t row = 0;
        struct seep_error *error = thread_row(build, part, ts->thread, &row);
        if (!error)
            error = add_to_row(build, row, part->process, &figures, 1);
        if (error)
            return error;
    }
    for (size_t i = 0; build->blocks_of_thread && i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        if (!seep_view_block_ok(build, part, block))
            continue;
        struct seep_view_figures figures;
        seep_view_figures_init(&figures);
        figures.live_blocks = 1;
        figures.live_bytes = block->size > INT64_MAX ? INT64_MAX : (int64_t)block->size;
        figures.oldest_ns = block->age_ns;
        uint32_t row = 0;
        struct seep_error *error = thread_row(build, part, block->thread, &row);
        if (!error)
            error = add_to_row(build, row, part->process, &figures, 0);
        if (error)
            return error;
    }
    return NULL;
}

// ---- sizes ----

// Class 0 is size 0, class n holds 2^(n-1) <= size < 2^n, the last one all above.
static unsigned class_of_size(uint64_t size) {
    unsigned bits = size ? 64 - (unsigned)__builtin_clzll(size) : 0;
    return SEEP_MIN(bits, SEEP_IMAGE_SIZE_CLASSES - 1u);
}

static struct seep_error *class_row(struct seep_view_build *build, unsigned class, uint32_t *ret_row) {
    struct seep_view_label label = {.module = NO_MODULE};
    struct seep_arena *arena = &build->view->arena;
    if (class == SEEP_IMAGE_SIZE_CLASSES)
        label.text = "(sizes not kept)";
    else if (class <= 1)
        label.text = class ? "1" : "0";
    else
        label.text =
            seep_arena_printf(arena, "%" PRIu64 "..%" PRIu64, UINT64_C(1) << (class - 1),
                              class == SEEP_IMAGE_SIZE_CLASSES - 1 ? UINT64_MAX : (UINT64_C(1) << class) - 1);
    return label.text ? row_of(build, class, &label, ret_row) : seep_error_no_memory();
}

// Live from the blocks, which know their site and size; allocations from the totals, which do not
// know sites and so only count without filters.
static struct seep_error *rows_of_sizes(struct seep_view_build *build, struct seep_view_part *part) {
    const struct seep_profile *profile = part->profile;
    struct seep_view_figures classes[SEEP_IMAGE_SIZE_CLASSES + 1];
    uint32_t known = SEEP_KNOWN_LIVE | (build->view->filtered ? 0 : SEEP_KNOWN_ALLOCATIONS);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(classes); i++) {
        seep_view_figures_init(&classes[i]);
        classes[i].known = known;
    }
    uint64_t nr_live = 0, nr_allocations = 0, live_bytes = 0;
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *block = &profile->blocks[i];
        if (!seep_view_block_ok(build, part, block))
            continue;
        struct seep_view_figures *class = &classes[class_of_size(block->size)];
        class->live_blocks++;
        seep_add_signed(&class->live_bytes, block->size > INT64_MAX ? INT64_MAX : (int64_t)block->size);
        class->oldest_ns = SEEP_MAX(class->oldest_ns, block->age_ns);
        nr_live++;
        live_bytes += block->size;
    }
    for (size_t i = 0; !build->view->filtered && i < SEEP_IMAGE_SIZE_CLASSES; i++) {
        classes[i].counters.allocations = profile->totals.size_class[i];
        nr_allocations += profile->totals.size_class[i];
    }
    struct seep_view_figures *rest = &classes[SEEP_IMAGE_SIZE_CLASSES];
    if (!build->view->filtered) {
        rest->live_blocks = SEEP_MAX(net(profile->totals.live_blocks, nr_live), 0);
        rest->live_bytes = SEEP_MAX(net(profile->totals.live_bytes, live_bytes), 0);
        rest->counters.allocations = (uint64_t)SEEP_MAX(net(profile->totals.allocations, nr_allocations), 0);
    }
    for (unsigned i = 0; i < SEEP_ARRAY_SIZE(classes); i++) {
        if (!classes[i].live_blocks && !classes[i].live_bytes && !classes[i].counters.allocations)
            continue;
        uint32_t row = 0;
        struct seep_error *error = class_row(build, i, &row);
        if (!error)
            error = add_to_row(build, row, part->process, &classes[i], 0);
        if (error)
            return error;
    }
    return NULL;
}

bool seep_view_by_threads(const struct seep_view_options *options, const struct seep_profile *profile) {
    return options->by == SEEP_BY_THREAD ||
           (options->by == SEEP_BY_PROCESS && seep_profile_is_kernel(profile));
}

// A first part brings a row for nearly each of its sites.
static bool reserve_rows(struct seep_view_build *build) {
    size_t nr =
        build->nr_parts && build->view->options.by == SEEP_BY_SITE ? build->parts[0].profile->nr_sites : 0;
    return seep_grow(&build->rows, &build->rows_capacity, nr, sizeof(*build->rows)) &&
           seep_grow(&build->labels, &build->labels_capacity, nr, sizeof(*build->labels));
}

static struct seep_error *find_alike(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    const struct seep_view *like = view->options.like;
    if (!like || !like->alike)
        return seep_stacks_alike(build->stacks, &view->alike);
    view->alike = malloc(build->stacks->nr_nodes * sizeof(*view->alike));
    if (!view->alike)
        return seep_error_no_memory();
    memcpy(view->alike, like->alike, build->stacks->nr_nodes * sizeof(*view->alike));
    return NULL;
}

struct seep_error *seep_view_build_rows(struct seep_view_build *build) {
    if (!reserve_rows(build))
        return seep_error_no_memory();
    if (build->view->options.by == SEEP_BY_SITE && build->stacks->symbols &&
        !build->view->options.each_stack) {
        struct seep_error *error = find_alike(build);
        if (error)
            return error;
    }
    for (size_t p = 0; p < build->nr_parts; p++) {
        struct seep_view_part *part = &build->parts[p];
        // Of one part at a time: they are large.
        struct seep_error *error = seep_view_build_figures(build, part);
        if (error)
            return error;
        if (seep_view_by_threads(&build->view->options, part->profile))
            error = rows_of_threads(build, part);
        else if (build->view->options.by == SEEP_BY_SIZE)
            error = rows_of_sizes(build, part);
        else
            error = rows_of_sites(build, part);
        if (error)
            return error;
        free(part->figures); // all of them are in rows
        part->figures = NULL;
    }
    seep_map_deinit(&build->row_of_key);
    return NULL;
}

// The shown rows are at the front of `rows` and `labels` now; names of files and modules become as
// short as they can be among those.
struct seep_error *seep_view_build_labels(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    struct seep_stacks *stacks = build->stacks;
    uint32_t id;
    for (size_t i = 0; i < view->nr_rows; i++) {
        struct seep_error *error = NULL;
        if (build->labels[i].file)
            error = seep_texts_add(&stacks->files, build->labels[i].file, &id);
        if (!error && view->options.by == SEEP_BY_FUNCTION && build->labels[i].text)
            error = seep_texts_add(&stacks->functions, build->labels[i].text, &id);
        if (error)
            return error;
        if (build->labels[i].module != NO_MODULE) {
            stacks->modules[build->labels[i].module].used = true;
            stacks->modules[build->labels[i].module].nameless |=
                view->options.by == SEEP_BY_FUNCTION && !build->labels[i].text;
        }
    }
    struct seep_error *error =
        seep_stacks_shorten(stacks, view->options.full_paths, view->options.full_names);
    for (size_t i = 0; !error && view->options.by != SEEP_BY_SITE && i < view->nr_rows; i++) {
        const struct seep_view_label *label = &build->labels[i];
        const char *text = label->text;
        if (!text && label->file) {
            const char *file = seep_stacks_file_shown(stacks, label->file);
            text = label->line ? seep_arena_printf(&view->arena, "%s:%u", file, label->line) : file;
        } else if (!text && view->options.by == SEEP_BY_MODULE) {
            text = stacks->modules[label->module].shown;
        } else if (!text) {
            text = seep_arena_printf(&view->arena, "(%s not known) %s",
                                     view->options.by == SEEP_BY_FUNCTION ? "function" : "source",
                                     stacks->modules[label->module].shown);
        }
        if (!text)
            return seep_error_no_memory();
        view->rows[i].key = text;
    }
    return error;
}
