// SPDX-License-Identifier: BSD-2-Clause
//
// A pen that draws with cairo and writes PNG, twice as many pixels as the plot has, for screens that have
// them. The library brings a dozen others with it, so it is loaded when a PNG is asked for and not before.
#include <dlfcn.h>
#include <stdlib.h>

#include <cairo.h>

#include "output/format.h"
#include "plot/pen.h"

#define SONAME "libcairo.so.2"
#define SCALE  2
#define FONT   "sans-serif"

const char *const seep_pen_png_lacks = NULL;

#define FUNCTIONS(X)                                                                                         \
    X(image_surface_create)                                                                                  \
    X(surface_destroy)                                                                                       \
    X(surface_write_to_png_stream)                                                                           \
    X(create)                                                                                                \
    X(destroy)                                                                                               \
    X(status)                                                                                                \
    X(status_to_string)                                                                                      \
    X(scale)                                                                                                 \
    X(set_source_rgb)                                                                                        \
    X(rectangle)                                                                                             \
    X(move_to)                                                                                               \
    X(line_to)                                                                                               \
    X(close_path)                                                                                            \
    X(fill)                                                                                                  \
    X(stroke)                                                                                                \
    X(set_line_width)                                                                                        \
    X(set_dash)                                                                                              \
    X(select_font_face)                                                                                      \
    X(set_font_size)                                                                                         \
    X(text_extents)                                                                                          \
    X(show_text)

struct cairo {
#define MEMBER(name) __typeof__(cairo_##name) *name;
    FUNCTIONS(MEMBER)
#undef MEMBER
};

struct png_pen {
    struct seep_pen pen; // first
    struct cairo cairo;
    cairo_surface_t *surface;
    cairo_t *context;
};

static bool load(struct cairo *cairo) {
    void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return false;
#define FIND(name)                                                                                           \
    cairo->name = dlsym(library, "cairo_" #name);                                                            \
    if (!cairo->name)                                                                                        \
        return false;
    FUNCTIONS(FIND)
#undef FIND
    return true;
}

static void set_ink(const struct png_pen *png, enum seep_ink ink) {
    uint32_t colour = seep_ink_light(ink);
    png->cairo.set_source_rgb(png->context, (colour >> 16) / 255.0, (colour >> 8 & 0xff) / 255.0,
                              (colour & 0xff) / 255.0);
}

static void put_box(struct seep_pen *pen, double x, double y, double width, double height, enum seep_ink ink,
                    const char *tip) {
    const struct png_pen *png = (struct png_pen *)pen;
    set_ink(png, ink);
    png->cairo.rectangle(png->context, x, y, width, height);
    png->cairo.fill(png->context);
}

static void put_area(struct seep_pen *pen, const double *x, const double *upper, const double *lower,
                     size_t nr, enum seep_ink ink, const char *tip) {
    const struct png_pen *png = (struct png_pen *)pen;
    if (!nr)
        return;
    set_ink(png, ink);
    png->cairo.move_to(png->context, x[0], upper[0]);
    for (size_t i = 1; i < nr; i++)
        png->cairo.line_to(png->context, x[i], upper[i]);
    for (size_t i = nr; i > 0; i--)
        png->cairo.line_to(png->context, x[i - 1], lower[i - 1]);
    png->cairo.close_path(png->context);
    png->cairo.fill(png->context);
}

static void put_line(struct seep_pen *pen, const double *x, const double *y, size_t nr, enum seep_ink ink,
                     double width, bool dashed) {
    const struct png_pen *png = (struct png_pen *)pen;
    static const double dashes[] = {4, 3};
    set_ink(png, ink);
    for (size_t i = 0; i < nr; i++)
        (i ? png->cairo.line_to : png->cairo.move_to)(png->context, x[i], y[i]);
    png->cairo.set_line_width(png->context, width);
    png->cairo.set_dash(png->context, dashes, dashed ? 2 : 0, 0);
    png->cairo.stroke(png->context);
}

static double width_of(const struct png_pen *png, double size, bool bold, const char *text) {
    cairo_text_extents_t extents;
    png->cairo.select_font_face(png->context, FONT, CAIRO_FONT_SLANT_NORMAL,
                                bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    png->cairo.set_font_size(png->context, size);
    png->cairo.text_extents(png->context, text, &extents);
    return extents.x_advance;
}

static void put_label(struct seep_pen *pen, double x, double y, enum seep_anchor anchor, double size,
                      bool bold, enum seep_ink ink, const char *text) {
    const struct png_pen *png = (struct png_pen *)pen;
    char *safe = seep_escape(text);
    pen->out_of_memory |= !safe;
    if (!safe)
        return;
    double width = width_of(png, size, bold, safe);
    set_ink(png, ink);
    png->cairo.move_to(png->context, x - width * (double)anchor / 2, y);
    png->cairo.show_text(png->context, safe);
    free(safe);
}

static cairo_status_t put_bytes(void *out, const unsigned char *bytes, unsigned nr) {
    return fwrite(bytes, 1, nr, out) == nr ? CAIRO_STATUS_SUCCESS : CAIRO_STATUS_WRITE_ERROR;
}

static struct seep_error *failed(const struct png_pen *png, cairo_status_t status) {
    return seep_error_create(SEEP_E_UNSUPPORTED, "plot: cairo cannot draw it: %s",
                             png->cairo.status_to_string(status));
}

static void destroy(struct png_pen *png) {
    if (png->context)
        png->cairo.destroy(png->context);
    if (png->surface)
        png->cairo.surface_destroy(png->surface);
    free(png);
}

static struct seep_error *end(struct seep_pen *pen) {
    struct png_pen *png = (struct png_pen *)pen;
    cairo_status_t status = png->cairo.status(png->context);
    struct seep_error *error = pen->out_of_memory ? seep_error_no_memory() : NULL;
    if (!error && !status)
        status = png->cairo.surface_write_to_png_stream(png->surface, put_bytes, pen->out);
    if (!error && status && status != CAIRO_STATUS_WRITE_ERROR) // of a failed write the stream tells
        error = failed(png, status);
    destroy(png);
    return error;
}

static const struct seep_pen_ops ops = {put_box, put_area, put_line, put_label, end};

struct seep_error *seep_pen_begin_png(FILE *out, double width, double height, const char *title,
                                      struct seep_pen **ret_pen) {
    struct png_pen *png = calloc(1, sizeof(*png));
    if (!png)
        return seep_error_no_memory();
    png->pen = (struct seep_pen){.ops = &ops, .out = out};
    if (!load(&png->cairo)) {
        free(png);
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "plot: there is no " SONAME " here, which draws PNG"),
            "install it (libcairo2), or -o FILE.svg, which needs no library");
    }
    png->surface =
        png->cairo.image_surface_create(CAIRO_FORMAT_RGB24, (int)(width * SCALE), (int)(height * SCALE));
    png->context = png->cairo.create(png->surface);
    struct seep_error *error = NULL;
    cairo_status_t status = png->cairo.status(png->context);
    if (status)
        error = failed(png, status);
    else if (width_of(png, 12, false, "seep") <= 0)
        error = seep_error_hint(seep_error_create(SEEP_E_UNSUPPORTED, "plot: there is no font here"),
                                "install one (fonts-dejavu-core), or -o FILE.svg");
    if (error) {
        destroy(png);
        return error;
    }
    png->cairo.scale(png->context, SCALE, SCALE);
    put_box(&png->pen, 0, 0, width, height, SEEP_INK_GROUND, NULL);
    *ret_pen = &png->pen;
    return NULL;
}
