// SPDX-License-Identifier: BSD-2-Clause
// The place of the PNG pen in a build without cairo.
#include "plot/pen.h"

const char *const seep_pen_png_lacks = "cairo";

struct seep_error *seep_pen_begin_png(FILE *out, double width, double height, const char *title,
                                      struct seep_pen **ret_pen) {
    return seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED,
                                             "plot: seep was built without %s, which draws PNG",
                                             seep_pen_png_lacks),
                           "-o FILE.svg needs no library");
}
