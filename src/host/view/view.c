// SPDX-License-Identifier: BSD-2-Clause
//
// Making a view, see view.h: filters and figures (view_filter.c), rows (view_group.c), then here
// the order, the cut to the top, the blocks, and the names of what is shown.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "view/view_build.h"

const struct seep_view_options seep_view_options_default = {
    .top = SEEP_TOP_DEFAULT,
    .sort = SEEP_SORT_AUTO,
    .by = SEEP_BY_SITE,
    .max_size = UINT64_MAX,
    .older_ns = -1,
    .format = SEEP_FORMAT_DEFAULT,
};

const char *const seep_view_sort_names[SEEP_SORT_NR + 1] = {
    [SEEP_SORT_LIVE] = "live",   [SEEP_SORT_LEAKED] = "leaked", [SEEP_SORT_ALLOCATIONS] = "allocations",
    [SEEP_SORT_BYTES] = "bytes", [SEEP_SORT_PEAK] = "peak",     [SEEP_SORT_TEMPORARY] = "temporary",
    [SEEP_SORT_SIZE] = "size",   [SEEP_SORT_BLOCKS] = "blocks", [SEEP_SORT_AGE] = "age",
    [SEEP_SORT_EXIT] = "exit",   [SEEP_SORT_GROWTH] = "growth", [SEEP_SORT_NR] = NULL,
};

const char *const seep_view_by_names[SEEP_BY_NR + 1] = {
    [SEEP_BY_SITE] = "site", [SEEP_BY_FUNCTION] = "function", [SEEP_BY_FILE] = "file",
    [SEEP_BY_LINE] = "line", [SEEP_BY_MODULE] = "module",     [SEEP_BY_THREAD] = "thread",
    [SEEP_BY_SIZE] = "size", [SEEP_BY_PROCESS] = "process",   [SEEP_BY_NR] = NULL,
};

const char *seep_view_sort_name(int sort) {
    return sort >= 0 && sort < SEEP_SORT_NR ? seep_view_sort_names[sort] : "auto";
}

const char *seep_view_by_name(int by) {
    return by >= 0 && by < SEEP_BY_NR ? seep_view_by_names[by] : "unknown";
}

uint32_t seep_view_nr_kinds(const struct seep_view_kinds *kinds) {
    uint32_t nr = 0;
    for (uint32_t i = 0; i < SEEP_KIND_NR; i++)
        nr += kinds->blocks[i] != 0;
    return nr;
}

const char *seep_view_partly(const struct seep_view_row *row) {
    return seep_view_nr_kinds(&row->kinds) > 1 ? "partly " : "";
}

// ---- order ----

static double mean_size(const struct seep_view_row *row) {
    if (row->live_blocks > 0)
        return (double)row->live_bytes / (double)row->live_blocks;
    return row->counters.allocations
               ? (double)row->counters.allocated_bytes / (double)row->counters.allocations
               : 0;
}

static int64_t live_bytes(const struct seep_view_row *row) {
    return row->live_bytes - row->suppressed_bytes;
}

// What a shell or a wrapper had before it executed the program is behind what the program holds.
static double held_bytes(const struct seep_view_row *row) {
    return (double)live_bytes(row) - (double)row->gone_bytes;
}

static int64_t live_blocks(const struct seep_view_row *row) {
    return row->live_blocks - row->suppressed_blocks;
}

static double sort_key(const struct seep_view_row *row, int sort) {
    bool known_allocations = row->known & SEEP_KNOWN_ALLOCATIONS;
    switch (sort) {
    case SEEP_SORT_ALLOCATIONS:
        return known_allocations ? (double)row->counters.allocations : -1;
    case SEEP_SORT_BYTES:
        return row->known & SEEP_KNOWN_BYTES ? (double)row->counters.allocated_bytes : -1;
    case SEEP_SORT_PEAK: // else the sum of peaks orders rows of several sites well enough
        return (double)(row->known & SEEP_KNOWN_AT_PEAK ? row->counters.at_peak_bytes
                                                        : row->counters.peak_bytes);
    case SEEP_SORT_TEMPORARY:
        return row->known & SEEP_KNOWN_TEMPORARY ? (double)row->counters.temporary : -1;
    case SEEP_SORT_SIZE:
        return mean_size(row);
    case SEEP_SORT_BLOCKS:
        return (double)live_blocks(row) - (double)row->gone_blocks;
    case SEEP_SORT_AGE:
        return (double)row->oldest_ns;
    case SEEP_SORT_EXIT:
        return (double)row->exit_bytes;
    case SEEP_SORT_GROWTH:
        return seep_view_growth_key(row);
    case SEEP_SORT_LEAKED:
        return row->kind ? (double)row->owned.bytes : held_bytes(row);
    default:
        return held_bytes(row);
    }
}

