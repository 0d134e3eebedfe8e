// SPDX-License-Identifier: BSD-2-Clause
// Pairs of rows and their order, see diff.h.
#include <stdlib.h>
#include <string.h>

#include "analysis/diff.h"
#include "base/file_name.h"
#include "base/large.h"
#include "base/sum.h"
#include "base/text_same.h"
#include "view/stacks.h"

enum { EXACT, SAME_LINES, SAME_FUNCTIONS, NR_LEVELS };

// What a stack, or a frame of one, is compared by, from the strictest to the loosest.
struct print {
    uint64_t keys[NR_LEVELS];
    uint64_t order;   // among those of one key: by lines
    uint64_t offsets; // of several on one line
};

struct fingerprint {
    struct print print;
    uint32_t row;
    bool paired;
};

struct side {
    struct seep_view *view;
    const char *program; // base name of the main program
    struct fingerprint *prints;
    size_t nr;
};

const char *seep_diff_change_name(uint32_t change) {
    static const char *const names[SEEP_DIFF_NR] = {"same",   "new",   "gone",   "grew",
                                                    "shrank", "worse", "better", "empty"};
    return change < SEEP_DIFF_NR ? names[change] : "unknown";
}

// ---- fingerprints -----------------------------------------------------------------------------------

// FNV-1a, http://www.isthe.com/chongo/tech/comp/fnv/: 64 bits, so that no two of a program's stacks meet.
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t mix(uint64_t hash, const void *bytes, size_t nr_bytes) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < nr_bytes; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    return mix(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

static uint64_t mix_number(uint64_t hash, uint64_t number) {
    return mix(hash, &number, sizeof(number));
}

// The module without folder and without the version behind ".so".
static uint64_t mix_module(uint64_t hash, const struct side *side, const char *module) {
    const char *name = seep_file_name(module);
    if (side->program && strcmp(name, side->program) == 0)
        return mix_text(hash, "the program");
    const char *so = strstr(name, ".so");
    size_t length = so ? (size_t)(so - name) : strlen(name);
    return mix_number(mix(hash, name, length), length);
}

static struct print print_frame(const struct side *side, const struct seep_view_frame *frame) {
    struct print print = {.order = frame->line ? frame->line : frame->offset, .offsets = frame->offset};
    uint64_t named = frame->function ? 1 : frame->offset;
    uint64_t hash = mix_number(mix_text(mix_module(HASH_START, side, frame->module), frame->function), named);
    print.keys[SAME_FUNCTIONS] = hash;
    print.keys[SAME_LINES] = mix_number(hash, frame->line);
    print.keys[EXACT] = mix_number(mix_number(print.keys[SAME_LINES], frame->offset), frame->build);
    return print;
}

static struct print print_call(struct print caller, const struct print *frame) {
    for (int level = EXACT; level < NR_LEVELS; level++)
        caller.keys[level] = seep_hash64(caller.keys[level] ^ frame->keys[level]);
    caller.order += frame->order;
    caller.offsets += frame->offsets;
    return caller;
}

// The stacks of one view: only those nodes of its tree that lead to a row, so that no other name is looked
// up.
struct stack_prints {
    struct print *by_node;
    struct print *by_frame;
    uint8_t *is_needed; // of a node
    uint8_t *is_known;  // of a frame
};

static void need_rows(const struct side *side, struct stack_prints *prints) {
    const struct seep_stack_node *nodes = side->view->stacks->nodes;
    for (size_t i = 0; i < side->nr; i++)
        for (uint32_t node = side->view->rows[i].node; node && !prints->is_needed[node];
             node = nodes[node].parent)
            prints->is_needed[node] = 1;
}

// All functions of one return address, the outermost first.
static struct seep_error *print_address(const struct side *side, struct stack_prints *prints, uint32_t frame,
                                        struct print *stack) {
    if (prints->is_known[frame]) {
        *stack = print_call(*stack, &prints->by_frame[frame]);
        return NULL;
    }
    const struct seep_symbol *symbol;
    struct seep_error *error = seep_stacks_resolve(side->view->stacks, frame, &symbol);
    for (unsigned i = error ? 0 : symbol->nr_frames; i > 0; i--) {
        struct seep_view_frame shown = seep_view_frame_of(side->view, frame, symbol, i - 1);
        prints->by_frame[frame] = print_frame(side, &shown);
        prints->is_known[frame] = symbol->nr_frames == 1;
        *stack = print_call(*stack, &prints->by_frame[frame]);
    }
    return error;
}

// By row. A node comes after the node that it is called from.
static struct seep_error *print_nodes(struct side *side, struct stack_prints *prints) {
    const struct seep_stacks *stacks = side->view->stacks;
    struct seep_error *error = NULL;
    prints->by_node[0] = (struct print){.keys = {HASH_START, HASH_START, HASH_START}};
    for (uint32_t i = 1; !error && i < stacks->nr_nodes; i++) {
        if (!prints->is_needed[i])
            continue;
        prints->by_node[i] = prints->by_node[stacks->nodes[i].parent];
        if (stacks->nodes[i].frame != SEEP_NO_FRAME)
            error = print_address(side, prints, stacks->nodes[i].frame, &prints->by_node[i]);
    }
    for (size_t i = 0; !error && i < side->nr; i++) {
        struct print print = prints->by_node[side->view->rows[i].node];
        for (int level = EXACT; level < NR_LEVELS; level++)
            print.keys[level] = mix_number(print.keys[level], side->view->rows[i].via);
        side->prints[i] = (struct fingerprint){.print = print, .row = (uint32_t)i};
    }
    return error;
}

static struct seep_error *print_stacks(struct side *side) {
    size_t nr_nodes = side->view->stacks->nr_nodes, nr_frames = side->view->stacks->nr_frames + 1;
    struct stack_prints prints = {.by_node = seep_large_alloc(nr_nodes, sizeof(*prints.by_node)),
                                  .by_frame = malloc(nr_frames * sizeof(*prints.by_frame)),
                                  .is_needed = calloc(nr_nodes, 1),
                                  .is_known = calloc(nr_frames, 1)};
    struct seep_error *error = NULL;
    if (prints.by_node && prints.by_frame && prints.is_needed && prints.is_known) {
        need_rows(side, &prints);
        error = print_nodes(side, &prints);
    } else {
        error = seep_error_no_memory();
    }
    free(prints.by_node);
    free(prints.by_frame);
    free(prints.is_needed);
    free(prints.is_known);
    return error;
}

// The key without what is different in every run: pids and tids.
static void print_key(const struct side *side, const struct seep_view_row *row, struct fingerprint *print) {
    const char *from = row->key;
    size_t length = strlen(from);
    int by = side->view->options.by;
    if (by == SEEP_BY_PROCESS) {
        size_t digits = strspn(from, "0123456789 ");
        from = seep_file_name(from + digits);
        length = strlen(from);
    } else if (by == SEEP_BY_THREAD) {
        const char *who = strrchr(from, '('); // behind the name, which may have parentheses of its own
        length = who && who > from ? (size_t)(who - from) - 1 : length;
    }
    if (by == SEEP_BY_PROCESS && side->program && strcmp(from, side->program) == 0)
        from = "the program", length = strlen(from);
    uint64_t hash = mix(HASH_START, from, length);
    for (int level = EXACT; level < NR_LEVELS; level++)
        print->print.keys[level] = hash;
}

static struct seep_error *print_side(struct side *side) {
    side->nr = side->view->nr_rows;
    side->prints = calloc(SEEP_MAX(side->nr, (size_t)1), sizeof(*side->prints));
    if (!side->prints)
        return seep_error_no_memory();
    if (side->view->options.by == SEEP_BY_SITE)
        return print_stacks(side);
    for (size_t i = 0; i < side->nr; i++) {
        side->prints[i].row = (uint32_t)i;
        print_key(side, &side->view->rows[i], &side->prints[i]);
    }
    return NULL;
}

// ---- pairs ------------------------------------------------------------------------------------------

struct pairing {
    struct side before;
    struct side after;
    uint32_t *partner; // by row of before: row of after + 1, or 0
    uint8_t *level;    // by row of before
};

static int sort_level; // of compare_prints; views are made one at a time

static int compare_prints(const void *left, const void *right) {
    const struct fingerprint *a = left, *b = right;
    if (a->print.keys[sort_level] != b->print.keys[sort_level])
        return a->print.keys[sort_level] < b->print.keys[sort_level] ? -1 : 1;
    if (a->print.order != b->print.order)
        return a->print.order < b->print.order ? -1 : 1;
    if (a->print.offsets != b->print.offsets)
        return a->print.offsets < b->print.offsets ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool same_sizes(const struct pairing *pairing, const struct fingerprint *a,
                       const struct fingerprint *b) {
    const struct seep_counters *x = &pairing->before.view->rows[a->row].counters;
    const struct seep_counters *y = &pairing->after.view->rows[b->row].counters;
    return x->size_min == y->size_min && x->size_max == y->size_max;
}

static void pair(struct pairing *pairing, struct fingerprint *a, struct fingerprint *b, int level) {
    a->paired = b->paired = true;
    pairing->partner[a->row] = b->row + 1;
    pairing->level[a->row] = (uint8_t)level;
}

// Groups of one key are short but for absurd programs: there the order alone decides.
#define GROUP_MOST 200

static void pair_group(struct pairing *pairing, struct fingerprint *a, size_t nr_a, struct fingerprint *b,
                       size_t nr_b, int level) {
    for (size_t i = 0; nr_a != nr_b && nr_a < GROUP_MOST && nr_b < GROUP_MOST && i < nr_a; i++)
        for (size_t j = 0; j < nr_b && !a[i].paired; j++)
            if (!b[j].paired && same_sizes(pairing, &a[i], &b[j]))
                pair(pairing, &a[i], &b[j], level);
    for (size_t i = 0, j = 0; i < nr_a && j < nr_b;) {
        if (a[i].paired)
            i++;
        else if (b[j].paired)
            j++;
        else
            pair(pairing, &a[i], &b[j], level);
    }
}

static size_t group_length(const struct fingerprint *prints, size_t from, size_t nr, int level) {
    size_t to = from;
    while (to < nr && prints[to].print.keys[level] == prints[from].print.keys[level])
        to++;
    return to - from;
}

// Those that have a partner need no further look.
static void drop_paired(struct side *side) {
    size_t nr = 0;
    for (size_t i = 0; i < side->nr; i++)
        if (!side->prints[i].paired)
            side->prints[nr++] = side->prints[i];
    side->nr = nr;
}

static void pair_level(struct pairing *pairing, int level) {
    struct side *before = &pairing->before, *after = &pairing->after;
    drop_paired(before);
    drop_paired(after);
    if (!before->nr || !after->nr)
        return;
    sort_level = level;
    qsort(before->prints, before->nr, sizeof(*before->prints), compare_prints);
    qsort(after->prints, after->nr, sizeof(*after->prints), compare_prints);
    size_t i = 0, j = 0;
    while (i < before->nr && j < after->nr) {
        uint64_t a = before->prints[i].print.keys[level], b = after->prints[j].print.keys[level];
        size_t nr_a = group_length(before->prints, i, before->nr, level);
        size_t nr_b = group_length(after->prints, j, after->nr, level);
        if (a == b)
            pair_group(pairing, &before->prints[i], nr_a, &after->prints[j], nr_b, level);
        i += a <= b ? nr_a : 0;
        j += b <= a ? nr_b : 0;
    }
}

// ---- rows -------------------------------------------------------------------------------------------

static int64_t change_of(uint64_t after, uint64_t before) {
    uint64_t gap = after >= before ? after - before : before - after;
    int64_t value = gap > INT64_MAX ? INT64_MAX : (int64_t)gap;
    return after >= before ? value : -value;
}

static int64_t sum_of(uint64_t a, uint64_t b) {
    seep_add_up(&a, b);
    return (int64_t)SEEP_MIN(a, (uint64_t)INT64_MAX);
}

struct seep_diff_lost seep_diff_lost_of(const struct seep_view_row *row) {
    if (!row)
        return (struct seep_diff_lost){0};
    const struct seep_view_kinds *kinds = &row->kinds;
    return (struct seep_diff_lost){
        .blocks = sum_of(kinds->blocks[SEEP_KIND_LOST], kinds->blocks[SEEP_KIND_INDIRECT]),
        .bytes = sum_of(kinds->bytes[SEEP_KIND_LOST], kinds->bytes[SEEP_KIND_INDIRECT]),
        .possible_blocks = sum_of(kinds->blocks[SEEP_KIND_POSSIBLE], 0),
        .possible_bytes = sum_of(kinds->bytes[SEEP_KIND_POSSIBLE], 0),
    };
}

// Above 0: more is lost than was.
static int64_t worsening(const struct seep_diff_lost *lost) {
    return lost->bytes            ? lost->bytes
           : lost->blocks         ? lost->blocks
           : lost->possible_bytes ? lost->possible_bytes
                                  : lost->possible_blocks;
}

static struct seep_diff_row row_of(const struct seep_diff *diff, const struct seep_view_row *before,
                                   const struct seep_view_row *after) {
    static const struct seep_view_row nothing;
    const struct seep_view_row *a = before ? before : &nothing;
    const struct seep_view_row *b = after ? after : &nothing;
    struct seep_diff_row row = {
        .before = before,
        .after = after,
        .live_bytes = (int64_t)((uint64_t)b->live_bytes - (uint64_t)a->live_bytes),
        .live_blocks = (int64_t)((uint64_t)b->live_blocks - (uint64_t)a->live_blocks),
        .allocations = change_of(b->counters.allocations, a->counters.allocations),
        .allocated_bytes = change_of(b->counters.allocated_bytes, a->counters.allocated_bytes),
        .frees = change_of(b->counters.frees, a->counters.frees),
        .temporary = change_of(b->counters.temporary, a->counters.temporary),
    };
    if (diff->scanned_before && diff->scanned_after) {
        struct seep_diff_lost was_lost = seep_diff_lost_of(before);
        row.lost = seep_diff_lost_of(after);
        row.lost.blocks -= was_lost.blocks;
        row.lost.bytes -= was_lost.bytes;
        row.lost.possible_blocks -= was_lost.possible_blocks;
        row.lost.possible_bytes -= was_lost.possible_bytes;
    }
    int64_t worse = worsening(&row.lost);
    int64_t growth = row.live_bytes ? row.live_bytes : row.live_blocks;
    bool was = before && (before->live_bytes || before->live_blocks);
    bool is = after && (after->live_bytes || after->live_blocks);
    if (growth > 0)
        row.change = was ? SEEP_DIFF_GREW : SEEP_DIFF_NEW;
    else if (growth < 0)
        row.change = is ? SEEP_DIFF_SHRANK : SEEP_DIFF_GONE;
    else if (worse)
        row.change = worse > 0 ? SEEP_DIFF_WORSE : SEEP_DIFF_BETTER;
    else if (!was && !is)
        row.change = SEEP_DIFF_EMPTY;
    return row;
}

static int64_t sort_key(const struct seep_diff_row *row, int sort) {
    switch (sort) {
    case SEEP_SORT_ALLOCATIONS:
        return row->allocations;
    case SEEP_SORT_BYTES:
        return row->allocated_bytes;
    case SEEP_SORT_TEMPORARY:
        return row->temporary;
    default: // memory that is lost now counts as much as memory that is new
        return SEEP_MAX(row->live_bytes, row->lost.bytes > 0 ? row->lost.bytes : row->live_bytes);
    }
}

static int sort_by; // of compare_rows

static int compare_rows(const void *left, const void *right) {
    const struct seep_diff_row *a = left, *b = right;
    int64_t x = sort_key(a, sort_by), y = sort_key(b, sort_by);
    if (x != y)
        return x > y ? -1 : 1;
    if (a->live_blocks != b->live_blocks)
        return a->live_blocks > b->live_blocks ? -1 : 1;
    int64_t worse_a = worsening(&a->lost), worse_b = worsening(&b->lost);
    if (worse_a != worse_b)
        return worse_a > worse_b ? -1 : 1;
    if (a->allocations != b->allocations)
        return a->allocations > b->allocations ? -1 : 1;
    // Both lists are in order; rows of the one are in no memory of the other.
    const struct seep_view_row *p = a->after ? a->after : a->before, *q = b->after ? b->after : b->before;
    if (!a->after != !b->after)
        return a->after ? -1 : 1;
    return (p > q) - (p < q);
}

static struct seep_error *make_rows(struct seep_diff *diff, const struct pairing *pairing) {
    size_t nr_before = diff->before->nr_rows, nr_after = diff->after->nr_rows;
    bool *taken = calloc(nr_after + 1, sizeof(*taken));
    diff->rows = calloc(nr_before + nr_after + 1, sizeof(*diff->rows));
    if (!taken || !diff->rows) {
        free(taken);
        return seep_error_no_memory();
    }
    for (size_t i = 0; i < nr_before; i++) {
        uint32_t partner = pairing->partner[i];
        diff->rows[diff->nr_rows] =
            row_of(diff, &diff->before->rows[i], partner ? &diff->after->rows[partner - 1] : NULL);
        diff->rows[diff->nr_rows++].moved = partner && pairing->level[i] == SAME_FUNCTIONS;
        if (partner)
            taken[partner - 1] = true;
    }
    for (size_t i = 0; i < nr_after; i++)
        if (!taken[i])
            diff->rows[diff->nr_rows++] = row_of(diff, NULL, &diff->after->rows[i]);
    free(taken);
    for (size_t i = 0; i < diff->nr_rows; i++) {
        diff->nr_changes[diff->rows[i].change]++;
        diff->nr_newly_lost += diff->rows[i].lost.bytes > 0 || diff->rows[i].lost.blocks > 0;
    }
    return NULL;
}

static struct seep_error *pair_all(struct seep_diff *diff, struct pairing *pairing) {
    pairing->partner = calloc(diff->before->nr_rows + 1, sizeof(*pairing->partner));
    pairing->level = calloc(diff->before->nr_rows + 1, sizeof(*pairing->level));
    if (!pairing->partner || !pairing->level)
        return seep_error_no_memory();
    struct seep_error *error = print_side(&pairing->before);
    if (!error)
        error = print_side(&pairing->after);
    for (int level = EXACT; !error && level < NR_LEVELS; level++)
        pair_level(pairing, level);
    return error ? error : make_rows(diff, pairing);
}

static const char *program_of(const struct seep_session *session) {
    const char *exe = session->nr_profiles ? session->profiles[0]->process.exe : NULL;
    return exe && *exe ? seep_file_name(exe) : NULL;
}

static bool is_scanned(const struct seep_session *session) {
    for (size_t i = 0; i < session->nr_profiles; i++)
        if (session->profiles[i]->leaks.known)
            return true;
    return false;
}

static uint64_t sampling_of(const struct seep_session *session) {
    return session->nr_profiles ? session->profiles[0]->health.sample_bytes : 0;
}

static struct seep_error *fill(struct seep_diff *diff, const struct seep_session *before,
                               const struct seep_session *after, struct seep_symbols *symbols,
                               const struct seep_view_options *options) {
    struct seep_view_options all = *options;
    all.top = 0;
    all.sort = SEEP_SORT_LIVE;
    all.no_leaders = true;
    all.each_stack = true; // what shares a line here may have lines of its own there
    struct seep_error *error = seep_view_create(before, SIZE_MAX, symbols, &all, &diff->before);
    if (!error)
        error = seep_view_create(after, SIZE_MAX, symbols, &all, &diff->after);
    if (error)
        return error;
    struct pairing pairing = {.before = {.view = diff->before, .program = program_of(before)},
                              .after = {.view = diff->after, .program = program_of(after)}};
    diff->other_program = !seep_text_same(pairing.before.program, pairing.after.program);
    diff->other_sampling = sampling_of(before) != sampling_of(after);
    diff->scanned_before = is_scanned(before);
    diff->scanned_after = is_scanned(after);
    error = pair_all(diff, &pairing);
    free(pairing.partner);
    free(pairing.level);
    free(pairing.before.prints);
    free(pairing.after.prints);
    if (error)
        return error;
    sort_by = options->sort;
    qsort(diff->rows, diff->nr_rows, sizeof(*diff->rows), compare_rows);
    diff->all = row_of(diff, &diff->before->all, &diff->after->all);
    diff->nr_rows_all = diff->nr_rows;
    size_t top = options->top == SEEP_TOP_DEFAULT ? 10 : (size_t)options->top;
    if (top && top < diff->nr_rows)
        diff->nr_rows = top;
    return NULL;
}

struct seep_error *seep_diff_create(const struct seep_session *before, const struct seep_session *after,
                                    struct seep_symbols *symbols, const struct seep_view_options *options,
                                    struct seep_diff **ret_diff) {
    struct seep_diff *diff = calloc(1, sizeof(*diff));
    struct seep_error *error = diff ? fill(diff, before, after, symbols, options) : seep_error_no_memory();
    if (error) {
        seep_diff_destroy(diff);
        return error;
    }
    *ret_diff = diff;
    return NULL;
}

void seep_diff_destroy(struct seep_diff *diff) {
    if (!diff)
        return;
    seep_view_destroy(diff->before);
    seep_view_destroy(diff->after);
    free(diff->rows);
    free(diff);
}
