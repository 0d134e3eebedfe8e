// SPDX-License-Identifier: BSD-2-Clause
//
// Call-frame information of 32-bit ARM: .ARM.exidx, an index of functions in the order of their addresses,
// and .ARM.extab, the instructions that undo a function's frame; few of them lie in the index itself. One row
// holds from a function's first instruction to its last, so it is true where the function calls another, and
// not everywhere between. No allocation, no locks, signal-safe. The input may be damaged or lie: every read
// is bounds-checked, every loop ends.
//
// Source: Exception Handling ABI for the Arm Architecture (IHI 0038), sections 5 to 7, 10.3; for tables of
// personality routines that are not the ABI's own, libgcc's convention (config/arm/pr-support.c).
// Proof: tests/unit/test_ehabi.c; tests/fuzz/fuzz_ehabi.c; tests/cross, against libgcc.
#ifndef SEEP_UNWIND_EHABI_H
#define SEEP_UNWIND_EHABI_H

#include "core/attr.h"
#include "unwind/cfi.h"

// In the object eh_frame_hdr is the address of the index, and exidx_bytes its size. Registers of rows have
// their own numbers; the return address is that of lr (14), wherever it was saved. A register that was popped
// from another place than the frame of the CFA is not known in the caller.
// SEEP_CFI_NONE also where the index says "can't unwind", and where the instructions refuse to.
// O(log n) in the number of functions, plus at most 1023 bytes of instructions.
SEEP_MUST_CHECK int seep_ehabi_row_at(const struct seep_cfi_object *object, uint64_t pc,
                                      struct seep_cfi_row *ret_row);

#endif
