// SPDX-License-Identifier: BSD-2-Clause
// Where the program itself allocated, and who called it there, see summary.h and summary_places.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/numbers.h"
#include "base/sum.h"
#include "base/text_same.h"
#include "names/short_name.h"
#include "view/exception_pool.h"
#include "view/stacks.h"
#include "view/summary.h"
#include "view/summary_places.h"

// ---- places ----

// A place is a part of a sentence.
#define PLACE_COLUMNS 64u
#define LINED_COLUMNS 52u // of a function with its line, which tells it from others of its name

static struct seep_error *name_alone(const char *function, char **ret_name) {
    return seep_name_shorten_to(function, PLACE_COLUMNS, 0, ret_name);
}

// The line tells functions of one name apart: scopes go before arguments of templates, which say more.
static struct seep_error *name_with_line(const char *function, char **ret_name) {
    char *name = NULL, *shorter = NULL;
    struct seep_error *error = name_alone(function, &name);
    if (!error && !name && !(name = strdup(function)))
        error = seep_error_no_memory();
    if (error)
        return error;
    seep_name_drop_scopes(name, LINED_COLUMNS);
    error = seep_name_shorten_to(name, LINED_COLUMNS, 0, &shorter);
    if (shorter || error)
        free(name);
    *ret_name = error ? NULL : shorter ? shorter : name;
    return error;
}

// "serve (shop.c:5)", "serve [shop]", "shop+0x1234"; "libstdc++.so.6 itself".
static struct seep_error *describe(struct seep_view *view, uint32_t frame, unsigned inlined,
                                   const char **ret_place) {
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(view->stacks, frame, &symbol);
    if (error)
        return error;
    const struct seep_symbol_frame *f = &symbol->frames[inlined];
    const struct seep_stack_module *in = &view->stacks->modules[view->stacks->frames[frame].module];
    const char *module = seep_file_name(in->path);
    const char *file = f->file ? seep_file_name(f->file) : NULL;
    char *name = NULL;
    bool has_line = file && f->line;
    if (f->function && !view->options.full_names)
        error = (has_line ? name_with_line : name_alone)(f->function, &name);
    if (error)
        return error;
    const char *function = name ? name : f->function;
    if (in->runtime) // no frame of the program's has anything to do with it
        *ret_place = seep_arena_printf(&view->arena, "%s itself", module);
    else if (function && has_line)
        *ret_place = seep_arena_printf(&view->arena, "%s (%s:%u)", function, file, f->line);
    else if (function)
        *ret_place = seep_arena_printf(&view->arena, "%s [%s]", function, module);
    else
        *ret_place =
            seep_arena_printf(&view->arena, "%s+0x%" PRIx64, module, view->stacks->frames[frame].offset);
    free(name);
    return *ret_place ? NULL : seep_error_no_memory();
}

// The place of a row: its innermost frame in the program's own code, or else its innermost frame. The C++
// library's exception pool has a name of its own.
struct seep_error *seep_summary_place(struct seep_view *view, uint32_t node, const char **ret_place) {
    uint32_t frame;
    unsigned inlined;
    *ret_place = NULL;
    bool is_pool = false;
    struct seep_error *error = seep_stacks_blamed(view->stacks, node, &frame, &inlined);
    if (!error && frame != SEEP_NO_FRAME)
        error = seep_is_exception_pool(view->stacks, node, &is_pool);
    if (is_pool)
        *ret_place = SEEP_EXCEPTION_POOL;
    if (error || frame == SEEP_NO_FRAME || is_pool)
        return error;
    return describe(view, frame, inlined, ret_place);
}

struct seep_error *seep_summary_place_of(struct seep_view *view, uint32_t node, uint64_t allocations,
                                         const char **ret_place) {
    bool is_stdio = false;
    struct seep_error *error =
        allocations <= SEEP_STANDARD_STREAMS ? seep_is_stdio_buffer(view->stacks, node, &is_stdio) : NULL;
    if (!is_stdio)
        return error ? error : seep_summary_place(view, node, ret_place);
    *ret_place = SEEP_STDIO_BUFFERS;
    return NULL;
}

