// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __cplusplus
extern "C" {
#endif
void __lsan_disable(void) __attribute__((weak));
void __lsan_enable(void) __attribute__((weak));
void __lsan_ignore_object(const void *p) __attribute__((weak));
void __lsan_register_root_region(const void *p, size_t n) __attribute__((weak));
void __lsan_unregister_root_region(const void *p, size_t n) __attribute__((weak));
#ifdef __cplusplus
}
#endif
static void *volatile sink;
static void *other(void *unused) { sink = malloc(1003); return unused; } /* disabled is the thread's own */
static __attribute__((noinline)) void *drop(size_t bytes) { void *p = malloc(bytes); memset(p, 0, bytes); return p; }
static __attribute__((noinline)) void work(void) {
    pthread_t thread;
    sink = drop(1001); /* lost */
    if (__lsan_disable) {
#ifndef MATCHED /* LeakSanitizer itself ends the program for it */
        __lsan_enable();
#endif
        __lsan_disable();
        __lsan_disable();
        void *volatile *head = (void *volatile *)drop(2001);
        __lsan_enable();
        head[0] = drop(2002);
        sink = realloc(drop(16), 2003);
        free(drop(2004));
        pthread_create(&thread, NULL, other, NULL);
        pthread_join(thread, NULL);
        __lsan_enable();
        head[1] = drop(2005); /* allocated after: held by what is ignored */
        char *many[3000];
        for (int i = 0; i < 3000; i++) many[i] = (char *)drop(40);
        for (int i = 0; i < 3000; i++) free(many[i]);
    }
    char *inner = (char *)drop(2006);
    if (__lsan_ignore_object) __lsan_ignore_object(inner + 1000);
    sink = drop(1002); /* lost: enabled again */
    void **memory = (void **)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memory[7] = drop(2007);
    memory[600] = drop(1004);
    if (__lsan_register_root_region) {
        __lsan_register_root_region(memory, 4096);
        __lsan_register_root_region(memory + 512, 4096);
        __lsan_unregister_root_region(memory + 512, 4096);
    }
    sink = NULL;
}
static __attribute__((noinline)) void scrub(void) {
    volatile char stack[65536];
    for (unsigned i = 0; i < sizeof(stack); i++) stack[i] = 0;
}
int main(void) {
    work();
    scrub();
    write(1, __lsan_disable ? "1\n" : "0\n", 2);
    return getchar() == -2;
}
