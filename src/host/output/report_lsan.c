// SPDX-License-Identifier: BSD-2-Clause
// The function to name, see report_lsan.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "base/map.h"
#include "base/sum.h"
#include "names/library_code.h"
#include "output/lsan_lines.h"
#include "output/report_lsan.h"

struct share { // of one line
    struct seep_lsan_taken taken;
    size_t last_row; // + 1: a function is often more than once in a stack
};

// A function, and what its lines are: stacks share their functions, so each is written once.
struct named {
    const char *function; // as symbols have it, by its address
    const char *linkage;
    uint64_t module; // without a function: hash of its name
    struct seep_lsan_lines lines;
    size_t whole; // in shares
    size_t bare;  // the same; where there is no such line, `whole`
};

// A frame of a return address: its lines, and whether it is the program's start.
struct line_of {
    uint32_t named;
    uint8_t tier;
    bool is_main;
};

// The frames of each return address of one view, the innermost first. They are found once, because stacks
// share their addresses.
struct addresses {
    struct seep_view *view;
    size_t *first; // by frame of the view's stacks: index in `lines` + 1; 0: not found yet
    struct line_of *lines;
    size_t nr_lines;
    size_t capacity;
};

struct seep_lsan_census {
    struct addresses addresses;
    struct seep_map named_ids; // hash of these three -> index in named + 1; where two share it, the next
    struct named *named;
    size_t nr_named;
    size_t named_capacity;
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
    size_t named; // index + 1; 0: none
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
           (strcmp(frame->function, "main") == 0 || strcmp(frame->function, "_start") == 0 ||
            strcmp(frame->function, "__start") == 0); // on MIPS
}

static struct seep_error *make_lines(const struct seep_view_frame *frame, struct seep_lsan_lines *ret_lines) {
    if (frame->function)
        return seep_lsan_lines_init(ret_lines, frame->function, frame->linkage) ? NULL
                                                                                : seep_error_no_memory();
    *ret_lines = (struct seep_lsan_lines){seep_lsan_module_line(seep_file_name(frame->module)), NULL, false};
    return ret_lines->whole ? NULL : seep_error_no_memory();
}

static enum tier tier_of(const struct seep_view_frame *frame, const struct seep_lsan_lines *lines) {
    if (is_main(frame) || (frame->function && is_allocator(frame->function)))
        return TIER_NONE;
    if (frame->runtime || seep_function_is_std(frame->function, frame->path))
        return TIER_RUNTIME;
    return !frame->function ? TIER_MODULE : lines->vague ? TIER_VAGUE : TIER_FUNCTION;
}

// ---- the census ----

static struct seep_error *share_of(struct seep_lsan_census *census, const char *line, size_t *ret_share) {
    bool is_new;
    uint64_t *id = seep_map_at(&census->ids, seep_hash_bytes(line, strlen(line)), &is_new);
    if (!id ||
        !seep_grow(&census->shares, &census->shares_capacity, census->nr_shares + 1, sizeof(*census->shares)))
        return seep_error_no_memory();
    if (is_new) {
        *id = census->nr_shares++;
        census->shares[*id] = (struct share){.last_row = 0};
    }
    *ret_share = *id;
    return NULL;
}

// Valid until the next one.
static struct seep_error *find_name(struct seep_lsan_census *census, const struct seep_view_frame *frame,
                                    const struct named **ret_named) {
    uint64_t module = frame->function ? 0 : seep_hash_bytes(frame->module, strlen(frame->module));
    uint64_t hash = seep_hash64((uintptr_t)frame->function ^ seep_hash64((uintptr_t)frame->linkage ^ module));
    for (uint64_t at = hash;; at++) {
        uint64_t *index = seep_map_at(&census->named_ids, at, NULL);
        if (!index ||
            !seep_grow(&census->named, &census->named_capacity, census->nr_named + 1, sizeof(*census->named)))
            return seep_error_no_memory();
        struct named *named = &census->named[*index ? *index - 1 : census->nr_named];
        if (*index && (named->function != frame->function || named->linkage != frame->linkage ||
                       named->module != module))
            continue;
        *ret_named = named;
        if (*index)
            return NULL;
        *named = (struct named){frame->function, frame->linkage, module, {NULL, NULL, false}, 0, 0};
        struct seep_error *error = make_lines(frame, &named->lines);
        if (error)
            return error;
        *index = ++census->nr_named;
        error = share_of(census, named->lines.whole, &named->whole);
        named->bare = named->whole;
        return error || !named->lines.bare ? error : share_of(census, named->lines.bare, &named->bare);
    }
}

static void addresses_deinit(struct addresses *addresses) {
    free(addresses->first);
    free(addresses->lines);
    *addresses = (struct addresses){NULL};
}

static struct seep_error *addresses_init(struct addresses *addresses, struct seep_view *view) {
    addresses_deinit(addresses);
    addresses->view = view;
    addresses->first = calloc((size_t)view->stacks->nr_frames + 1, sizeof(*addresses->first));
    return addresses->first ? NULL : seep_error_no_memory();
}

