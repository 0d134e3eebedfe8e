// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
__asm__(".text\n.globl through\n.type through,@function\nthrough:\n.cfi_startproc\n"
        "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-16\n"
        "sub $32,%rsp\n.cfi_def_cfa_offset 48\n"
        "movq $0,(%rsp)\nmovq $0,8(%rsp)\nmov %rsp,%rbp\n"
        "call *%rdi\n"
        "add $32,%rsp\n.cfi_def_cfa_offset 16\npop %rbp\n.cfi_def_cfa_offset 8\n"
        "ret\n.cfi_endproc\n.size through,.-through\n"
        ".section .note.GNU-stack,\"\"\n.text\n");