struct rank {
    double key;
    int64_t leaked_bytes;
    int64_t live_bytes;
    int64_t live_blocks;
    uint64_t allocations;
    uint32_t row;
};

static int descending(double a, double b) {
    return (a < b) - (a > b);
}

// The last tie is broken by the order of arrival, so equal input gives equal output.
static int compare_ranks(const void *left, const void *right) {
    const struct rank *a = left, *b = right;
    int order = descending(a->key, b->key);
    if (!order)
        order = (a->leaked_bytes < b->leaked_bytes) - (a->leaked_bytes > b->leaked_bytes);
    if (!order)
        order = (a->live_bytes < b->live_bytes) - (a->live_bytes > b->live_bytes);
    if (!order)
        order = (a->live_blocks < b->live_blocks) - (a->live_blocks > b->live_blocks);
    if (!order)
        order = (a->allocations < b->allocations) - (a->allocations > b->allocations);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

static void sum_rows(struct seep_view_build *build) {
    struct seep_view_row *all = &build->view->all;
    *all = (struct seep_view_row){.known = SEEP_KNOWN_ALL & ~SEEP_KNOWN_PEAK, .oldest_ns = -1, .cut = -1};
    all->counters.size_min = UINT64_MAX;
    for (size_t i = 0; i < build->nr_rows; i++) {
        const struct seep_view_row *row = &build->rows[i];
        seep_counters_merge(&all->counters, &row->counters);
        seep_add_signed(&all->live_bytes, row->live_bytes);
        seep_add_signed(&all->live_blocks, row->live_blocks);
        seep_add_up(&all->slab_bytes, row->slab_bytes);
        all->known &= row->known;
        build->view->nr_rows_live += live_blocks(row) > 0;
        build->view->nr_rows_temporary += row->known & SEEP_KNOWN_TEMPORARY && row->counters.temporary;
        all->nr_sites += row->nr_sites;
        seep_add_signed(&all->suppressed_blocks, row->suppressed_blocks);
        seep_add_signed(&all->suppressed_bytes, row->suppressed_bytes);
        seep_add_signed(&all->gone_blocks, row->gone_blocks);
        seep_add_signed(&all->gone_bytes, row->gone_bytes);
        all->oldest_ns = SEEP_MAX(all->oldest_ns, row->oldest_ns);
        for (int kind = 0; kind < SEEP_KIND_NR; kind++) {
            seep_add_up(&all->kinds.blocks[kind], row->kinds.blocks[kind]);
            seep_add_up(&all->kinds.bytes[kind], row->kinds.bytes[kind]);
        }
    }
}

static void resolve_options(struct seep_view *view) {
    struct seep_view_options *options = &view->options;
    bool lost_first = options->lost_first && view->all.kinds.blocks[SEEP_KIND_LOST]; // the line to mend
    if (options->sort == SEEP_SORT_AUTO && options->by == SEEP_BY_SITE && lost_first)
        options->sort = SEEP_SORT_LEAKED;
    if (options->sort == SEEP_SORT_AUTO)
        options->sort = view->all.live_bytes > 0 || view->all.live_blocks > 0 ||
                                !(view->all.known & SEEP_KNOWN_ALLOCATIONS)
                            ? SEEP_SORT_LIVE
                            : SEEP_SORT_ALLOCATIONS;
    if (options->top == SEEP_TOP_DEFAULT)
        options->top = 10;
}

// Puts all rows in the order of their ranks. They are large: there is no second copy of them. Each circle of
// rows that take one another's place begins with the first of them; ranks of rows in place name themselves.
static void reorder(struct seep_view_row *rows, struct rank *ranks, size_t nr) {
    for (size_t first = 0; first < nr; first++) {
        if (ranks[first].row == first)
            continue;
        struct seep_view_row kept = rows[first];
        size_t to = first;
        while (ranks[to].row != first) {
            size_t from = ranks[to].row;
            rows[to] = rows[from];
            ranks[to].row = (uint32_t)to;
            to = from;
        }
        rows[to] = kept;
        ranks[to].row = (uint32_t)to;
    }
}

// Sorts, keeps the top rows (with their labels), and tells where each row went: UINT32_MAX, not kept.
static struct seep_error *keep_top(struct seep_view_build *build, uint32_t **ret_new_place) {
    struct seep_view *view = build->view;
    size_t nr = build->nr_rows;
    bool cut = view->options.top && view->options.top < nr && !view->options.all_rows;
    size_t shown = cut ? (size_t)view->options.top : nr;
    struct rank *ranks = calloc(SEEP_MAX(nr, (size_t)1), sizeof(*ranks));
    uint32_t *new_place = calloc(SEEP_MAX(nr, (size_t)1), sizeof(*new_place));
    struct seep_view_label *labels = calloc(SEEP_MAX(shown, (size_t)1), sizeof(*labels));
    view->rows = cut ? seep_arena_alloc(&view->arena, shown, sizeof(*view->rows)) : build->rows;
    if (!cut) {
        view->own_rows = build->rows;
        build->rows = NULL;
    }
    if (!ranks || !new_place || !labels || (cut && !view->rows)) {
        free(ranks);
        free(new_place);
        free(labels);
        return seep_error_no_memory();
    }
    for (size_t i = 0; i < nr; i++) {
        const struct seep_view_row *row = cut ? &build->rows[i] : &view->rows[i];
        ranks[i] =
            (struct rank){view->options.measure ? (double)row->measure : sort_key(row, view->options.sort),
                          row->leaked_bytes,
                          live_bytes(row),
                          live_blocks(row),
                          row->counters.allocations,
                          (uint32_t)i};
        new_place[i] = UINT32_MAX;
    }
    qsort(ranks, nr, sizeof(*ranks), compare_ranks);
    for (size_t i = 0; i < shown; i++) {
        if (cut)
            view->rows[i] = build->rows[ranks[i].row];
        labels[i] = build->labels[ranks[i].row];
        new_place[ranks[i].row] = (uint32_t)i;
    }
    if (!cut)
        reorder(view->rows, ranks, nr);
    free(ranks);
    free(build->labels);
    build->labels = labels;
    view->nr_rows = shown;
    view->nr_rows_all = nr;
    *ret_new_place = new_place;
    return NULL;
}

// ---- blocks ----

static struct seep_view_row *row_of_block(const struct seep_view_build *build,
                                          const struct seep_view_part *part, const uint32_t *new_place,
                                          const struct seep_block *block) {
    if (!seep_view_block_ok(build, part, block) || !part->site_row[block->site])
        return NULL;
    uint32_t place = new_place[part->site_row[block->site] - 1];
    return place == UINT32_MAX ? NULL : &build->view->rows[place];
}

static struct seep_error *collect_blocks(struct seep_view_build *build, const uint32_t *new_place) {
    struct seep_view *view = build->view;
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_view_part *part = &build->parts[p];
        for (size_t i = 0; i < part->profile->nr_blocks; i++) {
            struct seep_view_row *row = row_of_block(build, part, new_place, &part->profile->blocks[i]);
            if (row)
                row->nr_blocks++;
        }
    }
    for (size_t i = 0; i < view->nr_rows; i++) {
        struct seep_view_row *row = &view->rows[i];
        row->blocks =
            seep_arena_alloc(&view->arena, SEEP_MAX(row->nr_blocks, (size_t)1), sizeof(*row->blocks));
        if (!row->blocks)
            return seep_error_no_memory();
        row->nr_blocks = 0;
    }
    for (size_t p = 0; p < build->nr_parts; p++) {
        const struct seep_view_part *part = &build->parts[p];
        const struct seep_profile *profile = part->profile;
        for (size_t i = 0; i < profile->nr_blocks; i++) {
            const struct seep_block *block = &profile->blocks[i];
            struct seep_view_row *row = row_of_block(build, part, new_place, block);
            if (row)
                row->blocks[row->nr_blocks++] = (struct seep_view_block){
                    .address = block->address,
                    .size = block->size,
                    .age_ns = block->age_ns,
                    .tid = block->thread < profile->nr_threads ? profile->threads[block->thread].tid : 0,
                    .process = part->process,
                    .kind = seep_view_kind_of(part, block),
                };
        }
    }
    return NULL;
}

