// SPDX-License-Identifier: BSD-2-Clause
//
// A program that takes away what the library in it may rely on, or uses it at an odd moment: one way a run. Whatever it does
// must end as without seep. Prints what its heap holds afterwards.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096u

#ifdef SYS_mmap2 // CPUs of 32 bits
#define MMAP    SYS_mmap2
#define STAT_AT SYS_fstatat64
#else
#define MMAP    SYS_mmap
#define STAT_AT SYS_newfstatat
#endif

#define MUST(condition)                                                                                      \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            fail(#condition);                                                                                \
    } while (0)

static void fail(const char *what) {
    (void)!write(2, what, strlen(what));
    (void)!write(2, "\n", 1);
    _exit(99);
}

// ---- work on the heap ----

enum { NR_BLOCKS = 600 };
static unsigned char *blocks[NR_BLOCKS];
static size_t sizes[NR_BLOCKS];
static unsigned seed = 1;

static unsigned chance(void) {
    seed = seed * 1103515245 + 12345;
    return seed >> 16;
}

__attribute__((noinline)) static void one_step(unsigned depth) {
    if (depth) {
        one_step(depth - 1);
        return;
    }
    unsigned i = chance() % NR_BLOCKS;
    for (size_t b = 0; b < sizes[i]; b++)
        MUST(blocks[i][b] == (unsigned char)i);
    free(blocks[i]);
    sizes[i] = chance() % 300;
    blocks[i] = chance() % 3 ? malloc(sizes[i] + 1) : calloc(1, sizes[i] + 1);
    MUST(blocks[i]);
    memset(blocks[i], (int)i, sizes[i]);
}

static void work(unsigned nr_steps) {
    for (unsigned i = 0; i < nr_steps; i++)
        one_step(i % 20);
}

static void wait_for(pid_t pid) {
    int status = -1;
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
}

static void child_works(void) {
    pid_t pid = fork();
    if (pid == 0) {
        work(2000);
        _exit(0);
    }
    wait_for(pid);
}

static void *thread_works(void *data) {
    void *kept[100];
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 100; i++)
            kept[i] = malloc(i + 1);
        for (unsigned i = 0; i < 100; i++)
            free(kept[i]);
    }
    return data;
}

static void other_thread_works(void) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, thread_works, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void work_everywhere(void) {
    work(5000);
    other_thread_works();
    child_works();
}

// ---- what is taken away ----

// All descriptors, and others in their places: nothing is written to those, and none is closed.
static void descriptors(void) {
    enum { FIRST = 3, END = 900 };
    FILE *file = tmpfile();
    MUST(file);
    int own = dup2(fileno(file), 1000);
    MUST(own == 1000);
    MUST(syscall(SYS_close_range, FIRST, 999, 0) == 0);
    work(1000);
    for (int fd = FIRST; fd < END; fd++)
        MUST(dup2(own, fd) == fd);
    work_everywhere();
    struct stat about, now;
    MUST(fstat(own, &about) == 0 && about.st_size == 0);
    for (int fd = FIRST; fd < END; fd++)
        MUST(fstat(fd, &now) == 0 && now.st_ino == about.st_ino);
    closefrom(FIRST);
    work_everywhere();
}

static void limits(void) {
    struct rlimit none = {0, 0}, little = {64 << 10, 64 << 10};
    MUST(setrlimit(RLIMIT_FSIZE, &none) == 0 && setrlimit(RLIMIT_NOFILE, &none) == 0);
    MUST(setrlimit(RLIMIT_MEMLOCK, &none) == 0 && setrlimit(RLIMIT_CORE, &none) == 0);
    MUST(setrlimit(RLIMIT_SIGPENDING, &none) == 0 && setrlimit(RLIMIT_MSGQUEUE, &none) == 0);
    work_everywhere();
    MUST(prlimit(0, RLIMIT_STACK, &little, NULL) == 0);
    work_everywhere();
}

static volatile unsigned nr_forks;

static void fork_now(int signal_number) {
    (void)signal_number;
    pid_t pid = nr_forks % 2 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0)
        _exit(0);
    wait_for(pid);
    nr_forks++;
}

