// SPDX-License-Identifier: BSD-2-Clause
//
// A child made by fork starts with the parent's live blocks as they were at the fork, frees some and
// makes its own; a grandchild does the same. Each child's first heap operation comes after its parent
// has allocated and freed more, which the child must not see; nor the parent what the child does.
// EXPECT:
// {
//   "sites": [
//     {"in": "before", "via": "malloc", "allocations": 10, "frees": 2, "live_blocks": 8, "live_bytes": 800},
//     {"in": "parent_after", "via": "malloc", "allocations": 5, "frees": 0, "live_blocks": 5, "live_bytes": 250}
//   ],
//   "children": [
//     {"sites": [
//       {"in": "before", "via": "malloc", "live_blocks": 6, "live_bytes": 600},
//       {"in": "child_own", "via": "malloc", "live_blocks": 14, "live_bytes": 154}],
//      "exit": {"code": 21}},
//     {"sites": [
//       {"in": "before", "via": "malloc", "live_blocks": 5, "live_bytes": 500},
//       {"in": "child_own", "via": "malloc", "live_blocks": 7, "live_bytes": 77},
//       {"in": "grandchild_own", "via": "calloc", "live_blocks": 1, "live_bytes": 12}],
//      "exit": {"code": 22}}
//   ]
// }
#include "program.h"
#include <sys/wait.h>
#include <unistd.h>

static void *held[10];
static int gate[2]; // the child reads what the parent writes when it has gone on

APART static void before(void) {
    for (int i = 0; i < 10; i++)
        held[i] = keep(malloc(100));
}

APART static void parent_after(void) {
    for (int i = 0; i < 5; i++)
        keep(malloc(50));
    free(held[8]);
    free(held[9]);
}

APART static void child_own(void) {
    for (int i = 0; i < 7; i++)
        keep(malloc(11));
}

APART static void grandchild_own(void) {
    keep(calloc(3, 4));
}

static void let_go(void) {
    CHECK(write(gate[1], "x", 1) == 1);
}

static void wait_to_go(void) {
    char c;
    CHECK(read(gate[0], &c, 1) == 1);
}

static int wait_for(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(void) {
    before();
    CHECK(pipe(gate) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        wait_to_go();
        for (int i = 0; i < 4; i++)
            free(held[i]);
        child_own();
        pid = fork();
        if (pid == 0) {
            wait_to_go();
            free(held[4]);
            grandchild_own();
            exit(22);
        }
        child_own();
        let_go();
        CHECK(wait_for(pid) == 22);
        _exit(21);
    }
    parent_after();
    let_go();
    CHECK(wait_for(pid) == 21);
    return 0;
}
