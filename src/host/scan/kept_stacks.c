// SPDX-License-Identifier: BSD-2-Clause
// Copies of stacks and their frames, see kept_stacks.h.
#include <stdlib.h>

#include "base/map.h"
#include "scan/kept_stacks.h"

#define STACK_MAX  ((uint64_t)256 << 10) // kept of one stack
#define STACKS_MAX ((uint64_t)32 << 20)  // kept of all together
#define FRAMES_MAX 512u

struct seep_kept_stack {
    pid_t tid;
    struct seep_thread_stack stack;
    uint8_t *bytes;
    struct seep_call_frame first;
    bool has_frames;
    struct placed_frame {
        struct seep_call_frame frame;
        uint32_t module; // of the profile
    } * frames;
    size_t nr_frames;
    size_t capacity;
};

// ---- while the process is stopped ----

static bool take_stack(struct seep_memory *memory, const struct seep_stopped_thread *thread, uint64_t nr_max,
                       struct seep_kept_stack *kept) {
    *kept = (struct seep_kept_stack){.tid = thread->tid};
    kept->first = (struct seep_call_frame){.pc = thread->pc, .exact = true, .known = thread->known_registers};
    for (unsigned i = 0; i < SEEP_FRAME_REGISTERS; i++)
        kept->first.registers[i] = thread->registers[i];
    const struct seep_memory_area *mapping = seep_memory_find(memory, thread->sp);
    if (!mapping || !mapping->readable || !thread->known_registers)
        return true;
    uint64_t start = thread->sp & ~UINT64_C(7), nr = SEEP_MIN(mapping->end - start, nr_max);
    kept->bytes = malloc(nr);
    if (!kept->bytes)
        return false;
    if (seep_memory_read(memory, start, kept->bytes, nr))
        kept->stack = (struct seep_thread_stack){start, kept->bytes, nr};
    return true;
}

bool seep_kept_stacks_take(struct seep_memory *memory, const struct seep_stopped *stopped,
                           struct seep_symbols *symbols, struct seep_kept_stacks *kept) {
    *kept = (struct seep_kept_stacks){.symbols = symbols, .is_borrowed = symbols != NULL};
    kept->items = calloc(SEEP_MAX(stopped->nr_threads, (size_t)1), sizeof(*kept->items));
    if (!kept->items)
        return false;
    uint64_t nr_max =
        SEEP_MIN(STACK_MAX, STACKS_MAX / SEEP_MAX(stopped->nr_threads, (size_t)1) & ~UINT64_C(7));
    for (; kept->nr_items < stopped->nr_threads; kept->nr_items++)
        if (!take_stack(memory, &stopped->threads[kept->nr_items], nr_max, &kept->items[kept->nr_items]))
            return false;
    return true;
}

void seep_kept_stacks_deinit(struct seep_kept_stacks *kept) {
    for (size_t i = 0; i < kept->nr_items; i++) {
        free(kept->items[i].bytes);
        free(kept->items[i].frames);
    }
    free(kept->items);
    if (!kept->is_borrowed)
        seep_symbols_destroy(kept->symbols);
    *kept = (struct seep_kept_stacks){NULL};
}

// ---- frames ----

// The module that has the frame's pc; 0: none.
static uint32_t place(struct seep_call_frame *frame, const struct seep_profile *profile) {
    uint64_t pc = frame->exact ? frame->pc : frame->pc - 1;
    for (uint32_t i = 1; i < profile->nr_modules; i++) {
        const struct seep_module *module = &profile->modules[i];
        if (pc < module->start_rt || pc >= module->end_rt || module->unloaded_ns >= 0)
            continue;
        frame->address = pc - module->bias_rt;
        return i;
    }
    return 0;
}

