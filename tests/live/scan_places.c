// SPDX-License-Identifier: BSD-2-Clause
// Holds blocks from places that the kernel joins with memory of the allocator. Sizes tell which is which:
//   1000 thread-local storage and 1001 a key's value, of the first thread
//   1002 to 1004 the same of other threads and a variable on their stack; stacks by libc and by the program,
//   in
//     use or left for that of a signal
//   1005 mapped by the program, by 1006 the system call itself
//   1007 zeroed data, 1008 thread-local storage of a library that was opened
//   1009 arguments of exit handlers
//   2000 in free memory only: lost
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int __cxa_atexit(void (*)(void *), void *, void *);
#define STACK_BYTES        ((size_t)1 << 18)
#define SIGNAL_STACK_BYTES ((size_t)1 << 16)

static __thread void *own;
static pthread_key_t key;
static volatile int nr_ready;
static void *volatile sink;
static char signal_stack[SIGNAL_STACK_BYTES] __attribute__((aligned(4096)));

static void park(void) {
    __atomic_add_fetch(&nr_ready, 1, __ATOMIC_SEQ_CST);
    for (;;)
        pause();
}

static void on_signal(int number) {
    (void)number;
    park();
}

struct argument {
    void *stack, *other_stack;
};

static void *thread(void *data) {
    const struct argument *argument = data;
    void *other_stack = argument->other_stack;
    // As a libc may have them there when it starts a thread.
    void *volatile words[2] = {(void *)STACK_BYTES, argument->stack};
    (void)words;
    own = malloc(1002);
    pthread_setspecific(key, malloc(1003));
    void *volatile local = malloc(1004);
    if (other_stack) {
        stack_t stack = {.ss_sp = other_stack, .ss_size = SIGNAL_STACK_BYTES};
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        raise(SIGUSR1);
    }
    park();
    return local;
}

static void *map(size_t bytes) {
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void start(void *stack, void *other_stack) {
    pthread_t id;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstack(&attributes, stack, STACK_BYTES);
    static struct argument arguments[7];
    static int nr;
    arguments[nr] = (struct argument){stack, other_stack};
    pthread_create(&id, &attributes, thread, &arguments[nr++]);
}

static void leave_free(void) {
    for (size_t size = 100; size < 30000; size *= 2) {
        void **gone = malloc(size), *kept = malloc(size);
        memset(kept, 0, size);
        for (size_t i = 4; i < size / sizeof(*gone); i++)
            gone[i] = malloc(2000);
        sink = kept;
        free(gone);
    }
}

// Memory that was written and then made read-only. The size is the largest page of any CPU.
static void hold_read_only(void) {
    enum { PAGE = 65536 };
    static void *data[PAGE / sizeof(void *)] __attribute__((aligned(PAGE))) = {(void *)1};
    data[5] = malloc(1010);
    mprotect(data, PAGE, PROT_READ);
    int file = (int)syscall(SYS_memfd_create, "copy", 0);
    ftruncate(file, PAGE);
    void **copy = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    copy[5] = malloc(1011);
    mprotect(copy, PAGE, PROT_READ);
    void **shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared[5] = malloc(1012);
    mprotect(shared, PAGE, PROT_READ);
}

static void at_exit(void *block) {
    (void)block;
}

// Blocks of a mapping of their own lie between the others.
__attribute__((noinline)) static void hold(void *library) {
    own = malloc(1000);
    pthread_setspecific(key, malloc(1001));
    for (int i = 0; i < 3; i++) {
        sink = malloc(200000);
        start(NULL, NULL);
        ((void **)map(8192))[1] = malloc(1005);
        sink = malloc(300000);
    }
    start(NULL, signal_stack);
    start(NULL, map(SIGNAL_STACK_BYTES));
    start(map(STACK_BYTES), NULL);
    void *stack = map(STACK_BYTES);
    start(stack, map(SIGNAL_STACK_BYTES));
    ((void (*)(void *))dlsym(library, "hold_zeroed"))(malloc(1007));
    ((void (*)(void *))dlsym(library, "hold_own"))(malloc(1008));
    ((void **)map(1 << 20))[7000] = malloc(1005);
    sink = malloc(300000);
    ((void **)syscall(SYS_mmap, NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))[3] =
        malloc(1006);
    hold_read_only();
    for (int i = 0; i < 40; i++)
        __cxa_atexit(at_exit, malloc(1009), NULL);
    while (nr_ready < 7)
        usleep(1000); // or they are given what was freed
    leave_free();
    sink = NULL;
}

__attribute__((noinline)) static void scrub(void) {
    volatile char room[65536];
    memset((void *)room, 0, sizeof(room));
}

int main(int argc, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW);
    if (!library || pthread_key_create(&key, NULL))
        return 3;
    hold(library);
    scrub();
    if (argc > 2)
        return 0;
    write(1, "ready\n", 6);
    for (;;)
        pause();
}
