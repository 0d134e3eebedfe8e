// SPDX-License-Identifier: BSD-2-Clause
//
// The call tree as a flame graph: a box for each function above its caller, as wide as what was allocated
// through it. Hues stand for modules, the biggest first; grey for the C and C++ runtime.
#ifndef SEEP_PLOT_FLAME_H
#define SEEP_PLOT_FLAME_H

#include "output/measures.h"
#include "plot/pen.h"
#include "view/call_tree.h"

struct seep_flame {
    const struct seep_call_tree *tree; // borrowed
    const struct seep_measure *measure;
    size_t nr_levels; // drawn, the root's included
    bool cut;         // there are more
};

void seep_flame_init(struct seep_flame *flame, const struct seep_call_tree *tree,
                     const struct seep_measure *measure);
// In pixels.
void seep_flame_size(const struct seep_flame *flame, double *ret_width, double *ret_height);
void seep_flame_draw(const struct seep_flame *flame, const char *title, struct seep_pen *pen);

#endif
