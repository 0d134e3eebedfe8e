// SPDX-License-Identifier: BSD-2-Clause
// Reads users and forgets their addresses.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct user {
    char *name;
    char *address;
};

static struct user *user_new(int i) {
    char text[64];
    struct user *user = malloc(sizeof(*user));
    snprintf(text, sizeof(text), "user %d", i);
    user->name = strdup(text);
    snprintf(text, sizeof(text), "%d Long Street, Old Town", i);
    user->address = strdup(text);
    return user;
}

static void user_free(struct user *user) {
    free(user->name);
    free(user); // and its address?
}

int main(void) {
    for (int i = 0; i < 1000; i++)
        user_free(user_new(i));
    return 0;
}
