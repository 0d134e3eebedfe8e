// SPDX-License-Identifier: BSD-2-Clause
// Reports of the kernel's heap, see report_kernel.h.
#include <inttypes.h>
#include <time.h>

#include "base/words.h"
#include "base/version.h"
#include "source/kernel/profile_kernel.h"
#include "output/json_build.h"
#include "output/report_kernel.h"

#define INDENT "        "

// ---- what both forms need ----

static const struct {
    enum seep_kernel_counter counter;
    const char *name;
    const char *meaning;
} losses[] = {
    {SEEP_KERNEL_LOST_BLOCKS, "map_full",
     "blocks that found no room in the map, and are in no figure: --max-blocks"},
    {SEEP_KERNEL_LOST_STACKS, "stacks_full", "blocks that count, but whose stack found no room"},
    {SEEP_KERNEL_LOST_NESTED, "nested",
     "blocks that count, but whose stack was not taken: interrupts in interrupts"},
};

static bool is_pages(const struct seep_kernel_live_site *live) {
    return live->site && live->site->class_of == SEEP_KERNEL_PAGES;
}

static const char *class_name(const struct seep_kernel_live_site *live) {
    return live->site ? seep_kernel_class_name(live->site->class_of) : NULL;
}

// Text of the map: as long as it is, whatever wrote it.
static void copy_cache(const struct seep_kernel_site *site, char text[SEEP_KERNEL_CACHE_NAME_MAX]) {
    memcpy(text, site->cache, SEEP_KERNEL_CACHE_NAME_MAX);
    text[SEEP_KERNEL_CACHE_NAME_MAX - 1] = 0;
}

// Pages last, the biggest first; then by id, so that equal ones stay where they are.
static int compare(const struct seep_kernel_live_site *a, const struct seep_kernel_live_site *b,
                   bool by_count) {
    if (is_pages(a) != is_pages(b))
        return is_pages(a) ? 1 : -1;
    uint64_t first_a = by_count ? a->live_blocks : a->live_bytes;
    uint64_t first_b = by_count ? b->live_blocks : b->live_bytes;
    if (first_a != first_b)
        return first_a > first_b ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static int compare_by_bytes(const void *a, const void *b) {
    return compare(a, b, false);
}

static int compare_by_count(const void *a, const void *b) {
    return compare(a, b, true);
}

struct parts {
    size_t first_page_site; // sites before are of the slab and per-CPU allocators
    size_t nr_shown[2];     // of those, of pages
    uint64_t bytes[2];
    uint64_t blocks[2];
};

static struct parts sort_sites(struct seep_kernel_heap *heap, const struct seep_kernel_report *how) {
    if (heap->nr_sites)
        qsort(heap->sites, heap->nr_sites, sizeof(*heap->sites),
              how->by_count ? compare_by_count : compare_by_bytes);
    struct parts parts = {0};
    for (size_t i = 0; i < heap->nr_sites; i++) {
        bool pages = is_pages(&heap->sites[i]);
        parts.first_page_site += !pages;
        parts.bytes[pages] += heap->sites[i].live_bytes;
        parts.blocks[pages] += heap->sites[i].live_blocks;
    }
    uint64_t top = how->top ? how->top : UINT64_MAX;
    parts.nr_shown[0] = (size_t)SEEP_MIN((uint64_t)parts.first_page_site, top);
    parts.nr_shown[1] = (size_t)SEEP_MIN((uint64_t)(heap->nr_sites - parts.first_page_site), top);
    return parts;
}

static uint64_t nr_lost(const struct seep_kernel_heap *heap) {
    uint64_t sum = heap->missed;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(losses); i++)
        sum += heap->counters[losses[i].counter];
    return sum;
}

// ---- text ----

