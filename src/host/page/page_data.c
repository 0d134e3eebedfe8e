// SPDX-License-Identifier: BSD-2-Clause
// The data of a page, see page_data.h. Figures of processes are those of the JSON report, which is a section
// of its own; sites have their figures in columns, a row of the report each.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "analysis/diff.h"
#include "base/version.h"
#include "output/json_build.h"
#include "output/output.h"
#include "page/page_data.h"
#include "page/page_fold.h"
#include "page/page_holder.h"
#include "page/page_lives.h"
#include "page/page_pack.h"
#include "page/page_embedded.h"
#include "page/page_times.h"
#include "page/page_tree.h"
#include "profile/health.h"
#include "view/stacks.h"

// The report lists so many of each kind; where there is no room for all sites, one.
#define LISTED 20u
// Threads and sizes.
#define GROUPS 200u

enum column {
    SITE_PROCESS,
    SITE_NODE, // the difference to the one before
    SITE_SELF, // the difference to the frame of the node, + 1
    SITE_MODULE,
    SITE_VIA,
    SITE_KNOWN,
    SITE_LIVE_BYTES,
    SITE_LIVE_BLOCKS,
    SITE_ALLOCATIONS,     // less what is live or was freed, which is most often all of them
    SITE_ALLOCATED_BYTES, // the same
    SITE_FREES,
    SITE_FREED_BYTES,
    SITE_TEMPORARY,
    SITE_PEAK_BYTES,
    SITE_AT_PEAK_BYTES,
    SITE_SIZE_MIN,
    SITE_SIZE_MAX,
    SITE_KIND,
    SITE_LOST_BYTES,
    SITE_LOST_BLOCKS,
    SITE_INDIRECT_BYTES,
    SITE_INDIRECT_BLOCKS,
    SITE_POSSIBLE_BYTES,
    SITE_POSSIBLE_BLOCKS,
    SITE_REACHABLE_BYTES,
    SITE_REACHABLE_BLOCKS,
    SITE_RETAINED_BYTES,
    SITE_SUPPRESSED_BYTES,
    SITE_HELD,
    SITE_ROOT,
    SITE_HOLDER, // the site that has the pointer to it, + 1
    SITE_TYPE,
    SITE_CUT,
    SITE_GROWTH,
    SITE_SLOPE,
    SITE_OLD_LIVE_BYTES,
    SITE_OLD_LIVE_BLOCKS,
    SITE_OLD_ALLOCATIONS,
    SITE_OLD_ALLOCATED_BYTES,
    SITE_OLD_FREES,
    SITE_OLD_TEMPORARY,
    SITE_CHANGE,
    SITE_FOLDED, // how many smaller sites it is; 0: it is one
    NR_COLUMNS
};

