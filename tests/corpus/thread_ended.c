// SPDX-License-Identifier: BSD-2-Clause
// Threads that ended: their stacks and thread-local variables hold nothing any more, their results do.
// FLAGS: -pthread
#include "corpus.h"
#include <pthread.h>

struct node *result;
__thread struct node *of_thread;

static NOINLINE void *work(void *argument) {
    struct node *volatile local = make(40); // EXPECT: 2 lost
    of_thread = make(48);                   // EXPECT: 2 lost
    // VALGRIND: maybe 1 lost, 1 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    struct node *returned = make(56); // EXPECT: 1 reachable, 1 lost
    // VALGRIND: maybe 2 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    returned->a = make(64); // EXPECT: 1 reachable, 1 indirect
    // VALGRIND: maybe 2 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    KEEP(local);
    return returned;
}

static void build(void) {
    pthread_t thread;
    void *value;
    pthread_create(&thread, NULL, work, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_join(thread, &value);
    result = (struct node *)value;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
}

#include <sys/syscall.h>
static pid_t givers[3];
static volatile int nr_given;

static NOINLINE void *give(void *argument) {
    struct node *returned = make(72); // EXPECT: 2 reachable, 1 lost
    // VALGRIND: maybe 3 reachable: it takes all of a stack that glibc keeps for the next thread as a root
    // LSAN: maybe 3 lost: it takes none of the stack of a thread that ended, where its result is
    static int place;
    givers[__atomic_fetch_add(&place, 1, __ATOMIC_SEQ_CST)] = (pid_t)syscall(SYS_gettid);
    __atomic_fetch_add(&nr_given, 1, __ATOMIC_SEQ_CST);
    return returned;
}

// Two that can be joined yet, and one that never can.
static void unjoined(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, give, NULL); // EXPECT: 2 reachable
    // VALGRIND: 2 possible: the thread's control block points into its own dtv
    pthread_detach(threads[2]);
    while (nr_given < 3)
        usleep(1000);
    for (int i = 0; i < 3; i++)
        while (syscall(SYS_tgkill, getpid(), givers[i], 0) == 0)
            usleep(1000);
}

static NOINLINE void *give_nothing(void *argument) {
    struct node *volatile local = make(88); // EXPECT: lost
    // VALGRIND: maybe reachable: it takes all of a stack that glibc keeps for the next thread as a root
    KEEP(local);
    return NULL;
}

// A stack whose size is no multiple of a page: glibc makes one from such an attribute.
static void odd_size(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 300000);
    pthread_create(&thread, &attributes, give_nothing, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
    pthread_join(thread, NULL);
}

static volatile pid_t leaver;

static NOINLINE void *leave_word(void *argument) {
    struct node *volatile local = make(96); // EXPECT: lost
    // VALGRIND: maybe reachable: it takes all of the stack of a thread that ended and can be joined as a root
    KEEP(local);
    leaver = (pid_t)syscall(SYS_gettid);
    return NULL;
}

static void *stay(void *argument) {
    for (;;)
        pause();
}

// One that can be joined yet, in glibc's list behind one that is running.
static void unjoined_beside_another(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, leave_word, NULL); // on a stack of those before
    while (!leaver || syscall(SYS_tgkill, getpid(), leaver, 0) == 0)
        usleep(1000);
    pthread_create(&thread, NULL, stay, NULL); // EXPECT: reachable
    // VALGRIND: possible: the thread's control block points into its own dtv
}

int main(void) {
    play(build);
    play(odd_size);
    play(unjoined);
    play(unjoined_beside_another);
    park();
}
