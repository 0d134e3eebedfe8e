// SPDX-License-Identifier: BSD-2-Clause
//
// The entries of .eh_frame and .debug_frame: a CIE is what FDEs have in common, an FDE is one range of code.
// All return SEEP_CFI_OK, _NONE or _BAD.
#ifndef SEEP_UNWIND_CFI_ENTRY_H
#define SEEP_UNWIND_CFI_ENTRY_H

#include "unwind/cfi_read.h"

struct seep_cfi_cie {
    struct seep_cfi_cursor program;
    uint64_t code_align;
    int64_t data_align;
    uint8_t return_reg;
    uint8_t pointer_encoding; // of the addresses in the FDEs
    bool sized;               // 'z': FDEs have augmentation data with a length
    bool signal_frame;
};

// One entry: the rows of [start, end), runtime addresses, come from its program after that of its CIE.
struct seep_cfi_fde {
    struct seep_cfi_cursor program;
    uint64_t start;
    uint64_t end;
};

// In .eh_frame the id of a CIE is 0, and an FDE has the distance to its CIE there; in .debug_frame it is
// all ones, and an FDE has the place of its CIE in the section.
#define DEBUG_FRAME_CIE_ID 0xffffffff

// Reads the length of a CIE or FDE and makes its end the cursor's.
SEEP_MUST_CHECK int seep_cfi_enter_entry(struct seep_cfi_cursor *cursor);
// `id`: what a CIE begins with in this section. `*cie` is all zero before.
SEEP_MUST_CHECK int seep_cfi_read_cie(struct seep_cfi_cursor cursor, uint64_t id, struct seep_cfi_cie *cie);
// The cursor is behind the FDE's reference to its CIE.
SEEP_MUST_CHECK int seep_cfi_read_fde_body(struct seep_cfi_cursor cursor, const struct seep_cfi_cie *cie,
                                           struct seep_cfi_fde *fde);
// An FDE of .eh_frame, with its CIE, which is all zero before.
SEEP_MUST_CHECK int seep_cfi_read_fde(struct seep_cfi_cursor cursor, struct seep_cfi_cie *cie,
                                      struct seep_cfi_fde *fde);

// By the binary search table of .eh_frame_hdr: the last entry that begins at or before pc. An unsorted table
// gives a wrong entry, no worse: the FDE's own range decides. NONE: the linker made no table, or all begin
// after it.
SEEP_MUST_CHECK int seep_cfi_find_fde(const struct seep_cfi_object *object, uint64_t pc,
                                      struct seep_cfi_cursor *ret_fde);

#endif
