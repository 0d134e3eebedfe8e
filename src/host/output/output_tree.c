// SPDX-License-Identifier: BSD-2-Clause
//
// The call tree as text: top-down, or with --tree=callers from the functions that allocate to their callers.
// A line is a chain of calls that does not branch, so the tree branches at every line; calls of a function by
// itself are one link, "walk ×6". What is below half a per cent of the whole, and beyond the --top biggest of
// one branch, is one line with its sum: the lines below a line, and "itself", add up to it. --top 0 shows
// all.
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"
#include "output/format.h"
#include "names/library_code.h"
#include "output/measures.h"
#include "output/output.h"
#include "output/report_text.h"
#include "output/wrap.h"
#include "view/call_tree.h"

#define WIDTH_DEFAULT   120u // columns where the output is no terminal
#define LEAST_PER_MILLE 5u
#define CALLERS_DEPTH   40u    // frames of a stack, bottom-up
#define BETWEEN         " > "  // links of a chain
#define LEFT_OUT        "… > " // of them, at the beginning
#define LAST_LEAST      12u    // columns of the last link beside the program's own
#define ALONE_MOST      36u    // columns that have no room for two links
#define DEPTH_DRAWN     24u // branches; deeper ones are drawn at this depth, or where a line has no more room
#define NARROW          64u // columns of a terminal without a column of shares
#define ROOM_LEAST      16u // columns for names

struct level {
    uint32_t next; // child to be shown
    unsigned nr_left;
    bool itself; // what the call has by itself is still to be shown
    uint64_t own;
    uint64_t rest; // what the small ones sum up to
    unsigned nr_rest;
};

struct link {
    size_t at;    // in the text of the chain
    bool own;     // code of the program itself
    bool library; // of the C++ library
};

struct drawing {
    FILE *out;
    const struct seep_call_tree *tree;
    const struct seep_measure *measure;
    struct seep_style style;
    unsigned width;
    unsigned depth_drawn;
    uint64_t least;
    uint64_t most; // children of one call
    struct level *levels;
    size_t nr_levels;
    size_t capacity;
    char *chain; // being written
    size_t chain_bytes;
    size_t chain_capacity;
    struct link *links; // of it
    bool callers;
    bool full_stacks;
    size_t nr_links;
    size_t links_capacity;
};

static unsigned left_of(const struct level *level) {
    return level->nr_left + level->itself + (level->nr_rest != 0);
}

// The columns of figures.
static unsigned margin_of(const struct drawing *d) {
    return d->width < NARROW ? 12 : 21;
}

// Writes the columns of figures and the branches. Returns how many columns these take.
static unsigned put_margin(struct drawing *d, uint64_t value) {
    struct seep_number number = d->measure->bytes ? seep_format_bytes(value) : seep_format_count(value);
    unsigned columns = margin_of(d);
    if (d->width < NARROW)
        fprintf(d->out, "%10s  ", number.text);
    else
        fprintf(d->out, "%12s %6s  ", number.text, seep_format_share(value, d->tree->calls[0].total).text);
    for (size_t i = 0; i < d->nr_levels; i++) {
        // The innermost level is the one whose item is being put: nothing left means it is the last.
        bool inner = i + 1 == d->nr_levels, last = left_of(&d->levels[i]) == 0;
        if (i >= d->depth_drawn && !inner)
            continue;
        fputs(inner ? (last ? "└─ " : "├─ ") : last ? "   " : "│  ", d->out);
        columns += 3;
    }
    return columns;
}

static struct seep_error *add_text(struct drawing *d, const char *text) {
    size_t nr = strlen(text);
    if (!seep_grow(&d->chain, &d->chain_capacity, d->chain_bytes + nr + 1, 1))
        return seep_error_no_memory();
    memcpy(d->chain + d->chain_bytes, text, nr + 1);
    d->chain_bytes += nr;
    return NULL;
}

static bool same_function(const struct seep_call_tree *tree, uint32_t a, uint32_t b) {
    return strcmp(tree->table->frames[tree->calls[a].frame].label,
                  tree->table->frames[tree->calls[b].frame].label) == 0;
}

static struct seep_error *add_name(struct drawing *d, struct link link, const char *label) {
    char *name = seep_escape(label);
    if (!name || !seep_grow(&d->links, &d->links_capacity, d->nr_links + 1, sizeof(*d->links))) {
        free(name);
        return seep_error_no_memory();
    }
    struct seep_error *error = d->nr_links ? add_text(d, BETWEEN) : NULL;
    if (!error) {
        link.at = d->chain_bytes;
        d->links[d->nr_links++] = link;
        error = add_text(d, name);
    }
    free(name);
    return error;
}

