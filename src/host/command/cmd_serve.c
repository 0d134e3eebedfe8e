// SPDX-License-Identifier: BSD-2-Clause
// `seep serve --http PID|FILE|DIR`: the page of seep html, always as it is now; and what scrapers read:
// Prometheus' metrics, pprof's profiles. Nothing happens in the program: its image is read, as seep report
// does.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/shown_text.h"
#include "command/command.h"
#include "command/html.h"
#include "command/report_options.h"
#include "command/serve_folder.h"
#include "session/started_program.h"
#include "server/server_address.h"
#include "server/server_stdio.h"
#include "output/format.h"
#include "output/output.h"
#include "page/page_file.h"
#include "http/http_server.h"
#include "profile/verdict.h"
#include "session/recording_history.h"
#include "session/session_at_mark.h"

struct serve_values {
    const char *http;
    const char *listen;
    const char *key;
    bool keep;
    bool full_paths;
    bool no_demangle;
    const char *sysroot;
};

static const struct seep_option serve_options[] = {
    {"http", 0, SEEP_OPTION_TEXT, offsetof(struct serve_values, http), .value = "ADDR",
     .help = "listen on ADDR, an IP address and a port (default 127.0.0.1 and any free port)"},
    {"listen", 0, SEEP_OPTION_STRING, offsetof(struct serve_values, listen), .value = "ADDR",
     .help = "for seep top and connect: unix:PATH (default one in a folder of your own), stdio, or "
             "tcp:HOST:PORT"},
    {"key", 0, SEEP_OPTION_STRING, offsetof(struct serve_values, key), .value = "FILE",
     .help = "for tcp:HOST:PORT: clients with the same key may ask; made where there is no such file"},
    {"keep", 0, SEEP_OPTION_FLAG, offsetof(struct serve_values, keep),
     .help = "of PROG: answer until interrupted, although PROG has ended and no client is connected"},
    {"full-paths", 0, SEEP_OPTION_FLAG, offsetof(struct serve_values, full_paths),
     .help = "whole paths of files and modules"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, offsetof(struct serve_values, no_demangle),
     .help = "symbol names as they are in the file"},
    {"sysroot", 0, SEEP_OPTION_STRING, offsetof(struct serve_values, sysroot), .value = "DIR",
     .help = "programs and libraries are those under DIR, if their build-ids are the same"},
    {NULL},
};

static const struct seep_option_group serve_group = {
    .title = "Options", .options = serve_options, .values_bytes = sizeof(struct serve_values)};

struct serving {
    const char *source;
    struct seep_view_options options;
    struct seep_symbols *symbols;
    struct seep_suppress *suppress;
    struct seep_page_packed packed; // of packed_ns, or nothing
    int64_t packed_ns;
    bool is_folder;                           // the source has traces
    char packed_id[SEEP_FOLDER_ID_CHARS + 1]; // of a folder: which of them is packed
};

// What is looked at again and again is not made more often than that.
#define FRESH_NS INT64_C(900000000)

// ---- what is served ----

static struct seep_error *open_now(struct serving *serving, const char *source,
                                   struct seep_session **ret_session) {
    struct seep_error *error = seep_at_mark_open(source, ret_session);
    if (error)
        return error;
    error = seep_suppress_apply(serving->suppress, *ret_session, serving->symbols);
    if (error) {
        seep_session_destroy(*ret_session);
        *ret_session = NULL;
    }
    return error;
}

static struct seep_error *pack_now(struct serving *serving) {
    int64_t now = seep_monotonic_ns();
    if (serving->packed.sites.put.used && now - serving->packed_ns < FRESH_NS)
        return NULL;
    struct seep_session *session = NULL;
    struct seep_error *error = open_now(serving, serving->source, &session);
    seep_page_packed_deinit(&serving->packed);
    if (!error) {
        struct seep_page_source source = {.session = session,
                                          .name = serving->source,
                                          .symbols = serving->symbols,
                                          .options = &serving->options,
                                          .max_bytes = SEEP_HTML_BYTES};
        error = seep_page_data(&source, &serving->packed);
    }
    if (error)
        seep_page_packed_deinit(&serving->packed);
    seep_session_destroy(session);
    serving->packed_ns = seep_monotonic_ns();
    return error;
}

