// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
//
// operator new of an allocator that brings its own. It may throw, so its return address must stay what it is:
// in the place of a return probe there is a probe on the instruction that it returns to. An exception does
// not come by there, and nothing on the stack is changed. Where that is is known from the first call; user
// space then puts the probe, and calls until then are counted as not seen.
#ifndef SEEP_BPF_OPERATOR_BPF_H
#define SEEP_BPF_OPERATOR_BPF_H

#include "bpf/tables.bpf.h"

struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, SEEP_BPF_LANDINGS_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct seep_bpf_block);
    __type(value, uint8_t); // enum seep_bpf_landing
} seep_landings SEC(".maps");

// Whether a probe stands at this return address. Where it was not asked for yet, it is now.
static inline bool seep_has_landing(uint64_t address) {
    struct seep_bpf_block place = {.address = address, .pid = bpf_get_current_pid_tgid() >> 32};
    const uint8_t *state = bpf_map_lookup_elem(&seep_landings, &place);
    if (state && *state == SEEP_BPF_LANDING_PROBED)
        return true;
    uint8_t asked = SEEP_BPF_LANDING_ASKED;
    if (!state && bpf_map_update_elem(&seep_landings, &place, &asked, BPF_NOEXIST) == 0)
        seep_send(SEEP_BPF_LANDING, 0, address, BPF_RB_FORCE_WAKEUP, SEEP_BPF_LOST_OTHER);
    return false;
}

// An operator that calls malloc or its like after all: that one counts, and not the operator. It has not
// returned as long as its return address is where it was. Of one that jumped there, that is where `regs` are
// now, and malloc's name is the operator's.
static inline uint8_t seep_leave_inside_new(struct seep_bpf_thread *thread, const struct pt_regs *regs,
                                            uint8_t via) {
    uint64_t address = 0;
    bool jumped = regs->rsp == thread->new_sp + 8;
    if (!thread->new_sp || regs->rsp > thread->new_sp + 8)
        return via;
    if (jumped)
        address = regs->rip;
    else if (bpf_probe_read_user(&address, sizeof(address), (const void *)thread->new_sp))
        return via;
    if (address != thread->new_return)
        return via;
    if (!thread->new_is_seen)
        __sync_fetch_and_sub(&seep_lost[SEEP_BPF_LOST_LANDING], 1);
    thread->new_sp = 0;
    return jumped ? (uint8_t)thread->new_via : via;
}

#endif
