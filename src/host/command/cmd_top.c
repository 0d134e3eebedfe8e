// SPDX-License-Identifier: BSD-2-Clause
// `seep top PID|FILE`: a live screen of a traced process. The program is only looked at.
#include <langinfo.h>
#include <locale.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/numbers.h"
#include "command/command.h"
#include "command/report_options.h"
#include "command/suppress_options.h"
#include "session/started_program.h"
#include "command/trace_name.h"
#include "file/session_file.h"
#include "live/live_worker.h"
#include "output/format.h"
#include "screen/full_screen.h"
#include "screen/screen.h"

#define INTERVAL_LEAST_NS INT64_C(50000000)
#define KEPT_MOST         (32 << 20) // bytes: the greatest threshold that glibc takes

struct top_values {
    int64_t interval_ns;
    int by;
    int sort;
    const char *filter;
    uint64_t rows;
    bool once;
    bool ascii;
    bool no_demangle;
    const char *sysroot;
    const char *key;
};

static const struct top_values top_defaults = {.interval_ns = 1000000000};

#define AT(field) offsetof(struct top_values, field)

static const struct seep_option top_options[] = {
    {"interval", 'i', SEEP_OPTION_DURATION, AT(interval_ns), .help = "look every T (default 1s)"},
    {"by", 0, SEEP_OPTION_CHOICE, AT(by), .value = "TAB", .choices = seep_tab_names,
     .help = "what to begin with (default sites)"},
    {"sort", 0, SEEP_OPTION_CHOICE, AT(sort), .value = "KEY", .choices = seep_live_sort_names,
     .help = "what is biggest (default live)"},
    {"filter", 0, SEEP_OPTION_STRING, AT(filter), .value = "RE",
     .help = "only what has a function, file or module like this in its stack"},
    {"once", 0, SEEP_OPTION_FLAG, AT(once), .help = "print one screen as plain text, after two looks"},
    {"rows", 0, SEEP_OPTION_NUMBER, AT(rows), .min = 1, .max = 900, .value = "N",
     .help = "of plain text: lines of a screen (default 24, or as the terminal has)"},
    {"ascii", 0, SEEP_OPTION_FLAG, AT(ascii),
     .help = "no other characters than ASCII; so it is by itself where the locale has no more"},
    {"key", 0, SEEP_OPTION_STRING, AT(key), .value = "FILE",
     .help = "for tcp:HOST:PORT: the key that the server has"},
    {"no-demangle", 0, SEEP_OPTION_FLAG, AT(no_demangle), .help = "symbol names as they are in the file"},
    {"sysroot", 0, SEEP_OPTION_STRING, AT(sysroot), .value = "DIR",
     .help = "programs and libraries are those under DIR, if their build-ids are the same"},
    {NULL},
};

static const struct seep_option_group top_group = {.title = "Options",
                                                   .options = top_options,
                                                   .values_bytes = sizeof(struct top_values),
                                                   .defaults = &top_defaults};

struct top {
    struct seep_live_source source;
    struct seep_live live;
    struct seep_screen screen;
    struct seep_canvas canvas;
    struct seep_live_worker *worker; // of a full screen, as the next
    struct seep_screen_maker *maker;
    struct seep_started *started; // NULL: it was there
    bool ascii;
    bool partial; // what there is are the first sites of a link
    bool scan_wanted;
    struct seep_live_order orders[8]; // marks and controls that wait for the worker, the oldest first
    size_t nr_orders;
    unsigned nr_marks;
    int64_t next_ns; // when the next look is due
};

// ---- looks ----

static struct seep_error *look(struct top *top) {
    struct seep_look look;
    seep_look_make(&top->source, top->live.look.session ? &top->live.look : NULL, &look);
    seep_screen_changed(&top->screen);
    struct seep_error *error = seep_live_take(&top->live, &look);
    // What a file has a mark of is counted from it.
    if (!error && !top->source.is_pid && !top->live.mark[0])
        seep_error_destroy(seep_live_mark_of_profile(&top->live, ""));
    return error;
}

