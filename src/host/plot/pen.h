// SPDX-License-Identifier: BSD-2-Clause
//
// A pen draws boxes, areas, lines and text by the roles that colours have, as SVG or as PNG. Lengths are
// pixels, from the upper left corner. Text may be foreign: pens escape it.
#ifndef SEEP_PLOT_PEN_H
#define SEEP_PLOT_PEN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

enum seep_ink {
    SEEP_INK_GROUND,
    SEEP_INK_TEXT,
    SEEP_INK_QUIET, // text beside the point, axes
    SEEP_INK_LINE,  // of the grid
    SEEP_INK_ACCENT,
    SEEP_INK_RUNTIME, // the C and C++ runtime
    SEEP_INK_ROOT,
    SEEP_INK_REST, // what is too small for a colour of its own
    SEEP_INK_HUE,  // and SEEP_INK_HUES - 1 more
    SEEP_INK_NR = SEEP_INK_HUE + 8
};
#define SEEP_INK_HUES 8u

// Where the given point is in a text.
enum seep_anchor { SEEP_ANCHOR_START, SEEP_ANCHOR_MIDDLE, SEEP_ANCHOR_END };

struct seep_pen;
struct seep_pen_ops {
    // `tip`: what a pointer over it tells, where there are pointers; NULL: nothing.
    void (*box)(struct seep_pen *pen, double x, double y, double width, double height, enum seep_ink ink,
                const char *tip);
    // Between two lines with the same x.
    void (*area)(struct seep_pen *pen, const double *x, const double *upper, const double *lower, size_t nr,
                 enum seep_ink ink, const char *tip);
    void (*line)(struct seep_pen *pen, const double *x, const double *y, size_t nr, enum seep_ink ink,
                 double width, bool dashed);
    // `y`: of the base line.
    void (*text)(struct seep_pen *pen, double x, double y, enum seep_anchor anchor, double size, bool bold,
                 enum seep_ink ink, const char *text);
    // Writes what is not written yet. Frees nothing that a failed beginning did not take.
    struct seep_error *(*end)(struct seep_pen *pen);
};

// One of them is made by seep_pen_begin_*() and ended once by its end(), which frees it.
struct seep_pen {
    const struct seep_pen_ops *ops;
    FILE *out;
    bool out_of_memory;
};

// The colour of a role: 0xrrggbb. SVG has both, PNG the light one.
uint32_t seep_ink_light(enum seep_ink ink);
uint32_t seep_ink_dark(enum seep_ink ink);

// The first characters of a text that are about as wide as `width`, escaped for people and with "…" where
// something is left out; NULL: out of memory, or there is no room for anything. The caller frees it.
SEEP_MUST_CHECK char *seep_pen_fit(const char *text, double size, double width);

// `width` and `height` are in pixels. `out` is borrowed until the pen has ended.
SEEP_MUST_CHECK struct seep_error *seep_pen_begin_svg(FILE *out, double width, double height,
                                                      const char *title, struct seep_pen **ret_pen);
SEEP_MUST_CHECK struct seep_error *seep_pen_begin_png(FILE *out, double width, double height,
                                                      const char *title, struct seep_pen **ret_pen);
// NULL, or the library that this build lacks for PNG.
extern const char *const seep_pen_png_lacks;

#endif
