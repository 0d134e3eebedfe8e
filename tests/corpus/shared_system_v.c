// SPDX-License-Identifier: BSD-2-Clause
// A shared segment of System V that is attached is a root; detached, it holds nothing.
#include "corpus.h"
#include <sys/ipc.h>
#include <sys/shm.h>

static NOINLINE struct node **attach(void) {
    int segment = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
    struct node **memory = segment < 0 ? (struct node **)-1 : (struct node **)shmat(segment, NULL, 0);
    if (segment >= 0)
        shmctl(segment, IPC_RMID, NULL);
    if (memory == (struct node **)-1)
        _exit(3);
    return memory;
}

static void build(void) {
    struct node **kept = attach(), **gone = attach();
    kept[3] = make(40); // EXPECT: reachable
    // LSAN: lost: it takes no mapping of the program as a root unless told to
    kept[3]->a = make(48); // EXPECT: reachable
    // LSAN: indirect: as above
    gone[3] = make(56); // EXPECT: lost
    shmdt(gone);
}

int main(void) {
    play(build);
    park();
}