static void take_output(struct top *top) {
    char *line;
    for (unsigned i = 0; top->started && i < SEEP_LIVE_LOG && (line = seep_started_line(top->started)); i++) {
        seep_live_log(&top->live, "%s", line);
        free(line);
    }
}

// At most a fifth of the time is spent on looking, however large the image is.
static void plan_next(struct top *top) {
    int64_t took_ns = top->live.look.took_ns, now_ns = seep_monotonic_ns();
    top->next_ns = SEEP_MAX(now_ns - took_ns + top->screen.interval_ns, now_ns + 4 * took_ns);
}

// ---- plain text ----

static void plain_size(const struct top_values *values, int *ret_columns, int *ret_rows) {
    struct winsize window = {0};
    const char *columns = getenv("COLUMNS");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) != 0)
        window = (struct winsize){0};
    *ret_columns = window.ws_col ? window.ws_col : columns ? atoi(columns) : 0;
    if (*ret_columns < 1 || *ret_columns > SEEP_CANVAS_MOST)
        *ret_columns = 80;
    *ret_rows = values->rows ? (int)values->rows : window.ws_row ? window.ws_row : 24;
}

static struct seep_error *print_screen(struct top *top, const struct top_values *values) {
    int nr_columns, nr_rows;
    plain_size(values, &nr_columns, &nr_rows);
    if (!seep_canvas_begin(&top->canvas, nr_columns, nr_rows, top->ascii))
        return seep_error_no_memory();
    top->screen.no_detail = true;
    seep_screen_draw(&top->screen, &top->canvas);
    int nr = nr_rows;
    for (; nr > 0; nr--) { // not the empty lines at the end
        char *line = seep_canvas_line(&top->canvas, nr - 1);
        bool empty = line && !*line;
        free(line);
        if (!empty)
            break;
    }
    for (int y = 0; y < nr; y++) {
        char *line = seep_canvas_line(&top->canvas, y);
        if (!line)
            return seep_error_no_memory();
        puts(line);
        free(line);
    }
    fflush(stdout);
    return NULL;
}

// Screens one below the other, as long as there is something new. That they could not be written is said by
// main(), as of all commands.
static struct seep_error *run_plain(struct top *top, const struct top_values *values) {
    top->screen.plain = true;
    struct seep_error *error = NULL;
    for (bool again = false; !error; again = true) {
        bool is_whole = again || top->live.look.ended; // after two looks there are rates
        if (!values->once || is_whole)
            error = print_screen(top, values);
        if (error || ferror(stdout) || top->live.look.ended || seep_interrupted || (values->once && is_whole))
            break;
        if (!values->once)
            putchar('\n');
        plan_next(top);
        seep_sleep_until(top->next_ns, &seep_interrupted);
        error = look(top);
        take_output(top);
    }
    return error;
}

// ---- a full screen ----

static void say_error(struct top *top, struct seep_error *error) {
    seep_screen_say(&top->screen, true, error->message);
    seep_live_log(&top->live, "%s", error->message);
    seep_error_destroy(error);
}

// The worker does it when it is free: a key is answered at once, however far away the process is.
static void give_order(struct top *top, const struct seep_live_order *order) {
    if (top->nr_orders == SEEP_ARRAY_SIZE(top->orders))
        seep_screen_say(&top->screen, true, "the process does not answer");
    else
        top->orders[top->nr_orders++] = *order;
}

// What is to be recorded: "stop", "start", or a depth.
static void change_recording(struct top *top, const char *what) {
    struct seep_live_order order = {.job = SEEP_LIVE_CONTROL};
    char *end = NULL;
    if (!top->source.is_pid || top->live.look.ended) {
        seep_screen_say(&top->screen, true, "what has ended records nothing");
        return;
    }
    if (strcmp(what, "stop") == 0)
        order.control.recording = SEEP_RECORDING_STOP;
    else if (strcmp(what, "start") == 0)
        order.control.recording = SEEP_RECORDING_START;
    else
        order.control.depth = (uint32_t)SEEP_MIN(strtoul(what, &end, 10), (unsigned long)UINT32_MAX);
    if (end && (*end || order.control.depth < 1 || order.control.depth > SEEP_CONTROL_DEPTH_MOST)) {
        seep_screen_say(&top->screen, true, "depth: a number of frames");
        return;
    }
    give_order(top, &order);
}