// Of links of the C++ library that call one another, the one that was called stands for all. Whether the next
// link is left out. In a tree of callers the next link takes the place of the link before.
static bool is_inside(struct drawing *d, bool library) {
    struct link *last = d->nr_links ? &d->links[d->nr_links - 1] : NULL;
    if (d->full_stacks || !library || !last || !last->library)
        return false;
    if (!d->callers)
        return true;
    d->nr_links--;
    d->chain_bytes = last->at - (d->nr_links ? strlen(BETWEEN) : 0);
    return false;
}

// One link of a chain: the function, and how often it calls itself. *call is the last of them then.
static struct seep_error *add_link(struct drawing *d, uint32_t *call) {
    const struct seep_call_tree *tree = d->tree;
    const struct seep_table_frame *row = &tree->table->frames[tree->calls[*call].frame];
    const struct seep_view_frame *frame = &row->frame;
    bool library = frame->function && seep_function_is_std(frame->function, frame->path);
    bool own = seep_blame_of(frame->function, frame->path, frame->line, frame->runtime) <= SEEP_BLAME_OWN;
    bool inside = is_inside(d, library);
    struct seep_error *error =
        inside ? NULL : add_name(d, (struct link){.own = own, .library = library}, row->label);
    unsigned times = 1;
    for (;; times++) {
        uint32_t child = tree->calls[*call].first_child;
        if (child == SEEP_NO_CALL || tree->calls[*call].own || tree->calls[child].next != SEEP_NO_CALL ||
            !same_function(tree, *call, child))
            break;
        *call = child;
    }
    char repeated[32];
    snprintf(repeated, sizeof(repeated), " ×%u", times);
    return !error && !inside && times > 1 ? add_text(d, repeated) : error;
}

// One name that is too long: its beginning and its end, which says most.
static void put_cut(FILE *out, const char *name, size_t width, size_t room) {
    size_t head = (room - 3) / 3, tail = room - 3 - head, at = 0, column = 0;
    for (; column < head; at++) // by characters: none is cut in two
        column += ((unsigned char)name[at + 1] & 0xc0) != 0x80;
    fwrite(name, 1, at, out);
    fputs(" … ", out);
    for (column = head; column < width - tail; at++)
        column += ((unsigned char)name[at + 1] & 0xc0) != 0x80;
    fputs(name + at, out);
}

// The link nearest to the allocation that is the program's own; nr_links: none is.
static size_t own_link(const struct drawing *d) {
    size_t found = d->nr_links;
    for (size_t i = 0; i < d->nr_links && (!d->callers || found == d->nr_links); i++)
        found = d->links[i].own ? i : found;
    return found;
}

// The program's own link, which is not among those at the end that fit, and the end.
static void put_around(struct drawing *d, size_t own, size_t room) {
    char *end = d->chain + d->links[own + 1].at - strlen(BETWEEN), kept = *end;
    const char *name = d->chain + d->links[own].at, *last = d->chain + d->links[d->nr_links - 1].at;
    const size_t mark = seep_text_width(LEFT_OUT), between = seep_text_width(BETWEEN);
    room -= SEEP_MIN(room, between + (own ? 2 * mark : mark));
    *end = 0;
    size_t width = seep_text_width(name), last_width = seep_text_width(last);
    fputs(own ? LEFT_OUT : "", d->out);
    size_t least = SEEP_MIN(last_width, (size_t)LAST_LEAST), most = SEEP_MAX(room, 2 * least) - least;
    if (width > most)
        put_cut(d->out, name, width, most);
    else
        fputs(name, d->out);
    *end = kept;
    room -= SEEP_MIN(room, SEEP_MIN(width, most));
    fputs(own + 2 == d->nr_links ? BETWEEN : BETWEEN LEFT_OUT, d->out);
    if (last_width > SEEP_MAX(room, (size_t)LAST_LEAST))
        put_cut(d->out, last, last_width, SEEP_MAX(room, (size_t)LAST_LEAST));
    else
        fputs(last, d->out);
}