// A handler that forks comes in the middle of malloc. Without threads: with them glibc would wait for itself.
static void forks(void) {
    struct sigaction action = {.sa_handler = fork_now, .sa_flags = SA_RESTART};
    struct itimerval once = {{0, 0}, {0, 300}};
    MUST(sigaction(SIGALRM, &action, NULL) == 0);
    for (unsigned wanted = nr_forks + 60; nr_forks < wanted;) {
        unsigned before = nr_forks;
        MUST(setitimer(ITIMER_REAL, &once, NULL) == 0);
        while (nr_forks == before)
            work(100);
    }
    work(5000);
    child_works();
}

// ---- stacks ----

static unsigned char *guarded(size_t bytes) {
    unsigned char *all = mmap(NULL, bytes + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(all != MAP_FAILED && mprotect(all + PAGE, bytes, PROT_READ | PROT_WRITE) == 0);
    return all + PAGE;
}

static void allocate_now(int signal_number) {
    (void)signal_number;
    free(malloc(100 + chance() % 100));
}

static void *handler_on_small_stack(void *data) {
    (void)data;
    // What the kernel itself needs, and two KiB for the handler, which malloc alone is content with.
    size_t least = getauxval(AT_MINSIGSTKSZ);
    size_t bytes = ((least ? least : 2048) + 2048 + PAGE - 1) / PAGE * PAGE;
    stack_t stack = {.ss_sp = guarded(bytes), .ss_size = bytes}, none = {.ss_flags = SS_DISABLE};
    struct sigaction action = {.sa_handler = allocate_now, .sa_flags = SA_ONSTACK};
    MUST(sigaltstack(&stack, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 50; i++)
        raise(SIGUSR1); // a thread's first allocation is there, too
    MUST(sigaltstack(&none, NULL) == 0);
    MUST(mprotect(stack.ss_sp, bytes, PROT_NONE) == 0);
    return NULL;
}

static ucontext_t back, there;

static void on_other_stack(void) {
    work(50);
    swapcontext(&there, &back);
    work(50);
}

#ifdef __x86_64__
// Allocates while %rbp is `frame`; nothing tells how this code leaves.
void with_frame(const void *frame);
__asm__(".text\n"
        "with_frame:\n"
        "push %rbp\n"
        "mov %rdi, %rbp\n"
        "sub $16, %rsp\n"
        "mov $40, %edi\n"
        "call malloc@PLT\n"
        "mov %rax, %rdi\n"
        "call free@PLT\n"
        "add $16, %rsp\n"
        "pop %rbp\n"
        "ret\n");

static const void *frame;

static void with_that_frame(void) {
    with_frame(frame);
}

static void stack_near(bool by_call) {
    enum { BYTES = 64 << 10, PROTECTION = PROT_READ | PROT_WRITE, FLAGS = MAP_PRIVATE | MAP_ANONYMOUS };
    unsigned char *at = (unsigned char *)((uintptr_t)__builtin_frame_address(0) / PAGE * PAGE - (4 << 20));
    unsigned char *stack = by_call ? (unsigned char *)syscall(SYS_mmap, at, BYTES, PROTECTION, FLAGS, -1, 0)
                                   : mmap(at, BYTES, PROTECTION, FLAGS, -1, 0);
    MUST(stack == at && getcontext(&there) == 0);
    frame = stack + BYTES + PAGE;
    there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = BYTES};
    there.uc_link = &back;
    makecontext(&there, with_that_frame, 0);
    MUST(swapcontext(&back, &there) == 0 && munmap(stack, BYTES) == 0);
    work(50);
}

// A stack below the first thread's, where no kernel would map it. Memory between the two cannot be read.
static void stack_near_first(void) {
    stack_near(false);
}

static void stack_near_first_by_call(void) {
    stack_near(true);
}
#endif

// Stacks that come, are left in the middle, and are unmapped, without access or of another use.
static void stacks(void) {
    enum { BYTES = 64 << 10 };
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, handler_on_small_stack, NULL) == 0 && pthread_join(thread, NULL) == 0);
    handler_on_small_stack(NULL);
    for (int i = 0; i < 60; i++) {
        unsigned char *stack = guarded(BYTES);
        MUST(getcontext(&there) == 0);
        there.uc_stack = (stack_t){.ss_sp = stack, .ss_size = BYTES};
        there.uc_link = &back;
        makecontext(&there, on_other_stack, 0);
        MUST(swapcontext(&back, &there) == 0);
        work(10);
        if (i % 4 == 0)
            MUST(swapcontext(&back, &there) == 0);
        else if (i % 4 == 1)
            MUST(mprotect(stack, BYTES, PROT_NONE) == 0);
        else if (i % 4 == 2)
            MUST(syscall(SYS_munmap, stack, BYTES) == 0);
        else
            MUST(mmap(stack, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                 stack);
        work(10);
    }
    work_everywhere();
}