// The moment is named in the image, too, for seep diff; where it cannot be it counts here only.
static void make_mark(struct top *top, const char *given) {
    char name[64], text[160];
    seep_screen_finish(&top->screen);
    snprintf(name, sizeof(name), "%.63s", given);
    if (!name[0] && top->source.is_pid)
        snprintf(name, sizeof(name), "m%u", ++top->nr_marks);
    name[strcspn(name, "@#")] = 0; // they stand before a name, and before its number
    struct seep_error *error =
        top->source.is_pid ? seep_live_mark(&top->live, name) : seep_live_mark_of_profile(&top->live, name);
    if (error) {
        say_error(top, error);
        return;
    }
    top->screen.stale = true;
    if (top->source.is_pid && !top->live.look.ended) {
        struct seep_live_order order = {.job = SEEP_LIVE_MARK};
        snprintf(order.mark, sizeof(order.mark), "%s", name);
        give_order(top, &order);
    }
    snprintf(text, sizeof(text), "since \"%s\" from now on; d sorts by it", top->live.mark);
    seep_screen_say(&top->screen, false, text);
}

static void save(struct top *top, const char *given) {
    seep_screen_finish(&top->screen);
    struct seep_session *session = top->live.look.session;
    const struct seep_process *process = &session->profiles[0]->process;
    char *name = NULL, *saved = NULL, *text = NULL;
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && top->source.is_pid && i < session->nr_profiles; i++)
        error = seep_series_give(&top->live.lives[top->live.life_of[i]]->series, session->profiles[i]);
    if (!error)
        error = seep_trace_name(*given ? given : SEEP_TRACE_NAME_SNAP, process->name, process->pid, &name);
    if (!error)
        error = seep_session_save_beside(session, name, &saved);
    char *operand = error ? NULL : seep_shell_operand(saved);
    if (error)
        say_error(top, error);
    else if (operand && asprintf(&text, "saved: seep report %s", operand) >= 0)
        seep_screen_say(&top->screen, false, text);
    free(operand);
    free(text);
    free(saved);
    free(name);
}

static bool fulfil(struct top *top, enum seep_wish wish) {
    switch (wish) {
    case SEEP_WISH_QUIT:
        return false;
    case SEEP_WISH_SCAN:
        if (!top->source.is_pid || top->live.look.ended)
            seep_screen_say(&top->screen, true, "only what runs can be scanned");
        else
            top->scan_wanted = true;
        break;
    case SEEP_WISH_MARK:
        make_mark(top, top->screen.argument);
        break;
    case SEEP_WISH_RECORDING:
        change_recording(top, top->screen.argument);
        break;
    case SEEP_WISH_SAVE:
        save(top, top->screen.argument);
        break;
    default:
        break;
    }
    return true;
}

static void start_job(struct top *top) {
    if (seep_live_worker_is_busy(top->worker) || !top->source.is_pid || top->live.look.ended)
        return;
    struct seep_live_order order = {.job = SEEP_LIVE_LOOK, .before = &top->live.look};
    if (top->nr_orders) {
        order = top->orders[0];
        order.before = &top->live.look;
        memmove(top->orders, top->orders + 1, --top->nr_orders * sizeof(*top->orders));
        (void)seep_live_worker_start(top->worker, &order);
    } else if (top->scan_wanted) {
        top->scan_wanted = false;
        order.job = SEEP_LIVE_SCAN;
        top->screen.scanning = seep_live_worker_start(top->worker, &order);
    } else if (!top->screen.frozen && seep_monotonic_ns() >= top->next_ns) {
        (void)seep_live_worker_start(top->worker, &order);
    }
}