// From the rows as they were made to those that are kept.
static void move_sites(struct seep_view_build *build, const uint32_t *new_place) {
    for (size_t p = 0; p < build->nr_parts; p++)
        for (uint32_t i = 0; i < build->parts[p].profile->nr_sites; i++) {
            uint32_t *row = &build->parts[p].site_row[i];
            *row = *row && new_place[*row - 1] != UINT32_MAX ? new_place[*row - 1] + 1 : 0;
        }
}

// ---- names ----

static struct seep_error *use_stacks(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    size_t nr_rows = view->options.by == SEEP_BY_SITE ? view->nr_rows : 0;
    size_t nr = 0;
    uint32_t *nodes = calloc(nr_rows + view->nr_growing + view->nr_mappings + view->nr_faults +
                                 view->nr_pool_sites + 3 * view->nr_wrong_releases + 1,
                             sizeof(*nodes));
    if (!nodes)
        return seep_error_no_memory();
    for (size_t i = 0; i < nr_rows; i++)
        nodes[nr++] = view->rows[i].node;
    for (size_t i = 0; i < view->nr_growing; i++)
        nodes[nr++] = view->growing[i].node;
    for (size_t i = 0; i < view->nr_mappings; i++)
        nodes[nr++] = view->mappings[i].stack.node;
    for (size_t i = 0; i < view->nr_faults; i++)
        nodes[nr++] = view->faults[i].stack.node;
    for (size_t i = 0; i < view->nr_pool_sites; i++)
        nodes[nr++] = view->pool_sites[i].stack.node;
    for (size_t i = 0; i < view->nr_wrong_releases; i++) {
        nodes[nr++] = view->wrong_releases[i].from.node;
        nodes[nr++] = view->wrong_releases[i].at.node;
        nodes[nr++] = view->wrong_releases[i].first.node;
    }
    struct seep_error *error = seep_stacks_use(build->stacks, nodes, nr);
    free(nodes);
    return error;
}