// If two links have no room: the program's own link, or else the last one.
static void put_alone(struct drawing *d, size_t own, size_t room) {
    size_t at = own < d->nr_links ? own : d->nr_links - 1;
    if (at + 1 < d->nr_links)
        d->chain[d->links[at + 1].at - strlen(BETWEEN)] = 0;
    const char *name = d->chain + d->links[at].at;
    size_t width = seep_text_width(name), mark = at ? seep_text_width(LEFT_OUT) : 0;
    fputs(at ? LEFT_OUT : "", d->out);
    if (width > room - mark)
        put_cut(d->out, name, width, room - mark);
    else
        fputs(name, d->out);
}

// As many links as fit: the first, and the last ones, which say most. The program's own code is always among
// them. A name is cut only where it does not fit alone.
static void put_chain(struct drawing *d, unsigned columns) {
    size_t width = seep_text_width(d->chain);
    size_t room = d->width > columns + ROOM_LEAST ? d->width - columns : ROOM_LEAST;
    if (width <= room) {
        fputs(d->chain, d->out);
        return;
    }
    if (room < ALONE_MOST) {
        put_alone(d, own_link(d), room);
        return;
    }
    size_t mark = seep_text_width(LEFT_OUT);
    size_t from = d->nr_links - 1, first_bytes = d->nr_links > 1 ? d->links[1].at : 0;
    size_t last_width = seep_text_width(d->chain + d->links[from].at), own = own_link(d);
    if (from)
        room -= mark;
    if (own < from && (last_width > room || seep_text_width(d->chain + d->links[own].at) > room)) {
        put_around(d, own, room + mark);
        return;
    }
    if (last_width > room) {
        fputs(from ? LEFT_OUT : "", d->out);
        put_cut(d->out, d->chain + d->links[from].at, last_width, room);
        return;
    }
    char *second = d->chain + first_bytes, kept = *second;
    *second = 0;
    size_t first_width = seep_text_width(d->chain);
    // What is own stays where the first would take its room.
    bool has_first =
        from > 1 && first_width + last_width <= room &&
        (own >= from || own == 0 || first_width + seep_text_width(d->chain + d->links[own].at) <= room);
    if (has_first) {
        fputs(d->chain, d->out);
        room -= first_width;
    }
    *second = kept;
    while (from > 1 && seep_text_width(d->chain + d->links[from - 1].at) <= room)
        from--;
    fprintf(d->out, LEFT_OUT "%s", d->chain + d->links[from].at);
}

static struct seep_error *open_level(struct drawing *d, uint32_t call) {
    const struct seep_call *calls = d->tree->calls;
    struct level level = {.next = calls[call].first_child, .own = calls[call].own};
    for (uint32_t child = calls[call].first_child; child != SEEP_NO_CALL; child = calls[child].next) {
        if (calls[child].total >= d->least && level.nr_left < d->most) {
            level.nr_left++;
        } else {
            seep_add_up(&level.rest, calls[child].total);
            level.nr_rest++;
        }
    }
    level.itself = level.own && (level.nr_left || level.nr_rest);
    if (!level.nr_left && !level.itself) // only small ones, which the line itself stands for
        return NULL;
    if (!seep_grow(&d->levels, &d->capacity, d->nr_levels + 1, sizeof(*d->levels)))
        return seep_error_no_memory();
    d->levels[d->nr_levels++] = level;
    return NULL;
}

// A line for the chain that begins with `call`; its end becomes a level where it branches.
static struct seep_error *put_call(struct drawing *d, uint32_t call) {
    const struct seep_call *calls = d->tree->calls;
    unsigned columns = put_margin(d, calls[call].total);
    d->chain_bytes = 0;
    d->nr_links = 0;
    struct seep_error *error = add_link(d, &call);
    while (!error && !calls[call].own && calls[call].first_child != SEEP_NO_CALL &&
           calls[calls[call].first_child].next == SEEP_NO_CALL) {
        call = calls[call].first_child;
        error = add_link(d, &call);
    }
    if (error)
        return error;
    put_chain(d, columns);
    fputc('\n', d->out);
    return open_level(d, call);
}

static struct seep_error *put_next(struct drawing *d) {
    struct level *level = &d->levels[d->nr_levels - 1];
    if (level->itself) {
        level->itself = false;
        put_margin(d, level->own);
        fputs("(itself)\n", d->out);
        return NULL;
    }
    if (level->nr_left) {
        uint32_t call = level->next;
        level->next = d->tree->calls[call].next;
        level->nr_left--;
        return put_call(d, call);
    }
    if (level->nr_rest) {
        unsigned nr = level->nr_rest;
        level->nr_rest = 0;
        put_margin(d, level->rest);
        fprintf(d->out, "(%u smaller)\n", nr);
        return NULL;
    }
    d->nr_levels--;
    return NULL;
}

