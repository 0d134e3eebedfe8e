// SPDX-License-Identifier: BSD-2-Clause
//
// A database for sqlite3: sites with their figures, the table of frames and the tree of stacks, processes,
// losses and notes; blocks with --blocks. The schema is in the statements below and in docs/formats.md. It is
// made in memory and written as a whole, because a database is no stream. SQLite knows integers of 64 bits
// with sign: what is beyond is the largest of them. What is not known is NULL.
#include <sqlite3.h>
#include <stdlib.h>

#include "base/version.h"
#include "output/output.h"
#include "output/output_sqlite.h"
#include "profile/verdict.h"
#include "view/stack_table.h"

static const char tables[] =
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE process (id INTEGER PRIMARY KEY, pid INTEGER, parent INTEGER, exe TEXT, name TEXT,"
    " start_ns INTEGER, duration_ns INTEGER, complete INTEGER, allocations INTEGER, allocated_bytes INTEGER,"
    " frees INTEGER, freed_bytes INTEGER, live_blocks INTEGER, live_bytes INTEGER, peak_bytes INTEGER,"
    " temporary INTEGER);"
    "CREATE TABLE lost (process INTEGER REFERENCES process, reason TEXT, events INTEGER);"
    "CREATE TABLE note (process INTEGER REFERENCES process, code TEXT, text TEXT);"
    "CREATE TABLE frame (id INTEGER PRIMARY KEY, function TEXT, file TEXT, line INTEGER, module TEXT,"
    " \"offset\" INTEGER, inlined INTEGER);"
    "CREATE TABLE stack (id INTEGER PRIMARY KEY, frame INTEGER REFERENCES frame, caller INTEGER REFERENCES "
    "stack);"
    "CREATE TABLE site (id INTEGER PRIMARY KEY, stack INTEGER REFERENCES stack, via TEXT, kind TEXT,"
    " live_blocks INTEGER, live_bytes INTEGER, allocations INTEGER, allocated_bytes INTEGER, frees INTEGER,"
    " freed_bytes INTEGER, temporary INTEGER, peak_bytes INTEGER, leaked_bytes INTEGER, size_min INTEGER,"
    " size_max INTEGER);"
    "CREATE TABLE block (address INTEGER, size INTEGER, age_ns INTEGER, site INTEGER REFERENCES site,"
    " process INTEGER REFERENCES process, thread INTEGER, kind TEXT);"
    // A site's stack in one text, innermost first, and its frames one a row.
    "CREATE VIEW site_frame AS WITH RECURSIVE up(site, depth, stack) AS (SELECT id, 0, stack FROM site WHERE "
    "stack IS NOT NULL UNION ALL SELECT site, depth + 1, caller FROM up JOIN stack ON stack.id = up.stack "
    "WHERE "
    "caller IS NOT NULL) SELECT site, depth, frame.* FROM up JOIN stack ON stack.id = up.stack JOIN frame ON "
    "frame.id = stack.frame;";

struct base {
    sqlite3 *db;
    sqlite3_stmt *insert;
    int column;
};

static struct seep_error *failed(struct base *base) {
    int code = sqlite3_errcode(base->db);
    return code == SQLITE_NOMEM ? seep_error_no_memory()
                                : seep_error_create(SEEP_E_IO, "sqlite: %s", sqlite3_errmsg(base->db));
}

static struct seep_error *run(struct base *base, const char *statements) {
    return sqlite3_exec(base->db, statements, NULL, NULL, NULL) == SQLITE_OK ? NULL : failed(base);
}

static struct seep_error *begin_insert(struct base *base, const char *statement) {
    sqlite3_finalize(base->insert);
    base->insert = NULL;
    base->column = 0;
    return sqlite3_prepare_v2(base->db, statement, -1, &base->insert, NULL) == SQLITE_OK ? NULL
                                                                                         : failed(base);
}

static void bind_integer(struct base *base, uint64_t value) {
    sqlite3_bind_int64(base->insert, ++base->column, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void bind_null(struct base *base) {
    sqlite3_bind_null(base->insert, ++base->column);
}

// The text must live until the row is put.
static void bind_text(struct base *base, const char *text) {
    if (text)
        sqlite3_bind_text(base->insert, ++base->column, text, -1, SQLITE_STATIC);
    else
        bind_null(base);
}

static struct seep_error *put(struct base *base) {
    int code = sqlite3_step(base->insert);
    base->column = 0;
    sqlite3_reset(base->insert);
    return code == SQLITE_DONE ? NULL : failed(base);
}

static struct seep_error *put_meta(struct base *base, const struct seep_view *view,
                                   const struct seep_summary *summary) {
    const struct {
        const char *key, *value;
    } rows[] = {{"seep", SEEP_VERSION},
                {"schema", "1"},
                {"source", summary->source},
                {"sampled", view->sampled ? "1" : "0"}};
    struct seep_error *error = begin_insert(base, "INSERT INTO meta VALUES (?, ?)");
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(rows); i++) {
        bind_text(base, rows[i].key);
        bind_text(base, rows[i].value);
        error = put(base);
    }
    return error;
}

static struct seep_error *put_processes(struct base *base, const struct seep_view *view) {
    struct seep_error *error =
        begin_insert(base, "INSERT INTO process VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; !error && i < view->nr_processes; i++) {
        const struct seep_profile *profile = view->session->profiles[view->first_process + i];
        const struct seep_totals *totals = &profile->totals;
        bind_integer(base, view->first_process + i);
        bind_integer(base, profile->process.pid);
        bind_integer(base, profile->process.ppid);
        bind_text(base, profile->process.exe);
        bind_text(base, profile->process.name);
        bind_integer(base, (uint64_t)SEEP_MAX(profile->process.start_realtime_ns, INT64_C(0)));
        bind_integer(base, (uint64_t)SEEP_MAX(profile->process.duration_ns, INT64_C(0)));
        bind_integer(base, seep_profile_verdict(profile) == SEEP_VERDICT_COMPLETE);
        bind_integer(base, totals->allocations);
        bind_integer(base, totals->allocated_bytes);
        bind_integer(base, totals->frees);
        bind_integer(base, totals->freed_bytes);
        bind_integer(base, totals->live_blocks);
        bind_integer(base, totals->live_bytes);
        bind_integer(base, totals->peak_bytes);
        bind_integer(base, totals->temporary);
        error = put(base);
    }
    if (!error)
        error = begin_insert(base, "INSERT INTO lost VALUES (?, ?, ?)");
    for (size_t i = 0; i < view->nr_processes; i++) {
        const struct seep_health *health = &view->session->profiles[view->first_process + i]->health;
        for (uint32_t reason = 0; !error && reason < SEEP_LOST_NR; reason++) {
            if (!health->lost[reason])
                continue;
            bind_integer(base, view->first_process + i);
            bind_text(base, seep_lost_name(reason));
            bind_integer(base, health->lost[reason]);
            error = put(base);
        }
    }
    if (!error)
        error = begin_insert(base, "INSERT INTO note VALUES (?, ?, ?)");
    for (size_t i = 0; i < view->nr_processes; i++) {
        const struct seep_health *health = &view->session->profiles[view->first_process + i]->health;
        for (size_t n = 0; !error && n < health->nr_notes; n++) {
            bind_integer(base, view->first_process + i);
            bind_text(base, seep_note_name(health->notes[n].code));
            bind_text(base, health->notes[n].text);
            error = put(base);
        }
    }
    return error;
}

static struct seep_error *put_stacks(struct base *base, const struct seep_stack_table *table) {
    struct seep_error *error = begin_insert(base, "INSERT INTO frame VALUES (?,?,?,?,?,?,?)");
    for (size_t i = 0; !error && i < table->nr_frames; i++) {
        const struct seep_view_frame *frame = &table->frames[i].frame;
        bind_integer(base, i);
        bind_text(base, frame->function);
        bind_text(base, frame->file);
        if (frame->line)
            bind_integer(base, frame->line);
        else
            bind_null(base);
        bind_text(base, frame->module);
        bind_integer(base, frame->offset);
        bind_integer(base, frame->inlined);
        error = put(base);
    }
    if (!error)
        error = begin_insert(base, "INSERT INTO stack VALUES (?,?,?)");
    for (size_t i = 0; !error && i < table->nr_nodes; i++) {
        bind_integer(base, i);
        bind_integer(base, table->nodes[i].frame);
        if (table->nodes[i].caller != SEEP_NO_STACK)
            bind_integer(base, table->nodes[i].caller);
        else
            bind_null(base);
        error = put(base);
    }
    return error;
}

static void bind_known(struct base *base, const struct seep_view_row *row, uint32_t bit, uint64_t value) {
    if (row->known & bit)
        bind_integer(base, value);
    else
        bind_null(base);
}

static struct seep_error *put_sites(struct base *base, const struct seep_view *view, const uint32_t *nodes) {
    struct seep_error *error = begin_insert(base, "INSERT INTO site VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
    for (size_t i = 0; !error && i < view->nr_rows; i++) {
        const struct seep_view_row *row = &view->rows[i];
        const struct seep_counters *c = &row->counters;
        uint32_t sizes = c->allocations && c->size_min <= c->size_max ? SEEP_KNOWN_SIZES : 0;
        bind_integer(base, i);
        if (nodes[i] != SEEP_NO_STACK)
            bind_integer(base, nodes[i]);
        else
            bind_null(base);
        bind_text(base, seep_via_name(row->via));
        bind_text(base, row->kind ? seep_kind_name(row->kind) : NULL);
        bind_known(base, row, view->live_is_net ? 0 : SEEP_KNOWN_LIVE, (uint64_t)row->live_blocks);
        bind_known(base, row, view->live_is_net ? 0 : SEEP_KNOWN_LIVE, (uint64_t)row->live_bytes);
        bind_known(base, row, SEEP_KNOWN_ALLOCATIONS, c->allocations);
        bind_known(base, row, SEEP_KNOWN_BYTES, c->allocated_bytes);
        bind_known(base, row, SEEP_KNOWN_FREES, c->frees);
        bind_known(base, row, SEEP_KNOWN_FREES, c->freed_bytes);
        bind_known(base, row, SEEP_KNOWN_TEMPORARY, c->temporary);
        bind_known(base, row, SEEP_KNOWN_PEAK, c->peak_bytes);
        if (row->kind)
            bind_integer(base, (uint64_t)SEEP_MAX(row->leaked_bytes, INT64_C(0)));
        else
            bind_null(base);
        bind_known(base, row, sizes, c->size_min);
        bind_known(base, row, sizes, c->size_max);
        error = put(base);
    }
    return error;
}

static struct seep_error *put_blocks(struct base *base, const struct seep_view *view) {
    struct seep_error *error = begin_insert(base, "INSERT INTO block VALUES (?,?,?,?,?,?,?)");
    for (size_t i = 0; i < view->nr_rows; i++) {
        for (size_t b = 0; !error && b < view->rows[i].nr_blocks; b++) {
            const struct seep_view_block *block = &view->rows[i].blocks[b];
            bind_integer(base, block->address);
            bind_integer(base, block->size);
            if (block->age_ns >= 0)
                bind_integer(base, (uint64_t)block->age_ns);
            else
                bind_null(base);
            bind_integer(base, i);
            bind_integer(base, block->process);
            if (block->tid)
                bind_integer(base, block->tid);
            else
                bind_null(base);
            bind_text(base, block->kind ? seep_kind_name(block->kind) : NULL);
            error = put(base);
        }
    }
    return error;
}

// All frames get their names here.
static struct seep_error *put_stacks_and_sites(struct base *base, struct seep_view *view) {
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    uint32_t *nodes = NULL;
    struct seep_error *error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = put_stacks(base, &table);
    if (!error)
        error = put_sites(base, view, nodes);
    free(nodes);
    seep_stack_table_deinit(&table);
    return error;
}

static struct seep_error *put_first(struct base *base, const struct seep_view *view,
                                    const struct seep_summary *summary) {
    struct seep_error *error = run(base, tables);
    if (!error)
        error = put_meta(base, view, summary);
    return error ? error : put_processes(base, view);
}

static struct seep_error *put_all(struct base *base, struct seep_view *view,
                                  const struct seep_summary *summary, bool blocks) {
    struct seep_error *error = put_first(base, view, summary);
    if (!error)
        error = put_stacks_and_sites(base, view);
    if (!error && blocks)
        error = put_blocks(base, view);
    return error ? error : run(base, "COMMIT;");
}

static struct seep_error *end(struct base *base, struct seep_error *error) {
    sqlite3_finalize(base->insert);
    base->insert = NULL;
    return error ? error : run(base, "COMMIT;");
}

struct seep_error *seep_sqlite_begin(sqlite3 *db, const struct seep_view *view,
                                     const struct seep_summary *summary) {
    struct base base = {.db = db};
    return end(&base, put_first(&base, view, summary));
}

struct seep_error *seep_sqlite_fill_sites(sqlite3 *db, struct seep_view *view) {
    struct base base = {.db = db};
    struct seep_error *error = run(&base, "BEGIN;");
    return end(&base, error ? error : put_stacks_and_sites(&base, view));
}

struct seep_error *seep_sqlite_fill_blocks(sqlite3 *db, const struct seep_view *view) {
    struct base base = {.db = db};
    struct seep_error *error = run(&base, "BEGIN;");
    return end(&base, error ? error : put_blocks(&base, view));
}

static struct seep_error *write_sqlite(FILE *out, struct seep_view *view,
                                       const struct seep_summary *summary) {
    struct base base = {NULL};
    struct seep_error *error =
        sqlite3_open(":memory:", &base.db) == SQLITE_OK ? NULL : seep_error_no_memory();
    if (!error)
        error = put_all(&base, view, summary, view->options.blocks);
    sqlite3_finalize(base.insert);
    sqlite3_int64 nr_bytes = 0;
    unsigned char *bytes = error ? NULL : sqlite3_serialize(base.db, "main", &nr_bytes, 0);
    if (!error && !bytes)
        error = seep_error_no_memory();
    if (bytes)
        fwrite(bytes, 1, (size_t)nr_bytes, out);
    sqlite3_free(bytes);
    sqlite3_close(base.db);
    return error;
}
const struct seep_output seep_output_sqlite = {
    .name = "sqlite",
    .suffix = ".sqlite",
    .what = "a database for sqlite3",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ALL | SEEP_OUTPUT_BINARY,
    .write = write_sqlite,
};