// ---- rights ----

static void no_new_code(void) {
    (void)prctl(65 /* PR_SET_MDWE */, 1, 0, 0, 0); // kernels before 6.3 do not know it
    work_everywhere();
}

static void landlock(void) {
    struct {
        uint64_t files;
    } all = {0x1fff};
    long rules = syscall(444 /* landlock_create_ruleset */, &all, sizeof(all), 0);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (rules >= 0)
        MUST(syscall(446 /* landlock_restrict_self */, rules, 0) == 0 &&
             open("/proc/self/maps", O_RDONLY) < 0);
    work_everywhere();
}

static _Atomic int listener = -1;
static _Atomic unsigned nr_asked;

static void *answer(void *data) {
    while (listener < 0)
        sched_yield();
    for (;;) {
        struct seccomp_notif ask = {.id = 0};
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &ask) != 0)
            continue;
        nr_asked++;
        struct seccomp_notif_resp said = {.id = ask.id, .error = -38};
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &said);
    }
    return data;
}

// All calls but those of an allocator are answered by another thread, which counts them.
static void asked_about(void) {
    static const unsigned allowed[] = {SYS_brk,        SYS_mmap,    SYS_munmap, SYS_mremap,
                                       SYS_mprotect,   SYS_madvise, SYS_futex,  SYS_write,
                                       SYS_exit_group, SYS_exit,    SYS_fstat,  STAT_AT};
    enum { NR = sizeof(allowed) / sizeof(allowed[0]) };
    struct sock_filter code[NR + 3];
    code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < NR; i++)
        code[i + 1] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i], (uint8_t)(NR - i), 0);
    code[NR + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    code[NR + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {NR + 3, code};
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, answer, NULL) == 0);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    work(1000);
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
    MUST(listener >= 0);
    work(20000);
    free((void *)malloc(40u << 20));
    printf("%u calls were asked about\n", nr_asked);
}

// ---- processes that share memory ----

static int in_same_memory(void *data) {
    work(1000);
    return data != NULL;
}

static void same_memory(void) {
    unsigned char *stack = guarded(256 << 10);
    for (int i = 0; i < 20; i++) {
        wait_for(clone(in_same_memory, stack + (256 << 10), CLONE_VM | SIGCHLD, NULL));
        wait_for(
            clone(in_same_memory, stack + (256 << 10), CLONE_VM | CLONE_VFORK | CLONE_FS | SIGCHLD, NULL));
        pid_t pid = vfork();
        if (pid == 0) {
            work(100);
            if (i % 2)
                execl("/bin/true", "true", (char *)NULL);
            _exit(0);
        }
        wait_for(pid);
        work(100);
    }
    work_everywhere();
}

// ---- our memory ----

enum deed { UNMAP, PROTECT, WRITE_PROTECT, COVER, NO_FORK, EMPTY };

