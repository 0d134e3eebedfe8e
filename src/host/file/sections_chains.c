// SPDX-License-Identifier: BSD-2-Clause
// The CHAINS, ARRIVALS and HELD sections: the pointers that lead to blocks, from a root on.
#include "file/sections.h"

// ---- CHAINS ----

// What follows the kind, by kind.
enum { HAS_ID = 1, HAS_AT = 2, HAS_OFF = 4, HAS_VTABLE = 8, HAS_TEXT = 16 };
static const uint8_t fields[SEEP_LINK_NR] = {
    [SEEP_LINK_TEXT] = HAS_TEXT,
    [SEEP_LINK_DATA] = HAS_ID | HAS_AT,
    [SEEP_LINK_STACK] = HAS_ID,
    [SEEP_LINK_TLS] = HAS_ID,
    [SEEP_LINK_REGISTER] = HAS_ID,
    [SEEP_LINK_REALLOC] = HAS_ID,
    [SEEP_LINK_TOLD] = HAS_AT | HAS_OFF,
    [SEEP_LINK_MEMORY] = HAS_AT | HAS_OFF,
    [SEEP_LINK_BLOCK] = HAS_ID | HAS_AT | HAS_OFF | HAS_VTABLE,
    [SEEP_LINK_LEFT_OUT] = HAS_AT,
    [SEEP_LINK_TOO_LONG] = HAS_AT,
    [SEEP_LINK_EPOLL] = HAS_ID | HAS_AT,
    [SEEP_LINK_TIMER] = HAS_ID,
    [SEEP_LINK_KERNEL] = HAS_ID | HAS_AT,
};

// A stack or a register has no `lost`: there the bit says that frames follow.
static void put_frames(struct seep_put *put, const struct seep_link *link) {
    seep_put_leb(put, link->at);
    seep_put_leb(put, link->nr_frames);
    for (uint8_t i = 0; i < link->nr_frames; i++) {
        const struct seep_link_frame *frame = &link->frames[i];
        seep_put_leb(put, frame->module);
        seep_put_leb(put, frame->address);
        seep_put_leb(put, frame->cfa);
        seep_put_leb(put, frame->sp);
        seep_put_leb(put, frame->bp);
        seep_put_leb(put, frame->reg);
    }
}

static bool may_have_frames(uint8_t kind) {
    return kind == SEEP_LINK_STACK || kind == SEEP_LINK_REGISTER;
}

static void put_chain(struct seep_put *put, const struct seep_chain *chain) {
    seep_put_leb(put, chain->nr_links);
    for (uint32_t i = 0; i < chain->nr_links; i++) {
        const struct seep_link *link = &chain->links[i];
        uint8_t has = fields[link->kind];
        bool framed = may_have_frames(link->kind) && link->nr_frames;
        seep_put_leb(put, (uint64_t)link->kind << 2 | (uint64_t)(link->lost || framed) << 1 | link->whole);
        if (has & HAS_ID)
            seep_put_leb(put, link->id);
        if (has & HAS_AT)
            seep_put_leb(put, link->at);
        if (has & HAS_OFF)
            seep_put_leb(put, link->off);
        if (has & HAS_VTABLE)
            seep_put_leb(put, link->vtable_module);
        if (has & HAS_VTABLE && link->vtable_module)
            seep_put_leb(put, link->vtable);
        if (has & HAS_TEXT)
            seep_put_text(put, link->text);
        if (framed)
            put_frames(put, link);
    }
}

static uint32_t chains_nr(const struct seep_profile *profile) {
    bool any = profile->leaks.nr_holders > 0;
    for (uint32_t i = 0; !any && i < profile->nr_sites; i++)
        any = profile->sites[i].held != NULL;
    return any && profile->leaks.known;
}

static void chains_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    uint64_t nr_held = 0;
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        nr_held += profile->sites[i].held != NULL;
    seep_put_leb(put, nr_held);
    for (uint32_t i = 0; i < profile->nr_sites; i++) {
        if (!profile->sites[i].held)
            continue;
        seep_put_leb(put, i);
        put_chain(put, profile->sites[i].held);
    }
    seep_put_leb(put, profile->leaks.nr_holders);
    for (uint32_t i = 0; i < profile->leaks.nr_holders; i++)
        put_chain(put, profile->leaks.holders[i].chain);
}

