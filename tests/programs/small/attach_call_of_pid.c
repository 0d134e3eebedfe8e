// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

// A parent and its child allocate from two of 4,096 calls, whose addresses differ in the bits in which the process ids do.
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
__asm__(".text\n.balign 65536\n.globl calls\n.type calls,@function\ncalls:\n.cfi_startproc\n.rept 4096\n.balign 16\n"
        "sub $8,%rsp\n.cfi_adjust_cfa_offset 8\ncall malloc@PLT\nadd $8,%rsp\n.cfi_adjust_cfa_offset -8\nret\n"
        ".endr\n.cfi_endproc\n.size calls,.-calls\n");
extern char calls[];
static void *volatile block;
__attribute__((noinline)) static void call(unsigned nr, size_t size) {
    block = ((void *(*)(size_t))(calls + 16 * nr))(size);
}
int main(void) {
    if ((uintptr_t)calls % 65536)
        return 77;
    pid_t parent = getpid(), pid = -1;
    unsigned nr = 100;
    for (;;) {
        call(nr, pid == 0 ? 1002 : 1001); // one call for both, so that their stacks differ in one address
        if (pid == 0)
            _exit(0);
        for (int i = 0; i < 1000 && nr == 100; i++) {
            pid = fork();
            unsigned bits = (pid ? pid : getpid()) ^ parent;
            if (bits % 16 == 0 && bits < 65536)
                nr ^= bits / 16;
            else if (pid == 0)
                _exit(0);
            if (pid)
                waitpid(pid, NULL, 0);
        }
        if (pid)
            return nr == 100 ? 77 : 0;
    }
}
