// SPDX-License-Identifier: BSD-2-Clause
// Texts behind a header of 1, 3, 5 or 9 bytes, by their length, from a function around malloc that serves
// others too; an allocator whose loop is written out four times; headers of 1, 2 and 4 bytes; and buffers of which
// a pointer was left in the middle, near the end, anywhere, in a text or at a member, which have no header.
#include "corpus.h"

enum { NR = 20 };
char *hosts[2][NR], *options[NR], *fields[2][NR], *members[NR], *packets[NR], *pascal[2][NR], *marked[NR],
    *texts[4][NR], *small[4][8], *halves[NR * 4], *ends[NR * 4], *anywhere[NR * 4];

static NOINLINE char *text(size_t length) {
    size_t header = length < 32 ? 1 : length < 256 ? 3 : length < 4096 ? 5 : 9;
    char *block = (char *)make(header + length + 1);
    return block + header;
}

static NOINLINE char *unrolled(int nr, char **to) {
    char *last = NULL;
    for (int i = 0; i < nr; i += 4) {
        to[i] = last = (char *)malloc(40) + 16;     // EXPECT: 8 reachable
                                                    // VALGRIND: possible: it does not know the header
        to[i + 1] = last = (char *)malloc(40) + 16; // EXPECT: 8 reachable
                                                    // VALGRIND: possible: it does not know the header
        to[i + 2] = last = (char *)malloc(40) + 16; // EXPECT: 8 reachable
                                                    // VALGRIND: possible: it does not know the header
        to[i + 3] = last = (char *)malloc(40) + 16; // EXPECT: 8 reachable
                                                    // VALGRIND: possible: it does not know the header
    }
    return last;
}

static void held(void) {
    static const size_t base[4] = {2, 40, 300, 5000};
    for (int kind = 0; kind < 4; kind++)
        for (int i = 0; i < NR; i++)
            texts[kind][i] = text(base[kind] + (size_t)i % 30); // EXPECT: 80 reachable
                // VALGRIND: possible: it does not know the header
    KEEP(unrolled(32, &small[0][0]));
}

static void dropped(void) {
    for (int i = 0; i < 4; i++)
        KEEP(text((size_t)10 << i * 2)); // EXPECT: 4 lost
}

// Not zeroed: what begins with a length of 0 may be a string.
static NOINLINE char *buffer(size_t size) {
    char *block = (char *)make(size);
    memset(block, 0x7f, size);
    return block;
}

// What a pointer here tells of the size of its block is too much for a header.
static void left_in_the_middle(void) {
    for (int i = 0; i < NR * 4; i++)
        halves[i] = buffer((size_t)(16 + i % 10)) + (16 + i % 10) / 2; // EXPECT: 80 possible
}

static void left_near_the_end(void) {
    for (int i = 0; i < NR * 4; i++)
        ends[i] = buffer((size_t)(16 + i % 5 * 8)) + 8 + i % 5 * 8; // EXPECT: 80 possible
}

static void left_anywhere(void) {
    for (int i = 0; i < NR * 4; i++)
        anywhere[i] = buffer((size_t)(100 + i % 7 * 30)) + 8 + i % 5 * 8; // EXPECT: 80 possible
}

static NOINLINE char *copy(const char *format, int nr) {
    char line[100];
    size_t bytes = (size_t)snprintf(line, sizeof(line), format, nr) + 1;
    char *block = (char *)make(bytes);
    memcpy(block, line, bytes);
    return block;
}

// Behind what all of them begin with.
static void left_in_texts(void) {
    for (int i = 0; i < NR; i++) {
        hosts[0][i] = copy("http://host%d.example.org/a/b", i * 99) + 7;  // EXPECT: 20 possible
        hosts[1][i] = copy("https://host%d.example.org/a/b", i * 99) + 8; // EXPECT: 20 possible
        options[i] = copy("    option_%d = value of it", i * 99) + 4;     // EXPECT: 20 possible
    }
}

static void left_at_members(void) {
    for (int i = 0; i < NR; i++)
        members[i] = buffer(40) + 4; // EXPECT: 20 possible
}

// A length of 1 or 4 bytes in front, or of 1 byte with a letter behind it.
static void held_behind_lengths(void) {
    for (int i = 0; i < NR; i++) {
        packets[i] = buffer((size_t)(60 + i)) + 4; // EXPECT: 20 reachable
                                                   // VALGRIND: possible: it does not know the header
        char *block = buffer((size_t)(40 + i));    // EXPECT: 20 reachable
                                                   // VALGRIND: possible: it does not know the header
        memset(block, 'x', (size_t)(40 + i));
        *block = (char)(40 + i - 2);
        pascal[0][i] = block + 1;
        block = buffer((size_t)(70 + i)); // EXPECT: 20 reachable
                                          // VALGRIND: possible: it does not know the header
        memset(block, 'x', (size_t)(70 + i));
        *block = (char)(70 + i - 3);
        marked[i] = block + 2;
        block = buffer((size_t)(40 + i)); // EXPECT: 20 reachable
                                          // VALGRIND: possible: it does not know the header
        memset(block, 'x', (size_t)(40 + i));
        *block = (char)(40 + i - 1);
        pascal[1][i] = block + 1;
    }
}

// The sizes are those of a string that has the first letter for its length.
static void left_in_buffers_of_text(void) {
    for (int i = 0; i < NR; i++) {
        char *block = buffer('L' + 4); // EXPECT: 20 possible
        snprintf(block, 'L' + 4, "Location: /a/%d", i);
        fields[0][i] = block + 10;
        block = buffer('<' + 2); // EXPECT: 20 possible
        snprintf(block, '<' + 2, "<body id=%d>", i);
        fields[1][i] = block + 1;
    }
}

int main(void) {
    play(held);
    play(dropped);
    play(left_in_the_middle);
    play(left_near_the_end);
    play(left_anywhere);
    play(left_in_texts);
    play(left_at_members);
    play(held_behind_lengths);
    play(left_in_buffers_of_text);
    park();
}