// Mappings of the image are named after its memory file. Without seep there are none. By function, or by the
// number of the call.
static void do_to_image(enum deed deed, bool by_call) {
    static const int advice_of[] = {[NO_FORK] = MADV_DONTFORK, [EMPTY] = MADV_REMOVE};
    static char text[256 << 10];
    size_t length = 0;
    int fd = open("/proc/self/maps", O_RDONLY);
    for (ssize_t got; (got = read(fd, text + length, sizeof(text) - 1 - length)) > 0;)
        length += (size_t)got;
    close(fd);
    text[length] = 0;
    char *place = NULL;
    for (char *line = strtok_r(text, "\n", &place); line; line = strtok_r(NULL, "\n", &place)) {
        unsigned long start, end;
        if (!strstr(line, "/memfd:seep-image") || sscanf(line, "%lx-%lx", &start, &end) != 2)
            continue;
        void *at = (void *)start;
        size_t bytes = end - start;
        const int own = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
        if (deed == UNMAP)
            MUST((by_call ? (int)syscall(SYS_munmap, at, bytes) : munmap(at, bytes)) == 0);
        else if (deed == COVER)
            MUST((by_call ? (void *)syscall(MMAP, at, bytes, PROT_READ | PROT_WRITE, own, -1, 0)
                          : mmap(at, bytes, PROT_READ | PROT_WRITE, own, -1, 0)) == at);
        else if (deed == NO_FORK || deed == EMPTY)
            MUST((by_call ? (int)syscall(SYS_madvise, at, bytes, advice_of[deed])
                          : madvise(at, bytes, advice_of[deed])) == 0);
        else
            MUST((by_call ? (int)syscall(SYS_mprotect, at, bytes, PROT_NONE)
                          : mprotect(at, bytes, deed == PROTECT ? PROT_NONE : PROT_READ)) == 0);
    }
}

static void image_unmapped(void) {
    work_everywhere();
    do_to_image(UNMAP, false);
    work_everywhere();
}

static void image_protected(void) {
    work_everywhere();
    do_to_image(PROTECT, false);
    work_everywhere();
}

static void image_read_only(void) {
    work_everywhere();
    do_to_image(WRITE_PROTECT, false);
    work_everywhere();
}

// Whether the kernel leaves the mapping out of a core. Where it does not tell: true.
static bool is_left_out(uintptr_t address) {
    char line[512];
    bool is_in = false, is_out = true;
    FILE *file = fopen("/proc/self/smaps", "r");
    MUST(file);
    while (fgets(line, sizeof(line), file)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            is_in = address >= start && address < end;
        else if (is_in && strncmp(line, "VmFlags:", 8) == 0)
            is_out = strstr(line, " dd") != NULL;
    }
    fclose(file);
    return is_out;
}

// The second mapping gets the advice although a gap and the image lie between the two mappings.
static void advise_from_end_to_end(bool by_call) {
    static _Alignas(64 << 10) char low[64 << 10];
    const size_t bytes = 64 << 10;
    char *high = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MUST(high != MAP_FAILED && high > low);
    size_t all = (size_t)(high - low) + bytes;
    errno = 0;
    MUST((by_call ? (int)syscall(SYS_madvise, low, all, MADV_DONTDUMP) : madvise(low, all, MADV_DONTDUMP)) ==
         -1);
    MUST(errno == ENOMEM && is_left_out((uintptr_t)low) && is_left_out((uintptr_t)high));
    munmap(high, bytes);
}

static void image_advised(void) {
    work(1000);
    advise_from_end_to_end(false);
    advise_from_end_to_end(true);
    for (int by_call = 0; by_call < 2; by_call++) {
        work_everywhere();
        do_to_image(NO_FORK, by_call);
        work_everywhere();
        do_to_image(EMPTY, by_call);
        work_everywhere();
    }
}

static void image_covered(void) {
    work_everywhere();
    do_to_image(COVER, false);
    work_everywhere();
}

static void image_covered_by_calls(void) {
    work_everywhere();
    do_to_image(PROTECT, true);
    work_everywhere();
    do_to_image(UNMAP, true);
    work_everywhere();
    do_to_image(COVER, true);
    work_everywhere();
}