static int compare_places(const void *left, const void *right) {
    const struct seep_place *a = left;
    const struct seep_place *b = right;
    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return (a->first > b->first) - (a->first < b->first);
}

struct seep_error *seep_places_find(struct seep_view *view, const struct seep_view_leaders *leaders,
                                    struct seep_places *ret_places) {
    struct seep_places found = {
        .of = seep_arena_alloc(&view->arena, leaders->nr_rows + 1, sizeof(*found.of)),
        .of_row = seep_arena_alloc(&view->arena, leaders->nr_rows + 1, sizeof(*found.of_row))};
    size_t first_row[SEEP_VIEW_LEADERS_MOST];
    if (!found.of || !found.of_row)
        return seep_error_no_memory();
    for (size_t i = 0; i < leaders->nr_rows; i++) {
        const char *name;
        bool is_leaked = leaders == &view->leaders[SEEP_LEAD_LEAKED];
        struct seep_error *error = is_leaked ? seep_summary_place(view, leaders->rows[i].node, &name)
                                             : seep_summary_place_of(view, leaders->rows[i].node,
                                                                     leaders->rows[i].allocations, &name);
        if (error)
            return error;
        size_t at = 0;
        while (at < found.nr && !seep_text_same(found.of[at].name, name))
            at++;
        if (at == found.nr)
            found.of[found.nr++] = (struct seep_place){.name = name, .first = i};
        seep_add_up(&found.of[at].value, leaders->rows[i].value);
        seep_add_up(&found.of[at].value, leaders->rows[i].of_others);
        found.of_row[i] = (uint16_t)at;
    }
    for (size_t at = 0; at < found.nr; at++)
        first_row[at] = found.of[at].first;
    if (found.nr)
        qsort(found.of, found.nr, sizeof(*found.of), compare_places);
    uint16_t by_first[SEEP_VIEW_LEADERS_MOST];
    for (size_t at = 0; at < found.nr; at++)
        by_first[found.of[at].first] = (uint16_t)at;
    for (size_t i = 0; i < leaders->nr_rows; i++)
        found.of_row[i] = by_first[first_row[found.of_row[i]]];
    *ret_places = found;
    return NULL;
}

bool seep_places_first_has(const struct seep_places *places, size_t row) {
    return places->nr && places->of_row[row] == places->of_row[places->of[0].first];
}

struct seep_error *seep_summary_called(struct seep_view *view, uint32_t node, const char **ret_name) {
    uint32_t blamed, called = SEEP_NO_FRAME;
    unsigned inlined;
    const struct seep_symbol *symbol;
    const char *function = NULL;
    *ret_name = NULL;
    struct seep_error *error = seep_stacks_blamed(view->stacks, node, &blamed, &inlined);
    if (error || blamed == SEEP_NO_FRAME)
        return error;
    for (; node && view->stacks->nodes[node].frame != blamed; node = view->stacks->nodes[node].parent)
        called = view->stacks->nodes[node].frame != SEEP_NO_FRAME ? view->stacks->nodes[node].frame : called;
    error = seep_stacks_resolve(view->stacks,
                                inlined                   ? blamed
                                : called == SEEP_NO_FRAME ? blamed
                                                          : called,
                                &symbol);
    if (error)
        return error;
    if (inlined)
        function = symbol->frames[inlined - 1].function;
    else if (called != SEEP_NO_FRAME)
        function = symbol->frames[symbol->nr_frames - 1].function;
    if (!function)
        return NULL;
    char *name = NULL;
    error = view->options.full_names ? NULL : seep_name_shorten(function, &name);
    *ret_name = error ? NULL : seep_arena_strdup(&view->arena, name ? name : function);
    free(name);
    return error || *ret_name ? error : seep_error_no_memory();
}

// ---- callers ----

