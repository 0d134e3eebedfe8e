// SPDX-License-Identifier: BSD-2-Clause
//
// A pen that writes SVG (Source: SVG 1.1). Each shape has the light colour as an attribute and its role as
// a class, so that a dark colour scheme changes it where the viewer knows of one. No scripts.
#include <inttypes.h>
#include <stdlib.h>

#include "output/format.h"
#include "plot/pen.h"

// Foreign text between tags, or in quotes. Control characters are escapes by then; what is left that XML does
// not have are two code points (Source: XML 1.0, production 2).
static void put_text(struct seep_pen *pen, const char *text) {
    char *safe = seep_escape(text);
    pen->out_of_memory |= !safe;
    unsigned nr;
    for (const char *at = safe; at && *at; at += nr) {
        uint32_t code = 0;
        nr = seep_utf8_next(at, &code);
        if (!nr) {
            nr = 1;
            fputc('?', pen->out);
        } else if (code == 0xfffe || code == 0xffff) {
            fputc('?', pen->out);
        } else if (code == '&' || code == '<' || code == '>' || code == '"') {
            fprintf(pen->out, "&#%" PRIu32 ";", code);
        } else {
            fwrite(at, 1, nr, pen->out);
        }
    }
    free(safe);
}

static void put_end(struct seep_pen *pen, const char *name, const char *tip) {
    if (!tip) {
        fputs("/>\n", pen->out);
        return;
    }
    fputs("><title>", pen->out);
    put_text(pen, tip);
    fprintf(pen->out, "</title></%s>\n", name);
}

static void put_fill(struct seep_pen *pen, enum seep_ink ink) {
    fprintf(pen->out, " class=\"f%d\" fill=\"#%06" PRIx32 "\"", (int)ink, seep_ink_light(ink));
}

static void put_box(struct seep_pen *pen, double x, double y, double width, double height, enum seep_ink ink,
                    const char *tip) {
    fprintf(pen->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"", x, y, width, height);
    put_fill(pen, ink);
    put_end(pen, "rect", tip);
}

static void put_area(struct seep_pen *pen, const double *x, const double *upper, const double *lower,
                     size_t nr, enum seep_ink ink, const char *tip) {
    fputs("<path d=\"", pen->out);
    for (size_t i = 0; i < nr; i++)
        fprintf(pen->out, "%c%.2f %.2f", i ? 'L' : 'M', x[i], upper[i]);
    for (size_t i = nr; i > 0; i--)
        fprintf(pen->out, "L%.2f %.2f", x[i - 1], lower[i - 1]);
    fputs("Z\"", pen->out);
    put_fill(pen, ink);
    put_end(pen, "path", tip);
}

static void put_line(struct seep_pen *pen, const double *x, const double *y, size_t nr, enum seep_ink ink,
                     double width, bool dashed) {
    fputs("<path d=\"", pen->out);
    for (size_t i = 0; i < nr; i++)
        fprintf(pen->out, "%c%.2f %.2f", i ? 'L' : 'M', x[i], y[i]);
    fprintf(pen->out, "\" class=\"s%d\" fill=\"none\" stroke=\"#%06" PRIx32 "\" stroke-width=\"%.2f\"%s/>\n",
            (int)ink, seep_ink_light(ink), width, dashed ? " stroke-dasharray=\"4 3\"" : "");
}

static void put_label(struct seep_pen *pen, double x, double y, enum seep_anchor anchor, double size,
                      bool bold, enum seep_ink ink, const char *text) {
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    fprintf(pen->out, "<text x=\"%.2f\" y=\"%.2f\" font-size=\"%.1f\"%s%s", x, y, size, anchors[anchor],
            bold ? " font-weight=\"600\"" : "");
    put_fill(pen, ink);
    fputc('>', pen->out);
    put_text(pen, text);
    fputs("</text>\n", pen->out);
}

static struct seep_error *end(struct seep_pen *pen) {
    fputs("</svg>\n", pen->out);
    bool out_of_memory = pen->out_of_memory;
    free(pen);
    return out_of_memory ? seep_error_no_memory() : NULL;
}

static const struct seep_pen_ops ops = {put_box, put_area, put_line, put_label, end};

struct seep_error *seep_pen_begin_svg(FILE *out, double width, double height, const char *title,
                                      struct seep_pen **ret_pen) {
    struct seep_pen *pen = malloc(sizeof(*pen));
    if (!pen)
        return seep_error_no_memory();
    *pen = (struct seep_pen){.ops = &ops, .out = out};
    fprintf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" font-family=\"system-ui, 'DejaVu Sans', "
        "sans-serif\">\n<title>",
        width, height, width, height);
    put_text(pen, title);
    fputs("</title>\n<style>\n@media (prefers-color-scheme: dark) {\n", out);
    for (int ink = 0; ink < SEEP_INK_NR; ink++)
        fprintf(out, ".f%d { fill: #%06" PRIx32 " } .s%d { stroke: #%06" PRIx32 " }\n", ink,
                seep_ink_dark(ink), ink, seep_ink_dark(ink));
    fputs("}\nrect:hover { opacity: 0.75 }\n</style>\n", out);
    put_box(pen, 0, 0, width, height, SEEP_INK_GROUND, NULL);
    *ret_pen = pen;
    return NULL;
}
