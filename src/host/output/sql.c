// SPDX-License-Identifier: BSD-2-Clause
// SQLite over a trace, see sql.h: the table of events, and the prompt. The tables of sites, frames and blocks
// are those of the exported database (output_sqlite.c). What a statement asks of time, site, address and
// process goes into the walk over the chunks; SQLite checks every row once more, so the walk may give too
// many and never too few.
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/map.h"
#include "output/csv.h"
#include "output/format.h"
#include "output/json_text.h"
#include "output/output_sqlite.h"
#include "output/sql.h"
#include "output/sql_table.h"

const char *const seep_sql_lacks = NULL;

struct seep_sql {
    sqlite3 *db;
    struct seep_view *view; // of the processes
    const struct seep_sql_sites *sites;
    struct seep_view *made; // by `sites`
    const struct seep_event_source *events;
    bool is_walked; // the data of `events` has a cursor
    volatile sig_atomic_t stopped;
    bool has_rows;               // view_of_sites() is there
    bool wants_ids;              // of sites, in events
    bool wants_sites, has_sites; // the tables of sites and their names
    bool wants_blocks, has_blocks;
    struct seep_error *trouble; // of the events: the first
};

// ---- the virtual table -------------------------------------------------------------------------------

enum column { AT_NS, AT_S, PROCESS, THREAD, KIND, ADDRESS, SIZE, SITE, STAMP };

static const char schema[] =
    "CREATE TABLE event (at_ns INTEGER, at_s REAL, process INTEGER, thread INTEGER, kind TEXT,"
    " address INTEGER, size INTEGER, site INTEGER, stamp INTEGER)";

struct table {
    sqlite3_vtab base; // first
    struct seep_sql *sql;
};

// What rows must have.
struct limits {
    int64_t from_ns, to_ns;
    int64_t from_address, to_address;
    int64_t site, process; // -1: any
};

struct cursor {
    sqlite3_vtab_cursor base; // first
    struct seep_sql *sql;
    void *data; // of the events: a statement that joins them with themselves walks twice at once
    struct limits limits;
    const struct seep_chunk *chunk;
    const struct seep_recorded *events;
    size_t process; // of the chunk, in the view
    uint64_t at;
    int64_t row;
    bool done;
};

static int connect_table(sqlite3 *db, void *data, int argc, const char *const *argv, sqlite3_vtab **ret_table,
                         char **ret_error) {
    struct table *table = sqlite3_malloc(sizeof(*table));
    if (!table)
        return SQLITE_NOMEM;
    *table = (struct table){.sql = data};
    *ret_table = &table->base;
    return sqlite3_declare_vtab(db, schema);
}

static int disconnect_table(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

// What the index string says of an argument: which column, and how it is compared.
static char code_of(int column, int operator) {
    bool is_range = column == AT_NS || column == AT_S || column == ADDRESS;
    switch (operator) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return column == AT_NS     ? 'e'
               : column == AT_S    ? 'x'
               : column == ADDRESS ? 'E'
               : column == SITE    ? 's'
               : column == PROCESS ? 'p'
                                   : 0;
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        return is_range ? (column == AT_NS ? 'f' : column == AT_S ? 'v' : 'F') : 0;
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return is_range ? (column == AT_NS ? 't' : column == AT_S ? 'w' : 'T') : 0;
    default:
        return 0;
    }
}

