// SPDX-License-Identifier: BSD-2-Clause
// The terminal by ncursesw, see full_screen.h.
#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "screen/full_screen.h"
#include "screen/screen.h"

const bool seep_full_screen_is_built = true;

static bool has_colours;
static SCREEN *terminal;

bool seep_full_screen_is_possible(const char **ret_why) {
    const char *term = getenv("TERM");
    *ret_why = NULL;
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        *ret_why = "this is no terminal";
    else if (!term || !*term || strcmp(term, "dumb") == 0)
        *ret_why = "the terminal can only be written to line by line (TERM)";
    return !*ret_why;
}

struct seep_error *seep_full_screen_begin(void) {
    // initscr() would exit where the terminal is not known.
    terminal = newterm(NULL, stdout, stdin);
    if (!terminal)
        return seep_error_hint(
            seep_error_create(SEEP_E_UNSUPPORTED, "the terminal '%s' is not known here", getenv("TERM")),
            "install its description, set TERM=xterm, or add --once");
    set_term(terminal);
    cbreak();
    noecho();
    nonl();
    intrflush(stdscr, FALSE);
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    const char *no_colour = getenv("NO_COLOR");
    has_colours = !(no_colour && *no_colour) && has_colors() && start_color() == OK;
    if (has_colours) {
        use_default_colors();
        init_pair(1, COLOR_YELLOW, -1);
        init_pair(2, COLOR_GREEN, -1);
    }
    return NULL;
}

void seep_full_screen_end(void) {
    if (!terminal)
        return;
    endwin();
    delscreen(terminal);
    terminal = NULL;
}

void seep_full_screen_size(int *ret_columns, int *ret_rows) {
    *ret_columns = COLS;
    *ret_rows = LINES;
}

static attr_t attributes_of(unsigned attributes, short *ret_pair) {
    attr_t result = A_NORMAL;
    *ret_pair = 0;
    if (attributes & (SEEP_ATTR_BOLD | SEEP_ATTR_WARN))
        result |= A_BOLD;
    if (attributes & SEEP_ATTR_DIM)
        result |= A_DIM;
    if (attributes & SEEP_ATTR_REVERSE)
        result |= A_REVERSE;
    if (attributes & SEEP_ATTR_LINE)
        result |= A_UNDERLINE;
    if (has_colours && !(attributes & SEEP_ATTR_REVERSE))
        *ret_pair = attributes & SEEP_ATTR_WARN ? 1 : attributes & SEEP_ATTR_GOOD ? 2 : 0;
    return result;
}

void seep_full_screen_show(const struct seep_canvas *canvas) {
    erase();
    for (int y = 0; y < canvas->nr_rows; y++)
        for (int x = 0; x < canvas->nr_columns; x++) {
            const struct seep_cell *cell = &canvas->cells[y * canvas->nr_columns + x];
            if (!cell->code || (cell->code == ' ' && !cell->attributes))
                continue;
            wchar_t text[2] = {(wchar_t)cell->code, 0};
            short pair;
            attr_t attributes = attributes_of(cell->attributes, &pair);
            cchar_t put;
            if (setcchar(&put, text, attributes, pair, NULL) == OK)
                mvadd_wch(y, x, &put);
        }
    refresh();
}

// ---- keys ----

static int function_key(wint_t key) {
    static const struct {
        wint_t from;
        int to;
    } keys[] = {{KEY_UP, SEEP_KEY_UP},
                {KEY_DOWN, SEEP_KEY_DOWN},
                {KEY_PPAGE, SEEP_KEY_PAGE_UP},
                {KEY_NPAGE, SEEP_KEY_PAGE_DOWN},
                {KEY_HOME, SEEP_KEY_HOME},
                {KEY_END, SEEP_KEY_END},
                {KEY_LEFT, SEEP_KEY_LEFT},
                {KEY_RIGHT, SEEP_KEY_RIGHT},
                {KEY_ENTER, SEEP_KEY_ENTER},
                {KEY_BACKSPACE, SEEP_KEY_BACKSPACE},
                {KEY_F(1), '?'},
                {KEY_F(10), 'q'},
                {KEY_BTAB, SEEP_KEY_TAB}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(keys); i++)
        if (keys[i].from == key)
            return keys[i].to;
    return SEEP_KEY_OTHER;
}

static int plain_key(wint_t key) {
    switch (key) {
    case '\r':
    case '\n':
        return SEEP_KEY_ENTER;
    case 27:
        return SEEP_KEY_ESCAPE;
    case 8:
    case 0x7f:
        return SEEP_KEY_BACKSPACE;
    case '\t':
        return SEEP_KEY_TAB;
    case 3:
    case 4: // Ctrl-C where the terminal makes no signal of it, Ctrl-D
        return 'q';
    default:
        return (int)key;
    }
}

int seep_full_screen_key(bool *ret_click, int *ret_x, int *ret_y) {
    wint_t key;
    *ret_click = false;
    int what = get_wch(&key);
    if (what == ERR)
        return SEEP_KEY_NONE;
    if (what != KEY_CODE_YES)
        return plain_key(key);
    MEVENT event;
    if (key != KEY_MOUSE)
        return function_key(key);
    if (getmouse(&event) != OK)
        return SEEP_KEY_NONE;
    if (event.bstate & BUTTON4_PRESSED)
        return SEEP_KEY_UP;
    if (event.bstate & BUTTON5_PRESSED)
        return SEEP_KEY_DOWN;
    *ret_click = true;
    *ret_x = event.x;
    *ret_y = event.y;
    return SEEP_KEY_NONE;
}