// 'u' unsigned, 's' signed, 'f' eight bytes of a double, 'p' planes of bytes.
static const struct {
    const char *name;
    char form;
} columns[NR_COLUMNS] = {
    [SITE_PROCESS] = {"site.process", 'u'},
    [SITE_NODE] = {"site.node", 's'},
    [SITE_SELF] = {"site.self", 's'},
    [SITE_MODULE] = {"site.module", 'u'},
    [SITE_VIA] = {"site.via", 'u'},
    [SITE_KNOWN] = {"site.known", 'u'},
    [SITE_LIVE_BYTES] = {"site.live_bytes", 's'},
    [SITE_LIVE_BLOCKS] = {"site.live_blocks", 's'},
    [SITE_ALLOCATIONS] = {"site.allocations", 's'},
    [SITE_ALLOCATED_BYTES] = {"site.allocated_bytes", 's'},
    [SITE_FREES] = {"site.frees", 'u'},
    [SITE_FREED_BYTES] = {"site.freed_bytes", 'u'},
    [SITE_TEMPORARY] = {"site.temporary", 'u'},
    [SITE_PEAK_BYTES] = {"site.peak_bytes", 'u'},
    [SITE_AT_PEAK_BYTES] = {"site.at_peak_bytes", 'u'},
    [SITE_SIZE_MIN] = {"site.size_min", 'u'},
    [SITE_SIZE_MAX] = {"site.size_max", 'u'},
    [SITE_KIND] = {"site.kind", 'u'},
    [SITE_LOST_BYTES] = {"site.lost_bytes", 'u'},
    [SITE_LOST_BLOCKS] = {"site.lost_blocks", 'u'},
    [SITE_INDIRECT_BYTES] = {"site.indirect_bytes", 'u'},
    [SITE_INDIRECT_BLOCKS] = {"site.indirect_blocks", 'u'},
    [SITE_POSSIBLE_BYTES] = {"site.possible_bytes", 'u'},
    [SITE_POSSIBLE_BLOCKS] = {"site.possible_blocks", 'u'},
    [SITE_REACHABLE_BYTES] = {"site.reachable_bytes", 'u'},
    [SITE_REACHABLE_BLOCKS] = {"site.reachable_blocks", 'u'},
    [SITE_RETAINED_BYTES] = {"site.retained_bytes", 'u'},
    [SITE_SUPPRESSED_BYTES] = {"site.suppressed_bytes", 's'},
    [SITE_HELD] = {"site.held", 'u'},
    [SITE_ROOT] = {"site.root", 'u'},
    [SITE_HOLDER] = {"site.holder", 'u'},
    [SITE_TYPE] = {"site.type", 'u'},
    [SITE_CUT] = {"site.cut", 'u'},
    [SITE_GROWTH] = {"site.growth", 'u'},
    [SITE_SLOPE] = {"site.slope", 'f'},
    [SITE_OLD_LIVE_BYTES] = {"site.old_live_bytes", 's'},
    [SITE_OLD_LIVE_BLOCKS] = {"site.old_live_blocks", 's'},
    [SITE_OLD_ALLOCATIONS] = {"site.old_allocations", 'u'},
    [SITE_OLD_ALLOCATED_BYTES] = {"site.old_allocated_bytes", 'u'},
    [SITE_OLD_FREES] = {"site.old_frees", 'u'},
    [SITE_OLD_TEMPORARY] = {"site.old_temporary", 'u'},
    [SITE_CHANGE] = {"site.change", 'u'},
    [SITE_FOLDED] = {"site.folded", 'u'},
};

struct building {
    const struct seep_page_source *source;
    struct seep_page_tree tree;
    struct seep_page_column sites[NR_COLUMNS];
    size_t nr_sites;
    uint32_t last_node;
    struct seep_page_times times;
    struct seep_page_lives lives;
    double least; // sites of less weight are folded; 0: none
    size_t nr_folded;
};

// ---- sites ----

static void put(struct building *building, enum column column, uint64_t value) {
    seep_page_column_put(&building->sites[column], value);
}

static void put_signed(struct building *building, enum column column, int64_t value) {
    seep_page_column_put_signed(&building->sites[column], value);
}

static void put_figures(struct building *building, const struct seep_view_row *row) {
    const struct seep_counters *c = &row->counters;
    bool sizes = row->known & SEEP_KNOWN_SIZES && c->allocations && c->size_min <= c->size_max;
    put(building, SITE_KNOWN, sizes ? row->known : row->known & ~SEEP_KNOWN_SIZES);
    put_signed(building, SITE_LIVE_BYTES, row->live_bytes);
    put_signed(building, SITE_LIVE_BLOCKS, row->live_blocks);
    put_signed(building, SITE_ALLOCATIONS, (int64_t)(c->allocations - c->frees - (uint64_t)row->live_blocks));
    put_signed(building, SITE_ALLOCATED_BYTES,
               (int64_t)(c->allocated_bytes - c->freed_bytes - (uint64_t)row->live_bytes));
    put(building, SITE_FREES, c->frees);
    put(building, SITE_FREED_BYTES, c->freed_bytes);
    put(building, SITE_TEMPORARY, c->temporary);
    put(building, SITE_PEAK_BYTES, row->known & SEEP_KNOWN_PEAK ? c->peak_bytes : 0);
    put(building, SITE_AT_PEAK_BYTES, row->known & SEEP_KNOWN_AT_PEAK ? c->at_peak_bytes : 0);
    put(building, SITE_SIZE_MIN, sizes ? c->size_min : 0);
    put(building, SITE_SIZE_MAX, sizes ? c->size_max : 0);
    put(building, SITE_KIND, row->kind);
    for (uint32_t i = SEEP_KIND_LOST; i < SEEP_KIND_NR; i++) {
        put(building, SITE_LOST_BYTES + 2 * (i - SEEP_KIND_LOST), row->kinds.bytes[i]);
        put(building, SITE_LOST_BLOCKS + 2 * (i - SEEP_KIND_LOST), row->kinds.blocks[i]);
    }
    put(building, SITE_RETAINED_BYTES, row->retained_bytes);
    put_signed(building, SITE_SUPPRESSED_BYTES, row->suppressed_bytes);
    put(building, SITE_GROWTH, row->growth ? row->growth->trend.verdict : 0);
    seep_page_column_put_double(&building->sites[SITE_SLOPE], row->growth ? row->growth->trend.slope : 0);
}