static struct seep_error *find_frames(struct seep_kept_stack *kept, const struct seep_profile *profile,
                                      struct seep_symbols *symbols) {
    struct seep_call_frame at = kept->first;
    at.machine = profile->process.platform.machine;
    bool there = kept->stack.nr_bytes > 0;
    while (there && kept->nr_frames < FRAMES_MAX) {
        struct placed_frame placed = {.frame = at};
        struct seep_call_frame caller;
        placed.module = place(&placed.frame, profile);
        if (!placed.module)
            return NULL;
        const struct seep_module *module = &profile->modules[placed.module];
        unsigned id;
        struct seep_error *error =
            seep_symbols_module(symbols, module->path, module->build_id, module->build_id_bytes, &id);
        if (!error)
            error = seep_symbols_caller(symbols, id, &kept->stack, &placed.frame, &there, &caller);
        if (error)
            return error;
        if (!seep_grow(&kept->frames, &kept->capacity, kept->nr_frames + 1, sizeof(*kept->frames)))
            return seep_error_no_memory();
        kept->frames[kept->nr_frames++] = placed;
        at = caller;
    }
    return NULL;
}

// What cannot be found out is left out: the thread is named all the same.
static const struct seep_kept_stack *frames_of(struct seep_kept_stacks *kept,
                                               const struct seep_profile *profile, pid_t tid) {
    size_t i = 0;
    while (i < kept->nr_items && kept->items[i].tid != tid)
        i++;
    if (i == kept->nr_items)
        return NULL;
    struct seep_kept_stack *stack = &kept->items[i];
    if (stack->has_frames)
        return stack;
    stack->has_frames = true;
    const struct seep_symbols_options hasty = {.hasty = true, .no_demangle = true, .no_debuginfod = true};
    struct seep_error *error = kept->symbols ? NULL : seep_symbols_create(&hasty, &kept->symbols);
    if (!error)
        error = find_frames(stack, profile, kept->symbols);
    seep_error_destroy(error);
    return stack;
}

struct answer {
    struct seep_link_frame *frames;
    size_t nr;
};

static void add(struct answer *answer, const struct placed_frame *placed, unsigned reg) {
    const struct seep_call_frame *frame = &placed->frame;
    if (answer->nr == SEEP_LINK_FRAMES_MAX)
        return;
    const struct seep_registers registers = seep_registers_of(frame->machine);
    answer->frames[answer->nr++] = (struct seep_link_frame){.module = placed->module,
                                                            .address = frame->address,
                                                            .cfa = frame->cfa,
                                                            .sp = frame->registers[registers.stack],
                                                            .bp = frame->registers[registers.frame],
                                                            .reg = (uint8_t)reg};
}

// The frame has it in a register: one that a function further in saved at `address`, or one that no function
// saved.
static void add_registers(struct answer *answer, const struct placed_frame *placed, uint64_t address,
                          uint64_t value) {
    const struct seep_call_frame *frame = &placed->frame;
    for (unsigned reg = 0; reg < SEEP_FRAME_REGISTERS; reg++) {
        bool known = frame->known >> reg & 1;
        bool has = address ? frame->saved_at[reg] == address
                           : !frame->saved_at[reg] && frame->registers[reg] == value;
        if (known && has)
            add(answer, placed, reg);
    }
}

size_t seep_kept_stacks_find(struct seep_kept_stacks *kept, const struct seep_profile *profile, pid_t tid,
                             uint64_t address, uint64_t value,
                             struct seep_link_frame ret_frames[SEEP_LINK_FRAMES_MAX]) {
    const struct seep_kept_stack *stack = frames_of(kept, profile, tid);
    struct answer answer = {ret_frames, 0};
    size_t i = 0;
    if (!stack || (!address && !value))
        return 0;
    while (address && i < stack->nr_frames && stack->frames[i].frame.cfa <= address)
        i++;
    if (address && i < stack->nr_frames)
        add(&answer, &stack->frames[i++], SEEP_LINK_NO_REGISTER);
    for (; i < stack->nr_frames; i++)
        add_registers(&answer, &stack->frames[i], address, value);
    return answer.nr;
}