static void take_scan(struct top *top, struct seep_look *look) {
    char text[128];
    top->screen.scanning = false;
    if (!look->error) {
        seep_screen_finish(&top->screen); // it uses the symbols
        look->error = seep_suppress_apply_defaults(look->session, top->screen.symbols);
    }
    if (look->error) {
        struct seep_error *error = look->error;
        look->error = NULL;
        say_error(top, error);
        return;
    }
    const struct seep_leaks *leaks = &look->session->profiles[0]->leaks;
    snprintf(text, sizeof(text), "scanned: %s lost; the program waited %s",
             seep_format_bytes(leaks->bytes[SEEP_KIND_LOST] + leaks->bytes[SEEP_KIND_INDIRECT]).text,
             seep_format_duration(leaks->pause_ns).text);
    seep_live_log(&top->live, "%s", text);
    const struct seep_health *health = &look->session->profiles[0]->health;
    for (size_t i = 0; i < health->nr_notes; i++)
        seep_live_log(&top->live, "%s", health->notes[i].text);
    seep_screen_say(&top->screen, false, text);
    seep_screen_drop(&top->screen);
    seep_live_take_scan(&top->live, look->session, look->at_ns);
    look->session = NULL;
}

static void tell_control(struct top *top, const struct seep_live_result *result) {
    char text[128];
    seep_live_describe_control(&result->control, result->obeyed, text, sizeof(text));
    seep_screen_say(&top->screen, false, text);
}

static void take_order(struct top *top, struct seep_live_result *result) {
    struct seep_error *error = result->look.error;
    result->look.error = NULL;
    if (error)
        say_error(top, error);
    else if (result->job == SEEP_LIVE_CONTROL)
        tell_control(top, result);
    seep_look_deinit(&result->look);
    if (result->job == SEEP_LIVE_CONTROL)
        top->next_ns = seep_monotonic_ns();
}

static void tell_link(struct top *top, const struct seep_error *error) {
    if (error)
        seep_screen_say(&top->screen, true, error->message);
    else if (top->screen.unlinked)
        seep_screen_say(&top->screen, false, "the link is back");
    top->screen.unlinked = error != NULL;
}

static struct seep_error *take_result(struct top *top) {
    struct seep_live_result result;
    struct seep_error *error = NULL;
    if (!seep_live_worker_take(top->worker, &result))
        return NULL;
    if (result.job == SEEP_LIVE_SCAN) {
        take_scan(top, &result.look);
        seep_look_deinit(&result.look);
    } else if (result.job != SEEP_LIVE_LOOK) {
        take_order(top, &result);
    } else if (top->screen.frozen) { // it was frozen meanwhile
        seep_look_deinit(&result.look);
    } else if (top->partial && result.look.error) {
        take_order(top, &result);
        plan_next(top);
    } else {
        seep_screen_changed(&top->screen);
        if (top->partial) { // it begins now
            seep_screen_drop(&top->screen);
            seep_live_deinit(&top->live);
            seep_live_init(&top->live);
            top->partial = top->screen.loading = false;
        }
        if (top->source.link)
            tell_link(top, result.look.error);
        error = seep_live_take(&top->live, &result.look);
        plan_next(top);
    }
    return error;
}

static void show(struct top *top) {
    int nr_columns, nr_rows;
    seep_full_screen_size(&nr_columns, &nr_rows);
    if (!seep_canvas_begin(&top->canvas, nr_columns, nr_rows, top->ascii))
        return;
    seep_screen_draw(&top->screen, &top->canvas);
    seep_full_screen_show(&top->canvas);
}

// All keys that wait. false: it is to end.
static bool take_keys(struct top *top) {
    bool click = false;
    int x = 0, y = 0;
    for (unsigned i = 0; i < 256; i++) {
        int key = seep_full_screen_key(&click, &x, &y);
        if (key == SEEP_KEY_NONE && !click)
            return true;
        enum seep_wish wish =
            click ? seep_screen_click(&top->screen, &top->canvas, x, y) : seep_screen_key(&top->screen, key);
        if (!fulfil(top, wish))
            return false;
    }
    return true;
}

static int milliseconds_left(const struct top *top) {
    if (!top->source.is_pid || top->live.look.ended)
        return 60000;
    if (top->screen.frozen || seep_live_worker_is_busy(top->worker))
        return 1000;
    int64_t left_ns = top->next_ns - seep_monotonic_ns();
    return (int)SEEP_MIN(SEEP_MAX(left_ns / 1000000 + 1, INT64_C(0)), INT64_C(1000));
}