// A trace of the folder: it is packed once for both of its parts.
static struct seep_error *pack_trace(struct serving *serving, const char *id) {
    if (serving->packed.sites.put.used && strcmp(serving->packed_id, id) == 0)
        return NULL;
    seep_page_packed_deinit(&serving->packed);
    struct seep_folder_file file = {.fd = -1};
    struct seep_session *session = NULL;
    struct seep_history *histories = NULL;
    struct seep_error *error = seep_folder_open(serving->source, id, &file);
    if (!error)
        error = open_now(serving, file.path, &session);
    if (!error)
        error = seep_history_snapshots(session, file.path, SEEP_HTML_MOMENTS, &histories);
    if (!error) {
        struct seep_page_source source = {.session = session,
                                          .histories = histories,
                                          .name = file.name,
                                          .symbols = serving->symbols,
                                          .options = &serving->options,
                                          .max_bytes = SEEP_HTML_BYTES};
        error = seep_page_data(&source, &serving->packed);
    }
    if (error && file.name)
        error = seep_error_prefix(error, "%s", file.name);
    if (error)
        seep_page_packed_deinit(&serving->packed);
    else
        snprintf(serving->packed_id, sizeof(serving->packed_id), "%s", id);
    seep_histories_destroy(histories, session);
    seep_session_destroy(session);
    seep_folder_file_deinit(&file);
    return error;
}

// `id` NULL: of what is served as a whole.
static struct seep_error *answer_part(struct serving *serving, const char *id, bool times,
                                      struct seep_http_answer *answer) {
    struct seep_error *error = id ? pack_trace(serving, id) : pack_now(serving);
    if (error)
        return error;
    const struct seep_page_column *part = times ? &serving->packed.times : &serving->packed.sites;
    answer->body = malloc(part->put.used + 1);
    if (!answer->body)
        return seep_error_no_memory();
    if (part->put.used)
        memcpy(answer->body, part->put.bytes, part->put.used);
    answer->nr_bytes = part->put.used;
    answer->type = "application/octet-stream";
    answer->status = 200;
    return NULL;
}

// The page without data; it may ask this server for it, and no other.
static struct seep_error *answer_page(const struct serving *serving, struct seep_http_answer *answer) {
    const char *const changes[][2] = {{"<html", serving->is_folder ? "<html data-folder" : "<html"},
                                      {"connect-src 'none'", "connect-src 'self'"},
                                      {"@seep-sites@", ""},
                                      {"@seep-times@", ""}};
    size_t nr_left;
    const char *left = seep_page_template(&nr_left);
    struct seep_put out = {NULL};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(changes); i++) {
        const char *place = memmem(left, nr_left, changes[i][0], strlen(changes[i][0]));
        if (!place)
            continue;
        seep_put_bytes(&out, left, (size_t)(place - left));
        seep_put_bytes(&out, changes[i][1], strlen(changes[i][1]));
        nr_left -= (size_t)(place - left) + strlen(changes[i][0]);
        left = place + strlen(changes[i][0]);
    }
    seep_put_bytes(&out, left, nr_left);
    if (out.failed) {
        seep_put_deinit(&out);
        return seep_error_no_memory();
    }
    *answer = (struct seep_http_answer){
        .status = 200, .type = "text/html; charset=utf-8", .body = out.bytes, .nr_bytes = out.used};
    return NULL;
}

// ---- metrics ----

