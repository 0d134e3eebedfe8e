// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// A register that is a frame pointer elsewhere leads to two words that are no frame record: look() is called with each.
#include <stdlib.h>
struct pair { void *first, *second; };
void *kept[8], *made;
int words[8];
void thread_of_library(void);
__attribute__((noinline)) static void look(volatile struct pair *pair, int i) {
    register volatile struct pair *at __asm__("rbp") = pair;
    __asm__ volatile("" : "+r"(at));
    kept[i] = malloc(100 + i);
    __asm__ volatile("" : "+r"(at));
}
int main(int nr, char **arguments) {
    made = malloc(50);
    thread_of_library();
    volatile struct pair pairs[6] = {{0, kept}, {0, made}, {0, words}, {0, "text"}, {0, 0}, {0, arguments}};
    for (int i = 0; i < 6; i++) {
        pairs[i].first = (void *)&pairs[5];
        look(&pairs[i], i);
    }
    return 7;
}
