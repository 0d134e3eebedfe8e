// SPDX-License-Identifier: BSD-2-Clause
// What the C library allocates for the program and keeps itself, and what it hands over.
#include "corpus.h"
#include <search.h>

FILE *stream;
char *line;
void *tree;

static int compare(const void *left, const void *right) {
    return strcmp((const char *)left, (const char *)right);
}

static void environment(void) {
    char *text = strcpy((char *)make(32), "CORPUS_ONE=1"); // EXPECT: reachable
    putenv(text);                                          // EXPECT: any reachable
    setenv("CORPUS_TWO", "2", 1);                          // EXPECT: any reachable
}

static void streams(void) {
    stream = fopen("/dev/null", "w"); // EXPECT: reachable
    fputs("text", stream);            // EXPECT: reachable
    KEEP(fopen("/dev/null", "r"));    // EXPECT: reachable
}

static void texts(void) {
    size_t room = 0;
    FILE *file = fmemopen((void *)"one line of text\n", 17, "r");
    if (getline(&line, &room, file) < 0) // EXPECT: reachable
        _exit(3);
    fclose(file);
    KEEP(strdup("forgotten")); // EXPECT: lost
    char *formatted;
    if (asprintf(&formatted, "number %d", 7) < 0) // EXPECT: lost
        _exit(3);
}

static void containers(void) {
    hcreate(20);                                               // EXPECT: reachable
    ENTRY entry = {strcpy((char *)make(24), "key"), make(40)}; // EXPECT: 2 reachable
    hsearch(entry, ENTER);
    tsearch(strcpy((char *)make(16), "one"), &tree, compare); // EXPECT: 2 reachable
    tsearch(strcpy((char *)make(16), "two"), &tree, compare); // EXPECT: 2 reachable
    tsearch(strcpy((char *)make(16), "six"), &tree, compare); // EXPECT: 2 reachable
}

int main(void) {
    play(environment);
    play(streams);
    play(texts);
    play(containers);
    park();
}