static void put_stack(FILE *out, const struct seep_kernel_site *site, const struct seep_kallsyms *symbols) {
    for (uint32_t i = seep_kernel_own_frames(site, symbols); i < seep_kernel_nr_frames(site); i++) {
        struct seep_kernel_function function;
        fputs(INDENT INDENT, out);
        if (seep_kallsyms_find(symbols, site->frames[i], &function)) {
            seep_put_escaped(out, function.name);
            fprintf(out, "+0x%" PRIx64 " [", function.offset);
            seep_put_escaped(out, function.module);
            fputs("]\n", out);
        } else {
            fprintf(out, "0x%" PRIx64 "\n", site->frames[i]);
        }
    }
    if (seep_kernel_nr_frames(site) == SEEP_KERNEL_FRAMES_MAX)
        fputs(INDENT INDENT "[the rest is not known: deeper than is recorded]\n", out);
}

static void put_site(FILE *out, const struct seep_kernel_heap *heap, const struct seep_kernel_live_site *live,
                     const struct seep_kallsyms *symbols, const struct seep_kernel_report *how) {
    // As memleak has it, for those who read it by a script: never in the singular.
    fprintf(out, INDENT "%" PRIu64 " bytes in %" PRIu64 " allocations from stack", live->live_bytes,
            live->live_blocks);
    if (live->site && live->site->cache[0]) {
        char cache[SEEP_KERNEL_CACHE_NAME_MAX];
        copy_cache(live->site, cache);
        fputs(" (kmem_cache ", out);
        seep_put_escaped(out, cache);
        fputs(")\n", out);
    } else {
        fprintf(out, " (%s)\n", live->site ? class_name(live) : "not known");
    }
    for (size_t i = 0; how->blocks && i < live->live_blocks; i++) {
        const struct seep_kernel_live_block *block = &heap->blocks[live->first_block + i];
        fprintf(out, INDENT INDENT "addr = 0x%" PRIx64 " size = %" PRIu64 " age = %s\n", block->address,
                block->size, seep_format_duration(block->age_ns).text);
    }
    if (live->site && seep_kernel_nr_frames(live->site))
        put_stack(out, live->site, symbols);
    else
        fputs(INDENT INDENT "[stack not recorded]\n", out);
}

static void put_part(FILE *out, const struct seep_kernel_heap *heap, const struct parts *parts, bool pages,
                     const struct seep_kallsyms *symbols, const struct seep_kernel_report *how) {
    struct seep_style style = seep_style_of(out);
    time_t now = time(NULL);
    struct tm local;
    char text[16] = "";
    if (localtime_r(&now, &local))
        strftime(text, sizeof(text), "%H:%M:%S", &local);
    fprintf(out, "[%s] %sTop %zu stacks with outstanding %s:%s\n", text, seep_style_bold(&style),
            parts->nr_shown[pages], pages ? "pages" : "allocations", seep_style_off(&style));
    size_t first = pages ? parts->first_page_site : 0;
    for (size_t i = 0; i < parts->nr_shown[pages]; i++)
        put_site(out, heap, &heap->sites[first + i], symbols, how);
    size_t nr = pages ? heap->nr_sites - parts->first_page_site : parts->first_page_site;
    fprintf(out, INDENT "in all %s in %s allocation%s%s from %zu stack%s\n",
            seep_format_bytes(parts->bytes[pages]).text, seep_format_count(parts->blocks[pages]).text,
            seep_plural(parts->blocks[pages]), pages ? " of pages" : "", nr, seep_plural(nr));
}

