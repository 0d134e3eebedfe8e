// SPDX-License-Identifier: BSD-2-Clause
// What it prints has a larger buffer than what it keeps.
#include <stdio.h>
#include <stdlib.h>

struct session {
    struct session *next;
    char name[24];
};

static struct session *sessions;

static void open_session(void) {
    struct session *session = malloc(sizeof(*session));
    session->next = sessions;
    sessions = session;
}

int main(void) {
    printf("hello\n");
    for (int i = 0; i < 20; i++)
        open_session();
    return 0;
}
