// SPDX-License-Identifier: BSD-2-Clause
// What the commands show, and what the program records.
#include <inttypes.h>
#include <string.h>

#include "console/console_answer.h"
#include "output/grid.h"

static struct seep_error *run_show(struct seep_console *console, char *const *words, FILE *out) {
    static const struct seep_grid_column columns[] = {
        {"top", "top", SEEP_GRID_COUNT},      {"sort", "sort", SEEP_GRID_TEXT},
        {"filter", "filter", SEEP_GRID_TEXT}, {"thread", "thread", SEEP_GRID_TEXT},
        {"mark", "mark", SEEP_GRID_TEXT},     {"looks", "looks", SEEP_GRID_TEXT},
        {"depth", "depth", SEEP_GRID_COUNT},  {NULL}};
    struct seep_grid grid;
    seep_grid_init(&grid, columns);
    grid.one = true;
    char tid[16] = "all";
    if (console->tid)
        snprintf(tid, sizeof(tid), "%" PRIu32, console->tid);
    const char *const texts[] = {seep_live_sort_names[console->sort],
                                 console->filter[0] ? console->filter : "none", tid,
                                 console->live.mark[0] ? console->live.mark : "none",
                                 !seep_console_runs(console) ? "none"
                                 : console->paused           ? "paused"
                                                             : "before each command"};
    struct seep_error *error = seep_grid_number(&grid, (int64_t)console->top);
    for (size_t i = 0; !error && i < SEEP_ARRAY_SIZE(texts); i++)
        error = seep_grid_text(&grid, texts[i]);
    const uint32_t depth = seep_console_session(console)->profiles[0]->health.depth_limit;
    if (!error) // a recording without its end has none
        error = seep_grid_number_if(&grid, depth != 0, depth);
    return seep_console_answer(console, out, "show", &grid, error);
}

static struct seep_error *run_filter(struct seep_console *console, char *const *words, FILE *out) {
    if (words[0] && strlen(words[0]) >= sizeof(console->filter))
        return seep_error_create(SEEP_E_USAGE, "filter: that is too long");
    snprintf(console->filter, sizeof(console->filter), "%s", words[0] ? words[0] : "");
    return seep_console_done(console, out, "filter",
                             console->filter[0] ? "only what is like that is shown" : "all is shown");
}

static struct seep_error *control(struct seep_console *console, FILE *out, const char *name,
                                  const struct seep_image_control *asked) {
    bool done_now = false;
    char text[128];
    TRY(seep_console_needs_run(console, name));
    TRY(seep_live_source_control(console->source, &console->live.look, asked, &done_now));
    seep_live_describe_control(asked, done_now, text, sizeof(text));
    return seep_console_done(console, out, name, text);
}

static struct seep_error *run_stop(struct seep_console *console, char *const *words, FILE *out) {
    return control(console, out, "stop", &(struct seep_image_control){.recording = SEEP_RECORDING_STOP});
}

static struct seep_error *run_start(struct seep_console *console, char *const *words, FILE *out) {
    return control(console, out, "start", &(struct seep_image_control){.recording = SEEP_RECORDING_START});
}

static struct seep_error *set_depth(struct seep_console *console, uint64_t depth, FILE *out) {
    if (depth < 1 || depth > SEEP_CONTROL_DEPTH_MOST)
        return seep_error_create(SEEP_E_USAGE, "set depth: 1 to %u frames", SEEP_CONTROL_DEPTH_MOST);
    return control(console, out, "set", &(struct seep_image_control){.depth = (uint32_t)depth});
}

// 0: all. Only a thread of the last look has rows.
static struct seep_error *set_thread(struct seep_console *console, uint64_t tid) {
    const struct seep_session *session = seep_console_session(console);
    bool found = !tid;
    for (size_t p = 0; !found && session && p < session->nr_profiles; p++)
        for (uint32_t i = 0; !found && i < session->profiles[p]->nr_threads; i++)
            found = session->profiles[p]->threads[i].tid == tid;
    if (!found)
        return seep_error_hint(
            seep_error_create(SEEP_E_NOT_FOUND, "set: the last look has no thread %" PRIu64, tid),
            "'threads' lists them");
    console->tid = (uint32_t)tid;
    return NULL;
}