static void put_health(FILE *out, const struct seep_kernel_heap *heap, const struct seep_kernel_report *how) {
    struct seep_style style = seep_style_of(out);
    uint64_t lost = nr_lost(heap);
    uint64_t nr_allocations = heap->counters[SEEP_KERNEL_ALLOCATIONS];
    uint64_t nr_frees = heap->counters[SEEP_KERNEL_FREES] + heap->counters[SEEP_KERNEL_IMPLICIT];
    fprintf(out, "%shealth: %s%s — %s allocation%s, %s free%s, ",
            lost ? seep_style_warn(&style) : seep_style_bold(&style), lost ? "INCOMPLETE" : "complete",
            seep_style_off(&style), seep_format_count(nr_allocations).text, seep_plural(nr_allocations),
            seep_format_count(nr_frees).text, seep_plural(nr_frees));
    if (lost)
        fprintf(out, "%s lost, ", seep_format_count(lost).text);
    else
        fputs("nothing lost, ", out);
    if (heap->nr_cut)
        fprintf(out, "%s stack%s cut\n", seep_format_count(heap->nr_cut).text, seep_plural(heap->nr_cut));
    else
        fputs("all stacks complete\n", out);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(losses); i++)
        if (heap->counters[losses[i].counter])
            fprintf(out, "  lost %s (%s): %s\n", seep_format_count(heap->counters[losses[i].counter]).text,
                    losses[i].name, losses[i].meaning);
    if (heap->missed)
        fprintf(out, "  lost %s (missed): calls inside of a program of ours on the same CPU\n",
                seep_format_count(heap->missed).text);
    if (heap->counters[SEEP_KERNEL_IMPLICIT])
        fprintf(out,
                "  %s free%s not seen, but by the address that was given out again, or the slab that is "
                "gone\n",
                seep_format_count(heap->counters[SEEP_KERNEL_IMPLICIT]).text,
                heap->counters[SEEP_KERNEL_IMPLICIT] == 1 ? " was" : "s were");
    if (how->sample > 1)
        fprintf(out, "  about one allocation in %" PRIu64 " was recorded, by chance: multiply\n",
                how->sample);
}

struct seep_error *seep_report_kernel_text(FILE *out, struct seep_kernel_heap *heap,
                                           const struct seep_kallsyms *symbols,
                                           const struct seep_kernel_report *how) {
    struct parts parts = sort_sites(heap, how);
    put_part(out, heap, &parts, false, symbols, how);
    put_part(out, heap, &parts, true, symbols, how);
    put_health(out, heap, how);
    return seep_stream_check(out, "the report");
}

// ---- JSON ----

static json_t *frame_json(const struct seep_kallsyms *symbols, uint64_t address) {
    json_t *object = json_object();
    struct seep_kernel_function function;
    bool known = seep_kallsyms_find(symbols, address, &function);
    set(&object, "function", string(known ? function.name : NULL));
    set(&object, "module", string(known ? function.module : NULL));
    set(&object, "offset", integer(known ? function.offset : address));
    return object;
}

static json_t *stack_json(const struct seep_kernel_site *site, const struct seep_kallsyms *symbols) {
    json_t *array = json_array();
    for (uint32_t i = site ? seep_kernel_own_frames(site, symbols) : 0;
         site && i < seep_kernel_nr_frames(site); i++)
        append(&array, frame_json(symbols, site->frames[i]));
    return array;
}

static json_t *blocks_json(const struct seep_kernel_heap *heap, const struct seep_kernel_live_site *live) {
    json_t *array = json_array();
    for (size_t i = 0; i < live->live_blocks; i++) {
        const struct seep_kernel_live_block *block = &heap->blocks[live->first_block + i];
        json_t *object = json_object();
        char address[24];
        snprintf(address, sizeof(address), "0x%" PRIx64, block->address);
        set(&object, "address", string(address));
        set(&object, "size", integer(block->size));
        set(&object, "age_s", json_real((double)block->age_ns / 1e9));
        append(&array, object);
    }
    return array;
}