// Source: the text format of Prometheus: a label's value escapes backslash, quote and newline.
static void put_label(FILE *out, const char *text) {
    for (; *text; text++) {
        if (*text == '\n')
            fputs("\\n", out);
        else if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void put_labels(FILE *out, const struct seep_profile *profile) {
    char *name = seep_escape(profile->process.name);
    fprintf(out, "{pid=\"%" PRIu32 "\",program=\"", profile->process.pid);
    put_label(out, name ? name : "");
    fputc('"', out);
    free(name);
}

static const struct {
    const char *name;
    const char *type;
    const char *help;
    size_t offset; // in struct seep_totals
} metrics[] = {
    {"live_bytes", "gauge", "Bytes in live blocks", offsetof(struct seep_totals, live_bytes)},
    {"live_blocks", "gauge", "Live blocks", offsetof(struct seep_totals, live_blocks)},
    {"peak_bytes", "gauge", "Most bytes that were live at a time", offsetof(struct seep_totals, peak_bytes)},
    {"allocations_total", "counter", "Allocations", offsetof(struct seep_totals, allocations)},
    {"allocated_bytes_total", "counter", "Bytes allocated", offsetof(struct seep_totals, allocated_bytes)},
    {"frees_total", "counter", "Blocks freed", offsetof(struct seep_totals, frees)},
    {"freed_bytes_total", "counter", "Bytes freed", offsetof(struct seep_totals, freed_bytes)},
    {"temporary_total", "counter", "Allocations that were freed at once",
     offsetof(struct seep_totals, temporary)},
    {"failed_total", "counter", "Allocations that returned NULL", offsetof(struct seep_totals, failed)},
};

static void put_lost(FILE *out, const struct seep_session *session) {
    fputs("# HELP seep_events_lost_total Events that the figures lack, by reason\n"
          "# TYPE seep_events_lost_total counter\n",
          out);
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (uint32_t i = 0; i < SEEP_LOST_NR; i++) {
            if (!session->profiles[p]->health.lost[i])
                continue;
            fputs("seep_events_lost_total", out);
            put_labels(out, session->profiles[p]);
            fprintf(out, ",reason=\"%s\"} %" PRIu64 "\n", seep_lost_name(i),
                    session->profiles[p]->health.lost[i]);
        }
    fputs("# HELP seep_leaked_bytes Bytes by what a scan found\n# TYPE seep_leaked_bytes gauge\n", out);
    for (size_t p = 0; p < session->nr_profiles; p++)
        for (uint32_t i = SEEP_KIND_LOST; session->profiles[p]->leaks.known && i < SEEP_KIND_NR; i++) {
            fputs("seep_leaked_bytes", out);
            put_labels(out, session->profiles[p]);
            fprintf(out, ",class=\"%s\"} %" PRIu64 "\n", seep_kind_name(i),
                    session->profiles[p]->leaks.bytes[i]);
        }
}

static struct seep_error *put_metrics(FILE *out, struct serving *serving, struct seep_session *session,
                                      const char *path) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(metrics); i++) {
        fprintf(out, "# HELP seep_%s %s\n# TYPE seep_%s %s\n", metrics[i].name, metrics[i].help,
                metrics[i].name, metrics[i].type);
        for (size_t p = 0; p < session->nr_profiles; p++) {
            uint64_t value;
            memcpy(&value, (const char *)&session->profiles[p]->totals + metrics[i].offset, sizeof(value));
            fprintf(out, "seep_%s", metrics[i].name);
            put_labels(out, session->profiles[p]);
            fprintf(out, "} %" PRIu64 "\n", value);
        }
    }
    put_lost(out, session);
    return NULL;
}

// ---- pprof ----

static const struct seep_output *output_named(const char *name) {
    for (const struct seep_output *const *at = seep_outputs; *at; at++)
        if (strcmp((*at)->name, name) == 0 && (*at)->write)
            return *at;
    return NULL;
}

static struct seep_error *put_pprof(FILE *out, struct serving *serving, struct seep_session *session,
                                    const char *path) {
    struct seep_view_options options = serving->options;
    options.by = SEEP_BY_SITE;
    options.top = 0;
    options.full_paths = true;
    options.sort = strcmp(path, "/debug/pprof/heap") == 0 ? SEEP_SORT_LIVE : SEEP_SORT_BYTES;
    struct seep_view *view = NULL;
    struct seep_error *error = seep_view_create(session, SIZE_MAX, serving->symbols, &options, &view);
    if (!error)
        error = output_named("pprof")->write(out, view, &(struct seep_summary){.source = serving->source});
    seep_view_destroy(view);
    return error;
}

// ---- answers ----

static struct seep_error *answer_stream(struct serving *serving, const char *path,
                                        struct seep_error *(*put)(FILE *, struct serving *,
                                                                  struct seep_session *, const char *),
                                        struct seep_http_answer *answer) {
    struct seep_session *session = NULL;
    struct seep_error *error = open_now(serving, serving->source, &session);
    if (error)
        return error;
    char *text = NULL;
    size_t nr = 0;
    FILE *out = open_memstream(&text, &nr);
    error = out ? put(out, serving, session, path) : seep_error_no_memory();
    if (out && fclose(out) != 0 && !error)
        error = seep_error_no_memory();
    seep_session_destroy(session);
    if (error) {
        free(text);
        return error;
    }
    answer->body = (unsigned char *)text;
    answer->nr_bytes = nr;
    answer->status = 200;
    return NULL;
}

