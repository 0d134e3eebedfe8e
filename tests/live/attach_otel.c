// SPDX-License-Identifier: BSD-2-Clause
// An allocator that samples by itself and tells it by the probes of the otel_memory contract, which nobody
// needs a header for: the notes are written here. Waits for a line, works, prints the semaphores, and again
// until its input ends. Arguments: rounds; "fork" to fork at the second line.
//
// A round makes, by functions of these names:
//   in_registers   40 blocks of 100 bytes, each tenth told with weight 1000; none freed
//   in_memory      40 of 300, each tenth with 3000; all freed
//   by_index       40 of 64, each fourth with 256, half of the told freed
//   constants      one of 7 bytes that stands for 4096
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEMAPHORE __attribute__((section(".probes"), used))
SEMAPHORE volatile unsigned short otel_memory_alloc_semaphore;
SEMAPHORE volatile unsigned short otel_memory_free_semaphore;

#ifdef NO_SEMAPHORE
#define SEMAPHORE_OF(name) "0"
#define IS_WATCHED(name)   1
#else
#define SEMAPHORE_OF(name) "otel_memory_" #name "_semaphore"
#define IS_WATCHED(name)   otel_memory_##name##_semaphore
#endif

#define TELL(provider, name, arguments, ...)                                                                 \
    __asm__ volatile("990: nop\n"                                                                            \
                     ".pushsection .note.stapsdt,\"\",\"note\"\n"                                            \
                     ".balign 4\n"                                                                           \
                     ".4byte 992f-991f, 994f-993f, 3\n"                                                      \
                     "991: .asciz \"stapsdt\"\n"                                                             \
                     "992: .balign 4\n"                                                                      \
                     "993: .8byte 990b, _.stapsdt.base, " SEMAPHORE_OF(                                      \
                         name) "\n"                                                                          \
                               ".asciz \"" provider "\", \"" #name "\", \"" arguments "\"\n"                 \
                               "994: .balign 4\n"                                                            \
                               ".popsection\n"                                                               \
                               ".ifndef _.stapsdt.base\n"                                                    \
                               ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n"       \
                               ".weak _.stapsdt.base\n"                                                      \
                               ".hidden _.stapsdt.base\n"                                                    \
                               "_.stapsdt.base: .space 1\n"                                                  \
                               ".size _.stapsdt.base, 1\n"                                                   \
                               ".popsection\n"                                                               \
                               ".endif\n" ::__VA_ARGS__                                                      \
                     : "memory")

static void *volatile kept;

__attribute__((noinline)) static void tell_free(void *block) {
    if (IS_WATCHED(free))
        TELL("otel_memory", free, "8@%0", "r"(block));
}

__attribute__((noinline)) static void in_registers(void) {
    for (int i = 0; i < 40; i++) {
        void *block = malloc(100);
        kept = block;
        if (i % 10 == 0 && IS_WATCHED(alloc)) {
            unsigned weight = 1000;
            size_t size = 100 | UINT64_C(0xabcd) << 40; // of which only the low half counts
            TELL("otel_memory", alloc, "8@%0 4@%k1 -4@%k2", "r"(block), "r"(size), "r"(weight));
        }
    }
}

__attribute__((noinline)) static void in_memory(void) {
    for (int i = 0; i < 40; i++) {
        void *block = malloc(300);
        volatile uint64_t size = 300, weight = 3000;
        kept = block;
        if (i % 10 == 0 && IS_WATCHED(alloc))
            TELL("otel_memory", alloc, "8@%0 8@%1 8@%2", "r"(block), "m"(size), "m"(weight));
        if (i % 10 == 0)
            tell_free(block);
        free(block);
    }
}

__attribute__((noinline)) static void by_index(void) {
    static uint32_t weights[8];
    uint32_t *table = weights;
    uint64_t at = 5;
    weights[7] = 256;
    for (int i = 0; i < 40; i++) {
        void *block = malloc(64);
        kept = block;
        if (i % 4 == 0 && IS_WATCHED(alloc))
            TELL("otel_memory", alloc, "8@%0 -1@$64 4@8(%1,%2,4)", "r"(block), "r"(table), "r"(at));
        if (i % 8 == 0) {
            tell_free(block);
            free(block);
        }
    }
}

__attribute__((noinline)) static void constants(void) {
    void *block = malloc(7);
    kept = block;
    if (IS_WATCHED(alloc))
        TELL("otel_memory", alloc, "8@%0 8@$7 8@$0x1000", "r"(block));
    TELL("another", alloc, "8@%0 8@$7 8@$0x1000", "r"(block));
#ifdef REFUSED
    if (IS_WATCHED(alloc))
        TELL("otel_memory", alloc, "8@%0 8@size(%%rip) 8@$9", "r"(block));
#endif
}

int main(int argc, char **argv) {
    long rounds = argc > 1 ? atol(argv[1]) : 1;
    char line[64];
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stdin, NULL, _IONBF, 0);
    for (int nr = 1; fgets(line, sizeof(line), stdin); nr++) {
        if (nr == 2 && argc > 2 && fork() != 0) {
            // The child goes on reading; we only wait for the end.
            pause();
            return 0;
        }
        if (strcmp(line, "look\n") != 0) {
            for (long i = 0; i < rounds; i++) {
                in_registers();
                in_memory();
                by_index();
                constants();
            }
        }
        printf("%d %d\n", otel_memory_alloc_semaphore, otel_memory_free_semaphore);
    }
    return 0;
}
