// SPDX-License-Identifier: BSD-2-Clause
// Holders whose variables have names and types. "TYPED: <size> <how it is held>" says what a scan must say.
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

typedef struct entry entry_t;
struct entry {
    int key;
    entry_t *next;
    union {
        long number;
        char *text;
    } value;
};

struct user {
    char name[16];
    struct user *next;
    struct {
        void *cookie;
        const char *text;
    } extra;
};

struct config {
    int version;
    struct user *users[4];
    struct user inner[2];
};

struct entry *plain;
entry_t *table[8];
struct config config;
const char *const *words;
void *anything;
void (*handler)(int);
int (*grid[2])[3];

static NOINLINE void *make(size_t size) {
    void *block = calloc(1, size);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static NOINLINE void fill_local_static(void) {
    static struct entry *volatile kept;
    kept = make(1000); // TYPED: 1000 global struct entry *fill_local_static::kept
}

static NOINLINE void fill(void) {
    plain = make(1016);          // TYPED: 1016 global struct entry *plain
    table[3] = make(1032);       // TYPED: 1032 global entry_t *table[3]
    table[3]->next = make(1048); // TYPED: 1048 global entry_t *table[3] > (entry_t) .next
    table[3]->next->value.text =
        make(1064); // TYPED: 1064 global entry_t *table[3] > (entry_t) .next > (entry_t) .value.text
    config.users[2] = make(1080); // TYPED: 1080 global struct user *config.users[2]
    config.users[2]->next =
        make(1096); // TYPED: 1096 global struct user *config.users[2] > (struct user) .next
    config.users[2][1].extra.cookie =
        make(1112); // TYPED: 1112 global struct user *config.users[2] > (struct user) [1].extra.cookie
    config.inner[1].extra.text = make(1128); // TYPED: 1128 global const char *config.inner[1].extra.text
    words = make(1144);                      // TYPED: 1144 global const char *const *words
    ((char **)words)[2] = make(1160);      // TYPED: 1160 global const char *const *words > (const char *) [2]
    anything = make(1176);                 // TYPED: 1176 global void *anything
    *((void **)anything + 1) = make(1192); // TYPED: 1192 global void *anything > +0x8
    grid[1] = make(1208);                  // TYPED: 1208 global int (*grid[1])[3]
    fill_local_static();
}

static NOINLINE void wipe(void) {
    volatile char room[65536];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
#ifdef __x86_64__
    __asm__ volatile("pxor %%xmm0,%%xmm0; pxor %%xmm1,%%xmm1; pxor %%xmm2,%%xmm2; pxor %%xmm3,%%xmm3;"
                     "pxor %%xmm4,%%xmm4; pxor %%xmm5,%%xmm5; pxor %%xmm6,%%xmm6; pxor %%xmm7,%%xmm7" ::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
#endif
}

int main(void) {
    fill();
    wipe();
    (void)!write(1, "ready\n", 6); // not by stdio, whose frames would stay on the stack
    pause();
    return 0;
}
