// SPDX-License-Identifier: BSD-2-Clause
// A typed line by libedit, see line_editor.h.
#include <errno.h>
#include <histedit.h>
#include <stdlib.h>
#include <string.h>

#include "console/line_editor.h"

const bool seep_line_editor_is_built = true;

struct seep_line_editor {
    EditLine *edit;
    History *history;
    const char *prompt;
    const char *const *words; // ends with NULL
    char line[4096];
};

static char *prompt_of(EditLine *edit) {
    struct seep_line_editor *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return (char *)editor->prompt;
}

// The word at the cursor, as far as it is no other's. Behind "help" are the same words.
static unsigned char complete(EditLine *edit, int key) {
    static const char help[] = "help ";
    struct seep_line_editor *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    const LineInfo *line = el_line(edit);
    const char *begin = line->buffer, *found = NULL;
    size_t typed = (size_t)(line->cursor - line->buffer), common = 0;
    if (typed >= strlen(help) && memcmp(begin, help, strlen(help)) == 0) {
        begin += strlen(help);
        typed -= strlen(help);
    }
    if (!typed)
        return CC_REFRESH_BEEP;
    for (const char *const *words = editor->words; *words; words++) {
        if (strncmp(*words, begin, typed) != 0)
            continue;
        size_t end = typed + strcspn(*words + typed, " ");
        if (!found) {
            found = *words;
            common = end;
        }
        while (common > end || strncmp(found, *words, common) != 0)
            common--;
    }
    bool whole = found && (!found[common] || found[common] == ' ');
    if (!found || (common == typed && !whole))
        return CC_REFRESH_BEEP;
    char rest[64];
    snprintf(rest, sizeof(rest), "%.*s%s", (int)(common - typed), found + typed, whole ? " " : "");
    return el_insertstr(edit, rest) == 0 ? CC_REFRESH : CC_ERROR;
}

struct seep_line_editor *seep_line_editor_create(const char *prompt, const char *const *words) {
    struct seep_line_editor *editor = calloc(1, sizeof(*editor));
    if (!editor)
        return NULL;
    editor->prompt = prompt;
    editor->words = words;
    editor->edit = el_init("seep", stdin, stdout, stderr);
    editor->history = history_init();
    if (!editor->edit || !editor->history) {
        seep_line_editor_destroy(editor);
        return NULL;
    }
    HistEvent event;
    history(editor->history, &event, H_SETSIZE, 1000);
    history(editor->history, &event, H_SETUNIQUE, 1);
    el_set(editor->edit, EL_CLIENTDATA, editor);
    el_set(editor->edit, EL_PROMPT, prompt_of);
    el_set(editor->edit, EL_EDITOR, "emacs");
    el_set(editor->edit, EL_SIGNAL, 0);
    el_set(editor->edit, EL_HIST, history, editor->history);
    el_set(editor->edit, EL_ADDFN, "seep-complete", "completes the command", complete);
    el_set(editor->edit, EL_BIND, "^I", "seep-complete", NULL);
    return editor;
}

void seep_line_editor_destroy(struct seep_line_editor *editor) {
    if (!editor)
        return;
    if (editor->edit)
        el_end(editor->edit);
    if (editor->history)
        history_end(editor->history);
    free(editor);
}

const char *seep_line_editor_read(struct seep_line_editor *editor) {
    int nr = 0;
    errno = 0;
    const char *line = el_gets(editor->edit, &nr);
    if (!line || nr <= 0) {
        if (nr < 0 && errno == EINTR) {
            el_reset(editor->edit);
            fputs("\n", stdout);
            editor->line[0] = 0;
            return editor->line;
        }
        return NULL;
    }
    snprintf(editor->line, sizeof(editor->line), "%s", line);
    HistEvent event;
    if (editor->line[strspn(editor->line, " \t\r\n")])
        history(editor->history, &event, H_ENTER, editor->line);
    return editor->line;
}