static const struct seep_view_row no_row = {.known = SEEP_KNOWN_ALL, .cut = -1};

static void put_old(struct building *building, const struct seep_view_row *row, unsigned change) {
    put_signed(building, SITE_OLD_LIVE_BYTES, row->live_bytes);
    put_signed(building, SITE_OLD_LIVE_BLOCKS, row->live_blocks);
    put(building, SITE_OLD_ALLOCATIONS, row->counters.allocations);
    put(building, SITE_OLD_ALLOCATED_BYTES, row->counters.allocated_bytes);
    put(building, SITE_OLD_FREES, row->counters.frees);
    put(building, SITE_OLD_TEMPORARY, row->counters.temporary);
    put(building, SITE_CHANGE, change);
}

static struct seep_error *put_text(struct building *building, enum column column, const char *text) {
    uint32_t id;
    struct seep_error *error = seep_page_tree_text(&building->tree, text, &id);
    if (!error)
        put(building, column, id);
    return error;
}

// `self`: as seep_page_branch_self. Most sites are attributed to the innermost function of their stack.
static void put_self(struct building *building, uint32_t node, uint32_t self) {
    put_signed(building, SITE_SELF, (int64_t)self - (node ? building->tree.node_frames[node] + 1 : 0));
}

// Where the row is: its stack, of the view of `branch`.
static struct seep_error *put_place(struct building *building, struct seep_page_branch *branch,
                                    const struct seep_view_row *row, size_t process) {
    struct seep_stacks *stacks = branch->view->stacks;
    uint32_t node = 0, self = 0, frame = SEEP_NO_FRAME;
    unsigned inlined;
    struct seep_error *error = seep_page_branch_node(&building->tree, branch, row, &node);
    if (!error)
        error = seep_page_branch_self(&building->tree, branch, row, &self);
    if (!error)
        error = seep_stacks_self(stacks, row->node, false, &frame, &inlined);
    if (error)
        return error;
    put(building, SITE_PROCESS, process);
    put_signed(building, SITE_NODE, (int64_t)node - building->last_node);
    building->last_node = node;
    put_self(building, node, self);
    error = put_text(building, SITE_MODULE,
                     frame == SEEP_NO_FRAME ? NULL : stacks->modules[stacks->frames[frame].module].shown);
    if (!error)
        error = put_text(building, SITE_VIA, seep_via_name(row->via));
    if (!error)
        error = put_text(building, SITE_CUT, row->cut >= 0 ? seep_cut_name((uint32_t)row->cut) : NULL);
    building->nr_sites++;
    return error;
}

// The chain's words last as long as the view; the texts must last longer.
static struct seep_error *put_held(struct building *building, struct seep_view *view,
                                   const struct seep_view_row *row, struct seep_arena *words) {
    const char *held = NULL, *type = NULL;
    struct seep_error *error = seep_view_chain(view, row->held_process, row->held, &held, &type);
    if (!error && held && !(held = seep_arena_strdup(words, held)))
        error = seep_error_no_memory();
    if (!error)
        error = put_text(building, SITE_HELD, held);
    if (!error)
        error = put_text(building, SITE_TYPE, type);
    return error;
}