static json_t *site_json(const struct seep_kernel_heap *heap, const struct seep_kernel_live_site *live,
                         const struct seep_kallsyms *symbols, const struct seep_kernel_report *how) {
    json_t *object = json_object();
    set(&object, "live_blocks", integer(live->live_blocks));
    set(&object, "live_bytes", integer(live->live_bytes));
    set(&object, "size_min", how->combined ? json_null() : integer(live->size_min));
    set(&object, "size_max", how->combined ? json_null() : integer(live->size_max));
    set(&object, "allocator", string(class_name(live)));
    char cache[SEEP_KERNEL_CACHE_NAME_MAX] = "";
    if (live->site)
        copy_cache(live->site, cache);
    set(&object, "cache", string(*cache ? cache : NULL));
    set(&object, "stack", stack_json(live->site, symbols));
    if (how->blocks)
        set(&object, "blocks", blocks_json(heap, live));
    return object;
}

static json_t *kernel_json(const struct seep_kernel_report *how) {
    json_t *object = json_object();
    set(&object, "start", string(seep_format_time(how->start_ns).text));
    set(&object, "duration_s", json_real((double)how->duration_ns / 1e9));
    set(&object, "older_s", how->combined ? json_null() : json_real((double)how->older_ns / 1e9));
    set(&object, "sample", integer(SEEP_MAX(how->sample, UINT64_C(1))));
    set(&object, "percpu", json_boolean(how->percpu));
    set(&object, "vmalloc", json_boolean(how->vmalloc));
    return object;
}

static json_t *health_json(const struct seep_kernel_heap *heap) {
    json_t *object = json_object(), *lost = json_object();
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(losses); i++)
        if (heap->counters[losses[i].counter])
            set(&lost, losses[i].name, integer(heap->counters[losses[i].counter]));
    if (heap->missed)
        set(&lost, "missed", integer(heap->missed));
    set(&object, "lost", lost);
    set(&object, "stacks_cut", integer(heap->nr_cut));
    set(&object, "implicit_frees", integer(heap->counters[SEEP_KERNEL_IMPLICIT]));
    return object;
}

static json_t *totals_json(const struct seep_kernel_heap *heap, const struct parts *parts) {
    json_t *object = json_object();
    set(&object, "allocations", integer(heap->counters[SEEP_KERNEL_ALLOCATIONS]));
    set(&object, "allocated_bytes", integer(heap->counters[SEEP_KERNEL_ALLOCATED_BYTES]));
    set(&object, "frees", integer(heap->counters[SEEP_KERNEL_FREES] + heap->counters[SEEP_KERNEL_IMPLICIT]));
    set(&object, "live_blocks", integer(parts->blocks[0]));
    set(&object, "live_bytes", integer(parts->bytes[0]));
    set(&object, "live_page_allocations", integer(parts->blocks[1]));
    set(&object, "live_page_bytes", integer(parts->bytes[1]));
    return object;
}

struct seep_error *seep_report_kernel_json(FILE *out, struct seep_kernel_heap *heap,
                                           const struct seep_kallsyms *symbols,
                                           const struct seep_kernel_report *how) {
    struct parts parts = sort_sites(heap, how);
    json_t *whole = json_object(), *seep = json_object(), *sites = json_array();
    set(&seep, "version", string(SEEP_VERSION));
    set(&seep, "schema", integer(1));
    set(&whole, "seep", seep);
    set(&whole, "kernel", kernel_json(how));
    set(&whole, "health", health_json(heap));
    set(&whole, "totals", totals_json(heap, &parts));
    for (size_t i = 0; i < parts.nr_shown[0]; i++)
        append(&sites, site_json(heap, &heap->sites[i], symbols, how));
    for (size_t i = 0; i < parts.nr_shown[1]; i++)
        append(&sites, site_json(heap, &heap->sites[parts.first_page_site + i], symbols, how));
    set(&whole, "sites_left_out", integer(heap->nr_sites - parts.nr_shown[0] - parts.nr_shown[1]));
    set(&whole, "sites", sites);
    if (!whole)
        return seep_error_no_memory();
    json_dumpf(whole, out, JSON_COMPACT | JSON_PRESERVE_ORDER);
    fputc('\n', out);
    json_decref(whole);
    return seep_stream_check(out, "the report");
}