static const char *take_frames(struct seep_take *take, struct seep_profile *profile, struct seep_link *link,
                               bool *ret_no_memory) {
    const char *const out = "cut short, or a number is out of range";
    link->at = seep_take_leb(take);
    uint64_t nr = seep_take_leb(take);
    if (take->failed || !nr || nr > SEEP_LINK_FRAMES_MAX)
        return out;
    struct seep_link_frame *frames = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*frames));
    if (!frames) {
        *ret_no_memory = true;
        return NULL;
    }
    for (uint64_t i = 0; i < nr; i++) {
        uint64_t module = seep_take_leb(take);
        frames[i].address = seep_take_leb(take);
        frames[i].cfa = seep_take_leb(take);
        frames[i].sp = seep_take_leb(take);
        frames[i].bp = seep_take_leb(take);
        uint64_t reg = seep_take_leb(take);
        if (take->failed || (reg >= SEEP_LINK_REGISTERS && reg != SEEP_LINK_NO_REGISTER))
            return out;
        if (!module || module >= profile->nr_modules)
            return "a module does not exist";
        frames[i].module = (uint32_t)module;
        frames[i].reg = (uint8_t)reg;
    }
    link->frames = frames;
    link->nr_frames = (uint8_t)nr;
    return NULL;
}

static const char *take_link(struct seep_take *take, struct seep_profile *profile, struct seep_link *link,
                             bool *ret_no_memory) {
    const char *const out = "cut short, or a number is out of range";
    uint64_t head = seep_take_leb(take);
    if (take->failed || head >> 2 >= SEEP_LINK_NR)
        return take->failed ? out : "a link of an unknown kind";
    *link = (struct seep_link){.kind = (uint8_t)(head >> 2), .whole = head & 1, .lost = head >> 1 & 1};
    uint8_t has = fields[link->kind];
    uint64_t id = has & HAS_ID ? seep_take_leb(take) : 0;
    link->id = (uint32_t)id;
    link->at = has & HAS_AT ? seep_take_leb(take) : 0;
    link->off = has & HAS_OFF ? seep_take_leb(take) : 0;
    uint64_t module = has & HAS_VTABLE ? seep_take_leb(take) : 0;
    link->vtable_module = (uint32_t)module;
    link->vtable = module ? seep_take_leb(take) : 0;
    if (has & HAS_TEXT) {
        size_t length;
        const char *text = seep_take_text(take, &length);
        link->text = seep_arena_strndup(&profile->arena, text ? text : "", length);
        *ret_no_memory |= !link->text;
    }
    if (take->failed || id > UINT32_MAX)
        return out;
    if (module >= profile->nr_modules || (link->kind == SEEP_LINK_DATA && (!id || id >= profile->nr_modules)))
        return "a module does not exist";
    if (link->kind == SEEP_LINK_BLOCK && id >= profile->nr_sites)
        return "a site does not exist";
    if (link->kind == SEEP_LINK_KERNEL && link->at >= SEEP_KERNEL_NR)
        return "the kernel keeps nothing of that kind";
    bool framed = link->lost && may_have_frames(link->kind);
    link->lost &= !framed;
    return framed ? take_frames(take, profile, link, ret_no_memory) : NULL;
}

static const char *take_chain(struct seep_take *take, struct seep_profile *profile,
                              const struct seep_chain **ret_chain, bool *ret_no_memory) {
    uint64_t nr = seep_take_leb(take);
    if (take->failed || !nr || nr > SEEP_CHAIN_LINKS_MAX)
        return "cut short, or a number is out of range";
    struct seep_chain *chain = seep_arena_alloc(&profile->arena, 1, sizeof(*chain));
    struct seep_link *links = seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*links));
    if (!chain || !links) {
        *ret_no_memory = true;
        return NULL;
    }
    *chain = (struct seep_chain){links, (uint32_t)nr};
    const char *wrong = NULL;
    for (uint64_t i = 0; !wrong && i < nr && !*ret_no_memory; i++)
        wrong = take_link(take, profile, &links[i], ret_no_memory);
    *ret_chain = chain;
    return wrong;
}

static const char *chains_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    const char *wrong = NULL;
    *ret_no_memory = false;
    uint64_t nr = seep_take_leb(take);
    for (uint64_t i = 0, least = 0; !wrong && i < nr && !take->failed && !*ret_no_memory; i++) {
        uint64_t site = seep_take_leb(take);
        if (take->failed || site < least || site >= profile->nr_sites)
            return take->failed ? "cut short, or a number is out of range"
                                : "a site does not exist, or sites are not in order";
        least = site + 1;
        wrong = take_chain(take, profile, &profile->sites[site].held, ret_no_memory);
    }
    if (wrong || *ret_no_memory)
        return wrong;
    nr = seep_take_leb(take);
    if (take->failed || nr != profile->leaks.nr_holders)
        return take->failed ? "cut short, or a number is out of range"
                            : "the number of holders is another one";
    for (uint64_t i = 0; !wrong && i < nr && !*ret_no_memory; i++)
        wrong = take_chain(take, profile, &profile->leaks.holders[i].chain, ret_no_memory);
    return wrong;
}