// `ret_lines` is valid until the next call.
static struct seep_error *lines_of(struct seep_lsan_census *census, uint32_t frame,
                                   const struct line_of **ret_lines, unsigned *ret_nr) {
    struct addresses *addresses = &census->addresses;
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(addresses->view->stacks, frame, &symbol);
    if (error)
        return error;
    *ret_nr = symbol->nr_frames;
    if (addresses->first[frame]) {
        *ret_lines = addresses->lines + addresses->first[frame] - 1;
        return NULL;
    }
    if (!seep_grow(&addresses->lines, &addresses->capacity, addresses->nr_lines + symbol->nr_frames,
                   sizeof(*addresses->lines)))
        return seep_error_no_memory();
    size_t first = addresses->nr_lines;
    for (unsigned i = 0; i < symbol->nr_frames; i++) {
        const struct seep_view_frame shown = seep_view_frame_of(addresses->view, frame, symbol, i);
        const struct named *named = NULL;
        error = find_name(census, &shown, &named);
        if (error)
            return error;
        addresses->lines[addresses->nr_lines++] = (struct line_of){
            (uint32_t)(named - census->named), (uint8_t)tier_of(&shown, &named->lines), is_main(&shown)};
    }
    addresses->first[frame] = first + 1;
    *ret_lines = addresses->lines + first;
    return NULL;
}

static void count_line(struct seep_lsan_census *census, size_t line, size_t index,
                       const struct seep_view_row *row) {
    struct share *share = &census->shares[line];
    if (share->last_row == index + 1)
        return;
    share->last_row = index + 1;
    share->taken.nr_rows++;
    seep_add_signed(&share->taken.blocks, row->live_blocks - row->suppressed_blocks);
    seep_add_signed(&share->taken.bytes, row->live_bytes - row->suppressed_bytes);
}

static struct seep_error *count_row(struct seep_lsan_census *census, size_t index) {
    const struct seep_view *all = census->addresses.view;
    const struct seep_stack_node *nodes = all->stacks->nodes;
    for (uint32_t node = all->rows[index].node; node; node = nodes[node].parent) {
        const struct line_of *lines;
        unsigned nr;
        if (nodes[node].frame == SEEP_NO_FRAME)
            continue;
        struct seep_error *error = lines_of(census, nodes[node].frame, &lines, &nr);
        if (error)
            return error;
        for (unsigned i = 0; i < nr; i++) {
            const struct named *named = &census->named[lines[i].named];
            count_line(census, named->whole, index, &all->rows[index]);
            count_line(census, named->bare, index, &all->rows[index]);
        }
    }
    return NULL;
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
    if (!error)
        error = addresses_init(&census->addresses, all);
    for (size_t i = 0; !error && i < all->nr_rows; i++)
        if (all->rows[i].live_blocks > all->rows[i].suppressed_blocks)
            error = count_row(census, i);
    seep_view_destroy(all);
    if (census)
        addresses_deinit(&census->addresses);
    if (error)
        seep_lsan_census_destroy(census);
    else
        *ret_census = census;
    return error;
}

void seep_lsan_census_destroy(struct seep_lsan_census *census) {
    if (!census)
        return;
    for (size_t i = 0; i < census->nr_named; i++)
        seep_lsan_lines_deinit(&census->named[i].lines);
    free(census->named);
    seep_map_deinit(&census->named_ids);
    seep_map_deinit(&census->ids);
    free(census->shares);
    addresses_deinit(&census->addresses);
    free(census);
}

// ---- the choice ----

// Of the runtime the innermost is what the program called last; what is below it is in many stacks.
static bool is_better(const struct candidate *best, enum tier tier, const struct seep_lsan_taken *taken) {
    if (tier != best->tier)
        return tier < best->tier;
    return tier != TIER_RUNTIME && taken->nr_rows < best->taken.nr_rows;
}

static void consider(const struct seep_lsan_census *census, const struct line_of *line,
                     struct candidate *best) {
    // What both lines take: a suppression that has the first has the second.
    const struct seep_lsan_taken *taken = &census->shares[census->named[line->named].bare].taken;
    enum tier tier = (enum tier)line->tier;
    if (tier != TIER_NONE && is_better(best, tier, taken))
        *best = (struct candidate){tier, (size_t)line->named + 1, *taken};
}

static struct seep_error *choose(struct seep_lsan_census *census, const struct seep_view_row *row,
                                 struct candidate *best) {
    const struct seep_stack_node *nodes = census->addresses.view->stacks->nodes;
    for (uint32_t node = row->node; node; node = nodes[node].parent) {
        const struct line_of *lines;
        unsigned nr;
        if (nodes[node].frame == SEEP_NO_FRAME)
            continue;
        struct seep_error *error = lines_of(census, nodes[node].frame, &lines, &nr);
        if (error)
            return error;
        for (unsigned i = 0; i < nr; i++) {
            if (lines[i].is_main)
                return NULL;
            consider(census, &lines[i], best);
        }
    }
    return NULL;
}

struct seep_error *seep_lsan_choose(struct seep_lsan_census *census, struct seep_view *view,
                                    const struct seep_view_row *row, char **ret_lines,
                                    struct seep_lsan_taken *ret_taken) {
    struct candidate best = {.tier = TIER_NONE};
    struct seep_error *error =
        census->addresses.view == view ? NULL : addresses_init(&census->addresses, view);
    if (!error)
        error = choose(census, row, &best);
    const struct seep_lsan_lines *lines = best.named ? &census->named[best.named - 1].lines : NULL;
    char *text = NULL;
    if (!error && lines &&
        asprintf(&text, "%s\n%s%s", lines->whole, lines->bare ? lines->bare : "", lines->bare ? "\n" : "") <
            0)
        error = seep_error_no_memory();
    if (error)
        return error;
    *ret_lines = text;
    *ret_taken = best.taken;
    return NULL;
}
