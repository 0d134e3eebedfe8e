// SPDX-License-Identifier: BSD-2-Clause
//
// Finds the probes of the otel_memory contract in a file: `alloc` (block, its size, its weight) and `free`
// (block), which an allocator that samples by itself fires for its samples only. `weight` is the number of
// bytes that the sample stands for.
// Source: OpenTelemetry eBPF profiler, design document 00003 (memory profiling by USDT).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "source/attach/allocator_file.h"
#include "source/attach/usdt_notes.h"

struct search {
    const struct seep_elf_file *elf;
    struct seep_allocator_file *file;
    uint64_t base; // where .stapsdt.base is; 0: nowhere
    bool out_of_memory;
};

// What is not understood is said, and not guessed.
static bool refuse(struct search *search, const struct seep_usdt_probe *probe, const char *why) {
    if (!search->file->otel_refused &&
        asprintf(&search->file->otel_refused, "otel_memory:%.32s (%s '%.100s')", probe->name, why,
                 probe->arguments) < 0) {
        search->file->otel_refused = NULL;
        search->out_of_memory = true;
    }
    return !search->out_of_memory;
}

static bool refuse_many(struct search *search) {
    if (!search->file->otel_refused &&
        !(search->file->otel_refused = strdup("otel_memory (too many places)")))
        search->out_of_memory = true;
    return false;
}

static bool add_place(struct search *search, struct seep_probe_places *places, uint64_t file_off,
                      uint64_t semaphore_off, const struct seep_bpf_usdt *usdt) {
    struct seep_allocator_file *file = search->file;
    for (size_t i = 0; i < places->nr; i++)
        if (places->offsets[i] == file_off)
            return true;
    if (places->nr == SEEP_BPF_USDT_MAX)
        return refuse_many(search);
    if (!seep_grow(&places->offsets, &places->offsets_capacity, places->nr + 1, sizeof(*places->offsets)) ||
        !seep_grow(&places->cookies, &places->cookies_capacity, places->nr + 1, sizeof(*places->cookies)) ||
        !seep_grow(&places->semaphores, &places->semaphores_capacity, places->nr + 1,
                   sizeof(*places->semaphores)) ||
        !seep_grow(&file->usdt, &file->usdt_capacity, file->nr_usdt + 1, sizeof(*file->usdt))) {
        search->out_of_memory = true;
        return false;
    }
    places->offsets[places->nr] = file_off;
    places->semaphores[places->nr] = semaphore_off;
    places->cookies[places->nr++] = file->nr_usdt;
    file->usdt[file->nr_usdt++] = *usdt;
    return true;
}

static bool look_at(void *context, const struct seep_usdt_probe *probe) {
    struct search *search = context;
    bool allocates = strcmp(probe->name, "alloc") == 0;
    if (strcmp(probe->provider, "otel_memory") != 0 || (!allocates && strcmp(probe->name, "free") != 0))
        return true;
    // A file whose addresses were changed after linking: the notes were not.
    uint64_t moved = search->base && probe->base ? search->base - probe->base : 0;
    uint64_t file_off, semaphore_off = 0;
    struct seep_bpf_usdt usdt = {.operands = {{.kind = SEEP_BPF_CONSTANT}}};
    if (!seep_usdt_operands(probe->arguments, usdt.operands, allocates ? 3 : 1))
        return refuse(search, probe, "arguments");
    if (!seep_elf_file_off(search->elf, probe->pc + moved, &file_off) ||
        (probe->semaphore && !seep_elf_file_off(search->elf, probe->semaphore + moved, &semaphore_off)))
        return refuse(search, probe, "a place that is not in the file, arguments");
    return add_place(search, &search->file->places[allocates ? SEEP_PROBE_OTEL_ALLOC : SEEP_PROBE_OTEL_FREE],
                     file_off, semaphore_off, &usdt);
}

struct seep_error *seep_allocator_file_add_otel(const struct seep_elf_file *elf,
                                                struct seep_allocator_file *file) {
    const Elf64_Shdr *section = seep_elf_section(elf, ".note.stapsdt");
    const Elf64_Shdr *base = seep_elf_section(elf, ".stapsdt.base");
    unsigned char *notes = section ? seep_elf_read_section(elf, section) : NULL;
    if (!notes)
        return NULL;
    struct search search = {.elf = elf, .file = file, .base = base ? base->sh_addr : 0};
    seep_usdt_notes(notes, section->sh_size, look_at, &search);
    free(notes);
    return search.out_of_memory ? seep_error_no_memory() : NULL;
}
