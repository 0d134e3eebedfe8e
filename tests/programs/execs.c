// SPDX-License-Identifier: BSD-2-Clause
//
// Children that become other programs: by fork and exec, vfork and exec, posix_spawn, system and
// popen; and the program itself once more under the same pid. Children are the program itself with an argument.
// EXPECT:
// {
//   "sites": [
//     {"in": "parent_leak", "via": "malloc", "allocations": 4, "live_blocks": 4, "live_bytes": 400}
//   ],
//   "children": [
//     {"args": ["fork"], "sites": [{"in": "as_child", "via": "malloc", "live_blocks": 3, "live_bytes": 39}],
//      "exit": {"code": 4}},
//     {"args": ["vfork"], "sites": [{"in": "as_child", "via": "malloc", "live_blocks": 3, "live_bytes": 39}],
//      "exit": {"code": 5}},
//     {"args": ["spawn"], "sites": [{"in": "as_child", "via": "malloc", "live_blocks": 3, "live_bytes": 39}],
//      "exit": {"code": 5}},
//     {"args": ["system"], "sites": [{"in": "as_child", "via": "malloc", "live_blocks": 3, "live_bytes": 39}],
//      "exit": {"code": 6}},
//     {"args": ["popen"], "sites": [{"in": "as_child", "via": "malloc", "live_blocks": 3, "live_bytes": 39}],
//      "exit": {"code": 5}}
//   ],
//   "others": true
// }
#include "program.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

APART static void parent_leak(void) {
    keep(malloc(100));
}

APART static int as_child(const char *how) {
    for (int i = 0; i < 3; i++)
        keep(malloc(13));
    return (int)strlen(how);
}

static int wait_for(pid_t pid) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

APART static void by_fork(char *self) {
    char *args[] = {self, "fork", NULL};
    pid_t pid = fork();
    if (pid == 0) {
        execv(self, args);
        _exit(98);
    }
    CHECK(wait_for(pid) == 4);
}

APART static void by_vfork(char *self) {
    char *args[] = {self, "vfork", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/no/such/program", args);
        execv(self, args);
        _exit(98);
    }
    CHECK(wait_for(pid) == 5);
}

APART static void by_spawn(char *self) {
    char *args[] = {self, "spawn", NULL};
    pid_t pid;
    CHECK(posix_spawn(&pid, self, NULL, NULL, args, environ) == 0);
    CHECK(wait_for(pid) == 5);
}

APART static void by_system(char *self) {
    char command[4200];
    snprintf(command, sizeof(command), "'%s' system", self);
    CHECK(system(command) == 6 << 8);
}

APART static void by_popen(char *self) {
    char command[4200];
    snprintf(command, sizeof(command), "'%s' popen", self);
    FILE *f = popen(command, "r");
    CHECK(f != NULL && fgetc(f) == EOF);
    CHECK(pclose(f) == 5 << 8);
}

int main(int argc, char **argv) {
    if (argc == 2)
        return as_child(argv[1]);
    parent_leak();
    by_fork(argv[0]);
    parent_leak();
    by_vfork(argv[0]);
    by_spawn(argv[0]);
    parent_leak();
    by_system(argv[0]);
    by_popen(argv[0]);
    parent_leak();
    return 0;
}