const struct seep_section seep_section_chains = {SEEP_TRACE_CHAINS, "CHAINS",   false,
                                                 chains_nr,         chains_put, SEEP_READS(chains_take)};

// ---- ARRIVALS ----

// Chains in the order of CHAINS: those of sites, then those of holders.
static const struct seep_chain *chain_at(const struct seep_profile *profile, uint32_t i) {
    return i < profile->nr_sites ? profile->sites[i].held
                                 : profile->leaks.holders[i - profile->nr_sites].chain;
}

static uint32_t nr_chains(const struct seep_profile *profile) {
    return profile->nr_sites + profile->leaks.nr_holders;
}

static bool has_arrival(const struct seep_link *link) {
    return link->kind == SEEP_LINK_BLOCK && !link->whole;
}

static uint32_t arrivals_nr(const struct seep_profile *profile) {
    for (uint32_t i = 0; chains_nr(profile) && i < nr_chains(profile); i++) {
        const struct seep_chain *chain = chain_at(profile, i);
        for (uint32_t j = 0; chain && j < chain->nr_links; j++)
            if ((has_arrival(&chain->links[j]) && chain->links[j].arrival) || chain->links[j].nr_steps)
                return true;
    }
    return false;
}

static void put_steps(struct seep_put *put, const struct seep_link *link) {
    seep_put_leb(put, link->nr_steps);
    for (uint8_t i = 0; i < link->nr_steps; i++) {
        const struct seep_link_step *step = &link->steps[i];
        seep_put_leb(put, step->nr);
        seep_put_leb(put, step->bytes);
        seep_put_leb(put, step->off);
        seep_put_leb(put, step->arrival);
        seep_put_leb(put, step->vtable_module);
        if (step->vtable_module)
            seep_put_leb(put, step->vtable);
    }
}

static void put_arrivals(struct seep_put *put, const struct seep_chain *chain) {
    for (uint32_t j = 0; chain && j < chain->nr_links; j++) {
        if (has_arrival(&chain->links[j]))
            seep_put_leb(put, chain->links[j].arrival);
        else if (chain->links[j].kind == SEEP_LINK_LEFT_OUT)
            put_steps(put, &chain->links[j]);
    }
}

static void arrivals_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    for (uint32_t i = 0; i < nr_chains(profile); i++)
        put_arrivals(put, chain_at(profile, i));
}

static const char *take_steps(struct seep_take *take, struct seep_profile *profile, struct seep_link *link,
                              bool *ret_no_memory) {
    const char *const out = "cut short, or a number is out of range";
    uint64_t nr = seep_take_leb(take), nr_blocks = 0;
    if (take->failed || nr > SEEP_LINK_STEPS_MAX)
        return out;
    struct seep_link_step *steps = nr ? seep_arena_alloc(&profile->arena, (size_t)nr, sizeof(*steps)) : NULL;
    *ret_no_memory = nr && !steps;
    for (uint64_t i = 0; steps && i < nr; i++) {
        steps[i].nr = seep_take_leb(take);
        steps[i].bytes = seep_take_leb(take);
        steps[i].off = seep_take_leb(take);
        steps[i].arrival = seep_take_leb(take);
        uint64_t module = seep_take_leb(take);
        steps[i].vtable = module ? seep_take_leb(take) : 0;
        if (take->failed || !steps[i].nr || __builtin_add_overflow(nr_blocks, steps[i].nr, &nr_blocks))
            return out;
        if (module >= profile->nr_modules)
            return "a module does not exist";
        steps[i].vtable_module = (uint32_t)module;
    }
    if (steps && (nr_blocks != link->at || nr_blocks > SEEP_CHAIN_BLOCKS_MAX))
        return "the number of blocks that are left out is another one";
    link->steps = steps;
    link->nr_steps = (uint8_t)nr;
    return NULL;
}

static const char *take_arrivals(struct seep_take *take, struct seep_profile *profile,
                                 const struct seep_chain *chain, bool *ret_no_memory) {
    const char *wrong = NULL;
    for (uint32_t j = 0; !wrong && !*ret_no_memory && chain && j < chain->nr_links; j++) {
        if (has_arrival(&chain->links[j]))
            chain->links[j].arrival = seep_take_leb(take);
        else if (chain->links[j].kind == SEEP_LINK_LEFT_OUT)
            wrong = take_steps(take, profile, &chain->links[j], ret_no_memory);
    }
    return wrong;
}

