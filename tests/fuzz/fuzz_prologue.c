// SPDX-License-Identifier: BSD-2-Clause
//
// The first bytes of a function, any. The place for a probe lies in them, on an instruction that the kernel
// emulates, and no short jump that is there leads back to it.
#include <stdint.h>
#include <stdlib.h>

#include "source/attach/prologue.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint32_t site = seep_prologue_site(data, size);
    if (!site)
        return 0;
    if (site >= size || site > 32)
        abort();
    uint8_t op = data[site], next = site + 1 < size ? data[site + 1] : 0;
    bool emulated = (op & 0xf8) == 0x50 || (op & 0xf0) == 0x70 || op == 0x90 || op == 0xe8 || op == 0xe9 ||
                    op == 0xeb || (op == 0x41 && (next & 0xf8) == 0x50) ||
                    (op == 0x0f && (next & 0xf0) == 0x80);
    if (!emulated)
        abort();
    for (size_t at = 0; at + 1 < size; at++) {
        int64_t target = (int64_t)at + 2 + (int8_t)data[at + 1];
        if (((data[at] & 0xf0) == 0x70 || data[at] == 0xeb) && target > 0 && target <= (int64_t)site)
            abort();
    }
    return 0;
}