static bool is_open(const char *path) {
    return strcmp(path, "/") == 0; // the page: all that it shows it has to ask for
}

// "/data/traces", "/data/ID/sites", "/data/ID/times".
static struct seep_error *answer_of_folder(struct serving *serving, const char *path,
                                           struct seep_http_answer *answer) {
    static const char begin[] = "/data/";
    char id[SEEP_FOLDER_ID_CHARS + 1] = "";
    if (strcmp(path, "/data/traces") == 0) {
        char *text = NULL;
        struct seep_error *error = seep_folder_list(serving->source, &text);
        if (!error)
            *answer = (struct seep_http_answer){.status = 200,
                                                .type = "application/json",
                                                .body = (unsigned char *)text,
                                                .nr_bytes = strlen(text)};
        return error;
    }
    if (strncmp(path, begin, strlen(begin)) != 0)
        return NULL;
    path += strlen(begin);
    size_t nr = strspn(path, "0123456789abcdef");
    bool sites = nr == SEEP_FOLDER_ID_CHARS && strcmp(path + nr, "/sites") == 0;
    bool times = nr == SEEP_FOLDER_ID_CHARS && strcmp(path + nr, "/times") == 0;
    if (!sites && !times)
        return NULL;
    memcpy(id, path, SEEP_FOLDER_ID_CHARS);
    struct seep_error *error = answer_part(serving, id, times, answer);
    if (error && error->code == SEEP_E_NOT_FOUND) {
        seep_error_destroy(error);
        error = NULL;
    }
    return error;
}

// Paths are names of this table, and nothing else: there is no file behind them. Those of a folder name one
// of its traces by an id.
static void answer(void *data, const char *path, struct seep_http_answer *answer) {
    struct serving *serving = data;
    struct seep_error *error = NULL;
    answer->status = 404;
    if (strcmp(path, "/") == 0) {
        error = answer_page(serving, answer);
    } else if (serving->is_folder) {
        error = answer_of_folder(serving, path, answer);
    } else if (strcmp(path, "/data/sites") == 0) {
        error = answer_part(serving, NULL, false, answer);
    } else if (strcmp(path, "/data/times") == 0) {
        error = answer_part(serving, NULL, true, answer);
    } else if (strcmp(path, "/metrics") == 0) {
        answer->type = "text/plain; version=0.0.4; charset=utf-8";
        error = answer_stream(serving, path, put_metrics, answer);
    } else if (output_named("pprof") &&
               (strcmp(path, "/debug/pprof/heap") == 0 || strcmp(path, "/debug/pprof/allocs") == 0)) {
        answer->type = "application/octet-stream";
        error = answer_stream(serving, path, put_pprof, answer);
    }
    if (error) {
        answer->status = 500;
        seep_command_fail(
            error); // the terminal that started it should show it; the peer is told no more than that
    }
}

static struct seep_error *serve(struct serving *serving, const char *where) {
    struct seep_http_server server = {.answer = answer, .is_open = is_open, .data = serving};
    // What cannot be read is said before somebody looks.
    char *list = NULL;
    serving->is_folder = seep_folder_is_one(serving->source);
    struct seep_error *error =
        serving->is_folder ? seep_folder_list(serving->source, &list) : pack_now(serving);
    free(list);
    if (!error)
        error = seep_http_listen(&server, where);
    if (error)
        return error;
    printf("http://%s:%u/#token=%s\n", server.address, server.port, server.token);
    fflush(stdout);
    error = seep_http_serve(&server);
    seep_http_close(&server);
    return error;
}

// ---- the protocol ----

static void tell(const struct seep_server_listens *listens) {
    if (listens->made_key)
        fprintf(stderr, "seep: made the key %s: clients need a copy of it\n", listens->made_key);
    if (*listens->address) {
        puts(listens->address);
        fflush(stdout);
    }
}

