// SPDX-License-Identifier: BSD-2-Clause
// Arrays of arrays of texts, as programs keep their arguments and tables.
#include "corpus.h"

char ***words;

static NOINLINE char **split(int nr) {
    char **list = (char **)make((size_t)(nr + 1) * sizeof(*list));
    for (int i = 0; i < nr; i++)
        list[i] = strcpy((char *)make(24), "a word of text");
    return list;
}

static void held(void) {
    words = (char ***)make(4 * sizeof(*words)); // EXPECT: reachable
    for (int i = 0; i < 3; i++)
        words[i] = split(5); // EXPECT: 18 reachable
}

static void array_dropped(void) {
    KEEP(split(4)); // EXPECT: 1 lost, 4 indirect
}

static void texts_overwritten(void) {
    char **list = split(3); // EXPECT: 3 reachable, 1 lost
    words[3] = (char *)list == NULL ? NULL : list;
    list[1] = NULL;
}

int main(void) {
    play(held);
    play(array_dropped);
    play(texts_overwritten);
    park();
}