// Ranges that leave the address space, around the image, too: the kernel refuses them.
static void no_such_memory(void) {
    work_everywhere();
    void *low = (void *)0x10000;
#if UINTPTR_MAX > UINT32_MAX
    const size_t lengths[] = {-(size_t)0x10000, SIZE_MAX - 0x1ffff, (size_t)1 << 57, (size_t)1 << 55};
#else
    const size_t lengths[] = {-(size_t)0x10000};
#endif
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        MUST(munmap(low, lengths[i]) == -1);
        MUST(mprotect(low, lengths[i], PROT_NONE) == -1);
        MUST(i > 2 ||
             mmap(low, lengths[i], PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
        MUST(syscall(SYS_munmap, low, lengths[i]) == -1);
    }
    work_everywhere();
}

static _Atomic int goes_on, nr_at_work;

static void *works_meanwhile(void *data) {
    thread_works(NULL);
    nr_at_work++;
    while (goes_on)
        thread_works(NULL);
    return data;
}

static void image_unmapped_at_work(void) {
    pthread_t threads[3];
    goes_on = 1;
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, works_meanwhile, NULL) == 0);
    do // also while their first allocations make areas of the image longer
        do_to_image(UNMAP, false);
    while (nr_at_work < 3);
    work(5000);
    do_to_image(UNMAP, false);
    work(5000);
    goes_on = 0;
    for (int i = 0; i < 3; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
}

// ---- libraries that come and go ----

static const char *plugin_path;

static void *load_and_drop(void *data) {
    for (int i = 0; i < 150; i++) {
        void *plugin = dlopen(plugin_path, RTLD_NOW | RTLD_LOCAL);
        MUST(plugin);
        void *(*get)(size_t) = (void *(*)(size_t))dlsym(plugin, "plugin_get");
        void (*put)(void *) = (void (*)(void *))dlsym(plugin, "plugin_put");
        void *kept[50];
        for (size_t b = 0; b < 50; b++)
            kept[b] = get(b * 10);
        for (size_t b = 0; b < 25; b++)
            put(kept[b]);
        dlclose(plugin);
        for (size_t b = 25; b < 50; b++)
            free(kept[b]);
    }
    return data;
}

static void plugins(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        MUST(pthread_create(&threads[i], NULL, load_and_drop, NULL) == 0);
    work(100000);
    for (int i = 0; i < 3; i++)
        MUST(pthread_join(threads[i], NULL) == 0);
    work_everywhere();
}

static const struct {
    const char *name;
    void (*way)(void);
} ways[] = {
    {"descriptors", descriptors},
    {"limits", limits},
    {"forks", forks},
    {"stacks", stacks},
#ifdef __x86_64__
    {"stack-near-first", stack_near_first},
    {"stack-near-first-by-call", stack_near_first_by_call},
#endif
    {"no-new-code", no_new_code},
    {"landlock", landlock},
    {"asked-about", asked_about},
    {"same-memory", same_memory},
    {"image-unmapped", image_unmapped},
    {"image-unmapped-at-work", image_unmapped_at_work},
    {"image-protected", image_protected},
    {"image-read-only", image_read_only},
    {"image-advised", image_advised},
    {"image-covered", image_covered},
    {"image-covered-by-calls", image_covered_by_calls},
    {"no-such-memory", no_such_memory},
    {"plugins", plugins},
};

// WAY [PLUGIN [stay]]: stay, until its input ends, and do it over and over.
int main(int argc, char **argv) {
    plugin_path = argc > 2 ? argv[2] : NULL;
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) != 0)
            continue;
        if (argc > 3) {
            printf("ready\n");
            fflush(stdout);
            fcntl(0, F_SETFL, O_NONBLOCK);
            do
                ways[i].way();
            while (read(0, &(char){0}, 1) != 0);
        } else {
            ways[i].way();
        }
        for (unsigned b = 0; b < NR_BLOCKS; b++) {
            free(blocks[b]);
            blocks[b] = NULL;
            sizes[b] = 0;
        }
        seed = 1; // how much was done may be by chance
        work(3000);
        unsigned long sum = 0;
        for (unsigned b = 0; b < NR_BLOCKS; b++)
            sum += sizes[b];
        printf("%s: %lu bytes\n", argv[1], sum);
        return 0;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        printf("%s\n", ways[i].name);
    return argc > 1;
}
