// SPDX-License-Identifier: BSD-2-Clause
//
//   no-cfi NR main|thread [jit|gone]
//
// Allocates NR times from stacks of many frames. Built without call-frame information and with frame pointers.
// jit: through code that is made at run time, with some thousand return addresses. gone: from a frame record that
// leads to such code, which half-way is unmapped. Both x86-64 only.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define NR_KEPT 64

static int nr;
static const char *way = "";

__attribute__((noinline)) static void *innermost(int i) {
    void *block = malloc(16 + (size_t)i % 100);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) static void *deeper(int i, int depth) {
    void *block = depth ? deeper(i, depth - 1) : innermost(i);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

__attribute__((noinline)) static void *other_way(int i, int depth) {
    void *block = deeper(i, depth);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

// ---- code that is made at run time ------------------------------------------------------------------

#define CODE_BYTES ((size_t)2 << 20)
#define CODE_STEP  1040 // from one return address to the next: some lie at the start of a page
#define NR_DEEP    6
#define NR_LISTS   500

// What a function is to call, with the rest of the list.
typedef void *(*called)(const void *rest, const void *record);

__attribute__((noinline)) static void *last(const void *rest, const void *record) {
    (void)rest, (void)record;
    return innermost(0);
}

static unsigned char *code_memory(void) {
    void *code =
        mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        exit(77);
    return code;
}

// push %rbp; mov %rsp,%rbp; mov (%rdi),%rax; add $8,%rdi; call *%rax; pop %rbp; ret
static const unsigned char caller[] = "\x55\x48\x89\xe5\x48\x8b\x07\x48\x83\xc7\x08\xff\xd0\x5d\xc3";
enum { RETURNS_AT = 13 };

static void work_jit(void) {
    static called lists[NR_LISTS][NR_DEEP + 1];
    size_t nr_callers = CODE_BYTES / CODE_STEP - 1;
    unsigned char *code = code_memory();
    for (size_t i = 0; i < nr_callers; i++)
        memcpy(code + (i + 1) * CODE_STEP - RETURNS_AT, caller, sizeof(caller));
    for (size_t i = 0; i < NR_LISTS; i++) {
        for (size_t k = 0; k < NR_DEEP; k++)
            lists[i][k] =
                (called)(void *)(code + (((i * NR_DEEP + k) * 17) % nr_callers + 1) * CODE_STEP - RETURNS_AT);
        lists[i][NR_DEEP] = last;
    }
    for (int i = 0; i < nr; i++)
        free(lists[i % NR_LISTS][0](&lists[i % NR_LISTS][1], NULL));
    munmap(code, CODE_BYTES);
}

// push %rsi; push %rbp; mov %rsp,%rbp; sub $8,%rsp; mov (%rdi),%rax; add $8,%rdi; call *%rax; add $8,%rsp;
// pop %rbp; pop %rsi; ret
static const unsigned char caller_by_record[] =
    "\x56\x55\x48\x89\xe5\x48\x83\xec\x08\x48\x8b\x07\x48\x83\xc7\x08"
    "\xff\xd0\x48\x83\xc4\x08\x5d\x5e\xc3";

static void work_gone(void) {
    static const called list[] = {last};
    unsigned char *code = code_memory(), *led_to = code_memory();
    memcpy(code, caller_by_record, sizeof(caller_by_record));
    for (int i = 0; i < nr; i++) {
        free(((called)(void *)code)(list, led_to + 100));
        if (i == nr / 2)
            munmap(led_to, CODE_BYTES);
    }
}

static void *work(void *unused) {
    if (strcmp(way, "jit") == 0)
        work_jit();
    if (strcmp(way, "gone") == 0)
        work_gone();
    if (*way)
        return unused;
    void *kept[NR_KEPT] = {NULL};
    for (int i = 0; i < nr; i++) {
        free(kept[i % NR_KEPT]);
        kept[i % NR_KEPT] = i % 2 ? deeper(i, 10 + i % 5) : other_way(i, 8 + i % 7);
    }
    return unused;
}

int main(int argc, char **argv) {
    nr = argc > 2 ? atoi(argv[1]) : 0;
    way = argc > 3 ? argv[3] : "";
    if (nr && strcmp(argv[2], "thread") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 1;
    } else {
        work(NULL);
    }
    return 0;
}