static bool is_installed(const char *path) {
    static const char *const folders[] = {"/usr/", "/lib", "/bin/", "/sbin/"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(folders); i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return strncmp(path, "/usr/local/", 11) != 0;
    return false;
}

static struct seep_error *list_trouble(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    const struct seep_stacks *stacks = build->stacks;
    view->without_symbols = seep_arena_alloc(&view->arena, SEEP_MAX(stacks->nr_modules, (size_t)1),
                                             sizeof(*view->without_symbols));
    view->without_lines =
        seep_arena_alloc(&view->arena, SEEP_MAX(stacks->nr_modules, (size_t)1), sizeof(*view->without_lines));
    if (!view->without_symbols || !view->without_lines)
        return seep_error_no_memory();
    for (size_t i = 0; i < stacks->nr_modules; i++) {
        const struct seep_stack_module *module = &stacks->modules[i];
        if (!module->used || !module->asked)
            continue;
        enum seep_symbols_quality quality = seep_symbols_quality(stacks->symbols, module->symbols_id);
        if (quality == SEEP_SYMBOLS_TABLE && !module->kernel && !module->runtime)
            view->without_lines[view->nr_without_lines++] = module->shown;
        if (!module->nameless)
            continue;
        if (quality > SEEP_SYMBOLS_DYNAMIC)
            continue; // it has symbols, only none for this place
        const char *why = quality == SEEP_SYMBOLS_DYNAMIC
                              ? "only names that it exports"
                              : seep_symbols_trouble(stacks->symbols, module->symbols_id);
        bool is_file = module->shown[0] != '[';
        view->without_symbols[view->nr_without_symbols++] = (struct seep_view_trouble){
            .module = module->shown,
            .why = why,
            .lacks_file = quality == SEEP_SYMBOLS_NONE && is_file,
            .is_runtime = module->runtime,
            .is_stripped = is_file && why &&
                           (quality == SEEP_SYMBOLS_DYNAMIC || strcmp(why, SEEP_SYMBOLS_STRIPPED) == 0),
            .is_installed = is_installed(module->path)};
    }
    return NULL;
}

// ---- the whole ----

static void add_totals(struct seep_totals *into, const struct seep_totals *from) {
    seep_add_up(&into->allocations, from->allocations);
    seep_add_up(&into->allocated_bytes, from->allocated_bytes);
    seep_add_up(&into->frees, from->frees);
    seep_add_up(&into->freed_bytes, from->freed_bytes);
    seep_add_up(&into->live_blocks, from->live_blocks);
    seep_add_up(&into->live_bytes, from->live_bytes);
    seep_add_up(&into->peak_bytes, from->peak_bytes);
    seep_add_up(&into->peak_error_bytes, from->peak_error_bytes);
    seep_add_up(&into->temporary, from->temporary);
    seep_add_up(&into->failed, from->failed);
    seep_add_up(&into->unknown_frees, from->unknown_frees);
    for (size_t i = 0; i < SEEP_VIA_HEAP_NR; i++)
        seep_add_up(&into->by_function[i], from->by_function[i]);
    for (size_t i = 0; i < SEEP_RELEASE_NR; i++)
        seep_add_up(&into->releases[i], from->releases[i]);
    for (size_t i = 0; i < SEEP_IMAGE_SIZE_CLASSES; i++)
        seep_add_up(&into->size_class[i], from->size_class[i]);
    seep_add_up(&into->inherited_blocks, from->inherited_blocks);
    seep_add_up(&into->inherited_bytes, from->inherited_bytes);
}

static void build_deinit(struct seep_view_build *build) {
    for (size_t p = 0; build->parts && p < build->nr_parts; p++) {
        free(build->parts[p].site_ok);
        free(build->parts[p].thread_ok);
        free(build->parts[p].figures);
    }
    for (size_t p = 0; build->parts && p < build->nr_parts; p++) {
        if (build->view->nodes)
            build->view->nodes[p] = build->parts[p].nodes;
        if (build->view->site_rows)
            build->view->site_rows[p] = build->parts[p].site_row;
    }
    free(build->parts);
    free(build->node_passes);
    free(build->rows);
    free(build->labels);
    seep_map_deinit(&build->row_of_key);
    seep_texts_deinit(&build->functions);
    seep_texts_deinit(&build->files);
    seep_map_deinit(&build->function_ids);
    seep_map_deinit(&build->file_ids);
}

static struct seep_error *fill(struct seep_view_build *build) {
    struct seep_view *view = build->view;
    struct seep_error *error = seep_view_build_parts(build);
    if (!error)
        error = seep_view_build_rows(build);
    if (error)
        return error;
    sum_rows(build);
    resolve_options(view);
    error = seep_view_build_leaders(build); // before the cut to the top
    if (!error)
        error = seep_view_build_growing(build);
    if (error)
        return error;
    uint32_t *new_place = NULL;
    error = keep_top(build, &new_place);
    if (!error && view->options.blocks && view->options.by == SEEP_BY_SITE)
        error = collect_blocks(build, new_place);
    if (!error)
        move_sites(build, new_place);
    free(new_place);
    if (!error)
        error = seep_view_build_mappings(build);
    if (!error)
        error = seep_view_build_pools(build);
    if (error || view->options.no_names)
        return error;
    error = use_stacks(build);
    if (!error)
        error = seep_view_build_labels(build);
    return error ? error : list_trouble(build);
}

struct seep_error *seep_view_create(const struct seep_session *session, size_t process,
                                    struct seep_symbols *symbols, const struct seep_view_options *options,
                                    struct seep_view **ret_view) {
    struct seep_view *view = calloc(1, sizeof(*view));
    if (!view)
        return seep_error_no_memory();
    view->session = session;
    view->options = *options;
    view->first_process = process == SIZE_MAX ? 0 : process;
    view->nr_processes = process == SIZE_MAX ? session->nr_profiles : 1;
    struct seep_view_build build = {.view = view, .nr_parts = view->nr_processes};
    struct seep_error *error = options->like ? seep_stacks_copy(options->like->stacks, &view->stacks)
                                             : seep_stacks_create(symbols, &view->stacks);
    build.stacks = view->stacks;
    build.parts = calloc(SEEP_MAX(build.nr_parts, (size_t)1), sizeof(*build.parts));
    view->nodes = calloc(SEEP_MAX(build.nr_parts, (size_t)1), sizeof(*view->nodes));
    view->site_rows = calloc(SEEP_MAX(build.nr_parts, (size_t)1), sizeof(*view->site_rows));
    if (!error && (!build.parts || !view->nodes || !view->site_rows))
        error = seep_error_no_memory();
    view->totals.peak_exact = true;
    for (size_t i = 0; !error && i < build.nr_parts; i++) {
        build.parts[i].process = (uint32_t)(view->first_process + i);
        build.parts[i].profile = session->profiles[view->first_process + i];
        add_totals(&view->totals, &build.parts[i].profile->totals);
        view->totals.peak_exact &= build.parts[i].profile->totals.peak_exact;
        view->sampled |= build.parts[i].profile->health.sample_bytes != 0;
    }
    if (!error)
        error = fill(&build);
    build_deinit(&build);
    view->options.like = NULL; // it may end before this one
    if (error) {
        seep_view_destroy(view);
        return error;
    }
    *ret_view = view;
    return NULL;
}

static struct seep_error *begin_words(struct seep_view *view, uint32_t process) {
    if (!view->words)
        view->words = malloc(sizeof(*view->words));
    if (!view->words)
        return seep_error_no_memory();
    seep_chain_words_init(view->words, view->session->profiles[process], view->stacks,
                          view->nodes[process - view->first_process]);
    return NULL;
}

struct seep_error *seep_view_class(struct seep_view *view, uint32_t process, uint32_t module, uint64_t vtable,
                                   const char **ret_class) {
    const struct { uint64_t process, module, vtable; } key = {process, module, vtable};
    uint64_t *known = seep_map_at(&view->classes, seep_hash_bytes(&key, sizeof(key)), NULL);
    if (!known)
        return seep_error_no_memory();
    if (!*known) {
        const struct seep_link link = {.kind = SEEP_LINK_BLOCK, .vtable_module = module, .vtable = vtable};
        struct seep_error *error = begin_words(view, process);
        if (!error)
            error = seep_chain_put_class(view->words, &link);
        char *text = error ? NULL : seep_arena_strdup(&view->arena, view->words->text);
        if (!error && !text)
            error = seep_error_no_memory();
        if (error)
            return error;
        *known = (uint64_t)(uintptr_t)text;
    }
    const char *text = (const char *)(uintptr_t)*known;
    *ret_class = *text ? text : NULL;
    return NULL;
}

struct seep_error *seep_view_chain(struct seep_view *view, uint32_t process, const struct seep_chain *chain,
                                   const char **ret_text, const char **ret_type) {
    *ret_text = NULL;
    if (ret_type)
        *ret_type = NULL;
    if (!chain)
        return NULL;
    struct seep_error *error = begin_words(view, process);
    if (!error)
        error = seep_chain_put_all(view->words, chain);
    if (!error && ret_type)
        error = seep_chain_type(view->words, ret_type);
    if (error)
        return error;
    *ret_text = seep_arena_strdup(&view->arena, view->words->text);
    return *ret_text ? NULL : seep_error_no_memory();
}

struct seep_error *seep_view_root(struct seep_view *view, uint32_t process, const struct seep_chain *chain,
                                  const char **ret_text) {
    *ret_text = NULL;
    if (!chain || !chain->nr_links || chain->links[0].kind == SEEP_LINK_TEXT)
        return NULL;
    struct seep_error *error = begin_words(view, process);
    bool several = chain->nr_links > 2 && chain->links[1].kind == SEEP_LINK_SEVERAL;
    for (uint32_t i = 0; !error && i < (several ? 3u : 1u); i++)
        error = seep_chain_put_link(view->words, &chain->links[i]);
    if (error)
        return error;
    *ret_text = seep_arena_strdup(&view->arena, view->words->text);
    return *ret_text ? NULL : seep_error_no_memory();
}

const struct seep_held *seep_view_held(const struct seep_view *view, const struct seep_view_row *row,
                                       uint32_t *ret_nr) {
    *ret_nr = 0;
    if (!row->held || row->nr_sites != 1)
        return NULL;
    const struct seep_profile *profile = view->session->profiles[row->held_process];
    const struct seep_held *held = seep_profile_held(profile, row->held_site, ret_nr);
    uint64_t blocks[SEEP_KIND_NR] = {0};
    bool is_all = (int64_t)profile->sites[row->held_site].live_blocks == row->live_blocks;
    for (uint32_t i = 0; i < *ret_nr; i++) {
        blocks[held[i].kind] += held[i].blocks;
        is_all &= blocks[held[i].kind] <= row->kinds.blocks[held[i].kind];
    }
    if (!is_all)
        *ret_nr = 0;
    return *ret_nr ? held : NULL;
}

void seep_view_destroy(struct seep_view *view) {
    if (!view)
        return;
    for (size_t p = 0; view->nodes && p < view->nr_processes; p++)
        free(view->nodes[p]);
    free(view->nodes);
    for (size_t p = 0; view->site_rows && p < view->nr_processes; p++)
        free(view->site_rows[p]);
    free(view->site_rows);
    free(view->own_rows);
    free(view->words);
    free(view->alike);
    seep_map_deinit(&view->classes);
    seep_stacks_destroy(view->stacks);
    seep_arena_deinit(&view->arena);
    free(view->scratch);
    free(view);
}