static const char *arrivals_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    const char *wrong = NULL;
    *ret_no_memory = false;
    for (uint32_t i = 0; !wrong && !*ret_no_memory && i < nr_chains(profile); i++)
        wrong = take_arrivals(take, profile, chain_at(profile, i), ret_no_memory);
    return wrong;
}

const struct seep_section seep_section_arrivals = {
    SEEP_TRACE_ARRIVALS, "ARRIVALS", false, arrivals_nr, arrivals_put, SEEP_READS(arrivals_take)};

// ---- HELD ----

// Of sites with one holder the chain in CHAINS says all.
static bool has_several(const struct seep_profile *profile, uint32_t i) {
    const struct seep_held *held = profile->leaks.held;
    return (i > 0 && held[i - 1].site == held[i].site) ||
           (i + 1 < profile->leaks.nr_held && held[i + 1].site == held[i].site);
}

static uint32_t held_nr(const struct seep_profile *profile) {
    for (uint32_t i = 0; profile->leaks.known && i < profile->leaks.nr_held; i++)
        if (has_several(profile, i))
            return 1;
    return 0;
}

static void held_put(struct seep_put *put, const struct seep_profile *profile, uint32_t index) {
    uint64_t nr = 0;
    for (uint32_t i = 0; i < profile->leaks.nr_held; i++)
        nr += has_several(profile, i);
    seep_put_leb(put, nr);
    for (uint32_t i = 0; i < profile->leaks.nr_held; i++) {
        const struct seep_held *held = &profile->leaks.held[i];
        if (!has_several(profile, i))
            continue;
        bool own = held->chain && held->chain != profile->sites[held->site].held;
        seep_put_leb(put, held->site);
        seep_put_leb(put, held->kind);
        seep_put_leb(put, held->blocks);
        seep_put_leb(put, held->bytes);
        seep_put_leb(put, own);
        if (!own)
            continue;
        put_chain(put, held->chain);
        put_arrivals(put, held->chain);
    }
}

static const char *take_one_held(struct seep_take *take, struct seep_profile *profile, struct seep_held *held,
                                 bool *ret_no_memory) {
    const struct seep_held *before = profile->leaks.nr_held ? held - 1 : NULL;
    uint64_t site = seep_take_leb(take), kind = seep_take_leb(take), blocks = seep_take_leb(take),
             bytes = seep_take_leb(take), own = seep_take_leb(take);
    if (take->failed || kind <= SEEP_KIND_LOST || kind >= SEEP_KIND_NR || !blocks || own > 1)
        return "cut short, or a number is out of range";
    if (site >= profile->nr_sites ||
        (before && (site < before->site || (site == before->site && kind < before->kind))))
        return "a site does not exist, or sites are not in order";
    *held = (struct seep_held){(uint32_t)site, (uint8_t)kind, blocks, bytes, profile->sites[site].held};
    if (!own)
        return NULL;
    const char *wrong = take_chain(take, profile, &held->chain, ret_no_memory);
    return wrong || *ret_no_memory ? wrong : take_arrivals(take, profile, held->chain, ret_no_memory);
}

static const char *held_take(struct seep_take *take, struct seep_profile *profile, bool *ret_no_memory) {
    struct seep_leaks *leaks = &profile->leaks;
    *ret_no_memory = false;
    if (leaks->nr_held)
        return "stands twice";
    uint64_t nr = seep_take_leb(take);
    const char *wrong = take->failed || nr > (uint64_t)(SEEP_KIND_NR)*SEEP_HELD_MAX * profile->nr_sites ||
                                nr > seep_take_left(take)
                            ? "cut short, or a number is out of range"
                            : NULL;
    if (wrong)
        return wrong;
    leaks->held = seep_arena_alloc(&profile->arena, SEEP_MAX((size_t)nr, (size_t)1), sizeof(*leaks->held));
    *ret_no_memory = !leaks->held;
    for (uint64_t i = 0; !wrong && !*ret_no_memory && i < nr; i++) {
        wrong = take_one_held(take, profile, &leaks->held[leaks->nr_held], ret_no_memory);
        leaks->nr_held += !wrong && !*ret_no_memory;
    }
    return wrong;
}

const struct seep_section seep_section_held = {SEEP_TRACE_HELD, "HELD",   false,
                                               held_nr,         held_put, SEEP_READS(held_take)};
