// SPDX-License-Identifier: BSD-2-Clause
//
// Flows of control that allocate where few programs do: each argument is one, named in test_control_flow.py
// with the counts that it must have. Libraries are control_library.c; they lie beside the program.
#include "program.h"
#include <alloca.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static char folder[4096];

static void *open_library(const char *name) {
    char path[4200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    void *library = dlopen(path, RTLD_LAZY);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    return library;
}

static void *find(void *library, const char *name) {
    void *function = dlsym(library, name);
    CHECK(function != NULL);
    return function;
}

// ---- the loader --------------------------------------------------------------------------------------

static void *through_library(void *library) {
    void *(*take)(size_t) = (void *(*)(size_t))(uintptr_t)find(library, "library_take");
    for (int i = 0; i < 20000; i++) {
        void *p = take(24);
        if (i % 10)
            free(p);
    }
    return NULL;
}

// One thread allocates through a library that the other opens and closes without end (it stays), and
// another library comes and goes for good.
APART static void dlclose_while_allocating(void) {
    void *held = open_library("live-control-a.so");
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, through_library, held) == 0);
    for (int i = 0; i < 300; i++) {
        void *other = open_library("live-control-b.so");
        void *(*take)(size_t) = (void *(*)(size_t))(uintptr_t)find(other, "library_take");
        take(40);
        CHECK(dlclose(open_library("live-control-a.so")) == 0);
        CHECK(dlclose(other) == 0);
    }
    pthread_join(thread, NULL);
}

// The constructor and the destructor of the library allocate, its resolver of an IFUNC does, and its
// thread-local variables are made where they are first used.
APART static void constructors(void) {
    for (int i = 0; i < 5; i++)
        CHECK(dlclose(open_library("live-control-b.so")) == 0);
}

APART static void resolvers(void) {
    void *library = open_library("live-control-ifunc.so");
    int (*call)(int) = (int (*)(int))(uintptr_t)find(library, "library_resolved");
    CHECK(call(3) == 6);
}

static void *touch_tls(void *touch) {
    CHECK(((int (*)(void))(uintptr_t)touch)() == 1);
    return NULL;
}

APART static void tls(void) {
    void *library = open_library("live-control-a.so");
    void *touch = find(library, "library_touch");
    for (int i = 0; i < 50; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, touch_tls, touch) == 0);
        pthread_join(thread, NULL);
    }
}

APART static int in_callback(struct dl_phdr_info *info, size_t size, void *nr) {
    void *p = keep(malloc(33));
    if ((*(int *)nr)++ % 2)
        free(p);
    return *(int *)nr >= 4; // the program, libc, the loader and the vdso are always there
}

APART static void callbacks_of_the_loader(void) {
    for (int i = 0; i < 10; i++) {
        int nr = 0;
        CHECK(dl_iterate_phdr(in_callback, &nr) == 1);
    }
}

// A look-up that fails has a message, which libc keeps in the heap.
APART static void look_up(void) {
    for (int i = 0; i < 50; i++) {
        CHECK(dlsym(RTLD_DEFAULT, "no_such_function_anywhere") == NULL && dlerror() != NULL);
        CHECK(dlsym(RTLD_DEFAULT, "malloc") != NULL && dlerror() == NULL);
    }
}

// ---- ends of threads ---------------------------------------------------------------------------------

static pthread_key_t key;

// Sets its value again until the system has had enough: four rounds.
APART static void in_destructor(void *value) {
    CHECK(pthread_setspecific(key, value) == 0);
    keep(malloc(21));
}

static void *set_key(void *value) {
    CHECK(pthread_setspecific(key, value) == 0);
    return NULL;
}

APART static void in_cleanup(void *value) {
    free(value);
    keep(malloc(22));
}

static pthread_barrier_t waiting;

static void *until_cancelled(void *arg) {
    void *p = keep(malloc(23));
    pthread_cleanup_push(in_cleanup, p);
    pthread_barrier_wait(&waiting);
    for (;;)
        pause();
    pthread_cleanup_pop(1);
    return NULL;
}

static void *leaves(void *arg) {
    void *p = keep(malloc(23));
    pthread_cleanup_push(in_cleanup, p);
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

static int nr_detached;

APART static void in_detached(void) {
    keep(malloc(25));
}

static void *detached(void *arg) {
    in_detached();
    __atomic_fetch_add(&nr_detached, 1, __ATOMIC_RELEASE);
    return NULL;
}

APART static void ends_of_threads(void) {
    CHECK(pthread_key_create(&key, in_destructor) == 0);
    CHECK(pthread_barrier_init(&waiting, NULL, 2) == 0);
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, set_key, &key) == 0);
        pthread_join(thread, NULL);
        CHECK(pthread_create(&thread, NULL, until_cancelled, NULL) == 0);
        pthread_barrier_wait(&waiting);
        CHECK(pthread_cancel(thread) == 0);
        pthread_join(thread, NULL);
        CHECK(pthread_create(&thread, NULL, leaves, NULL) == 0);
        pthread_join(thread, NULL);
        CHECK(pthread_create(&thread, NULL, detached, NULL) == 0);
        CHECK(pthread_detach(thread) == 0);
    }
    while (__atomic_load_n(&nr_detached, __ATOMIC_ACQUIRE) != 20)
        usleep(1000);
}