static int choose_plan(sqlite3_vtab *table, sqlite3_index_info *info) {
    char *codes = sqlite3_malloc(info->nConstraint + 1);
    if (!codes)
        return SQLITE_NOMEM;
    int nr = 0;
    double cost = 1e9;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
        char code = constraint->usable ? code_of(constraint->iColumn, constraint->op) : 0;
        if (!code)
            continue;
        codes[nr++] = code;
        info->aConstraintUsage[i].argvIndex = nr;
        cost /= strchr("ftevwx", code) ? 100 : 3;
    }
    codes[nr] = 0;
    info->idxStr = codes;
    info->needToFreeIdxStr = 1;
    info->estimatedCost = cost;
    info->estimatedRows = (sqlite3_int64)(cost / 10) + 1;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **ret_cursor) {
    struct cursor *cursor = sqlite3_malloc(sizeof(*cursor));
    if (!cursor)
        return SQLITE_NOMEM;
    *cursor = (struct cursor){.sql = ((struct table *)table)->sql, .done = true};
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static struct seep_error *begin_walk(struct cursor *cursor) {
    struct seep_sql *sql = cursor->sql;
    if (cursor->data)
        return NULL;
    if (sql->is_walked)
        return sql->events->again(sql->events->data, &cursor->data);
    sql->is_walked = true;
    cursor->data = sql->events->data;
    return NULL;
}

static int close_cursor(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    struct seep_sql *sql = cursor->sql;
    if (cursor->data && cursor->data == sql->events->data)
        sql->is_walked = false;
    else if (cursor->data)
        sql->events->close(cursor->data);
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int fail(struct cursor *cursor, struct seep_error *error) {
    if (cursor->sql->trouble)
        seep_error_destroy(error);
    else
        cursor->sql->trouble = error;
    cursor->done = true;
    return SQLITE_ERROR;
}

static bool find_process(struct cursor *cursor) {
    const struct seep_view *view = cursor->sql->view;
    cursor->process = seep_profiles_find(view->session->profiles + view->first_process, view->nr_processes,
                                         cursor->chunk->pid, cursor->chunk->start_realtime_ns);
    return cursor->process < view->nr_processes;
}

// Whose rows are those of the table `site`.
static struct seep_view *view_of_sites(const struct seep_sql *sql) {
    return sql->made ? sql->made : sql->view;
}

// The id in the table `site`, or -1. Several sites of a process, as two calls in one line, may be one row.
static int64_t site_id(const struct cursor *cursor, const struct seep_recorded *event) {
    if (!cursor->sql->has_rows) // no statement reads it
        return -1;
    const struct seep_view *view = view_of_sites(cursor->sql);
    const struct seep_profile *profile = view->session->profiles[view->first_process + cursor->process];
    return event->site < profile->nr_sites ? (int64_t)view->site_rows[cursor->process][event->site] - 1 : -1;
}

static int64_t time_of(const struct cursor *cursor, const struct seep_recorded *event) {
    return cursor->sql->events->time(cursor->chunk, event->stamp);
}

static bool fits(const struct cursor *cursor, const struct seep_recorded *event) {
    const struct limits *limits = &cursor->limits;
    int64_t address = (int64_t)event->address;
    if (address < limits->from_address || address > limits->to_address)
        return false;
    if (limits->site >= 0 && site_id(cursor, event) != limits->site)
        return false;
    int64_t at_ns = time_of(cursor, event);
    return at_ns >= limits->from_ns && at_ns <= limits->to_ns;
}

// Of the chunk at hand: SQLITE_ROW, or SQLITE_DONE where there is no more in it.
static int next_in_chunk(struct cursor *cursor) {
    for (; cursor->chunk && cursor->at < cursor->chunk->nr_events; cursor->at++)
        if (fits(cursor, &cursor->events[cursor->at]))
            return SQLITE_ROW;
    return SQLITE_DONE;
}

static int go_on(struct cursor *cursor) {
    const struct limits *limits = &cursor->limits;
    while (next_in_chunk(cursor) != SQLITE_ROW) {
        if (cursor->sql->stopped) {
            cursor->done = true;
            return SQLITE_INTERRUPT;
        }
        struct seep_error *error = cursor->sql->events->next(cursor->data, &cursor->chunk, &cursor->events);
        if (error)
            return fail(cursor, error);
        cursor->at = 0;
        if (!cursor->chunk) {
            cursor->done = true;
            return SQLITE_OK;
        }
        bool wanted = find_process(cursor) &&
                      (limits->process < 0 ||
                       limits->process == (int64_t)(cursor->sql->view->first_process + cursor->process));
        if (!wanted)
            cursor->at = cursor->chunk->nr_events;
    }
    return SQLITE_OK;
}

// A condition on at_s, in seconds. The limits are a microsecond wider: a double of up to a year in seconds is
// exact to less than that. SQLite compares the rows within the limits exactly.
static void limit_seconds(struct limits *limits, char code, double seconds) {
    const double far = 9e9;
    const int64_t more_ns = 1000;
    int64_t ns = (int64_t)(SEEP_MAX(SEEP_MIN(seconds, far), -far) * 1e9);
    if (code == 'v' || code == 'x')
        limits->from_ns = SEEP_MAX(limits->from_ns, ns - more_ns);
    if (code == 'w' || code == 'x')
        limits->to_ns = SEEP_MIN(limits->to_ns, ns + more_ns);
}

static int begin(sqlite3_vtab_cursor *base, int plan, const char *codes, int argc, sqlite3_value **argv) {
    struct cursor *cursor = (struct cursor *)base;
    struct limits *limits = &cursor->limits;
    *limits = (struct limits){INT64_MIN, INT64_MAX, INT64_MIN, INT64_MAX, -1, -1};
    for (int i = 0; i < argc; i++) {
        // Every number comes before a text, and nothing is equal to NULL: there SQLite decides alone.
        int type = sqlite3_value_numeric_type(argv[i]);
        if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
            continue;
        int64_t value = sqlite3_value_int64(argv[i]);
        limit_seconds(limits, codes[i], sqlite3_value_double(argv[i]));
        if (codes[i] == 'f' || codes[i] == 'e')
            limits->from_ns = SEEP_MAX(limits->from_ns, value);
        if (codes[i] == 't' || codes[i] == 'e')
            limits->to_ns = SEEP_MIN(limits->to_ns, value);
        if (codes[i] == 'F' || codes[i] == 'E')
            limits->from_address = SEEP_MAX(limits->from_address, value);
        if (codes[i] == 'T' || codes[i] == 'E')
            limits->to_address = SEEP_MIN(limits->to_address, value);
        if (codes[i] == 's')
            limits->site = value;
        if (codes[i] == 'p')
            limits->process = value;
    }
    cursor->chunk = NULL;
    cursor->at = 0;
    cursor->row = 0;
    cursor->done = !cursor->sql->events->next;
    if (cursor->done)
        return fail(cursor, seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                                              "sql: there are no events in this trace"),
                                            "'seep run --mode record' keeps them"));
    struct seep_error *error = begin_walk(cursor);
    if (!error)
        error = cursor->sql->events->rewind(cursor->data, limits->from_ns, limits->to_ns);
    return error ? fail(cursor, error) : go_on(cursor);
}