// An endless run of keys does not prevent looks.
#define MAKING_MOST 8u

static struct seep_error *run_full(struct top *top) {
    struct seep_error *error = seep_live_worker_create(&top->source, &top->worker);
    if (!error)
        error = seep_screen_maker_create(&top->maker);
    if (!error)
        error = seep_full_screen_begin();
    if (error)
        return error;
    top->screen.maker = top->maker;
    plan_next(top);
    if (top->partial)
        top->next_ns = seep_monotonic_ns();
    bool goes_on = true, put_off = false;
    unsigned nr_making = 0; // turns in which a table was being made
    while (!error && goes_on && !seep_interrupted) {
        take_output(top);
        start_job(top);
        show(top);
        // What is being made has borrowed the last look: the next is taken when it is done.
        nr_making = top->screen.making ? nr_making + 1 : 0;
        bool later = nr_making && nr_making < MAKING_MOST;
        struct pollfd wait[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                                {.fd = later ? -1 : seep_live_worker_fd(top->worker), .events = POLLIN},
                                {.fd = seep_screen_maker_fd(top->maker), .events = POLLIN}};
        int nr = poll(wait, SEEP_ARRAY_SIZE(wait), milliseconds_left(top));
        // A key is answered before the next look, because a look takes 50 ms at 100,000 sites. An endless run
        // of keys does not prevent looks.
        put_off = nr > 0 && wait[0].revents & POLLIN && wait[1].revents && !put_off;
        if (nr > 0 && wait[1].revents && !put_off)
            error = take_result(top);
        goes_on = take_keys(top); // after a change of size, too
        // A terminal that is gone can be read for ever, and each read gives nothing.
        if (nr > 0 && wait[0].revents & (POLLHUP | POLLERR | POLLNVAL))
            break;
    }
    seep_full_screen_end();
    return error;
}

// ---- the command ----

// Over a link at first what has most, so that there is something to be seen.
#define FIRST_SITES 20u
#define NEW_IMAGE_NS                                                                                         \
    INT64_C(2000000000) // from exec to the image of the new program, on a machine with much to do
static struct seep_error *look_first(struct top *top) {
    struct seep_look first;
    seep_look_make_top(&top->source, FIRST_SITES, &first);
    if (first.error) { // of an older server, for example
        seep_look_deinit(&first);
        return look(top);
    }
    seep_screen_changed(&top->screen);
    top->partial = top->screen.loading = true;
    return seep_live_take(&top->live, &first);
}

// A program that was started here was traced a moment ago: where it is not, it may be between exec and its
// new image.
static struct seep_error *look_patiently(struct top *top) {
    int64_t until_ns = seep_monotonic_ns() + NEW_IMAGE_NS;
    struct seep_error *error = look(top);
    while (error && top->started && (error->code == SEEP_E_NOT_FOUND || error->code == SEEP_E_FORMAT) &&
           !seep_interrupted && seep_monotonic_ns() < until_ns && kill(top->started->program, 0) == 0) {
        seep_error_destroy(error);
        poll(NULL, 0, 5);
        error = look(top);
    }
    return error;
}

static struct seep_error *watch(struct top *top, const struct top_values *values) {
    const char *why = NULL;
    bool full = !values->once && seep_full_screen_is_possible(&why);
    struct seep_error *error = full && top->source.link ? look_first(top) : look_patiently(top);
    if (error)
        return error;
    if (full)
        return run_full(top);
    if (!values->once && isatty(STDOUT_FILENO))
        fprintf(stderr, "seep: no full screen, because %s\n", why);
    return run_plain(top, values);
}

// Each key and each look makes large arrays anew. Where the allocator keeps their memory, the kernel does not
// clear it again and again: that took a third of the time of a key.
static void keep_memory(void) {
#ifdef M_MMAP_THRESHOLD
    (void)mallopt(M_MMAP_THRESHOLD, KEPT_MOST);
    (void)mallopt(M_TRIM_THRESHOLD, 4 * KEPT_MOST);
    (void)mallopt(M_ARENA_MAX, 1); // what one thread frees the other takes
#endif
}