// ---- stacks ------------------------------------------------------------------------------------------

#define MIB (1u << 20)

APART static int large_frames(int depth) {
    char *space = alloca(hide(MIB));
    space[0] = (char)depth;
    keep(space);
    if (depth == 1) {
        keep(malloc(31));
        return 0;
    }
    return large_frames(depth - 1) + space[0];
}

APART static int many_frames(int depth) {
    if (depth == 1) {
        keep(malloc(32));
        return 0;
    }
    return many_frames(depth - 1) + (int)hide(1);
}

static void *on_large_stack(void *arg) {
    for (int i = 0; i < 3; i++) {
        large_frames(60);
        many_frames(10000);
    }
    return NULL;
}

APART static void large_stack(void) {
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 * MIB) == 0);
    CHECK(pthread_create(&thread, &attributes, on_large_stack, NULL) == 0);
    pthread_join(thread, NULL);
}

static sigjmp_buf back;
static volatile char *guarded;

APART static void in_fault_handler(int number) {
    keep(malloc(34));
    siglongjmp(back, 1);
}

APART static int fault(int depth) {
    if (depth == 0)
        return *guarded;
    return fault(depth - 1) + (int)hide(1);
}

APART static void after_fault(void) {
    keep(malloc(35));
}

APART static void faults(void) {
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = in_fault_handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGSEGV, &action, NULL) == 0);
    guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (volatile int i = 0; i < 40; i++) {
        if (sigsetjmp(back, 1) == 0)
            fault(i % 7);
        after_fault();
    }
}

// A call to where there is no code.
APART static void call_nowhere(int depth) {
    void (*volatile nowhere)(void) = (void (*)(void))hide(16);
    if (depth)
        call_nowhere(depth - 1);
    else
        nowhere();
    after_fault(); // no tail call
}

APART static void calls_to_nowhere(void) {
    struct sigaction action = {.sa_handler = in_fault_handler};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    for (volatile int i = 0; i < 40; i++)
        if (sigsetjmp(back, 1) == 0)
            call_nowhere(3);
}

// An overflow of the stack itself: the handler stands on another one and jumps out.
APART static int overflow(int depth) {
    volatile char space[4096];
    space[0] = (char)depth;
    return overflow(depth + 1) + space[0];
}

static void *overflows(void *arg) {
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (volatile int i = 0; i < 5; i++) {
        if (sigsetjmp(back, 1) == 0)
            overflow(0);
        after_fault();
    }
    return NULL;
}

APART static void stack_overflow(void) {
    struct sigaction action = {.sa_handler = in_fault_handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, overflows, NULL) == 0);
    pthread_join(thread, NULL);
}

// ---- hand-switched stacks, code without call-frame information -----------------------------------------

#ifdef __x86_64__
// switch_stacks(&from_sp, to_sp): keeps what calls keep and goes on where the other one stopped.
__asm__(".text\n.type switch_stacks,@function\nswitch_stacks:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size switch_stacks,.-switch_stacks\n"
        // The first frame of a new stack: no return address, so it is the last.
        ".type first_frame,@function\nfirst_frame:\n.cfi_startproc\n.cfi_undefined rip\ncall *%rbx\nud2\n"
        ".cfi_endproc\n.size first_frame,.-first_frame\n"
        // As in Boost.Context: no call-frame information, and a return would exit.
        ".type exits,@function\nexits:\npush %rbp\njmp *%rbx\n"
        "exits_after:\nxor %rdi,%rdi\ncall first_frame\nhlt\n.size exits,.-exits\n"
        // through_frame(f): a frame pointer and no call-frame information. without_frame(f): neither.
        ".type through_frame,@function\nthrough_frame:\npush %rbp\nmov %rsp,%rbp\nsub $32,%rsp\ncall "
        "*%rdi\nleave\nret\n"
        ".size through_frame,.-through_frame\n"
        ".type without_frame,@function\nwithout_frame:\npush %rbp\nxor %ebp,%ebp\nsub $32,%rsp\ncall *%rdi\n"
        "add $32,%rsp\npop %rbp\nret\n.size without_frame,.-without_frame\n");