static struct seep_error *draw(FILE *out, const struct seep_view *view, const struct seep_call_tree *tree,
                               const struct seep_measure *measure, uint64_t unplaced) {
    if (view->nr_rows_all == 0 && view->filtered) {
        fputs("Nothing matches the filters.\n", out);
        return NULL;
    }
    struct drawing d = {.out = out, .tree = tree, .measure = measure, .style = seep_style_of(out)};
    uint64_t total = tree->calls[0].total;
    bool all = view->options.top == 0;
    d.width = d.style.width ? d.style.width : WIDTH_DEFAULT;
    unsigned taken = margin_of(&d) + ROOM_LEAST;
    d.depth_drawn = SEEP_MIN(DEPTH_DRAWN, (SEEP_MAX(d.width, taken + 3) - taken) / 3 - 1);
    d.least = tree->least;
    d.most = all ? UINT64_MAX : view->options.top;
    bool callers = d.callers = view->options.tree == SEEP_TREE_CALLERS;
    d.full_stacks = view->options.full_stacks;
    struct seep_number number = measure->bytes ? seep_format_bytes(total) : seep_format_count(total);
    struct seep_wrap wrap;
    fprintf(seep_wrap_begin(&wrap, out, &d.style), "%s%s: %s%s, %s\n", seep_style_bold(&d.style),
            measure->title, number.text, seep_style_off(&d.style),
            callers ? "from the functions that allocate to their callers" : "from callers to what they call");
    struct seep_error *error = seep_wrap_end(&wrap, NULL);
    // The children of the root are roots: they have no branch in front.
    for (uint32_t call = tree->calls[0].first_child; !error && call != SEEP_NO_CALL;
         call = tree->calls[call].next) {
        if (tree->calls[call].total < d.least) {
            seep_add_up(&unplaced, tree->calls[call].total);
            continue;
        }
        error = put_call(&d, call);
        while (!error && d.nr_levels)
            error = put_next(&d);
    }
    if (!error && unplaced) {
        put_margin(&d, unplaced);
        fputs(d.width < NARROW ? "(smaller, or not known)\n"
                               : "(smaller ones, and stacks that are not known)\n",
              out);
    }
    free(d.levels);
    free(d.chain);
    free(d.links);
    return error;
}

static struct seep_error *write_tree(FILE *out, struct seep_view *view, const struct seep_summary *summary) {
    const struct seep_measure *measure = seep_measure_of_sort(view->options.sort);
    struct seep_stack_table table = SEEP_STACK_TABLE_INIT;
    struct seep_call_tree tree = {NULL};
    bool callers = view->options.tree == SEEP_TREE_CALLERS;
    uint32_t *nodes = NULL;
    uint64_t *values = calloc(SEEP_MAX(view->nr_rows, (size_t)1), sizeof(*values));
    struct seep_error *error = values ? NULL : seep_error_no_memory();
    if (!error) {
        struct seep_style style = seep_style_of(out);
        struct seep_wrap wrap; // the tree itself keeps to the width by what it leaves out
        error = seep_text_health(seep_wrap_begin(&wrap, out, &style), view, &style);
        error = seep_wrap_end(&wrap, error);
        fputc('\n', out);
    }
    for (size_t i = 0; values && i < view->nr_rows; i++)
        values[i] = seep_measure_value(measure, &view->rows[i]);
    if (!error)
        error = seep_stack_table_of(&table, view, &nodes);
    if (!error)
        error = seep_call_tree_init(&tree, &table, nodes, values, view->nr_rows, callers, CALLERS_DEPTH,
                                    view->options.top ? LEAST_PER_MILLE : 0);
    if (!error)
        error = draw(out, view, &tree, measure, tree.calls[0].own);
    seep_call_tree_deinit(&tree);
    free(nodes);
    free(values);
    seep_stack_table_deinit(&table);
    return error;
}

const struct seep_output seep_output_tree = {
    .name = "tree",
    .suffix = ".txt",
    .what = "the call tree, for people",
    .needs = SEEP_OUTPUT_SITES | SEEP_OUTPUT_ROWS | SEEP_OUTPUT_HEALTH,
    .write = write_tree,
};