static struct seep_error *put_fold(struct building *building, const struct seep_page_folded *folded,
                                   size_t process, bool is_diff) {
    uint32_t node = 0, frame = 0, via = 0;
    struct seep_error *error =
        seep_page_tree_words(&building->tree, folded->node, "(smaller sites)", &node, &frame);
    if (!error)
        error = seep_page_tree_text(&building->tree, "several functions", &via);
    if (error)
        return error;
    put(building, SITE_PROCESS, process);
    put_signed(building, SITE_NODE, (int64_t)node - building->last_node);
    building->last_node = node;
    put_self(building, node, frame + 1);
    put(building, SITE_MODULE, 0);
    put(building, SITE_VIA, via);
    put(building, SITE_CUT, 0);
    put(building, SITE_HELD, 0);
    put(building, SITE_ROOT, 0);
    put(building, SITE_HOLDER, 0);
    put(building, SITE_TYPE, 0);
    put_figures(building, &folded->now);
    if (is_diff)
        put_old(building, &folded->old, 0);
    put(building, SITE_FOLDED, folded->nr);
    building->nr_sites++;
    building->nr_folded += folded->nr;
    return NULL;
}

// Of the rows that have a place. A holder that is folded is none.
static struct seep_error *put_holders(struct building *building, struct seep_view *view, size_t process,
                                      struct seep_arena *words, const uint32_t *places) {
    struct seep_page_holders holders;
    struct seep_error *error = seep_page_holders_init(&holders, view, process);
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        if (places[i] == UINT32_MAX)
            continue;
        const char *root;
        uint32_t holder = seep_page_holder_row(&holders, &view->rows[i]);
        error = seep_page_holder_root(&holders, &view->rows[i], &root);
        if (!error && root && !(root = seep_arena_strdup(words, root)))
            error = seep_error_no_memory();
        if (!error)
            error = put_text(building, SITE_ROOT, root);
        put(building, SITE_HOLDER,
            holder == UINT32_MAX || places[holder] == UINT32_MAX ? 0 : places[holder] + UINT64_C(1));
    }
    seep_page_holders_deinit(&holders);
    return error;
}

// Sites that are kept come first, so that the others can be put where their stacks leave those.
static struct seep_error *put_rows(struct building *building, struct seep_view *view, size_t process,
                                   struct seep_page_branch *branch, struct seep_arena *words,
                                   uint32_t *places) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        places[i] = UINT32_MAX;
        if (seep_page_weight(view, &view->rows[i], NULL) < building->least)
            continue;
        places[i] = (uint32_t)building->nr_sites;
        error = put_place(building, branch, &view->rows[i], process);
        if (!error)
            error = put_held(building, view, &view->rows[i], words);
        put_figures(building, &view->rows[i]);
        put(building, SITE_FOLDED, 0);
    }
    if (!error)
        error = put_holders(building, view, process, words, places);
    struct seep_page_fold fold = {NULL};
    size_t first = building->nr_sites;
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        uint32_t at;
        if (places[i] != UINT32_MAX)
            continue;
        error = seep_page_fold_add(&fold, seep_page_branch_known(branch, &view->rows[i]), &view->rows[i],
                                   NULL, &at);
        if (!error)
            places[i] = (uint32_t)first + at;
    }
    for (size_t i = 0; !error && i < fold.nr; i++)
        error = put_fold(building, &fold.items[i], process, false);
    seep_page_fold_deinit(&fold);
    return error;
}

static struct seep_error *put_view(struct building *building, struct seep_view *view, size_t process,
                                   struct seep_arena *words) {
    struct seep_page_branch branch;
    struct seep_error *error = seep_page_branch_init(&branch, view);
    size_t first = building->nr_sites;
    uint32_t *places = calloc(view->nr_rows + 1, sizeof(*places));
    if (!error && !places)
        error = seep_error_no_memory();
    if (!error)
        error = put_rows(building, view, process, &branch, words, places);
    if (!error)
        error =
            seep_page_times_add(&building->times, view, process, places, first, building->nr_sites - first);
    if (!error)
        error =
            seep_page_lives_add(&building->lives, view,
                                building->source->histories ? &building->source->histories[process] : NULL,
                                places, first, building->nr_sites - first);
    free(places);
    seep_page_branch_deinit(&branch);
    return error;
}

