// SPDX-License-Identifier: BSD-2-Clause
// Assembly: a function with a size, a gap behind it, and a label without a size.
    .text
    .globl sized_function
    .type sized_function, @function
sized_function:
    .rept 16
    nop
    .endr
    .size sized_function, 16
    .globl gap_start
    .type gap_start, @object
gap_start:
    .rept 16
    nop
    .endr
    .globl unsized_label
unsized_label:
    .rept 16
    nop
    .endr
.Linside:
    .rept 16
    nop
    .endr
    .globl alias_weak
    .weak alias_weak
    .type alias_weak, @function
    .globl __alias_under
    .type __alias_under, @function
    .globl alias_global
    .type alias_global, @function
    .type alias_local, @function
alias_local:
alias_weak:
__alias_under:
alias_global:
    .rept 32
    nop
    .endr
    .size alias_local, 32
    .size alias_weak, 32
    .size __alias_under, 32
    .size alias_global, 32
    .section .note.GNU-stack, "", @progbits