static struct seep_error *run_link(const struct seep_arguments *arguments, const char *where,
                                   const char *key_file, bool keep) {
    struct seep_live_source source = {NULL};
    struct seep_started started = {.output_fd = -1};
    char name[16];
    bool stdio = seep_server_is_stdio(where);
    struct seep_error *bad = seep_server_address_check(where, key_file);
    if (bad)
        return bad;
    seep_interrupt_catch(NULL);
    if (arguments->ended) {
        struct seep_error *error = seep_started_begin(seep_runner, arguments->operands, !stdio, &started);
        if (error)
            return error;
        snprintf(name, sizeof(name), "%d", (int)started.program);
    }
    struct seep_error *error =
        seep_live_source_of(arguments->ended ? name : arguments->operands[0], NULL, &source);
    source.is_ours = arguments->ended;
    if (!error && (!source.is_pid || source.link))
        error = seep_shell_hint(
            seep_error_create(SEEP_E_USAGE, "serve: '%s' is no process", arguments->operands[0]),
            "a file is for a browser: seep serve --http", arguments->operands[0], "");
    bool done = false;
    if (!error && stdio && !arguments->ended)
        error = seep_server_stdio_run(&source, &done);
    if (!error && !done)
        error = seep_server_address_serve(&source, where, key_file, keep || !arguments->ended, tell);
    seep_live_source_deinit(&source);
    if (arguments->ended) {
        error = seep_started_look_error(&started, seep_runner, error);
        seep_started_end(&started);
    }
    return error;
}

static struct seep_error *run_serve(const struct seep_arguments *arguments, int *ret_status) {
    const struct serve_values *values = seep_arguments_values(arguments, &serve_group);
    if (values->http && values->listen)
        return seep_error_hint(
            seep_error_create(SEEP_E_USAGE, "--http and --listen exclude one another"),
            "--http ADDR says where a browser finds it; --listen is for seep top and connect");
    if (!arguments->ended && arguments->nr_operands > 1)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "serve: one PID or FILE"),
                               "a program to be started comes behind --");
    if (!values->http)
        return run_link(arguments, values->listen, values->key, values->keep);
    if (arguments->ended)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "serve: --http starts no program"),
                               "start it by 'seep run', and serve its PID");
    struct seep_suppress suppress = SEEP_SUPPRESS_INIT;
    struct serving serving = {
        .source = arguments->operands[0], .options = seep_view_options_default, .suppress = &suppress};
    serving.options.full_paths = values->full_paths;
    serving.options.no_demangle = values->no_demangle;
    serving.options.sysroot = values->sysroot;
    struct seep_error *error = seep_suppress_read(arguments, &suppress);
    if (!error)
        error = seep_report_symbols(&serving.options, serving.source, &serving.symbols);
    if (!error) {
        seep_interrupt_catch(NULL);
        error = serve(&serving, values->http);
    }
    seep_page_packed_deinit(&serving.packed);
    seep_symbols_destroy(serving.symbols);
    seep_suppress_deinit(&suppress);
    return error;
}

const struct seep_command seep_command_serve = {
    .name = "serve",
    .summary = "a traced process for seep top and connect elsewhere, or its page for a browser",
    .usage = "[options] PID|FILE|DIR | -- PROG [ARG...]",
    .about =
        "Prints the address to connect to, and answers until it is interrupted. With PROG it ends by itself\n"
        "five seconds after PROG has ended and the last client has left. Without --http it speaks\n"
        "the protocol of seep, on a socket that only you can open (unix:PATH), or on a network for those\n"
        "with the same key (tcp:HOST:PORT). 'seep connect ssh://HOST/PID' starts it with --listen stdio;\n"
        "so does the command of 'seep connect exec:COMMAND'. With --http it is for a browser: the token\n"
        "behind the # gives access, and /metrics is for Prometheus. It listens on this machine\n"
        "alone, unless told otherwise. DIR is a folder of traces (*.seep): the browser lists them.\n",
    .groups = (const struct seep_option_group *const[]){&serve_group, &seep_suppress_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep serve 1234", "for seep top and seep connect"},
            {"seep serve -- ./server --port 80", "start a program with it"},
            {"seep serve --listen tcp:10.0.0.7:7777 --key seep.key 1234",
             "for those who have a copy of the key"},
            {"seep serve --http 1234", "a traced process, in the browser"},
            {"seep serve --http traces/", "the traces of a folder, in the browser"},
            {"seep serve --http=127.0.0.1:8080 1234", "on a port that is known"},
            {NULL},
        },
    .operand = "PID|FILE",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .run = run_serve,
};