// The callers of the place of a row, as "add (table.c:13)", the nearest first, up to main: how many of the
// first `most`.
static struct seep_error *find_callers(struct seep_view *view, uint32_t node, size_t most,
                                       const char **callers, size_t *ret_nr) {
    uint32_t frame;
    unsigned inlined;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_blamed(view->stacks, node, &frame, &inlined);
    *ret_nr = 0;
    while (!error && frame != SEEP_NO_FRAME && *ret_nr < most) {
        error = seep_stacks_caller(view->stacks, node, frame, inlined, &frame, &inlined);
        if (error || frame == SEEP_NO_FRAME)
            break;
        error = seep_stacks_resolve(view->stacks, frame, &symbol);
        const char *function = error ? NULL : symbol->frames[inlined].function;
        if (error || (function && strcmp(function, "main") == 0))
            break;
        error = describe(view, frame, inlined, &callers[(*ret_nr)++]);
    }
    return error;
}

struct seep_error *seep_summary_caller(struct seep_view *view, uint32_t node, const char **ret_place) {
    size_t nr;
    *ret_place = NULL;
    return find_callers(view, node, 1, ret_place, &nr);
}

enum { CALLERS_MOST = 4 };

// The rows of the first place, each with its callers.
struct called {
    const char *callers[SEEP_VIEW_LEADERS_MOST][CALLERS_MOST];
    size_t nr_callers[SEEP_VIEW_LEADERS_MOST];
    uint64_t values[SEEP_VIEW_LEADERS_MOST];
    size_t nr;
};

static const char *caller_at(const struct called *called, size_t row, size_t depth) {
    return depth < called->nr_callers[row] ? called->callers[row][depth] : NULL;
}

// How many callers, the nearest first, all rows have in common.
static size_t nr_shared(const struct called *called) {
    for (size_t depth = 0;; depth++) {
        const char *first = caller_at(called, 0, depth);
        for (size_t i = 0; i < called->nr; i++)
            if (!first || !seep_text_same(caller_at(called, i, depth), first))
                return depth;
    }
}

// The caller at `depth` that has most; NULL: main, or it is not known.
static const char *most_of(const struct called *called, size_t depth, uint64_t *ret_value) {
    const char *most = NULL;
    *ret_value = 0;
    for (size_t i = 0; i < called->nr; i++) {
        uint64_t value = 0;
        for (size_t k = i; k < called->nr; k++)
            if (seep_text_same(caller_at(called, k, depth), caller_at(called, i, depth)))
                seep_add_up(&value, called->values[k]);
        if (value > *ret_value) {
            *ret_value = value;
            most = caller_at(called, i, depth);
        }
    }
    return most;
}

static struct seep_error *collect_callers(struct seep_view *view, const struct seep_view_leaders *leaders,
                                          const struct seep_places *places, struct called *called) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < leaders->nr_rows; i++) {
        if (!seep_places_first_has(places, i))
            continue;
        if (leaders->rows[i].of_others) {
            called->nr = 0;
            break;
        }
        called->values[called->nr] = leaders->rows[i].value;
        error = find_callers(view, leaders->rows[i].node, CALLERS_MOST, called->callers[called->nr],
                             &called->nr_callers[called->nr]);
        called->nr++;
    }
    return error;
}

struct seep_error *seep_places_caller(struct seep_view *view, const struct seep_view_leaders *leaders,
                                      const struct seep_places *places, bool with_only,
                                      const char **ret_text) {
    struct called *called = calloc(1, sizeof(*called));
    struct seep_error *error =
        called ? collect_callers(view, leaders, places, called) : seep_error_no_memory();
    *ret_text = "";
    if (!error && called->nr) {
        uint64_t value = 0;
        size_t depth = nr_shared(called);
        const char *most = called->nr > 1 ? most_of(called, depth, &value) : NULL;
        const char *share = most && value > places->of[0].value / 2
                                ? seep_arena_printf(&view->arena, ", %s of that for %s",
                                                    seep_format_share(value, places->of[0].value).text, most)
                                : "";
        if (share && depth && with_only)
            share = seep_arena_printf(&view->arena, ", called by %s%s", called->callers[0][0], share);
        *ret_text = share;
        error = share ? NULL : seep_error_no_memory();
    }
    free(called);
    return error;
}
