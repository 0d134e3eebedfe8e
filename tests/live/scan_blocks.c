// SPDX-License-Identifier: BSD-2-Clause
// Blocks whose class is known. Each size is asked for once; "SCAN: <size> <class>" says what a scan
// must find. argv[1] is a library that is loaded and, a second time under another name, unloaded.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

// Variables are not static: stores that nobody reads would be left out.
#define NOINLINE __attribute__((noinline, noclone))

struct node {
    struct node *a, *b;
};

static NOINLINE struct node *make(size_t size) {
    struct node *node = malloc(size);
    memset(node, 0, size);
    __asm__ volatile("" : "+r"(node)::"memory"); // or the compiler leaves unused blocks out
    return node;
}

// Nothing of what a case did stays on the stack or in registers.
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

static NOINLINE void deep(void (*run)(void)) {
    volatile char room[4096];
    room[0] = room[4095] = 0;
    run();
    room[1] = 0;
}

// ---- lost ----

static NOINLINE void lost_alone(void) {
    make(1000); // SCAN: 1000 lost
}

static NOINLINE void lost_list(void) {
    struct node *head = make(1016); // SCAN: 1016 lost
    head->a = make(1032);           // SCAN: 1032 indirect
    head->a->b = make(1048);        // SCAN: 1048 indirect
}

static NOINLINE void lost_cycle(void) {
    struct node *one = make(1064); // SCAN: 1064 lost
    one->a = make(1080);           // SCAN: 1080 indirect
    one->a->a = one;
}

static NOINLINE void lost_self(void) {
    struct node *one = make(1096); // SCAN: 1096 lost
    one->b = one;
}

static NOINLINE void lost_tree(void) {
    struct node *root = make(1112); // SCAN: 1112 lost
    root->a = make(1128);           // SCAN: 1128 indirect
    root->b = make(1144);           // SCAN: 1144 indirect
    root->a->a = make(1160);        // SCAN: 1160 indirect
    root->b->a = root->a->a;
    root->b->b = root; // back to the top
}

static NOINLINE void lost_child_first(void) {
    struct node *child = make(1176); // SCAN: 1176 indirect
    make(1192)->a = child;           // SCAN: 1192 lost
}

static NOINLINE void lost_two_owners(void) {
    struct node *shared = make(1208); // SCAN: 1208 indirect
    make(1224)->a = shared;           // SCAN: 1224 lost
    make(1240)->b = shared;           // SCAN: 1240 lost
}

static NOINLINE void lost_in_free_memory(void) {
    struct node *volatile holder = make(1256); // freed: what it holds is lost
    holder[10].a = make(1272);                 // SCAN: 1272 lost
    free(holder);
}

static NOINLINE void lost_mapped(void) {
    make(1 << 20); // SCAN: 1048576 lost
}

static char *volatile past_end;
static NOINLINE void lost_past_end(void) {
    past_end = (char *)make(1288) + 1288; // SCAN: 1288 lost
    make(1304);                           // SCAN: 1304 lost
}

uintptr_t xored;
static NOINLINE void lost_xor(void) {
    xored = (uintptr_t)make(1320) ^ 0x5555555555555555; // SCAN: 1320 lost
}

struct __attribute__((packed)) {
    char c;
    void *pointer;
} odd;
static NOINLINE void lost_unaligned(void) {
    odd.pointer = make(1336); // SCAN: 1336 lost
}

static NOINLINE void lost_aligned(void) {
    memset(memalign(4096, 1352), 0, 1352); // SCAN: 1352 lost
}

static NOINLINE void lost_zeroed(void) {
    free(calloc(1, 1368));
    void *volatile again = calloc(1, 1368); // SCAN: 1368 lost
}

// ---- reachable ----

struct node *plain;
struct node *table[64];
struct node *moved;
void *zero;

static NOINLINE void held_by_globals(void) {
    plain = make(2000);           // SCAN: 2000 reachable
    table[63] = make(2016);       // SCAN: 2016 reachable
    table[63]->b = make(2032);    // SCAN: 2032 reachable
    table[63]->b->a = make(2048); // SCAN: 2048 reachable
    table[63]->b->a->a = table[63];
    static struct node *volatile local;
    local = make(2064);                                // SCAN: 2064 reachable
    zero = malloc(0);                                  // SCAN: 0 reachable
    moved = realloc(make(24), 2080);                   // SCAN: 2080 reachable
    table[1] = memalign(4096, 2096);                   // SCAN: 2096 reachable
    putenv(strcpy((char *)make(2112), "SCAN_TEST=1")); // SCAN: 2112 reachable
}

