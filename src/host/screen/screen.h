// SPDX-License-Identifier: BSD-2-Clause
//
// The model of the live screen: what it shows, and what keys and clicks do to it. It knows no terminal: it is
// drawn on a canvas, and says what it wants done.
#ifndef SEEP_SCREEN_SCREEN_H
#define SEEP_SCREEN_SCREEN_H

#include "live/live_table.h"
#include "screen/canvas.h"
#include "screen/screen_maker.h"
#include "screen/screen_tree.h"

// In the order in which they are shown.
enum seep_tab {
    SEEP_TAB_SITES,
    SEEP_TAB_FUNCTIONS,
    SEEP_TAB_LINES,
    SEEP_TAB_MODULES,
    SEEP_TAB_THREADS,
    SEEP_TAB_PROCESSES,
    SEEP_TAB_LEAKS,
    SEEP_TAB_LOG,
    SEEP_TAB_NR
};

// Keys that are no character.
enum {
    SEEP_KEY_UP = 0x110000,
    SEEP_KEY_DOWN,
    SEEP_KEY_PAGE_UP,
    SEEP_KEY_PAGE_DOWN,
    SEEP_KEY_HOME,
    SEEP_KEY_END,
    SEEP_KEY_LEFT,
    SEEP_KEY_RIGHT,
    SEEP_KEY_ENTER,
    SEEP_KEY_ESCAPE,
    SEEP_KEY_BACKSPACE,
    SEEP_KEY_TAB,
    SEEP_KEY_OTHER, // of no use
    SEEP_KEY_NONE,
};

// What is to be done, as the loop that has the terminal and the worker does it; `argument` of the screen says
// of what.
enum seep_wish {
    SEEP_WISH_NONE,
    SEEP_WISH_QUIT,
    SEEP_WISH_SCAN,
    SEEP_WISH_MARK,
    SEEP_WISH_SAVE,
    SEEP_WISH_RECORDING, // `argument`: "stop", "start", or a depth of stacks
};

// What a line is being typed for.
enum seep_input {
    SEEP_INPUT_NONE,
    SEEP_INPUT_FILTER,
    SEEP_INPUT_COMMAND,
    SEEP_INPUT_MARK,
    SEEP_INPUT_SAVE,
};

struct seep_screen {
    struct seep_live *live;          // borrowed
    struct seep_symbols *symbols;    // borrowed
    struct seep_screen_maker *maker; // borrowed; NULL: what is shown is made while it is drawn
    int64_t patience_ns;             // how long a drawing waits for the maker
    const char *title;               // "1234", "app.seep"
    bool is_file;
    bool scanning;
    bool loading;  // only the first sites are there
    bool unlinked; // the server did not answer: the screen shows the last look
    bool plain;    // the screen is printed and takes no keys
    int64_t interval_ns;

    int tab;  // enum seep_tab
    int sort; // enum seep_live_sort
    bool tree;
    bool no_detail;
    bool detail_has_keys; // up and down move the stack
    bool help;
    int help_first; // row of the list of keys at the top
    int help_last;  // the greatest help_first; of the last drawing
    int help_rows;  // that there was room for
    bool frozen;
    uint32_t tid; // 0: all threads
    char filter[SEEP_INPUT_MAX];

    int input; // enum seep_input
    char typed[SEEP_INPUT_MAX];
    char argument[SEEP_INPUT_MAX];
    char message[256]; // until the next key
    bool message_bad;

    size_t selected; // row
    uint64_t selected_key;
    size_t first; // row at the top
    size_t detail_first;
    size_t nr_shown; // rows that there was room for

    struct seep_live_table table;
    struct seep_live_detail detail;
    bool detail_known;
    size_t nr_wanted; // rows that the table was made for
    bool stale;       // the table is not that of what there is now
    struct seep_screen_tree branches;
    int made_tab;   // what the table is of; SEEP_TAB_NR: none was made yet
    bool made_tree; // the branches are those of the table
    bool making;    // `job` is at work
    bool key_waits; // a key asked for another table, which is not there yet
    struct seep_screen_job job;
};

// Borrows `live` and the symbols; _deinit waits for what is being made of them.
void seep_screen_init(struct seep_screen *screen, struct seep_live *live, struct seep_symbols *symbols);
void seep_screen_deinit(struct seep_screen *screen);

// What it shows is to be made anew: before a look is taken. With a maker it shows what it has until that is
// done; the look that it is of is kept so long. While it is frozen no look may be taken.
void seep_screen_changed(struct seep_screen *screen);
// The same before anything else that it has borrowed from goes: it shows nothing until the next drawing.
void seep_screen_drop(struct seep_screen *screen);
// Waits until nothing is being made: before `live` or the symbols are used by others.
void seep_screen_finish(struct seep_screen *screen);
void seep_screen_say(struct seep_screen *screen, bool bad, const char *text);

// What the caller has to do after a key, or after a click on a cell of what was drawn.
enum seep_wish seep_screen_key(struct seep_screen *screen, int key);
enum seep_wish seep_screen_click(struct seep_screen *screen, const struct seep_canvas *canvas, int x, int y);

// Draws on a canvas that was begun. What cannot be made is said in the screen's message.
void seep_screen_draw(struct seep_screen *screen, struct seep_canvas *canvas);

// Rows that there are, of a tree or table or log.
size_t seep_screen_nr_rows(const struct seep_screen *screen);
// The table is of the tab that is chosen; false: it is being made.
bool seep_screen_is_made(const struct seep_screen *screen);

// ---- what a click means, and what the loop needs ----
#define SEEP_ACTION_TAB  0x100 // + enum seep_tab
#define SEEP_ACTION_SORT 0x200 // + enum seep_live_sort
#define SEEP_ACTION_KEY  0x400000
#define SEEP_ACTION_ROW  0x1000000

extern const char *const seep_tab_names[SEEP_TAB_NR + 1]; // in small letters, ends with NULL

#endif