void switch_stacks(void **from, void *to);
void first_frame(void);
void exits(void);
void exits_after(void);
int through_frame(void (*f)(void));
int without_frame(void (*f)(void));

static void *home, *other;

APART static void on_own_stack(int turn) {
    void *p = keep(malloc(27));
    if (turn % 2)
        free(p);
}

static void coroutine(void) {
    for (int turn = 0;; turn++) {
        on_own_stack(turn);
        switch_stacks(&other, home);
    }
}

#define STACK_BYTES 65536u

// `off_by`: words by which the stack at calls is off the ABI's alignment to 16 bytes. `returned_to`: in rbp at `first`.
static void switch_to_new_stacks(int off_by, void (*first)(void), void (*returned_to)(void)) {
    for (int round = 0; round < 25; round++) {
        // Freed and mapped again at the same place, where old frames must not be believed.
        char *stack = mmap((void *)0x600000000000, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        CHECK(stack != MAP_FAILED);
        void **top = (void **)(stack + STACK_BYTES) - 11 - off_by;
        top[6] = (void *)(uintptr_t)first;
        top[5] = (void *)(uintptr_t)returned_to;
        top[4] = (void *)(uintptr_t)coroutine; // popped into rbx
        other = top;
        for (int turn = 0; turn < 8; turn++)
            switch_stacks(&home, other);
        munmap(stack, STACK_BYTES);
    }
}

APART static void switched(void) {
    switch_to_new_stacks(0, first_frame, NULL);
}

APART static void exits_at_the_end(void) {
    switch_to_new_stacks(0, exits, exits_after);
}

APART static void misaligned(void) {
    switch_to_new_stacks(1, first_frame, NULL);
}

APART static void behind_frame(void) {
    keep(malloc(28));
}

APART static void behind_nothing(void) {
    keep(malloc(29));
}

APART static void no_cfi(void) {
    for (int i = 0; i < 10; i++) {
        through_frame(behind_frame);
        without_frame(behind_nothing);
    }
}
#else
static void switched(void) {
}
static void exits_at_the_end(void) {
}
static void no_cfi(void) {
}
#endif

// ---- signals under load --------------------------------------------------------------------------------

static volatile sig_atomic_t nr_ticks;
static volatile sig_atomic_t is_over;

APART static void in_tick(int number) {
    if (is_over)
        return;
    nr_ticks++;
    free(keep(malloc(36)));
}

// A signal every 50 microseconds, on an alternate stack, and both sides allocate without pause. Runs with
// an allocator that signal handlers may call (control_allocator.c), because glibc's is none.
APART static void ticks(void) {
    static char alternate[65536];
    stack_t stack = {.ss_sp = alternate, .ss_size = sizeof(alternate)};
    struct sigaction action = {.sa_handler = in_tick, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF};
    struct itimerspec interval = {{0, 50000}, {0, 50000}};
    timer_t timer;
    CHECK(sigaltstack(&stack, NULL) == 0 && sigaction(SIGPROF, &action, NULL) == 0);
    CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    keep(malloc(30)); // the allocator maps its memory
    CHECK(timer_settime(timer, 0, &interval, NULL) == 0);
    long nr = 0;
    while (nr_ticks < 2000) {
        void *p = keep(malloc(37));
        free(p);
        nr++;
    }
    is_over = 1;
    timer_delete(timer);
    char text[100];
    int length = snprintf(text, sizeof(text), "%ld %d\n", nr, (int)nr_ticks);
    CHECK(write(1, text, (size_t)length) == length);
}

// ---- the end -----------------------------------------------------------------------------------------

APART static void at_quick_end(void) {
    free(keep(malloc(38)));
}

APART static void quick(void) {
    CHECK(at_quick_exit(at_quick_end) == 0);
    keep(malloc(39));
    quick_exit(4);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {
        {"dlclose", dlclose_while_allocating},
        {"constructors", constructors},
        {"resolvers", resolvers},
        {"tls", tls},
        {"look-up", look_up},
        {"iterate", callbacks_of_the_loader},
        {"ends", ends_of_threads},
        {"large-stack", large_stack},
        {"faults", faults},
        {"overflow", stack_overflow},
        {"nowhere", calls_to_nowhere},
        {"switched", switched},
        {"exits", exits_at_the_end},
        {"misaligned", misaligned},
        {"no-cfi", no_cfi},
        {"ticks", ticks},
        {"quick", quick},
    };
    CHECK(argc == 2 && strlen(argv[0]) < sizeof(folder) && strrchr(argv[0], '/'));
    memcpy(folder, argv[0], (size_t)(strrchr(argv[0], '/') - argv[0]));
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!strcmp(argv[1], parts[i].name)) {
            parts[i].run();
            return 0;
        }
    }
    return 2;
}