static NOINLINE void held_by_mapped(void) {
    table[2] = make(3 << 20);        // SCAN: 3145728 reachable
    table[2][100000].a = make(2128); // SCAN: 2128 reachable
}

static NOINLINE void held_by_pool(void) {
    struct node *volatile *pool =
        mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pool[700] = make(2144); // SCAN: 2144 reachable
}

static NOINLINE void held_by_length(void) {
    uint64_t *text = (uint64_t *)make(2168); // SCAN: 2168 reachable
    text[0] = 2160;
    table[3] = (struct node *)(text + 1);
}

__thread struct node *of_thread;
static pthread_key_t keys[40];

static NOINLINE void held_by_first_thread(void) {
    of_thread = make(2184); // SCAN: 2184 reachable
    for (int i = 0; i < 40; i++)
        pthread_key_create(&keys[i], NULL);
    pthread_setspecific(keys[0], make(2200));  // SCAN: 2200 reachable
    pthread_setspecific(keys[39], make(2216)); // SCAN: 2216 reachable
}

static NOINLINE void lost_in_thread(void) {
    make(2232); // SCAN: 2232 lost
}

static pthread_barrier_t ready;

static void *parked(void *data) {
    deep(lost_in_thread);
    wipe();
    of_thread = make(2248);                      // SCAN: 2248 reachable
    struct node *volatile on_stack = make(2264); // SCAN: 2264 reachable
    pthread_setspecific(keys[1], make(2280));    // SCAN: 2280 reachable
    pthread_setspecific(keys[38], make(2296));   // SCAN: 2296 reachable
    pthread_barrier_wait(&ready);
    for (;;)
        pause();
    return on_stack;
}

static void *ends(void *data) {
    table[4] = make(2312);    // SCAN: 2312 reachable
    table[4]->a = make(2328); // SCAN: 2328 reachable
    deep(lost_alone);         // a second one of this size
    return NULL;
}

ucontext_t *coroutine, *back;

static void in_coroutine(void) {
    struct node *volatile mine = make(2344); // SCAN: 2344 reachable
    swapcontext(coroutine, back);
    (void)mine;
}

static NOINLINE void held_by_coroutine(void) {
    coroutine = calloc(1, sizeof(*coroutine));
    back = calloc(1, sizeof(*back));
    getcontext(coroutine);
    coroutine->uc_stack.ss_size = 40000;
    coroutine->uc_stack.ss_sp = make(40000); // SCAN: 40000 reachable
    makecontext(coroutine, in_coroutine, 0);
    swapcontext(back, coroutine);
}

// ---- possibly lost ----

char *middle;
static NOINLINE void possible(void) {
    struct node *block = make(3000); // SCAN: 3000 possible
    block->a = make(3016);           // SCAN: 3016 possible
    middle = (char *)block + 500;
    table[5] = make(3032);                                  // SCAN: 3032 reachable
    table[5]->a = (struct node *)((char *)make(3048) + 16); // SCAN: 3048 possible
    table[6] = (struct node *)((uintptr_t)make(3064) | 1);  // SCAN: 3064 possible
}

// ---- libraries ----

static const char *library, *library_unloaded;

static NOINLINE void load(void) {
    void (*fill)(size_t) = (void (*)(size_t))dlsym(dlopen(library, RTLD_NOW), "fill");
    fill(3200); // SCAN: 3200 reachable
    void *handle = dlopen(library_unloaded, RTLD_NOW);
    fill = (void (*)(size_t))dlsym(handle, "fill");
    fill(3216); // SCAN: 3216 lost
    dlclose(handle);
}

int main(int argc, char **argv) {
    static void (*const cases[])(void) = {lost_alone,
                                          lost_list,
                                          lost_cycle,
                                          lost_self,
                                          lost_tree,
                                          lost_child_first,
                                          lost_two_owners,
                                          lost_in_free_memory,
                                          lost_mapped,
                                          lost_past_end,
                                          lost_xor,
                                          lost_unaligned,
                                          lost_aligned,
                                          lost_zeroed,
                                          held_by_globals,
                                          held_by_mapped,
                                          held_by_pool,
                                          held_by_length,
                                          held_by_first_thread,
                                          held_by_coroutine,
                                          possible,
                                          load};
    library = argv[1];
    library_unloaded = argv[2];
    pthread_barrier_init(&ready, NULL, 2);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        deep(cases[i]);
        wipe();
    }
    pthread_t thread;
    pthread_create(&thread, NULL, ends, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, parked, NULL);
    pthread_barrier_wait(&ready);
    struct node *volatile on_stack = make(3400); // SCAN: 3400 reachable
    wipe();
    write(1, "ready\n", 6);
    for (;;)
        pause();
    return on_stack != NULL;
}
