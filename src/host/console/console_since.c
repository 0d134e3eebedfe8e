// SPDX-License-Identifier: BSD-2-Clause
// Changes since a mark, and growth from look to look.
#include <string.h>
#include <time.h>

#include "console/console_answer.h"

static struct seep_error *run_mark(struct seep_console *console, char *const *words, FILE *out) {
    char name[SEEP_MARK_NAME_MAX + 1], text[256];
    TRY(seep_console_needs_run(console, "mark"));
    if (words[0] && (strlen(words[0]) > SEEP_MARK_NAME_MAX || !*words[0] || strpbrk(words[0], "@#")))
        return seep_error_create(SEEP_E_USAGE, "mark: a name has 1 to %u bytes, and no @ and no #",
                                 SEEP_MARK_NAME_MAX);
    if (words[0])
        snprintf(name, sizeof(name), "%s", words[0]);
    else
        snprintf(name, sizeof(name), "m%u", ++console->nr_marks);
    TRY(seep_live_mark(&console->live, name));
    TRY(seep_live_source_mark(console->source, name));
    snprintf(text, sizeof(text), "since is counted from '%.100s' now", name);
    return seep_console_done(console, out, "mark", text);
}

static struct seep_error *run_reset(struct seep_console *console, char *const *words, FILE *out) {
    TRY(seep_live_mark(&console->live, "reset"));
    return seep_console_done(console, out, "reset",
                             "since is counted from now; the program's own counts go on");
}

static struct seep_error *run_diff(struct seep_console *console, char *const *words, FILE *out) {
    if (words[0])
        TRY(seep_live_mark_of_profile(&console->live, words[0]));
    else if (!console->live.mark[0])
        TRY(seep_live_mark_of_profile(&console->live, ""));
    struct seep_console_rows rows = {.name = "diff",
                                     .by = SEEP_BY_SITE,
                                     .sort = SEEP_LIVE_SORT_SINCE,
                                     .top = console->top,
                                     .empty = console->filter[0] ? "nothing is like the filter" : "nothing"};
    return seep_console_put_rows(console, &rows, out);
}

static void sleep_ms(const struct seep_console *console, int64_t ms) {
    for (; ms > 0 && !*console->stop; ms -= 50) {
        struct timespec time = {0, SEEP_MIN(ms, INT64_C(50)) * 1000000};
        nanosleep(&time, NULL);
    }
}

static struct seep_error *run_growth(struct seep_console *console, char *const *words, FILE *out) {
    uint64_t count = 20, ms = 250;
    if (words[0])
        TRY(seep_console_parse_count("growth", words[0], &count));
    if (words[0] && words[1])
        TRY(seep_console_parse_count("growth", words[1], &ms));
    for (uint64_t i = 0; i < count && seep_console_runs(console) && !console->paused && !*console->stop;
         i++) {
        sleep_ms(console, (int64_t)SEEP_MIN(SEEP_MAX(ms, UINT64_C(10)), UINT64_C(3600000)));
        struct seep_look look;
        seep_look_make(console->source, &console->live.look, &look);
        TRY(seep_live_take(&console->live, &look));
    }
    struct seep_console_rows rows = {.name = "growth",
                                     .by = SEEP_BY_SITE,
                                     .sort = SEEP_LIVE_SORT_LIVE,
                                     .all_threads = true,
                                     .growing = true,
                                     .empty = "nothing grows without bound"};
    return seep_console_put_rows(console, &rows, out);
}

const struct seep_console_command seep_console_since_commands[] = {
    {"mark", "[NAME]", "name this moment, in the image too", false, run_mark},
    {"diff", "[MARK]", "what came since the mark", false, run_diff},
    {"reset", "", "count what came from now on", false, run_reset},
    {"growth", "[N [MS]]", "look N times (20), every MS (250), and say what grows", false, run_growth},
    {NULL},
};
