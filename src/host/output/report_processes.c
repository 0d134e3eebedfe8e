// SPDX-License-Identifier: BSD-2-Clause
//
// The processes of a text report as a tree: who started whom, each with its totals. A few are shown
// one by one; of many, those that run the same program below the same parent are one row, with the
// sums (--top 0 shows each).
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "analysis/process_tree.h"
#include "profile/texts.h"
#include "output/format.h"
#include "output/report_text.h"
#include "profile/verdict.h"

// ---- one process -------------------------------------------------------------------------------------

void seep_text_exit(FILE *out, const struct seep_process *process) {
    switch (process->exit_kind) {
    case SEEP_EXIT_CODE:
        fprintf(out, "exit %d", process->exit_value);
        break;
    case SEEP_EXIT_SIGNAL: {
        const char *name = sigabbrev_np(process->exit_value);
        if (name)
            fprintf(out, "SIG%s", name);
        else
            fprintf(out, "signal %d", process->exit_value);
        break;
    }
    case SEEP_EXIT_RUNNING:
        fputs(process->is_past ? "running then" : "running", out);
        break;
    case SEEP_EXIT_EXEC:
        fputs("exec", out);
        break;
    default:
        fputs("end not known", out);
    }
}

// At most this many bytes of the arguments are shown.
#define COMMAND_LINE_MAX 1000

// The first bytes of a long argument, without a part of a character at the end.
static void put_beginning(FILE *out, const char *text, size_t nr_bytes) {
    char beginning[COMMAND_LINE_MAX + 1];
    while (nr_bytes && ((unsigned char)text[nr_bytes] & 0xc0) == 0x80)
        nr_bytes--;
    memcpy(beginning, text, nr_bytes);
    beginning[nr_bytes] = 0;
    seep_put_escaped(out, beginning);
}

void seep_text_command_line(FILE *out, const struct seep_process *process) {
    if (process->nr_args == 0)
        seep_put_escaped(out, process->exe && *process->exe ? process->exe : "(program not known)");
    size_t room = COMMAND_LINE_MAX;
    uint64_t nr_more = 0;
    for (uint32_t i = 0; i < process->nr_args; i++) {
        size_t nr_bytes = strlen(process->args[i]);
        if (i && room)
            fputc(' ', out);
        if (nr_bytes <= room)
            seep_put_escaped(out, process->args[i]);
        else
            put_beginning(out, process->args[i], room);
        nr_more += nr_bytes > room ? nr_bytes - room : 0;
        // The blank behind it is a character too, also where it is not shown.
        nr_more += nr_bytes >= room && i + 1 < process->nr_args;
        room -= SEEP_MIN(room, nr_bytes + 1);
    }
    if (nr_more)
        fprintf(out, "... (%s more characters)", seep_format_count(nr_more).text);
    if (process->nr_args_all > process->nr_args)
        fprintf(out, " (and %s more)", seep_format_count(process->nr_args_all - process->nr_args).text);
}

// ---- rows --------------------------------------------------------------------------------------------

// With more processes than this, and than --top, alike ones are one row.
#define ROWS_SINGLE 20u
// The branches of the tree are drawn to this depth; deeper ones name their depth.
#define DEPTH_DRAWN 24u

// A row: a process, or all that run one program below one row.
struct row {
    uint32_t parent; // index of a row, or SEEP_NO_PROCESS
    uint32_t first_child;
    uint32_t last_child;
    uint32_t next_sibling;
    uint32_t depth;
    uint32_t nr;                        // of processes
    const struct seep_profile *profile; // the first
    enum seep_origin origin;
    bool same_end; // as that of the first
    uint32_t nr_untraced;
    uint64_t live_bytes;
    uint64_t live_blocks;
    uint64_t allocations;
    uint64_t peak_bytes; // the highest of one process
    bool peak_exact;
};

// Of cells. On a narrow terminal as wide as what is in them.
struct widths {
    int live_bytes;
    int live_blocks;
    int peak;
    int allocations;
    int end;
};
#define WIDE_TABLE 110u // columns of a terminal that the usual widths leave room on for names

struct rows {
    struct row *items; // parents before children
    uint32_t nr;
    uint32_t *of_process;  // by index in the view
    struct seep_map known; // merged: (parent, program, origin) to index + 1
    struct seep_texts programs;
    bool merged;
    struct widths widths;
};

static void rows_deinit(struct rows *rows) {
    free(rows->items);
    free(rows->of_process);
    seep_map_deinit(&rows->known);
    seep_texts_deinit(&rows->programs);
}

