// SPDX-License-Identifier: BSD-2-Clause
// The list of keys: it fits any width, because its texts are wrapped, and any height, because it moves.
#include <string.h>

#include "screen/screen_parts.h"

#define KEY_COLUMNS  19 // of the names of keys, where there is room for them beside the text
#define LEAST_BESIDE 60

static const struct {
    const char *keys;
    const char *text;
} lines[] = {
    {"1-8, left, right", "sites functions lines modules threads processes leaks log"},
    {"up down j k", "choose a row; PageUp PageDown Home End"},
    {"Enter", "the row's stack and blocks; in the tree: open, close"},
    {"Tab", "the keys move the stack, and the rows again"},
    {"/", "only what has a function, file or module like this; Esc: all"},
    {"s", "sort by the next column; or click on its head"},
    {"t", "the call tree of what is live"},
    {"m, d", "mark this moment; sort by what came since"},
    {"< >", "only what one thread did"},
    {"S", "scan the memory for leaks: the program waits for that long"},
    {"X", "record no allocations; record them again"},
    {"Space", "freeze, and go on"},
    {"+ -", "look less often, more often"},
    {"w", "save what there is now as a trace"},
    {":", "filter sort mark save scan tree thread freeze quit stop start, depth N (of the program's stacks), "
          "or a tab"},
    {"q", "quit; the program goes on"},
};

// Rows [first, first + nr) of a text that is longer than the screen.
struct window {
    struct seep_canvas *canvas;
    int y; // where row `first` is
    int first;
    int nr;
};

static void put(const struct window *window, int row, int x, const char *text, size_t nr_bytes) {
    char line[SEEP_CANVAS_MOST];
    if (row < window->first || row >= window->first + window->nr)
        return;
    nr_bytes = SEEP_MIN(nr_bytes, sizeof(line) - 1);
    memcpy(line, text, nr_bytes);
    line[nr_bytes] = 0;
    seep_canvas_put(window->canvas, x, window->y + row - window->first, -1, 0, line);
}

// Wraps between words. Texts are ASCII. Returns how many rows the text takes.
static int put_wrapped(const struct window *window, int row, int x, const char *text) {
    size_t room = (size_t)SEEP_MAX(window->canvas->nr_columns - x, 8);
    int nr = 0;
    while (*text) {
        size_t piece = SEEP_MIN(strlen(text), room);
        if (text[piece])
            while (piece > 1 && text[piece] != ' ')
                piece--;
        put(window, row + nr++, x, text, piece);
        text += piece;
        text += strspn(text, " ");
    }
    return nr;
}

static int put_lines(const struct window *window) {
    bool beside = window->canvas->nr_columns >= LEAST_BESIDE;
    int row = 0;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(lines); i++) {
        put(window, row, 1, lines[i].keys, strlen(lines[i].keys));
        row += beside ? 0 : 1;
        row += put_wrapped(window, row, beside ? 1 + KEY_COLUMNS : 4, lines[i].text);
    }
    return row;
}

bool seep_screen_help_key(struct seep_screen *screen, int key) {
    int page = SEEP_MAX(screen->help_rows - 1, 1);
    int by = key == SEEP_KEY_DOWN || key == 'j' ? 1
             : key == SEEP_KEY_UP || key == 'k' ? -1
             : key == SEEP_KEY_PAGE_DOWN        ? page
             : key == SEEP_KEY_PAGE_UP          ? -page
                                                : 0;
    if (!by || !screen->help_last)
        return false;
    screen->help_first = SEEP_MAX(SEEP_MIN(screen->help_first + by, screen->help_last), 0);
    return true;
}

void seep_screen_draw_help(struct seep_screen *screen, struct seep_canvas *canvas) {
    int y = canvas->nr_rows > 6 ? 2 : canvas->nr_rows > 2;
    struct window window = {.canvas = canvas, .y = y, .nr = 0};
    int nr = put_lines(&window);
    bool moves = nr > canvas->nr_rows - y;
    window.nr = SEEP_MAX(canvas->nr_rows - y, 1);
    screen->help_rows = window.nr;
    screen->help_last = SEEP_MAX(nr - window.nr, 0);
    screen->help_first = window.first = SEEP_MIN(screen->help_first, screen->help_last);
    (void)put_lines(&window);
    if (y)
        seep_canvas_put(canvas, 1, 0, -1, SEEP_ATTR_BOLD,
                        moves ? "keys (up, down; others go back)" : "seep top: keys (any of them goes back)");
}