// Names that are cut to be shown belong to the view: it lives until the parts are made.
static struct seep_error *put_diff(struct building *building, const struct seep_diff *diff) {
    struct seep_page_branch before, after = {NULL};
    struct seep_page_fold fold = {NULL};
    struct seep_error *error = seep_page_branch_init(&before, diff->before);
    if (!error)
        error = seep_page_branch_init(&after, diff->after);
    for (unsigned round = 0; round < 2; round++)
        for (size_t i = 0; !error && i < diff->nr_rows; i++) {
            const struct seep_diff_row *row = &diff->rows[i];
            const struct seep_view_row *now = row->after ? row->after : &no_row;
            const struct seep_view_row *old = row->before ? row->before : &no_row;
            struct seep_page_branch *branch = row->after ? &after : &before;
            const struct seep_view_row *place = row->after ? row->after : row->before;
            bool folds = seep_page_weight(diff->after, now, old) < building->least;
            uint32_t at;
            if (folds && round == 1)
                error = seep_page_fold_add(&fold, seep_page_branch_known(branch, place), now, old, &at);
            if (folds || round == 1)
                continue;
            error = put_place(building, branch, place, 0);
            put_figures(building, now);
            // The page compares what is held.
            put_old(building, old, row->change > SEEP_DIFF_SHRANK ? SEEP_DIFF_SAME : row->change);
            put(building, SITE_FOLDED, 0);
        }
    for (size_t i = 0; !error && i < fold.nr; i++)
        error = put_fold(building, &fold.items[i], 0, true);
    seep_page_fold_deinit(&fold);
    seep_page_branch_deinit(&before);
    seep_page_branch_deinit(&after);
    return error;
}

// ---- parts ----

struct section {
    const char *name;
    char form; // as columns[], or 't' for text
    const struct seep_page_column *column;
};

static bool has_value(const struct section *section) {
    const struct seep_page_column *column = section->column;
    if (section->form == 't')
        return column->put.used != 0;
    for (size_t i = 0; i < column->put.used; i++)
        if (column->put.bytes[i])
            return true;
    return false;
}

// The first line, and the sections behind it. Columns of zeros are left out: the page knows how many there
// would be. Takes `head`.
static struct seep_error *assemble(json_t *head, const struct section *sections, size_t nr_sections,
                                   struct seep_page_column *ret_part) {
    json_t *list = json_array();
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < nr_sections; i++) {
        const struct section *section = &sections[i];
        if (section->column->put.failed)
            error = seep_error_no_memory();
        else if (has_value(section))
            append(&list, json_pack("[s,s#,I,I]", section->name, &section->form, 1,
                                    (json_int_t)section->column->nr, (json_int_t)section->column->put.used));
    }
    set(&head, "sections", list);
    char *line = !error && head ? json_dumps(head, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(head);
    if (error || !line) {
        free(line);
        return error ? error : seep_error_no_memory();
    }
    seep_page_column_put_bytes(ret_part, line, strlen(line));
    seep_page_column_put_bytes(ret_part, "\n", 1);
    free(line);
    for (size_t i = 0; i < nr_sections; i++)
        if (has_value(&sections[i]))
            seep_page_column_put_bytes(ret_part, sections[i].column->put.bytes, sections[i].column->put.used);
    return ret_part->put.failed ? seep_error_no_memory() : NULL;
}

static json_t *known(const struct seep_view_row *row, uint32_t bit, uint64_t value) {
    return row->known & bit ? integer(value) : json_null();
}

// Rows by something else than sites, as the JSON report has them. Nothing where the session does not keep
// what they need.
static struct seep_error *put_groups(const struct seep_page_source *source, enum seep_view_by by,
                                     struct seep_page_column *column) {
    struct seep_view_options options = *source->options;
    options.by = by;
    options.top = GROUPS;
    options.blocks = false;
    struct seep_view *view = NULL;
    struct seep_error *error = seep_view_create(source->session, SIZE_MAX, source->symbols, &options, &view);
    if (error && error->code == SEEP_E_UNSUPPORTED) {
        seep_error_destroy(error);
        return NULL;
    }
    if (error)
        return error;
    json_t *groups = json_array();
    for (size_t i = 0; i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        json_t *group = json_object();
        set(&group, "key", string(row->key));
        // By threads what is live is not known, but how much more was allocated than freed.
        uint64_t bytes = (uint64_t)SEEP_MAX(row->live_bytes, (int64_t)0);
        uint64_t blocks = (uint64_t)SEEP_MAX(row->live_blocks, (int64_t)0);
        if (view->live_is_net) {
            set(&group, "net_bytes", json_integer(row->live_bytes));
            set(&group, "net_blocks", json_integer(row->live_blocks));
        } else {
            set(&group, "live_bytes", known(row, SEEP_KNOWN_LIVE, bytes));
            set(&group, "live_blocks", known(row, SEEP_KNOWN_LIVE, blocks));
        }
        set(&group, "allocations", known(row, SEEP_KNOWN_ALLOCATIONS, row->counters.allocations));
        set(&group, "allocated_bytes", known(row, SEEP_KNOWN_BYTES, row->counters.allocated_bytes));
        set(&group, "temporary", known(row, SEEP_KNOWN_TEMPORARY, row->counters.temporary));
        append(&groups, group);
    }
    json_t *root = json_object();
    set(&root, "groups", groups);
    set(&root, "left_out", integer(view->nr_rows_all - view->nr_rows));
    seep_view_destroy(view);
    char *text = root ? json_dumps(root, JSON_COMPACT | JSON_PRESERVE_ORDER) : NULL;
    json_decref(root);
    if (!text)
        return seep_error_no_memory();
    seep_page_column_put_bytes(column, text, strlen(text));
    free(text);
    return NULL;
}