static int next_row(sqlite3_vtab_cursor *base) {
    struct cursor *cursor = (struct cursor *)base;
    cursor->at++;
    cursor->row++;
    return go_on(cursor);
}

static int is_over(sqlite3_vtab_cursor *base) {
    return ((struct cursor *)base)->done;
}

static const char *kind_name(uint32_t kind) {
    return kind == SEEP_EVENT_ALLOCATION ? "allocation"
           : kind == SEEP_EVENT_KEPT     ? "kept"
                                         : seep_release_name(kind - SEEP_EVENT_FREE);
}

static int put_column(sqlite3_vtab_cursor *base, sqlite3_context *to, int column) {
    const struct cursor *cursor = (const struct cursor *)base;
    const struct seep_recorded *event = &cursor->events[cursor->at];
    int64_t site;
    switch ((enum column)column) {
    case AT_NS:
        sqlite3_result_int64(to, time_of(cursor, event));
        break;
    case AT_S:
        sqlite3_result_double(to, (double)time_of(cursor, event) / 1e9);
        break;
    case PROCESS:
        sqlite3_result_int64(to, (int64_t)(cursor->sql->view->first_process + cursor->process));
        break;
    case THREAD:
        sqlite3_result_int64(to, event->slot);
        break;
    case KIND:
        sqlite3_result_text(to, kind_name(event->kind), -1, SQLITE_STATIC);
        break;
    case ADDRESS:
        sqlite3_result_int64(to, (int64_t)event->address);
        break;
    case SIZE:
        sqlite3_result_int64(to, (int64_t)SEEP_MIN(event->size, (uint64_t)INT64_MAX));
        break;
    case SITE:
        site = site_id(cursor, event);
        if (site >= 0)
            sqlite3_result_int64(to, site);
        break;
    case STAMP:
        sqlite3_result_int64(to, (int64_t)event->stamp);
        break;
    }
    return SQLITE_OK;
}

