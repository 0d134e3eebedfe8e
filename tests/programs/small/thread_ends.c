// SPDX-License-Identifier: BSD-2-Clause
// For 32-bit ARM. A thread allocates 20 bytes in its function; before and after, one allocates 33 bytes below a function
// of the program without tables, as near to the thread's first function.
#include <pthread.h>
#include <stdlib.h>

void *kept[3];

__attribute__((used)) static void *inner(void *argument) {
    static int nr;
    kept[nr++] = malloc(33);
    return argument;
}

void *without_tables(void *argument);
__asm__(".text\n"
        ".thumb\n"
        ".thumb_func\n"
        ".type without_tables, %function\n"
        "without_tables:\n"
        ".fnstart\n"
        ".cantunwind\n"
        "push {r4, lr}\n"
        "bl inner\n"
        "pop {r4, pc}\n"
        ".fnend\n");

static void *works(void *argument) {
    kept[2] = malloc(20);
    return argument;
}

int main(void) {
    void *(*const all[])(void *) = {without_tables, works, without_tables};
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, all[i], NULL) || pthread_join(thread, NULL))
            return 1;
    }
    return 0;
}
