// SPDX-License-Identifier: BSD-2-Clause
// The function to name, see report_lsan.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/sum.h"
#include "names/library_code.h"
#include "view/stacks.h"
#include "output/lsan_lines.h"
#include "output/report_lsan.h"

struct share { // of one line
    struct seep_lsan_taken taken;
    size_t last_row; // + 1: a function is often more than once in a stack
};

struct seep_lsan_census {
    struct seep_map ids; // hash of the line -> index in shares
    struct share *shares;
    size_t nr_shares;
    size_t shares_capacity;
};

// The better a frame is to name, the lower.
enum tier {
    TIER_FUNCTION,
    TIER_VAGUE,   // gcc's LeakSanitizer has one name for it and for many others
    TIER_MODULE,  // the function has no name
    TIER_RUNTIME, // the program's own code has nothing but main
    TIER_NONE,
};

struct candidate {
    enum tier tier;
    char *lines;
    struct seep_lsan_taken taken;
};

// ---- frames as lines ----

// The loader has a malloc of its own that calls the program's: its name would be on every leak.
static bool is_allocator(const char *function) {
    static const char *const names[] = {"malloc",   "calloc",        "realloc",        "reallocarray",
                                        "memalign", "aligned_alloc", "posix_memalign", "valloc",
                                        "pvalloc",  "operator new"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
        if (strncmp(function, names[i], strlen(names[i])) == 0 &&
            (!function[strlen(names[i])] || strncmp(names[i], "operator", 8) == 0))
            return true;
    return false;
}

// What is in every stack.
static bool is_main(const struct seep_view_frame *frame) {
    return frame->function &&
           (strcmp(frame->function, "main") == 0 || strcmp(frame->function, "_start") == 0);
}

static struct seep_error *make_lines(const struct seep_view_frame *frame, struct seep_lsan_lines *ret_lines) {
    if (frame->function)
        return seep_lsan_lines_init(ret_lines, frame->function, frame->linkage) ? NULL
                                                                                : seep_error_no_memory();
    const char *slash = strrchr(frame->module, '/');
    *ret_lines = (struct seep_lsan_lines){NULL, NULL, false};
    return asprintf(&ret_lines->whole, "leak:%s", slash ? slash + 1 : frame->module) < 0
               ? seep_error_no_memory()
               : NULL;
}

static enum tier tier_of(const struct seep_view_frame *frame, const struct seep_lsan_lines *lines) {
    if (frame->folded || is_main(frame) || (frame->function && is_allocator(frame->function)))
        return TIER_NONE;
    if (frame->runtime || seep_function_is_std(frame->function, frame->file))
        return TIER_RUNTIME;
    return !frame->function ? TIER_MODULE : lines->vague ? TIER_VAGUE : TIER_FUNCTION;
}

// ---- the census ----

static struct seep_error *share_of(struct seep_lsan_census *census, const char *line,
                                   struct share **ret_share) {
    bool is_new;
    uint64_t *id = seep_map_at(&census->ids, seep_hash_bytes(line, strlen(line)), &is_new);
    if (!id ||
        !seep_grow(&census->shares, &census->shares_capacity, census->nr_shares + 1, sizeof(*census->shares)))
        return seep_error_no_memory();
    if (is_new) {
        *id = census->nr_shares++;
        census->shares[*id] = (struct share){.last_row = 0};
    }
    *ret_share = &census->shares[*id];
    return NULL;
}

static struct seep_error *count_line(struct seep_lsan_census *census, const char *line, size_t index,
                                     const struct seep_view_row *row) {
    struct share *share;
    struct seep_error *error = line ? share_of(census, line, &share) : NULL;
    if (error || !line || share->last_row == index + 1)
        return error;
    share->last_row = index + 1;
    share->taken.nr_rows++;
    seep_add_signed(&share->taken.blocks, row->live_blocks - row->suppressed_blocks);
    seep_add_signed(&share->taken.bytes, row->live_bytes - row->suppressed_bytes);
    return NULL;
}

static struct seep_error *count_row(struct seep_lsan_census *census, struct seep_view *all, size_t index) {
    const struct seep_view_row *row = &all->rows[index];
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct seep_error *error = seep_view_frames(all, row, &frames, &nr, &more);
    for (size_t i = 0; !error && i < nr; i++) {
        struct seep_lsan_lines lines;
        error = frames[i].folded ? NULL : make_lines(&frames[i], &lines);
        if (error || frames[i].folded)
            continue;
        error = count_line(census, lines.whole, index, row);
        if (!error)
            error = count_line(census, lines.bare, index, row);
        seep_lsan_lines_deinit(&lines);
    }
    return error;
}

struct seep_error *seep_lsan_census_create(const struct seep_view *view,
                                           struct seep_lsan_census **ret_census) {
    struct seep_view_options options = seep_view_options_default;
    options.top = 0;
    options.full_paths = true;
    options.no_demangle = view->options.no_demangle;
    options.kinds = view->session->profiles[0]->leaks.known ? SEEP_KINDS_UNHELD : 0;
    struct seep_lsan_census *census = calloc(1, sizeof(*census));
    struct seep_view *all = NULL;
    struct seep_error *error =
        census ? seep_view_create(view->session, SIZE_MAX, view->stacks->symbols, &options, &all)
               : seep_error_no_memory();
    for (size_t i = 0; !error && i < all->nr_rows; i++)
        if (all->rows[i].live_blocks > all->rows[i].suppressed_blocks)
            error = count_row(census, all, i);
    seep_view_destroy(all);
    if (error)
        seep_lsan_census_destroy(census);
    else
        *ret_census = census;
    return error;
}

void seep_lsan_census_destroy(struct seep_lsan_census *census) {
    if (!census)
        return;
    seep_map_deinit(&census->ids);
    free(census->shares);
    free(census);
}

// ---- the choice ----

// What both lines take: a suppression that has the first has the second.
static struct seep_error *find_taken(struct seep_lsan_census *census, const struct seep_lsan_lines *lines,
                                     struct seep_lsan_taken *ret_taken) {
    struct share *share;
    struct seep_error *error = share_of(census, lines->bare ? lines->bare : lines->whole, &share);
    if (!error)
        *ret_taken = share->taken;
    return error;
}

// Of the runtime the innermost is what the program called last; what is below it is in many stacks.
static bool is_better(const struct candidate *best, enum tier tier, const struct seep_lsan_taken *taken) {
    if (tier != best->tier)
        return tier < best->tier;
    return tier != TIER_RUNTIME && taken->nr_rows < best->taken.nr_rows;
}

static struct seep_error *consider(struct seep_lsan_census *census, const struct seep_view_frame *frame,
                                   struct candidate *best) {
    struct seep_lsan_lines lines;
    struct seep_error *error = make_lines(frame, &lines);
    if (error)
        return error;
    enum tier tier = tier_of(frame, &lines);
    struct seep_lsan_taken taken = {0};
    error = tier == TIER_NONE ? NULL : find_taken(census, &lines, &taken);
    if (!error && tier != TIER_NONE && is_better(best, tier, &taken)) {
        char *text = NULL;
        if (asprintf(&text, "%s\n%s%s", lines.whole, lines.bare ? lines.bare : "", lines.bare ? "\n" : "") <
            0)
            error = seep_error_no_memory();
        else
            free(best->lines);
        if (!error)
            *best = (struct candidate){tier, text, taken};
    }
    seep_lsan_lines_deinit(&lines);
    return error;
}

struct seep_error *seep_lsan_choose(struct seep_lsan_census *census, struct seep_view *view,
                                    const struct seep_view_row *row, char **ret_lines,
                                    struct seep_lsan_taken *ret_taken) {
    const struct seep_view_frame *frames = NULL;
    size_t nr = 0;
    uint32_t more = 0;
    struct candidate best = {.tier = TIER_NONE};
    struct seep_error *error = seep_view_frames(view, row, &frames, &nr, &more);
    for (size_t i = 0; !error && i < nr && !is_main(&frames[i]); i++)
        error = consider(census, &frames[i], &best);
    if (error) {
        free(best.lines);
        return error;
    }
    *ret_lines = best.lines;
    *ret_taken = best.taken;
    return NULL;
}
