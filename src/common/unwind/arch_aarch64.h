// SPDX-License-Identifier: BSD-2-Clause
//
// AArch64: register numbers. The return address is in a register (x30), so its rule is not at a fixed
// place from the CFA; rules are not packed yet and every row is stepped exactly (step.h).
// Source: DWARF for the Arm 64-bit Architecture (AADWARF64), table "DWARF register names".
#ifndef SEEP_UNWIND_ARCH_AARCH64_H
#define SEEP_UNWIND_ARCH_AARCH64_H

#define SEEP_ARCH_DWARF_BP 29
#define SEEP_ARCH_DWARF_RA 30
#define SEEP_ARCH_DWARF_SP 31
#define SEEP_ARCH_NR_DWARF 32
#define SEEP_ARCH_WORD     8

#endif
