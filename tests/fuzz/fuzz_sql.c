// SPDX-License-Identifier: BSD-2-Clause
//
// Questions in SQL to a trace of any bytes. The first bytes are what is asked of the virtual table of events: up to
// three comparisons. Besides not crashing: the walk over the events, which is told what is asked, finds what SQLite
// finds without telling it (a + before a column hides it). All other tables are read whole.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/event_file.h"
#include "output/sql.h"
#include "file/session_file.h"
#include "fuzz.h"
#include "trace_repair.h"

#define COMPARISONS_MAX  3u
#define COMPARISON_BYTES 11u // column, operator, kind of value, value

// ---- the questions ----

static void put_value(FILE *out, unsigned kind, uint64_t value) {
    double real;
    memcpy(&real, &value, sizeof(real));
    switch (kind % 8) {
    case 0:
        fprintf(out, "%lld", (long long)value);
        break;
    case 1:
        fprintf(out, "%d.5", (int)(int8_t)value);
        break;
    case 2:
        fprintf(out, "%se%d", value & 1 ? "-1" : "1", (int)(value >> 1 & 31));
        break;
    case 3:
        fputs("NULL", out);
        break;
    case 4:
        fprintf(out, "'%c'", 'a' + (int)(value % 26));
        break;
    case 5:
        fprintf(out, "'%u'", (unsigned)(value & 0xffff));
        break;
    case 6:
        fprintf(out, "x'%02x'", (unsigned)(value & 0xff));
        break;
    default:
        fprintf(out, "%u", (unsigned)(value & 7));
        break;
    }
}

static char *question(const uint8_t *data, unsigned nr, const char *hidden) {
    static const char *const columns[] = {"at_ns", "address", "site", "process",
                                          "at_s",  "size",    "kind", "thread"};
    static const char *const operators[] = {"=", "<", "<=", ">", ">=", "<>", "IS", "IS NOT"};
    char *text = NULL;
    size_t nr_bytes;
    FILE *out = open_memstream(&text, &nr_bytes);
    MUST(out);
    fputs("SELECT count(*), total(size), total(address), total(at_ns), total(site) FROM event", out);
    for (unsigned i = 0; i < nr; i++, data += COMPARISON_BYTES) {
        uint64_t value;
        memcpy(&value, data + 3, sizeof(value));
        fprintf(out, " %s %sevent.%s %s ", i ? "AND" : "WHERE", hidden, columns[data[0] % 8],
                operators[data[1] % 8]);
        put_value(out, data[2], value);
    }
    MUST(fclose(out) == 0);
    return text;
}

// ---- the source ----

static struct seep_error *rewind_whole(void *data, int64_t from_ns, int64_t to_ns) {
    (void)from_ns;
    (void)to_ns; // an index may lie of times, and then less is found
    return seep_event_file_rewind(data);
}

static struct seep_error *rewind_by_index(void *data, int64_t from_ns, int64_t to_ns) {
    return seep_event_file_seek(data, from_ns, to_ns);
}

static struct seep_error *next_chunk(void *data, const struct seep_chunk **ret_chunk,
                                     const struct seep_recorded **ret_events) {
    struct seep_error *error = seep_event_file_next(data, ret_chunk);
    *ret_events = seep_event_file_events(data);
    return error;
}

// malloc'ed; NULL: an error, which has one line.
static char *ask(struct seep_sql *sql, const char *text, enum seep_sql_form form) {
    char *found = NULL;
    size_t nr_bytes;
    FILE *out = open_memstream(&found, &nr_bytes);
    MUST(out);
    struct seep_error *error = seep_sql_run(sql, text, form, out);
    MUST(fclose(out) == 0);
    if (!error)
        return found;
    MUST(error->message[0] && !strchr(error->message, '\n'));
    seep_error_destroy(error);
    free(found);
    return NULL;
}

static void ask_events(struct seep_sql *sql, const uint8_t *asked, unsigned nr, bool compare) {
    char *plain = question(asked, nr, ""), *hidden = question(asked, nr, "+");
    char *found = ask(sql, plain, SEEP_SQL_CSV), *wanted = ask(sql, hidden, SEEP_SQL_CSV);
    if (compare)
        MUST(!found == !wanted && (!found || strcmp(found, wanted) == 0));
    free(found);
    free(wanted);
    free(plain);
    free(hidden);
}

static void ask_tables(struct seep_sql *sql) {
    static const char *const tables[] = {"meta", "process", "lost",       "note",      "frame", "stack",
                                         "site", "block",   "site_frame", "site_text", "event"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(tables); i++) {
        char text[128];
        snprintf(text, sizeof(text), "SELECT * FROM %s LIMIT 1000", tables[i]);
        free(ask(sql, text, (enum seep_sql_form)(i % 3)));
    }
    free(ask(sql, "SELECT kind, count(*) FROM event JOIN site ON event.site = site.id GROUP BY 1",
             SEEP_SQL_JSON));
    free(ask(sql, ".schema", SEEP_SQL_TEXT));
}

static void use(const char *path, struct seep_session *session, const uint8_t *asked, unsigned nr) {
    static const struct seep_symbols_options no_files = {.sysroot = "/proc/self/ns", .no_debuginfod = true};
    struct seep_view_options options = seep_view_options_default;
    struct seep_symbols *symbols = NULL;
    struct seep_view *view = NULL;
    struct seep_event_file *file = NULL;
    options.top = 0;
    options.all_rows = options.blocks = true;
    struct seep_error *error = seep_symbols_create(&no_files, &symbols);
    MUST(!error);
    error = seep_view_create(session, SIZE_MAX, symbols, &options, &view);
    if (!error && seep_event_file_is_one(path))
        error = seep_event_file_open(path, &file);
    for (int whole = 0; whole < 2 && !error; whole++) {
        const struct seep_event_source source = {.data = file,
                                                 .rewind = whole ? rewind_whole : rewind_by_index,
                                                 .next = file ? next_chunk : NULL,
                                                 .time = seep_chunk_ns};
        const struct seep_summary summary = {.source = "input"};
        struct seep_sql *sql = NULL;
        error = seep_sql_open(view, NULL, &summary, &source, &sql);
        if (error)
            break;
        ask_events(sql, asked, nr, whole);
        if (!whole)
            ask_tables(sql);
        seep_sql_close(sql);
    }
    seep_error_destroy(error);
    seep_event_file_close(file);
    seep_view_destroy(view);
    seep_symbols_destroy(symbols);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    unsigned nr = data[0] % (COMPARISONS_MAX + 1);
    size_t nr_asked =
        1 + (size_t)COMPARISON_BYTES * COMPARISONS_MAX; // at one place, whatever their number is
    if (size < nr_asked)
        return 0;
    const uint8_t *asked = data + 1;
    data += nr_asked;
    size -= nr_asked;
    uint8_t *copy = malloc(size ? size : 1);
    MUST(copy);
    memcpy(copy, data, size);
    trace_repair(copy, size);
    int fd = memfd_create("trace", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, copy, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_load(path, &session);
    seep_error_destroy(error);
    if (session)
        use(path, session, asked, nr);
    seep_session_destroy(session);
    close(fd);
    free(copy);
    return 0;
}