// What is shown: views by process, or a diff.
struct sources {
    struct seep_view **views;
    size_t nr_views;
    struct seep_diff *diff;                 // NULL: none
    struct seep_page_column threads, sizes; // groups, of which none folds; not of a diff
};

// The JSON report of what is not of single sites, with the first sites of a view.
static struct seep_error *put_report_of(const struct seep_page_source *source, struct seep_view *view,
                                        uint64_t top, struct seep_page_column *column) {
    char *text = NULL;
    size_t nr = 0;
    FILE *stream = open_memstream(&text, &nr);
    if (!stream)
        return seep_error_no_memory();
    const struct seep_view_options options = view->options;
    size_t nr_rows = view->nr_rows;
    view->options.top = top;
    view->options.rss = true;
    view->nr_rows = (size_t)SEEP_MIN((uint64_t)nr_rows, top);
    struct seep_error *error =
        seep_output_json.write(stream, view, &(struct seep_summary){.source = source->name});
    view->options = options;
    view->nr_rows = nr_rows;
    bool failed = ferror(stream);
    if (fclose(stream) != 0 || failed) {
        seep_error_destroy(error);
        error = seep_error_no_memory();
    }
    if (!error)
        seep_page_column_put_bytes(column, text, nr);
    free(text);
    return error;
}

// `whole`: a view of all of it by site, where there is one; NULL: it is made.
static struct seep_error *put_report(const struct seep_page_source *source,
                                     const struct seep_session *session, struct seep_view *whole,
                                     uint64_t top, struct seep_page_column *column) {
    if (whole)
        return put_report_of(source, whole, top, column);
    struct seep_view_options options = *source->options;
    options.by = SEEP_BY_SITE;
    options.top = top;
    options.blocks = false;
    struct seep_view *view = NULL;
    struct seep_error *error = seep_view_create(session, SIZE_MAX, source->symbols, &options, &view);
    if (!error)
        error = put_report_of(source, view, top, column);
    seep_view_destroy(view);
    return error;
}

// Texts as the JSON report has them: bytes that are not UTF-8 are U+FFFD.
static struct seep_error *put_texts(const struct seep_texts *texts, struct seep_page_column *bytes,
                                    struct seep_page_column *lengths) {
    for (size_t i = 0; i < texts->nr; i++) {
        json_t *text = string(texts->texts[i]);
        if (!text)
            return seep_error_no_memory();
        seep_page_column_put_bytes(bytes, json_string_value(text), json_string_length(text));
        seep_page_column_put(lengths, json_string_length(text));
        json_decref(text);
    }
    return NULL;
}

static json_t *head_json(const struct building *building) {
    const struct seep_page_source *source = building->source;
    json_t *head = json_object();
    set(&head, "page", json_integer(1));
    set(&head, "version", json_string(SEEP_VERSION));
    set(&head, "made", json_string(seep_format_time(seep_clock_ns(CLOCK_REALTIME)).text));
    set(&head, "source", string(source->name));
    set(&head, "old_source", string(source->old ? source->old_name : NULL));
    set(&head, "sites", json_integer((json_int_t)building->nr_sites));
    set(&head, "folded", json_integer((json_int_t)building->nr_folded));
    return head;
}

