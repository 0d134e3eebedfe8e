// SPDX-License-Identifier: BSD-2-Clause
//
// Code without call-frame information, with and without a frame record, between functions that have
// both, in the layouts of gcc (record at the low end of the frame) and of clang (at its high end). seep
// goes on by frame records there, so who calls code that hides its return address is passed over, and
// every other function is there. Run by test_cross.py.
// EXPECT:
// {
//   "sites": [
//     {"in": "inner", "via": "malloc", "allocations": 5, "path": ["inner", "bare", "outer", "main"]},
//     {"in": "inner_of_hidden", "via": "calloc", "allocations": 5, "path": ["inner_of_hidden", "hidden"]}
//   ]
// }
#include <stdlib.h>

#define APART __attribute__((noipa))

void bare(void (*function)(int), int n);
void hidden(void (*function)(int), int n);

// No .cfi_ lines. `bare` keeps a frame record, `hidden` saves x30 where no unwinder can know.
__asm__(".text\n"
        ".global bare\n.type bare, %function\n"
        "bare:\n"
        "    sub sp, sp, #64\n"
        "    stp x29, x30, [sp]\n"
        "    mov x29, sp\n"
        "    mov x2, x0\n"
        "    mov w0, w1\n"
        "    blr x2\n"
        "    ldp x29, x30, [sp]\n"
        "    add sp, sp, #64\n"
        "    ret\n"
        ".size bare, . - bare\n"
        ".global hidden\n.type hidden, %function\n"
        "hidden:\n"
        "    str x30, [sp, #-32]!\n"
        "    mov x2, x0\n"
        "    mov w0, w1\n"
        "    blr x2\n"
        "    ldr x30, [sp], #32\n"
        "    ret\n"
        ".size hidden, . - hidden\n");

static void *volatile held;

APART static void inner(int n) {
    volatile char space[200];
    space[n] = 1;
    held = malloc(10);
    space[n + 1] = 2;
}

APART static void inner_of_hidden(int n) {
    volatile char space[100];
    space[n] = 1;
    held = calloc(1, 11);
    space[n + 1] = 2;
}

APART static void outer(int n) {
    volatile char space[300];
    space[n] = 1;
    bare(inner, n);
    space[n + 1] = 2;
}

int main(void) {
    volatile int five = 5;
    for (int i = 0; i < five; i++)
        outer(i);
    for (int i = 0; i < five; i++)
        hidden(inner_of_hidden, i);
    return 0;
}