static struct seep_error *run_top(const struct seep_arguments *arguments, int *ret_status) {
    const struct top_values *values = seep_arguments_values(arguments, &top_group);
    struct seep_view_options view = {.no_demangle = values->no_demangle, .sysroot = values->sysroot};
    struct seep_symbols *symbols = NULL;
    struct seep_started started = {.output_fd = -1};
    struct top top = {.ascii = values->ascii};
    char name[16];
    if (values->interval_ns < INTERVAL_LEAST_NS)
        return seep_error_create(SEEP_E_USAGE, "--interval: less than 50ms");
    if (!arguments->ended && arguments->nr_operands > 1)
        return seep_error_hint(seep_error_create(SEEP_E_USAGE, "top: one PID or FILE"),
                               "a program to be started comes behind --");
    // Of the locale only what characters are: figures look the same everywhere.
    if (!setlocale(LC_CTYPE, "") || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
        top.ascii = true;
    struct seep_error *error =
        seep_report_symbols(&view, arguments->ended ? NULL : arguments->operands[0], &symbols);
    if (error)
        return error;
    keep_memory();
    if (arguments->ended) {
        seep_interrupt_catch(NULL);
        error = seep_started_begin(seep_runner, arguments->operands, false, &started);
        snprintf(name, sizeof(name), "%d", (int)started.program);
        if (!error)
            top.started = &started;
    }
    if (!error)
        error =
            seep_live_source_of(arguments->ended ? name : arguments->operands[0], values->key, &top.source);
    if (!arguments->ended) // a server that does not greet is left by an interrupt, which ends seep
        seep_interrupt_catch(NULL);
    if (top.source.link)
        seep_wire_client_stop_by(top.source.link, &seep_interrupted);
    seep_live_init(&top.live);
    seep_screen_init(&top.screen, &top.live, symbols);
    top.screen.is_file = !top.source.is_pid;
    top.screen.interval_ns = values->interval_ns;
    top.screen.tab = values->by;
    top.screen.sort = values->sort;
    if (values->filter)
        snprintf(top.screen.filter, sizeof(top.screen.filter), "%s", values->filter);
    if (!error)
        error = watch(&top, values);
    if (top.started)
        error = seep_started_look_error(&started, seep_runner, error);
    seep_wire_client_leave(top.source.link);
    seep_live_worker_destroy(top.worker); // it has borrowed the last look
    seep_screen_deinit(&top.screen);
    seep_screen_maker_destroy(top.maker);
    if (top.started && !error && !top.live.look.ended)
        fprintf(stderr, "seep: process %d goes on; 'seep top %d' shows it again\n", (int)started.program,
                (int)started.program);
    if (top.started)
        seep_started_end(&started);
    seep_live_deinit(&top.live);
    seep_live_source_deinit(&top.source);
    seep_canvas_deinit(&top.canvas);
    seep_symbols_destroy(symbols);
    (void)ret_status;
    return error;
}

const struct seep_command seep_command_top = {
    .name = "top",
    .summary = "a live screen of a traced process",
    .usage = "[options] PID|FILE|ADDR | -- PROG [ARG...]",
    .about =
        "PID is a process that is being traced, shown with its traced descendants: it is only looked\n"
        "at, and never waits. FILE is a saved trace.\n"
        "PROG is started by 'seep run', which saves its trace when it ends; what it writes is in the log "
        "(8).\n"
        "? shows the keys. Where the terminal has no full screen, or the output is no terminal, screens are\n"
        "printed one below the other.\n"
        "\n" SEEP_HELP_ADDRESS,
    .groups = (const struct seep_option_group *const[]){&top_group, NULL},
    .examples =
        (const struct seep_example[]){
            {"seep top 1234", "what it allocates, as it runs"},
            {"seep top -- ./server --port 80", "start a program with it"},
            {"seep top --once --by functions 1234", "one look as text"},
            {"seep top app.seep", "a saved trace"},
            {NULL},
        },
    .operand = "PID|FILE",
    .min_operands = 1,
    .max_operands = SEEP_OPERANDS_ANY,
    .run = run_top,
};