static struct seep_error *assemble_sites(struct building *building, const struct sources *sources,
                                         struct seep_page_column *ret_part) {
    const struct seep_page_source *source = building->source;
    struct seep_page_column report = {0}, old_report = {0}, texts = {0}, lengths = {0};
    struct seep_page_column lives = {0}, frames = {0};
    struct seep_page_embedded embedded = {0};
    uint64_t top = building->least > 0 ? 1 : LISTED;
    struct seep_view *whole = sources->nr_views == 1 ? sources->views[0] : NULL;
    struct seep_error *error = put_report(source, source->session, whole, top, &report);
    if (!error && source->old)
        error = put_report(source, source->old, NULL, top, &old_report);
    if (!error && source->embed_sources)
        error = seep_page_embed(&building->tree, &embedded);
    if (!error)
        error = put_texts(&building->tree.texts, &texts, &lengths);
    seep_page_lives_put(&building->lives, &lives);
    const struct seep_page_tree *tree = &building->tree;
    seep_page_column_put_planes(&frames, tree->node_frames, tree->nr_nodes, tree->nr_frames);
    struct section sections[21 + NR_COLUMNS] = {
        {"report", 't', &report},
        {"old_report", 't', &old_report},
        {"threads", 't', &sources->threads},
        {"sizes", 't', &sources->sizes},
        {"lives", 't', &lives},
        {"site.freed_lives", 'u', &building->lives.freed},
        {"site.mean_life_ns", 'f', &building->lives.mean},
        {"site.longest_life_ns", 'u', &building->lives.most},
        {"source.file", 'u', &embedded.files},
        {"source.lengths", 'u', &embedded.lengths},
        {"source.bytes", 't', &embedded.bytes},
        {"text.bytes", 't', &texts},
        {"text.lengths", 'u', &lengths},
        {"function.name", 's', &tree->function_names},
        {"function.module", 'u', &tree->function_modules},
        {"function.offset", 'u', &tree->function_offsets},
        {"frame.function", 's', &tree->frame_functions},
        {"frame.file", 'u', &tree->frame_files},
        {"frame.line", 'u', &tree->frame_lines},
        {"node.parent", 'u', &tree->node_parents},
        {"node.frame", 'p', &frames},
    };
    size_t nr = 21;
    for (size_t i = 0; i < NR_COLUMNS; i++)
        if (building->sites[i].nr)
            sections[nr++] = (struct section){columns[i].name, columns[i].form, &building->sites[i]};
    if (!error)
        error = assemble(head_json(building), sections, nr, ret_part);
    seep_page_column_deinit(&report);
    seep_page_column_deinit(&old_report);
    seep_page_column_deinit(&lives);
    seep_page_column_deinit(&frames);
    seep_page_embedded_deinit(&embedded);
    seep_page_column_deinit(&texts);
    seep_page_column_deinit(&lengths);
    return error;
}

static struct seep_error *assemble_times(struct building *building, struct seep_page_column *ret_part) {
    struct seep_page_times *times = &building->times;
    if (!times->at_ns.nr)
        return NULL;
    struct section sections[] = {
        {"time.process", 'u', &times->processes}, {"time.at_ns", 's', &times->at_ns},
        {"time.rss", 'u', &times->rss},           {"time.used", 'u', &times->used},
        {"time.changes", 'u', &times->changes},   {"change.site", 's', &times->sites},
        {"change.bytes", 's', &times->bytes},     {"change.blocks", 's', &times->blocks},
    };
    json_t *head = json_object();
    set(&head, "page", json_integer(1));
    set(&head, "moments", json_integer((json_int_t)times->at_ns.nr));
    set(&head, "changes", json_integer((json_int_t)times->sites.nr));
    return assemble(head, sections, SEEP_ARRAY_SIZE(sections), ret_part);
}

static void sources_deinit(struct sources *sources) {
    for (size_t i = 0; i < sources->nr_views; i++)
        seep_view_destroy(sources->views[i]);
    free(sources->views);
    seep_diff_destroy(sources->diff);
    seep_page_column_deinit(&sources->threads);
    seep_page_column_deinit(&sources->sizes);
}