static struct seep_error *run_set(struct seep_console *console, char *const *words, FILE *out) {
    const char *key = words[0], *value = key ? words[1] : NULL;
    uint64_t number = 0;
    if (!key || !value)
        return seep_error_create(SEEP_E_USAGE,
                                 "set: top N, sort KEY, filter RE, thread TID, depth N, or json on|off");
    if (strcmp(key, "filter") == 0)
        return run_filter(console, words + 1, out);
    if (strcmp(key, "depth") == 0) {
        TRY(seep_console_parse_count("depth", value, &number));
        return set_depth(console, number, out);
    }
    if (strcmp(key, "top") == 0) {
        TRY(seep_console_parse_count("top", value, &console->top));
    } else if (strcmp(key, "thread") == 0) {
        TRY(seep_console_parse_count("thread", strcmp(value, "all") == 0 ? "0" : value, &number));
        TRY(set_thread(console, number));
    } else if (strcmp(key, "json") == 0) {
        bool is_on = strcmp(value, "on") == 0;
        if (!is_on && strcmp(value, "off") != 0)
            return seep_error_create(SEEP_E_USAGE, "set json: on or off, not '%s'", value);
        console->json = is_on;
    } else if (strcmp(key, "sort") == 0) {
        int found = -1;
        for (int i = 0; seep_live_sort_names[i]; i++)
            if (strcmp(seep_live_sort_names[i], value) == 0)
                found = i;
        if (found < 0)
            return seep_error_create(SEEP_E_USAGE,
                                     "sort: live, rate, since, blocks, allocations or temporary");
        console->sort = found;
    } else {
        return seep_error_create(SEEP_E_USAGE,
                                 "set: there is no '%s' (top, sort, filter, thread, depth or json)", key);
    }
    return run_show(console, words, out);
}

// Of what does not change there are no looks to pause.
static const char *no_looks(const struct seep_console *console) {
    return console->source->is_pid ? "no new looks are made: the program has ended"
                                   : "no new looks are made: a file does not change";
}

static struct seep_error *run_pause(struct seep_console *console, char *const *words, FILE *out) {
    if (!seep_console_runs(console))
        return seep_console_done(console, out, "pause", no_looks(console));
    console->paused = true;
    return seep_console_done(console, out, "pause",
                             "all commands are of the last look now; the program runs on");
}

static struct seep_error *run_resume(struct seep_console *console, char *const *words, FILE *out) {
    console->paused = false;
    return seep_console_done(console, out, "resume",
                             seep_console_runs(console) ? "a look is made before each command"
                                                        : no_looks(console));
}

const char *const seep_console_setting_words[] = {"set top",
                                                  "set sort live",
                                                  "set sort rate",
                                                  "set sort since",
                                                  "set sort blocks",
                                                  "set sort allocations",
                                                  "set sort temporary",
                                                  "set filter",
                                                  "set thread all",
                                                  "set depth",
                                                  "set json on",
                                                  "set json off",
                                                  NULL};

const struct seep_console_command seep_console_setting_commands[] = {
    {"filter", "[RE]", "only what has a function, file or module like this; without RE: all", true,
     run_filter},
    {"stop", "", "record no allocations from now on", false, run_stop},
    {"start", "", "record them again", false, run_start},
    {"set", "KEY VALUE",
     "top N, sort KEY, filter RE, thread TID, json on|off; depth N of the program's stacks", true, run_set},
    {"show", "", "what is set", false, run_show},
    {"pause", "", "no new looks: all commands are of the last one", true, run_pause},
    {"resume", "", "a look before each command again", true, run_resume},
    {NULL},
};
