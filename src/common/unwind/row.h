// SPDX-License-Identifier: BSD-2-Clause
//
// Rows for an unwinder that can do little: one row of call-frame information in 32 bits, for the table
// that the BPF programs search (image/bpf_events.h). Made from the same rules as all else, so that there
// is one interpreter.
//
// Bits, low to high: cfa 16 (words; signed unless the kind is SEEP_ROW_SP), kind 4, bp_saved 1, reserved
// 3, bp 8 (signed words, from the CFA, or from bp where the kind is SEEP_ROW_BP_DEREF).
#ifndef SEEP_UNWIND_ROW_H
#define SEEP_UNWIND_ROW_H

#include "unwind/cfi.h"
#include "unwind/row_kinds.h"

// Never fails: what does not fit is SEEP_ROW_UNSUPPORTED.
uint32_t seep_row_pack(const struct seep_cfi_row *row);

// How the row finds the caller: bits 16 to 19.
SEEP_INLINE enum seep_row_kind seep_row_kind(uint32_t packed) {
    return (enum seep_row_kind)(packed >> 16 & 15);
}

#endif
