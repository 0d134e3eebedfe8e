// SPDX-License-Identifier: BSD-2-Clause
// A flame graph, see flame.h. Only boxes of a third of a pixel and more are drawn, so their number is bounded
// by the size of the picture.
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/numbers.h"
#include "plot/flame.h"

#define WIDTH  1200.0
#define LEFT   16.0
#define TOP    84.0
#define ROW    18.0
#define LEAST  0.33
#define LEVELS 240u
#define LABEL  11.5

struct open {
    uint32_t call;
    unsigned level;
    double x;
};

struct painting {
    const struct seep_flame *flame;
    struct seep_pen *pen;
    double scale; // pixels of one
    double base;  // y of the root's box
    const char *modules[SEEP_INK_HUES];
    size_t nr_modules;
    bool has_runtime; // a box of it
};

static double scale_of(const struct seep_call_tree *tree) {
    return tree->calls[0].total ? (WIDTH - 2 * LEFT) / (double)tree->calls[0].total : 0;
}

// Walks over what is wide enough. `paint` may be NULL: then only the depth is looked for. A node's parent has
// a smaller id, so the walk ends.
struct walk {
    struct open *open;
    size_t nr;
    size_t capacity;
};

static bool push(struct walk *walk, struct open next) {
    if (!seep_grow(&walk->open, &walk->capacity, walk->nr + 1, sizeof(*walk->open)))
        return false;
    walk->open[walk->nr++] = next;
    return true;
}

static bool push_children(struct walk *walk, const struct seep_call_tree *tree, struct open at,
                          double scale) {
    double x = at.x;
    for (uint32_t child = tree->calls[at.call].first_child; child != SEEP_NO_CALL;
         child = tree->calls[child].next) {
        double width = (double)tree->calls[child].total * scale;
        if (width < LEAST) // ordered: what follows is no wider
            break;
        if (!push(walk, (struct open){child, at.level + 1, x}))
            return false;
        x += width;
    }
    return true;
}

void seep_flame_init(struct seep_flame *flame, const struct seep_call_tree *tree,
                     const struct seep_measure *measure) {
    struct walk walk = {NULL};
    *flame = (struct seep_flame){.tree = tree, .measure = measure, .nr_levels = 1};
    bool good = push(&walk, (struct open){0, 0, 0});
    while (good && walk.nr) {
        struct open at = walk.open[--walk.nr];
        flame->nr_levels = SEEP_MAX(flame->nr_levels, (size_t)at.level + 1);
        if (at.level + 1 < LEVELS)
            good = push_children(&walk, tree, at, scale_of(tree));
        else
            flame->cut = true;
    }
    free(walk.open);
}

void seep_flame_size(const struct seep_flame *flame, double *ret_width, double *ret_height) {
    *ret_width = WIDTH;
    *ret_height = TOP + ROW * (double)flame->nr_levels + 20;
}

static enum seep_ink ink_of(struct painting *p, const struct seep_table_frame *frame) {
    if (frame->frame.runtime) {
        p->has_runtime = true;
        return SEEP_INK_RUNTIME;
    }
    const char *module = frame->frame.module ? frame->frame.module : "";
    for (size_t i = 0; i < p->nr_modules; i++)
        if (strcmp(p->modules[i], module) == 0)
            return SEEP_INK_HUE + (int)i;
    if (p->nr_modules == SEEP_INK_HUES)
        return SEEP_INK_REST;
    p->modules[p->nr_modules] = module;
    return SEEP_INK_HUE + (int)p->nr_modules++;
}

static void put_box(struct painting *p, struct open at) {
    const struct seep_call_tree *tree = p->flame->tree;
    const struct seep_call *call = &tree->calls[at.call];
    const struct seep_table_frame *frame = at.call ? &tree->table->frames[call->frame] : NULL;
    const char *label = frame ? frame->label : "all";
    double width = (double)call->total * p->scale, y = p->base - ROW * at.level;
    struct seep_number number =
        p->flame->measure->bytes ? seep_format_bytes(call->total) : seep_format_count(call->total);
    char *tip = NULL;
    if (asprintf(&tip, "%s%s%s: %s, %s", label, frame && frame->frame.module ? " in " : "",
                 frame && frame->frame.module ? frame->frame.module : "", number.text,
                 seep_format_share(call->total, tree->calls[0].total).text) < 0)
        tip = NULL;
    p->pen->out_of_memory |= !tip;
    p->pen->ops->box(p->pen, LEFT + at.x, y, SEEP_MAX(width - 0.6, 0.2), ROW - 1,
                     frame ? ink_of(p, frame) : SEEP_INK_ROOT, tip);
    char *fit = seep_pen_fit(label, LABEL, width - 8);
    if (fit)
        p->pen->ops->text(p->pen, LEFT + at.x + 4, y + ROW - 5.5, SEEP_ANCHOR_START, LABEL, false,
                          SEEP_INK_TEXT, fit);
    free(fit);
    free(tip);
}

static void put_legend(const struct painting *p) {
    double x = LEFT;
    for (size_t i = 0; i < p->nr_modules + p->has_runtime && x < WIDTH - 120; i++) {
        const char *words = i < p->nr_modules ? p->modules[i] : "C and C++ runtime";
        char *fit = seep_pen_fit(*words ? words : "(no module)", LABEL, 150);
        p->pen->out_of_memory |= !fit;
        if (!fit)
            return;
        p->pen->ops->box(p->pen, x, TOP - 23, 10, 10,
                         i < p->nr_modules ? SEEP_INK_HUE + (int)i : SEEP_INK_RUNTIME, NULL);
        p->pen->ops->text(p->pen, x + 15, TOP - 14, SEEP_ANCHOR_START, LABEL, false, SEEP_INK_QUIET, fit);
        x += 40 + 6.6 * (double)strlen(fit);
        free(fit);
    }
}

void seep_flame_draw(const struct seep_flame *flame, const char *title, struct seep_pen *pen) {
    const struct seep_call_tree *tree = flame->tree;
    struct painting p = {.flame = flame,
                         .pen = pen,
                         .scale = scale_of(tree),
                         .base = TOP + ROW * (double)(flame->nr_levels - 1)};
    struct seep_number number = flame->measure->bytes ? seep_format_bytes(tree->calls[0].total)
                                                      : seep_format_count(tree->calls[0].total);
    char words[160];
    snprintf(words, sizeof(words), "%s: %s%s", flame->measure->title, number.text,
             flame->cut ? "; deeper frames are left out" : "");
    char *head = seep_pen_fit(title, 18, WIDTH - 48);
    pen->out_of_memory |= !head;
    pen->ops->text(pen, LEFT, 30, SEEP_ANCHOR_START, 18, true, SEEP_INK_TEXT, head ? head : "");
    pen->ops->text(pen, LEFT, 50, SEEP_ANCHOR_START, LABEL, false, SEEP_INK_QUIET, words);
    free(head);
    struct walk walk = {NULL};
    bool good = push(&walk, (struct open){0, 0, 0});
    while (good && walk.nr) {
        struct open at = walk.open[--walk.nr];
        put_box(&p, at);
        if (at.level + 1 < flame->nr_levels)
            good = push_children(&walk, tree, at, p.scale);
    }
    pen->out_of_memory |= !good;
    free(walk.open);
    put_legend(&p);
}
