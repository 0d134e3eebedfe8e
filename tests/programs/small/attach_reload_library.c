// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
__asm__(".text\n.globl through\n.type through,@function\nthrough:\n.cfi_startproc\n"
        ".byte 0x48,0x81,0xec\n.4byte FRAME\n" // sub $FRAME,%rsp
        ".cfi_def_cfa_offset FRAME+8\n"
        "call *%rdi\n"
        ".byte 0x48,0x81,0xc4\n.4byte FRAME\n"
        ".cfi_def_cfa_offset 8\nret\n.cfi_endproc\n.size through,.-through\n"
        ".section .note.GNU-stack,\"\"\n.text\n");
