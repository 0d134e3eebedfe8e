// SPDX-License-Identifier: BSD-2-Clause
// The parts of a page: columns and reports as sections, listed in a line of JSON. See page_building.h.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/version.h"
#include "output/json_build.h"
#include "output/output.h"
#include "page/page_building.h"
#include "page/page_embedded.h"
#include "view/summary.h"

// The report lists so many of each kind; where there is no room for all sites, one.
#define LISTED 20u
// Threads and sizes.
#define GROUPS 200u

struct section {
    const char *name;
    char form; // as seep_site_forms[], or 't' for text
    const struct seep_page_column *column;
    bool counts; // the page counts its values, so a column of zeros stays
};

static bool has_value(const struct section *section) {
    const struct seep_page_column *column = section->column;
    if (section->form == 't' || section->counts)
        return column->put.used != 0;
    for (size_t i = 0; i < column->put.used; i++)
        if (column->put.bytes[i])
            return true;
    return false;
}

// The first line, and the sections behind it. Columns of zeros are left out if the page knows their length
// from another column. Takes `head`.
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
struct seep_error *seep_page_put_groups(const struct seep_page_source *source, enum seep_view_by by,
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
    struct seep_summary summary;
    struct seep_error *error = seep_summary_make(view, source->name, &summary);
    if (!error)
        error = seep_output_json.write(stream, view, &summary);
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

static json_t *head_json(const struct seep_page_building *building) {
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

struct seep_error *seep_page_assemble_sites(struct seep_page_building *building,
                                            const struct seep_page_shown *shown,
                                            struct seep_page_column *ret_part) {
    const struct seep_page_source *source = building->source;
    struct seep_page_column report = {0}, old_report = {0}, texts = {0}, lengths = {0};
    struct seep_page_column lives = {0}, frames = {0};
    struct seep_page_embedded embedded = {0};
    uint64_t top = building->least > 0 ? 1 : LISTED;
    struct seep_error *error = put_report(source, source->session, shown->whole, top, &report);
    if (!error && source->old)
        error = put_report(source, source->old, NULL, top, &old_report);
    if (!error && source->embed_sources)
        error = seep_page_embed(&building->tree, &embedded);
    if (!error)
        error = put_texts(&building->tree.texts, &texts, &lengths);
    seep_page_lives_put(&building->lives, &lives);
    const struct seep_page_tree *tree = &building->tree;
    seep_page_column_put_planes(&frames, tree->node_frames, tree->nr_nodes, tree->nr_frames);
    struct section sections[21 + SEEP_SITE_COLUMNS] = {
        {"report", 't', &report},
        {"old_report", 't', &old_report},
        {"threads", 't', &shown->threads},
        {"sizes", 't', &shown->sizes},
        {"lives", 't', &lives},
        {"site.freed_lives", 'u', &building->lives.freed},
        {"site.mean_life_ns", 'f', &building->lives.mean},
        {"site.longest_life_ns", 'u', &building->lives.most},
        {"source.file", 'u', &embedded.files},
        {"source.lengths", 'u', &embedded.lengths},
        {"source.bytes", 't', &embedded.bytes},
        {"text.bytes", 't', &texts},
        {"text.lengths", 'u', &lengths, true},
        {"function.name", 's', &tree->function_names, true},
        {"function.module", 'u', &tree->function_modules},
        {"function.offset", 'u', &tree->function_offsets},
        {"frame.function", 's', &tree->frame_functions, true},
        {"frame.file", 'u', &tree->frame_files},
        {"frame.line", 'u', &tree->frame_lines},
        {"node.parent", 'u', &tree->node_parents, true},
        {"node.frame", 'p', &frames},
    };
    size_t nr = 21;
    for (size_t i = 0; i < SEEP_SITE_COLUMNS; i++)
        if (building->sites[i].nr)
            sections[nr++] =
                (struct section){seep_site_forms[i].name, seep_site_forms[i].form, &building->sites[i]};
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

struct seep_error *seep_page_assemble_times(struct seep_page_building *building,
                                            struct seep_page_column *ret_part) {
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