static struct row *new_row(struct rows *rows, uint32_t parent, const struct seep_profile *profile,
                           const struct seep_process_node *node) {
    uint32_t index = rows->nr++;
    struct row *row = &rows->items[index];
    *row = (struct row){.parent = parent,
                        .first_child = SEEP_NO_PROCESS,
                        .last_child = SEEP_NO_PROCESS,
                        .next_sibling = SEEP_NO_PROCESS,
                        .profile = profile,
                        .origin = node->origin,
                        .same_end = true,
                        .peak_exact = true};
    if (parent == SEEP_NO_PROCESS)
        return row;
    struct row *above = &rows->items[parent];
    row->depth = above->depth + 1;
    if (above->first_child == SEEP_NO_PROCESS)
        above->first_child = index;
    else
        rows->items[above->last_child].next_sibling = index;
    above->last_child = index;
    return row;
}

// The row that a process goes to.
static struct seep_error *row_for(struct rows *rows, uint32_t parent, const struct seep_profile *profile,
                                  const struct seep_process_node *node, struct row **ret_row) {
    if (!rows->merged) {
        *ret_row = new_row(rows, parent, profile, node);
        return NULL;
    }
    uint32_t program;
    struct seep_error *error = seep_texts_add(&rows->programs, profile->process.name, &program);
    if (error)
        return error;
    // Fewer than 2^30 programs: a program is at least a process.
    uint64_t key = (uint64_t)parent << 32 | (uint64_t)program << 2 | node->origin;
    bool is_new;
    uint64_t *place = seep_map_at(&rows->known, key, &is_new);
    if (!place)
        return seep_error_no_memory();
    if (is_new) {
        *place = rows->nr;
        new_row(rows, parent, profile, node);
    }
    *ret_row = &rows->items[*place];
    return NULL;
}

static bool same_end(const struct seep_process *a, const struct seep_process *b) {
    return a->exit_kind == b->exit_kind && a->exit_value == b->exit_value;
}

static void add_process(struct row *row, const struct seep_profile *profile) {
    const struct seep_totals *totals = &profile->totals;
    row->nr++;
    row->same_end &= same_end(&row->profile->process, &profile->process);
    row->nr_untraced += seep_profile_verdict(profile) == SEEP_VERDICT_NOT_TRACED;
    row->live_bytes += totals->live_bytes;
    row->live_blocks += totals->live_blocks;
    row->allocations += totals->allocations;
    if (totals->peak_bytes > row->peak_bytes || row->nr == 1) {
        row->peak_bytes = totals->peak_bytes;
        row->peak_exact = totals->peak_exact;
    }
}

static struct seep_error *rows_fill(struct rows *rows, const struct seep_view *view,
                                    const struct seep_process_tree *tree) {
    rows->items = calloc(tree->nr + (size_t)1, sizeof(*rows->items));
    rows->of_process = calloc(tree->nr + (size_t)1, sizeof(*rows->of_process));
    if (!rows->items || !rows->of_process)
        return seep_error_no_memory();
    for (uint32_t i = 0; i < tree->nr; i++) {
        uint32_t process = tree->order[i];
        const struct seep_process_node *node = &tree->nodes[process];
        const struct seep_profile *profile = seep_text_profile(view, process);
        uint32_t parent = node->parent == SEEP_NO_PROCESS ? SEEP_NO_PROCESS : rows->of_process[node->parent];
        struct row *row = NULL;
        struct seep_error *error = row_for(rows, parent, profile, node, &row);
        if (error)
            return error;
        add_process(row, profile);
        rows->of_process[process] = (uint32_t)(row - rows->items);
    }
    return NULL;
}

// ---- the table ---------------------------------------------------------------------------------------

static void put_branches(FILE *out, const struct rows *rows, const struct row *row) {
    bool more[DEPTH_DRAWN] = {false};
    uint32_t depth = row->depth;
    if (depth > DEPTH_DRAWN) {
        fprintf(out, "[depth %" PRIu32 "] ", depth);
        return;
    }
    const struct row *at = row;
    for (uint32_t i = depth; i > 0; i--) {
        more[i - 1] = at->next_sibling != SEEP_NO_PROCESS;
        at = &rows->items[at->parent];
    }
    for (uint32_t i = 0; i + 1 < depth; i++)
        fputs(more[i] ? "│  " : "   ", out);
    if (depth)
        fputs(more[depth - 1] ? "├─ " : "└─ ", out);
}

static void put_ending(const struct row *row, char *ret_text, size_t room) {
    snprintf(ret_text, room, "various");
    FILE *cell = row->same_end ? fmemopen(ret_text, room, "w") : NULL;
    if (cell) {
        seep_text_exit(cell, &row->profile->process);
        fclose(cell);
    }
}