static int row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_id) {
    *ret_id = ((struct cursor *)base)->row;
    return SQLITE_OK;
}

static sqlite3_module event_module = {
    .xConnect = connect_table,
    .xBestIndex = choose_plan,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = begin,
    .xNext = next_row,
    .xEof = is_over,
    .xColumn = put_column,
    .xRowid = row_id,
};

// ---- opening -----------------------------------------------------------------------------------------

// The names of the tables, "a, b, c"; NULL: they cannot be told.
static char *table_names(sqlite3 *db) {
    sqlite3_stmt *statement = NULL;
    char *names = NULL;
    if (sqlite3_prepare_v2(
            db,
            "SELECT group_concat(name, ', ') FROM (SELECT name FROM sqlite_schema WHERE type IN "
            "('table', 'view') AND name <> 'event' UNION ALL SELECT 'event')",
            -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
        names = strdup((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return names;
}

// What to write instead: one that guesses "sites" or "processes" sees the right name.
static struct seep_error *wrong_statement(struct seep_sql *sql) {
    struct seep_error *error = seep_error_create(SEEP_E_USAGE, "sql: %s", sqlite3_errmsg(sql->db));
    char *names = strncmp(sqlite3_errmsg(sql->db), "no such table", strlen("no such table")) == 0
                      ? table_names(sql->db)
                      : NULL;
    error = names ? seep_error_hint(error, "there are %s; seep sql FILE '.schema' shows their columns", names)
                  : seep_error_hint(error, "seep sql FILE '.schema' shows the tables");
    free(names);
    return error;
}

static struct seep_error *failed(struct seep_sql *sql) {
    if (sql->trouble) {
        struct seep_error *error = sql->trouble;
        sql->trouble = NULL;
        return error;
    }
    if (sqlite3_errcode(sql->db) == SQLITE_NOMEM)
        return seep_error_no_memory();
    if (sql->stopped)
        return seep_error_create(SEEP_E_UNSUPPORTED, "sql: interrupted");
    // Of a file that a statement writes (ATTACH, VACUUM INTO), or of SQLite's own.
    int code = sqlite3_errcode(sql->db);
    if (code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_CANTOPEN)
        return seep_error_hint(
            seep_error_create(SEEP_E_IO, "sql: %s", sqlite3_errmsg(sql->db)),
            "make room, or name a place that can be written; SQLITE_TMPDIR is for SQLite's "
            "own files");
    return wrong_statement(sql);
}

static struct seep_error *find_rows(struct seep_sql *sql) {
    if (sql->has_rows)
        return NULL;
    struct seep_error *error = sql->sites ? sql->sites->make(sql->sites->data, &sql->made) : NULL;
    sql->has_rows = !error;
    return error;
}

// SQLite asks when it prepares a statement: so we know which tables it reads before it does.
static int note_reading(void *data, int action, const char *table, const char *name, const char *unused_b,
                        const char *unused_c) {
    static const char *const of_sites[] = {"site", "stack", "frame"};
    struct seep_sql *sql = data;
    if (action != SQLITE_READ || !table)
        return SQLITE_OK;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(of_sites); i++)
        sql->wants_sites |= strcasecmp(table, of_sites[i]) == 0;
    sql->wants_blocks |= strcasecmp(table, "block") == 0;
    sql->wants_ids |= strcasecmp(table, "event") == 0 && name && strcasecmp(name, "site") == 0;
    return SQLITE_OK;
}

// The view has copies of the blocks, so a view that was made before is made again.
static struct seep_error *find_births(struct seep_sql *sql) {
    seep_view_destroy(sql->made);
    sql->made = NULL;
    sql->has_rows = false;
    return sql->sites ? sql->sites->add_births(sql->sites->data) : NULL;
}

static struct seep_error *fill_wanted(struct seep_sql *sql) {
    struct seep_error *error = sql->wants_blocks && !sql->has_blocks ? find_births(sql) : NULL;
    if (!error && (sql->wants_ids || sql->wants_sites || sql->wants_blocks))
        error = find_rows(sql);
    if (!error && sql->wants_sites && !sql->has_sites) {
        error = seep_sqlite_fill_sites(sql->db, view_of_sites(sql));
        sql->has_sites = !error;
    }
    if (!error && sql->wants_blocks && !sql->has_blocks) {
        error = seep_sqlite_fill_blocks(sql->db, view_of_sites(sql));
        sql->has_blocks = !error;
    }
    return error;
}

struct seep_error *seep_sql_open(struct seep_view *view, const struct seep_sql_sites *sites,
                                 const struct seep_summary *summary, const struct seep_event_source *events,
                                 struct seep_sql **ret_sql) {
    struct seep_sql *sql = calloc(1, sizeof(*sql));
    if (!sql)
        return seep_error_no_memory();
    sql->view = view;
    sql->sites = sites;
    sql->events = events;
    struct seep_error *error =
        sqlite3_open(":memory:", &sql->db) == SQLITE_OK ? NULL : seep_error_no_memory();
    if (!error)
        error = seep_sqlite_begin(sql->db, view, summary);
    if (!error &&
        (sqlite3_create_module(sql->db, "event", &event_module, sql) != SQLITE_OK ||
         sqlite3_exec(
             sql->db,
             "CREATE VIEW site_text AS SELECT site AS id, group_concat(function, ' < ') AS text FROM "
             "(SELECT site, ifnull(function, module || '+' || printf('0x%x', \"offset\")) AS "
             "function FROM site_frame ORDER BY site, depth) GROUP BY site;",
             NULL, NULL, NULL) != SQLITE_OK))
        error = failed(sql);
    sqlite3_set_authorizer(sql->db, note_reading, sql);
    if (error)
        seep_sql_close(sql);
    else
        *ret_sql = sql;
    return error;
}

void seep_sql_close(struct seep_sql *sql) {
    if (!sql)
        return;
    sqlite3_close(sql->db);
    seep_view_destroy(sql->made);
    seep_error_destroy(sql->trouble);
    free(sql);
}

// ---- statements --------------------------------------------------------------------------------------

// SQLite writes infinity as a word, which is no JSON. Readers of JSON take a number beyond their range for
// infinity.
static void put_json_number(FILE *out, const char *text) {
    bool infinite = strstr(text, "Inf");
    fputs(!infinite ? text : *text == '-' ? "-9e999" : "9e999", out);
}

static struct seep_error *put_value(FILE *out, const char *text, int type, enum seep_sql_form form) {
    if (form == SEEP_SQL_CSV)
        return seep_csv_put_field(out, text);
    if (form == SEEP_SQL_JSON && type == SQLITE_NULL)
        fputs("null", out);
    else if (form == SEEP_SQL_JSON && (type == SQLITE_INTEGER || type == SQLITE_FLOAT))
        put_json_number(out, text);
    else if (form == SEEP_SQL_JSON)
        seep_put_json_text(out, text ? text : "");
    else if (text)
        seep_put_escaped(out, text);
    return NULL;
}

static struct seep_error *put_names(FILE *out, sqlite3_stmt *statement, enum seep_sql_form form) {
    struct seep_error *error = NULL;
    for (int i = 0; !error && i < sqlite3_column_count(statement); i++) {
        if (i)
            fputc(form == SEEP_SQL_TEXT ? '\t' : ',', out);
        error = put_value(out, sqlite3_column_name(statement, i), SQLITE_TEXT, form);
    }
    fputc('\n', out);
    return error;
}

static struct seep_error *put_row(FILE *out, sqlite3_stmt *statement, enum seep_sql_form form) {
    struct seep_error *error = NULL;
    for (int i = 0; !error && i < sqlite3_column_count(statement); i++) {
        if (i)
            fputc(form == SEEP_SQL_TEXT ? '\t' : ',', out);
        if (form == SEEP_SQL_JSON) {
            seep_put_json_text(out, sqlite3_column_name(statement, i));
            fputc(':', out);
        }
        int type = sqlite3_column_type(statement, i);
        error = put_value(out, (const char *)sqlite3_column_text(statement, i), type, form);
    }
    return error;
}

// Rows on a terminal. `table` has the names of the columns first.
static struct seep_error *add_row(struct seep_sql_table *table, sqlite3_stmt *statement, bool names) {
    struct seep_error *error = NULL;
    int nr = sqlite3_column_count(statement);
    for (int i = 0; !error && i < nr; i++) {
        int type = names ? SQLITE_TEXT : sqlite3_column_type(statement, i);
        const char *text =
            names ? sqlite3_column_name(statement, i) : (const char *)sqlite3_column_text(statement, i);
        error = seep_sql_table_add(table, text, type == SQLITE_INTEGER || type == SQLITE_FLOAT);
    }
    return error;
}

static struct seep_error *put_table(struct seep_sql *sql, sqlite3_stmt *statement, FILE *out) {
    struct seep_sql_table *table = NULL;
    int code = SQLITE_ROW;
    struct seep_error *error = NULL;
    if (sqlite3_column_count(statement) > 0) {
        error = seep_sql_table_begin(out, (unsigned)sqlite3_column_count(statement), &table);
        if (!error)
            error = add_row(table, statement, true);
    }
    while (!error && (code = sqlite3_step(statement)) == SQLITE_ROW)
        if (table)
            error = add_row(table, statement, false);
    if (!error && code != SQLITE_DONE)
        error = failed(sql);
    return seep_sql_table_end(table, error);
}

static struct seep_error *step_all(struct seep_sql *sql, sqlite3_stmt *statement, enum seep_sql_form form,
                                   FILE *out) {
    bool has_rows = sqlite3_column_count(statement) > 0;
    if (has_rows && form == SEEP_SQL_JSON)
        fputc('[', out);
    struct seep_error *error = has_rows && form != SEEP_SQL_JSON ? put_names(out, statement, form) : NULL;
    int code = SQLITE_DONE;
    for (bool first = true; !error && (code = sqlite3_step(statement)) == SQLITE_ROW; first = false) {
        if (form == SEEP_SQL_JSON)
            fputs(first ? "\n{" : ",\n{", out);
        error = put_row(out, statement, form);
        fputs(form == SEEP_SQL_JSON ? "}" : "\n", out);
    }
    if (has_rows && form == SEEP_SQL_JSON)
        fputs("\n]\n", out);
    return error || code == SQLITE_DONE ? error : failed(sql);
}

struct seep_error *seep_sql_run(struct seep_sql *sql, const char *statements, enum seep_sql_form form,
                                FILE *out) {
    struct seep_error *error = NULL;
    sql->stopped = 0;
    if (strcmp(statements, ".schema") == 0)
        statements =
            "SELECT sql || ';' AS schema FROM sqlite_schema WHERE name <> 'event' AND sql IS NOT NULL "
            "UNION ALL SELECT 'CREATE TABLE event (at_ns INTEGER, at_s REAL, process INTEGER, thread "
            "INTEGER, kind TEXT, address INTEGER, size INTEGER, site INTEGER, stamp INTEGER);'";
    else if (strcmp(statements, ".tables") == 0)
        statements =
            "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name <> 'event' "
            "UNION ALL SELECT 'event', 'table' ORDER BY name";
    else if (statements[0] == '.')
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "sql: there is no command '%s'", statements),
                               ".tables and .schema show what can be asked, .quit ends");
    while (!error && *statements) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(sql->db, statements, -1, &statement, &statements) != SQLITE_OK)
            return failed(sql);
        if (statement)
            error = fill_wanted(sql);
        if (statement && !error && sql->stopped) // while tables were filled
            error = failed(sql);
        if (statement && !error)
            error =
                form == SEEP_SQL_TABLE ? put_table(sql, statement, out) : step_all(sql, statement, form, out);
        sqlite3_finalize(statement);
    }
    return error;
}

void seep_sql_stop(struct seep_sql *sql) {
    sql->stopped = 1;
    sqlite3_interrupt(sql->db); // for signal handlers, too: sqlite.org/c3ref/interrupt.html
}
