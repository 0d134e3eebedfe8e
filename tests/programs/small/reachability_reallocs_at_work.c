// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
struct list { char **items; size_t nr; };
static struct list lists[3];
static void *work(void *data) {
    struct list *list = data;
    for (;;) {
        for (size_t nr = 1; nr <= 4096; nr += nr / 4 + 1) {
            list->items = realloc(list->items, nr * sizeof(char *));
            while (list->nr < nr) list->items[list->nr++] = malloc(24);
            free(malloc(nr * 9));
        }
        for (size_t nr = 4096; nr; nr /= 2) {
            while (list->nr > nr) free(list->items[--list->nr]);
            list->items = realloc(list->items, nr * sizeof(char *));
        }
    }
}
int main(void) {
    pthread_t t;
    for (int i = 0; i < 3; i++) pthread_create(&t, 0, work, &lists[i]);
    write(1, "ready\n", 6);
    pthread_join(t, 0);
}