static void put_row(FILE *out, const struct rows *rows, const struct row *row) {
    const struct seep_process *process = &row->profile->process;
    char who[64];
    char end[32];
    char peak[48];
    const struct widths *w = &rows->widths;
    if (row->nr > 1)
        snprintf(who, sizeof(who), "%s ×", seep_format_count(row->nr).text);
    else
        snprintf(who, sizeof(who), "%" PRIu32, process->pid);
    put_ending(row, end, sizeof(end));
    int wide = 8 + (row->nr > 1); // the sign has two bytes
    if (row->nr == row->nr_untraced) {
        fprintf(out, "%*s %*s %*s %*s %*s  %-*s ", wide, who, w->live_bytes, "not traced", w->live_blocks,
                "-", w->peak, "-", w->allocations, "-", w->end, end);
    } else {
        snprintf(peak, sizeof(peak), "%s%s", row->peak_exact ? "" : "~",
                 seep_format_count(row->peak_bytes).text);
        fprintf(out, "%*s %*s %*s %*s %*s  %-*s ", wide, who, w->live_bytes,
                seep_format_count(row->live_bytes).text, w->live_blocks,
                seep_format_count(row->live_blocks).text, w->peak, peak, w->allocations,
                seep_format_count(row->allocations).text, w->end, end);
    }
    put_branches(out, rows, row);
    if (row->origin == SEEP_ORIGIN_EXEC)
        fputs("exec ", out);
    if (row->nr > 1)
        seep_put_escaped(out, process->name);
    else
        seep_text_command_line(out, process);
    if (row->origin == SEEP_ORIGIN_FORK)
        fputs(" (fork)", out);
    fputc('\n', out);
}

// Children are put behind their row, so the order of the items is not that of the table.
static void put_all(FILE *out, const struct rows *rows) {
    for (uint32_t root = 0; root < rows->nr; root++) {
        if (rows->items[root].parent != SEEP_NO_PROCESS)
            continue;
        for (uint32_t at = root; at != SEEP_NO_PROCESS;) {
            const struct row *row = &rows->items[at];
            put_row(out, rows, row);
            if (row->first_child != SEEP_NO_PROCESS) {
                at = row->first_child;
                continue;
            }
            while (at != root && rows->items[at].next_sibling == SEEP_NO_PROCESS)
                at = rows->items[at].parent;
            at = at == root ? SEEP_NO_PROCESS : rows->items[at].next_sibling;
        }
    }
}

static void widen(int *width, const char *cell) {
    *width = SEEP_MAX(*width, (int)strlen(cell));
}

static void choose_widths(struct rows *rows, const struct seep_style *style) {
    struct widths *w = &rows->widths;
    *w = (struct widths){16, 12, 16, 12, 14};
    if (!style->width || style->width >= WIDE_TABLE)
        return;
    *w = (struct widths){10, 11, 11, 11, 6}; // of their headings, and a blank or a sign
    for (uint32_t i = 0; i < rows->nr; i++) {
        const struct row *row = &rows->items[i];
        char end[32];
        put_ending(row, end, sizeof(end));
        widen(&w->live_bytes, seep_format_count(row->live_bytes).text);
        widen(&w->live_blocks, seep_format_count(row->live_blocks).text);
        widen(&w->peak, seep_format_count(row->peak_bytes).text);
        widen(&w->allocations, seep_format_count(row->allocations).text);
        widen(&w->end, end);
    }
}

struct seep_error *seep_text_processes(FILE *out, const struct seep_view *view,
                                       const struct seep_style *style) {
    struct seep_process_tree tree;
    struct seep_error *error = seep_process_tree_init(view->session, &tree);
    if (error)
        return error;
    uint64_t single = SEEP_MAX((uint64_t)ROWS_SINGLE, view->options.top);
    struct rows rows = {.merged = view->options.top != 0 && view->nr_processes > single};
    error = rows_fill(&rows, view, &tree);
    if (!error) {
        fprintf(out, "\n%s%s processes%s%s\n", seep_style_bold(style),
                seep_format_count(view->nr_processes).text, seep_style_off(style),
                rows.merged ? ", those of one program below one parent together; each with --top 0" : "");
        choose_widths(&rows, style);
        const struct widths *w = &rows.widths;
        fprintf(out, "%8s %*s %*s %*s %*s  %-*s %s\n", rows.merged ? "pid, nr" : "pid", w->live_bytes,
                "live bytes", w->live_blocks, "live blocks", w->peak, "peak bytes", w->allocations,
                "allocations", w->end, "end", "program");
        put_all(out, &rows);
    }
    rows_deinit(&rows);
    seep_process_tree_deinit(&tree);
    return error;
}
