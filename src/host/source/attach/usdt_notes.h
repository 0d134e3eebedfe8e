// SPDX-License-Identifier: BSD-2-Clause
//
// The probes that a program itself offers (USDT), as its section .note.stapsdt tells of them: where the
// instruction is, where the count of those who look (the semaphore), where the arguments are then. The bytes
// belong to others: whatever they are, nothing outside of them is read.
// Source: SystemTap wiki, UserSpaceProbeImplementation; <sys/sdt.h>.
// Proof: tests/fuzz/fuzz_usdt.c.
#ifndef SEEP_SOURCE_ATTACH_USDT_NOTES_H
#define SEEP_SOURCE_ATTACH_USDT_NOTES_H

#include "core/attr.h"
#include "image/bpf_events.h"

struct seep_usdt_probe {
    uint64_t pc;          // ELF virtual addresses, as the linker wrote them
    uint64_t base;        // of the section .stapsdt.base then: where that is now, all moved by as much
    uint64_t semaphore;   // 0: none
    const char *provider; // in the section
    const char *name;
    const char *arguments;
};

// false: stop.
typedef bool seep_usdt_visit(void *context, const struct seep_usdt_probe *probe);
// Each note that is whole; one that is not ends it.
void seep_usdt_notes(const unsigned char *bytes, uint64_t nr_bytes, seep_usdt_visit *visit, void *context);

// The first `nr` arguments of "8@%rdi 8@-16(%rbp) -4@$3", for x86-64. false: there are fewer, or one of them
// is written in a way that is not known here (names of variables, floating point).
SEEP_MUST_CHECK bool seep_usdt_operands(const char *arguments, struct seep_bpf_operand *ret_operands,
                                        size_t nr);

#endif
