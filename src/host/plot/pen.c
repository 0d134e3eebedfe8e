// SPDX-License-Identifier: BSD-2-Clause
// What pens share, see pen.h: the colours, and how wide text is.
#include <stdlib.h>
#include <string.h>

#include "output/format.h"
#include "plot/pen.h"

// Calm hues of like lightness, and ink that is read on all of them. Those of the page (web/src/page.css).
static const struct {
    uint32_t light, dark;
} colours[SEEP_INK_NR] = {
    [SEEP_INK_GROUND] = {0xffffff, 0x1a1e21},  [SEEP_INK_TEXT] = {0x1d2125, 0xe3e6e8},
    [SEEP_INK_QUIET] = {0x62686f, 0x98a1a8},   [SEEP_INK_LINE] = {0xe4e4df, 0x2c3236},
    [SEEP_INK_ACCENT] = {0x0f6b6b, 0x63bdb8},  [SEEP_INK_RUNTIME] = {0xdcdcd6, 0x30363a},
    [SEEP_INK_ROOT] = {0xe9e9e4, 0x2a3034},    [SEEP_INK_REST] = {0xcfcfc9, 0x3c4449},
    [SEEP_INK_HUE] = {0x8fbcc3, 0x3f6a72},     [SEEP_INK_HUE + 1] = {0xdfbf8c, 0x806640},
    [SEEP_INK_HUE + 2] = {0xa5c79e, 0x4f7048}, [SEEP_INK_HUE + 3] = {0xb0b5d8, 0x545a82},
    [SEEP_INK_HUE + 4] = {0xd9a99b, 0x7d564b}, [SEEP_INK_HUE + 5] = {0xcbb1ce, 0x6f5678},
    [SEEP_INK_HUE + 6] = {0xbfc790, 0x646b3b}, [SEEP_INK_HUE + 7] = {0x9bc6b3, 0x416e5c},
};

uint32_t seep_ink_light(enum seep_ink ink) {
    return colours[ink].light;
}

uint32_t seep_ink_dark(enum seep_ink ink) {
    return colours[ink].dark;
}

#define ADVANCE 0.6 // of an average character of a sans-serif font, in its size; most are narrower

char *seep_pen_fit(const char *text, double size, double width) {
    size_t most = width > 0 ? (size_t)(width / (size * ADVANCE)) : 0;
    char *safe = most ? seep_escape(text) : NULL;
    if (!safe || seep_text_width(safe) <= most)
        return safe;
    char *fit = most >= 3 ? malloc(strlen(safe) + sizeof("…")) : NULL;
    size_t at = 0;
    for (size_t nr = 0; fit && nr + 1 < most && safe[at]; nr++)
        do
            at++;
        while (((unsigned char)safe[at] & 0xc0) == 0x80);
    if (fit) {
        memcpy(fit, safe, at);
        strcpy(fit + at, "…");
    }
    free(safe);
    return fit;
}
