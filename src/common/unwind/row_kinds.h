// SPDX-License-Identifier: BSD-2-Clause
//
// The kinds of rows (unwind/row.h), and where the kernel keeps registers in the frame of a signal; by
// themselves, because a BPF program is compiled for no CPU that unwind/arch.h knows.
#ifndef SEEP_UNWIND_ROW_KINDS_H
#define SEEP_UNWIND_ROW_KINDS_H

enum seep_row_kind {
    SEEP_ROW_NONE = 0,    // no call-frame information: try the frame pointer
    SEEP_ROW_SP,          // CFA = sp + cfa
    SEEP_ROW_BP,          // CFA = bp + cfa
    SEEP_ROW_BP_DEREF,    // CFA = *(bp + cfa), and the caller's bp is relative to bp
    SEEP_ROW_PLT,         // CFA = sp + 8, and 8 more from byte `cfa` of 16 on
    SEEP_ROW_SIGNAL,      // pc, sp and bp at fixed places from sp
    SEEP_ROW_END,         // the outermost frame
    SEEP_ROW_UNSUPPORTED, // there is information, but 8 bytes cannot hold it
};

// x86-64: see unwind/arch_x86_64.h, which has the source.
#define SEEP_ROW_SIGNAL_BP (40 + 10 * 8)
#define SEEP_ROW_SIGNAL_SP (40 + 15 * 8)
#define SEEP_ROW_SIGNAL_PC (40 + 16 * 8)

#endif
