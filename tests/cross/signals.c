// SPDX-License-Identifier: BSD-2-Clause
//
// Signals that interrupt code at places where no call is made: leaves without a frame, prologues,
// epilogues. Their handlers allocate, on the stack at hand and on one of their own. The program
// itself allocates only while no timer runs. Run under the oracle (test_cross.py).
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define APART __attribute__((noipa))

// Raises SIGTRAP without a call: the return address stays where the leaf has it. TRAP_BYTES: the handler goes over
// it. Where no instruction does it alike on a machine and under qemu, a system call does.
#if defined(__aarch64__)
#define TRAP()     __asm__ volatile("brk #0")
#define TRAP_BYTES 4
#define TRAP_PC(c) ((c)->uc_mcontext.pc)
#elif defined(__arm__)
// libgcc asks for the code before an address, of signals too: that must be of the same function.
#define TRAP() __asm__ volatile("nop\n\tbkpt #0")
#ifdef __thumb__
#define TRAP_BYTES 2
#else
#define TRAP_BYTES 4
#endif
#define TRAP_PC(c) ((c)->uc_mcontext.arm_pc)
#elif defined(__mips__)
#define TRAP()     __asm__ volatile("break")
#define TRAP_BYTES 4
#define TRAP_PC(c) ((c)->uc_mcontext.pc)
#elif defined(__riscv)
#define TRAP()                                                                                               \
    do {                                                                                                     \
        register long a7 __asm__("a7") = SYS_tkill;                                                          \
        register long a0 __asm__("a0") = self;                                                               \
        register long a1 __asm__("a1") = SIGTRAP;                                                            \
        __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1) : "memory");                                  \
    } while (0)
#elif defined(__powerpc64__)
#define TRAP()                                                                                               \
    do {                                                                                                     \
        register long r0 __asm__("r0") = SYS_tkill;                                                          \
        register long r3 __asm__("r3") = self;                                                               \
        register long r4 __asm__("r4") = SIGTRAP;                                                            \
        __asm__ volatile("sc"                                                                                \
                         : "+r"(r0), "+r"(r3), "+r"(r4)                                                      \
                         :                                                                                   \
                         : "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");       \
    } while (0)
#elif defined(__s390x__)
#define TRAP()                                                                                               \
    do {                                                                                                     \
        register long r1 __asm__("r1") = SYS_tkill;                                                          \
        register long r2 __asm__("r2") = self;                                                               \
        register long r3 __asm__("r3") = SIGTRAP;                                                            \
        __asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3) : "memory", "cc");                            \
    } while (0)
#endif

static volatile sig_atomic_t nr_traps, nr_ticks;
static volatile uint64_t sum;
static long self;

APART static void *allocate(size_t size) {
    void *block = malloc(size);
    __asm__ volatile("" : "+r"(block) : : "memory");
    return block;
}

APART static void handle_trap(int signal, siginfo_t *info, void *context) {
    free(allocate(100));
    nr_traps++;
#ifdef TRAP_PC
    TRAP_PC((ucontext_t *)context) += TRAP_BYTES;
#endif
}

static int enough;

// It ends the timer, too: a call for that from outside may be interrupted in the table of the linker, which has no
// call-frame information.
APART static void handle_tick(int signal) {
    struct itimerval off = {{0, 0}, {0, 0}};
    free(allocate(50));
    if (++nr_ticks == enough)
        setitimer(ITIMER_REAL, &off, NULL);
}

// No frame; the return address is in its register alone.
APART static uint64_t leaf(uint64_t n) {
    TRAP();
    return n * 3;
}

// A frame of its own for the array, still no call.
APART static uint64_t leaf_with_locals(uint64_t n) {
    volatile uint64_t array[8];
    for (int i = 0; i < 8; i++)
        array[i] = n + (uint64_t)i;
    TRAP();
    return array[n % 8];
}

APART static uint64_t calls(uint64_t n) {
    uint64_t value = leaf(n) + leaf_with_locals(n);
    TRAP();
    return value + leaf(value);
}

// Many short functions: the timer finds prologues and epilogues.
APART static uint64_t spin(uint64_t n) {
    sum += n;
    return n > 3 ? spin(n - 1) + spin(n - 2) : n;
}

static void install(int signal, void *handler, int flags) {
    struct sigaction action = {.sa_flags = flags};
    action.sa_sigaction = handler;
    sigaction(signal, &action, NULL);
}

static void tick_until(int nr) {
    struct itimerval timer = {{0, 2000}, {0, 2000}};
    enough = nr;
    nr_ticks = 0;
    setitimer(ITIMER_REAL, &timer, NULL);
    while (nr_ticks < enough)
        spin(12);
}

// With an argument, without the timer: tables that hold only where a function calls another say nothing else.
int main(int argc, char **argv) {
    self = syscall(SYS_gettid);
    stack_t alternate = {.ss_size = 1 << 18};
    alternate.ss_sp = malloc(alternate.ss_size);
    sigaltstack(&alternate, NULL);
    for (int round = 0; round < 2; round++) {
        int flags = round ? SA_ONSTACK : 0;
        install(SIGTRAP, handle_trap, SA_SIGINFO | flags);
        install(SIGALRM, handle_tick, flags);
        for (uint64_t i = 0; i < 20; i++)
            sum += calls(i);
        if (argc == 1)
            tick_until(150);
        free(allocate(7));
    }
    printf("%d traps\n", (int)nr_traps);
    return nr_traps == 160 ? 0 : 1;
}
