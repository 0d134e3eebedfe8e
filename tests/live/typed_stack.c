// SPDX-License-Identifier: BSD-2-Clause
// Local variables that hold. "TYPED: <size> <function> <declaration>" says in which function's variable a
// scan must find the holder.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct node {
    struct node *next;
    char *text;
};

struct job {
    int number;
    struct node *nodes[3];
};

static NOINLINE void *make(size_t size) {
    void *block = calloc(1, size);
    __asm__ volatile("" : "+r"(block)::"memory");
    return block;
}

static NOINLINE void wipe(void) {
    volatile char room[32768];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

static volatile int waiting = 1;

static NOINLINE void wait_here(void) {
    wipe();
    puts("ready");
    fflush(stdout);
    while (waiting) // or the compiler knows that nothing comes after
        pause();
}

static NOINLINE void in_memory(struct job *above) {
    struct node *first;
    struct job job = {0};
    first = make(1000);        // TYPED: 1000 in_memory struct node *first
    first->text = make(1016);  // TYPED: 1016 in_memory struct node *first > (struct node) .text
    job.nodes[2] = make(1032); // TYPED: 1032 in_memory struct node *job.nodes[2]
    __asm__ volatile("" ::"r"(&first), "r"(&job), "r"(above) : "memory");
    wait_here();
    __asm__ volatile("" ::"r"(&first), "r"(&job), "r"(above) : "memory");
}

// Calls others with its pointers in registers, where the compiler optimises.
static NOINLINE int in_registers(struct job *above) {
    struct node *kept = make(1048); // TYPED: 1048 in_registers struct node *kept
    in_memory(above);
    __asm__ volatile("" : "+r"(kept)::"memory");
    return kept->next != NULL;
}

static void *thread(void *data) {
    struct job *mine = make(1064); // TYPED: 1064 thread struct job *mine
    int number = in_registers(mine);
    __asm__ volatile("" : "+r"(mine)::"memory");
    return (char *)data + number + mine->number;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    return 0;
}