static struct seep_error *open_sources(const struct seep_page_source *source, struct sources *sources) {
    const struct seep_session *session = source->session;
    struct seep_view_options options = *source->options;
    options.by = SEEP_BY_SITE;
    options.top = 0;
    options.blocks = false;
    if (source->old)
        return seep_diff_create(source->old, session, source->symbols, &options, &sources->diff);
    struct seep_error *error = NULL;
    sources->views = calloc(session->nr_profiles + 1, sizeof(struct seep_view *));
    if (!sources->views)
        return seep_error_no_memory();
    for (; !error && sources->nr_views < session->nr_profiles; sources->nr_views++)
        error = seep_view_create(session, sources->nr_views, source->symbols, &options,
                                 &sources->views[sources->nr_views]);
    if (!error)
        error = put_groups(source, SEEP_BY_THREAD, &sources->threads);
    if (!error)
        error = put_groups(source, SEEP_BY_SIZE, &sources->sizes);
    return error;
}

static struct seep_error *build(struct building *building, const struct sources *sources,
                                struct seep_page_packed *ret_packed) {
    struct seep_arena words = SEEP_ARENA_INIT;
    struct seep_page_column sites = {0}, times = {0};
    struct seep_error *error = seep_page_tree_init(&building->tree);
    if (!error && sources->diff)
        error = put_diff(building, sources->diff);
    for (size_t i = 0; !error && i < sources->nr_views; i++)
        error = put_view(building, sources->views[i], i, &words);
    if (!error)
        error = assemble_sites(building, sources, &sites);
    if (!error)
        error = assemble_times(building, &times);
    if (!error)
        error = seep_page_pack(&sites, &ret_packed->sites);
    if (!error && times.put.used)
        error = seep_page_pack(&times, &ret_packed->times);
    seep_page_column_deinit(&sites);
    seep_page_column_deinit(&times);
    seep_arena_deinit(&words);
    return error;
}

static void building_deinit(struct building *building) {
    seep_page_tree_deinit(&building->tree);
    for (size_t i = 0; i < NR_COLUMNS; i++)
        seep_page_column_deinit(&building->sites[i]);
    seep_page_times_deinit(&building->times);
    seep_page_lives_deinit(&building->lives);
}

static int descending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// The weight of the site that is the `keep`th.
static struct seep_error *weigh(const struct sources *sources, size_t keep, double *ret_least) {
    size_t nr = 0, capacity = 0;
    double *weights = NULL;
    size_t nr_views = sources->diff ? 1 : sources->nr_views;
    for (size_t v = 0; v < nr_views; v++) {
        size_t nr_rows = sources->diff ? sources->diff->nr_rows : sources->views[v]->nr_rows;
        if (!seep_grow(&weights, &capacity, nr + nr_rows + 1, sizeof(*weights))) {
            free(weights);
            return seep_error_no_memory();
        }
        for (size_t i = 0; i < nr_rows; i++) {
            const struct seep_diff_row *row = sources->diff ? &sources->diff->rows[i] : NULL;
            weights[nr++] = row ? seep_page_weight(sources->diff->after, row->after ? row->after : &no_row,
                                                   row->before ? row->before : &no_row)
                                : seep_page_weight(sources->views[v], &sources->views[v]->rows[i], NULL);
        }
    }
    qsort(weights, nr, sizeof(*weights), descending);
    // All of like weight go together; what has none goes first.
    *ret_least = nr ? (keep < nr ? weights[keep] : 0) + 1e-18 : 0;
    free(weights);
    return NULL;
}

#define ROUNDS 8u

struct seep_error *seep_page_data(const struct seep_page_source *source,
                                  struct seep_page_packed *ret_packed) {
    struct sources sources = {0};
    struct seep_error *error = open_sources(source, &sources);
    size_t keep = SIZE_MAX;
    double least = 0;
    for (unsigned round = 0; !error; round++) {
        struct building building = {.source = source, .least = least};
        seep_page_packed_deinit(ret_packed);
        error = build(&building, &sources, ret_packed);
        size_t nr = building.nr_sites;
        building_deinit(&building);
        uint64_t bytes = (uint64_t)(ret_packed->sites.put.used + ret_packed->times.put.used) * 4 / 3;
        if (error || bytes <= source->max_bytes || round == ROUNDS || !keep)
            break;
        // A little less than in proportion: what folds takes room too.
        keep = (size_t)((double)SEEP_MIN(keep, nr) * 0.85 * (double)source->max_bytes / (double)bytes);
        error = weigh(&sources, keep, &least);
    }
    sources_deinit(&sources);
    return error;
}
