// SPDX-License-Identifier: BSD-2-Clause
// As typed.c, with pointers of which the type says less than it seems to: what it does not say is told as an offset.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct base {
    struct base *next;
    int kind;
};
struct derived {
    struct base base;
    char *payload;
    char *more;
};
struct list {
    struct list *next, *prev;
};
struct item {
    long id;
    char *name;
    struct list link;
    char *tail;
};
struct vector {
    int nr;
    char *items[];
};
struct cells {
    long nr;
    struct {
        char *key;
        char *value;
    } cells[];
};
struct either {
    union {
        char *text;
        struct base *base;
    } what;
    uintptr_t number;
    char raw[24];
    double real;
};
struct cell {
    long key;
    char *value;
};
struct tail {
    long nr;
    char *text;
};
struct node {
    long key;
    struct node *next;
    struct tail *tail;
};

struct base *chain;
struct list head;
struct vector *vector;
struct cells *cells;
struct either *either;
struct cell *array;
struct cell *odd;
struct node *seven, *eight, *thirty;
uintptr_t number;

static NOINLINE void *make(size_t size) {
    void *block = calloc(1, size);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static NOINLINE void fill(void) {
    struct derived *derived = make(sizeof(*derived));
    chain = &derived->base;
    derived->payload = make(1000);   // TYPED: 1000 global struct base *chain > (struct base) +0x10
    derived->more = make(1016);      // TYPED: 1016 global struct base *chain > (struct base) +0x18
    derived->base.next = make(1032); // TYPED: 1032 global struct base *chain > (struct base) .next

    struct item *item = make(sizeof(*item));
    head.next = &item->link;
    item->name = make(1048);      // TYPED: 1048 global struct list *head.next > +0x8
    item->tail = make(1064);      // TYPED: 1064 global struct list *head.next > +0x20
    item->link.prev = make(1080); // TYPED: 1080 global struct list *head.next > .prev

    vector = make(sizeof(*vector) + 5 * sizeof(char *));
    vector->items[3] = make(1096); // TYPED: 1096 global struct vector *vector > (struct vector) .items[3]
    cells = make(sizeof(*cells) + 4 * sizeof(cells->cells[0]));
    cells->cells[2].value =
        make(1112); // TYPED: 1112 global struct cells *cells > (struct cells) .cells[2].value

    either = make(sizeof(*either));
    either->what.text = make(1128); // TYPED: 1128 global struct either *either > (struct either) .what
    either->number = (uintptr_t)make(1144); // TYPED: 1144 global struct either *either > (struct either) +0x8
    *(void **)&either->raw[8] =
        make(1160); // TYPED: 1160 global struct either *either > (struct either) .raw[8]
    *(void **)&either->real = make(1176); // TYPED: 1176 global struct either *either > (struct either) +0x28

    array = make(4 * sizeof(*array));
    array[3].value = make(1192);          // TYPED: 1192 global struct cell *array > (struct cell) [3].value
    *(void **)&array[2].key = make(1208); // TYPED: 1208 global struct cell *array > (struct cell) +0x20
    odd = make(4 * sizeof(*odd) + 8);
    odd[3].value = make(1224);      // TYPED: 1224 global struct cell *odd > (struct cell) +0x38
    number = (uintptr_t)make(1240); // TYPED: 1240 global uintptr_t number
}

static NOINLINE void make_list(struct node **at, int nr, struct tail *tail) {
    for (int i = 0; i < nr; i++, at = &(*at)->next) {
        *at = make(sizeof(**at));
        if (i == nr - 1)
            (*at)->tail = tail;
    }
}

static NOINLINE void *make_tail(size_t size) {
    struct tail *tail = make(sizeof(*tail));
    tail->text = make(size);
    return tail;
}

// Of more than 7 blocks those in the middle are left out, two of them at least; types go through them.
static NOINLINE void fill_lists(void) {
    make_list(
        &seven, 6,
        make_tail(2000)); // LIST: 2000 global struct node *seven .next .next .next .next .next .tail .text
    make_list(
        &eight, 7,
        make_tail(2016)); // LIST: 2016 global struct node *eight .next .next .next .next ...2 .tail .text
    make_list(
        &thirty, 30,
        make_tail(2032)); // LIST: 2032 global struct node *thirty .next .next .next .next ...25 .tail .text
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
    fill_lists();
    wipe();
    puts("ready");
    fflush(stdout);
    pause();
    return 0;
}
