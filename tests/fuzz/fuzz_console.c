// SPDX-License-Identifier: BSD-2-Clause
//
// A line of the console of any bytes: words that end, within the room, no more of them than there may be; and a
// word that is quoted is the same word when the line is split again.
#include <stdlib.h>
#include <string.h>

#include "console/console.h"
#include "fuzz.h"

static void check_again(const char *word) {
    char quoted[8192] = "'";
    size_t nr = 1;
    if (strchr(word, '\'') || strchr(word, '\n') || strchr(word, '\r') || strlen(word) > 1000)
        return;
    memcpy(quoted + nr, word, strlen(word));
    nr += strlen(word);
    memcpy(quoted + nr, "'", 2);
    static struct seep_console_line again;
    const char *why = NULL;
    MUST(seep_console_split(quoted, &again, &why));
    MUST(again.nr_words == 1 && strcmp(again.words[0], word) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct seep_console_line line;
    const char *why = NULL;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    bool whole = seep_console_split(text, &line, &why);
    free(text);
    if (!whole) {
        MUST(why);
        return 0;
    }
    MUST(line.nr_words <= SEEP_CONSOLE_WORDS && !line.words[line.nr_words]);
    for (size_t i = 0; i < line.nr_words; i++) {
        MUST(line.words[i] >= line.text && line.words[i] < line.text + sizeof(line.text));
        MUST(memchr(line.words[i], 0, (size_t)(line.text + sizeof(line.text) - line.words[i])));
        check_again(line.words[i]);
    }
    if (line.nr_words) {
        struct seep_error *error = NULL;
        MUST(seep_console_find(line.words[0], &error) || error);
        seep_error_destroy(error);
    }
    return 0;
}
