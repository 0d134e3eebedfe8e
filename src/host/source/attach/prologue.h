// SPDX-License-Identifier: BSD-2-Clause
//
// Where in the first instructions of a function a probe is cheap. The kernel emulates some instructions
// (push, jump, call, nop); any other it executes out of line and single-steps, which costs ten times as
// much. A later place is as good as the first where nothing has changed that the probe reads: the
// arguments, the stack pointer, the return address on top of the stack.
// Source: Linux arch/x86/kernel/uprobes.c (branch_setup_xol_ops, push_setup_xol_ops).
// Proof: tests/unit/test_prologue.c, tests/fuzz/fuzz_prologue.c.
#ifndef SEEP_SOURCE_ATTACH_PROLOGUE_H
#define SEEP_SOURCE_ATTACH_PROLOGUE_H

#include "core/attr.h"

// Offset of the place from the start of the function; 0 where none is known to be better. `bytes` is the
// whole function, or what is known of it: a jump back to the place would make it count twice.
uint32_t seep_prologue_site(const uint8_t *bytes, size_t nr_bytes);

#endif
