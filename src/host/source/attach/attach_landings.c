// SPDX-License-Identifier: BSD-2-Clause
//
// Probes where an operator new that throws returns to. See src/tracee/bpf/operator.bpf.h and attach_parts.h.
//
// They are of one process each, also where others share the file: the place is one of its own instructions,
// and who else runs it has no part in this. Those of one file that were asked for together share a link.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "source/attach/heap.skel.h"
#include "process/process_map.h"
#include "source/attach/attach_parts.h"

#define TOGETHER_MAX 64u

struct seep_error *seep_attach_took_landing(struct seep_attached *attached,
                                            const struct seep_traced_process *process, uint64_t address) {
    if (!seep_grow(&attached->landings, &attached->landings_capacity, attached->nr_landings + 1,
                   sizeof(*attached->landings)))
        return seep_error_no_memory();
    attached->landings[attached->nr_landings++] =
        (struct seep_attach_landing){.address = address, .pid = process->heap.pid, .link = -1};
    return NULL;
}

static void mark(const struct seep_attached *attached, const struct seep_attach_landing *landing,
                 enum seep_bpf_landing state) {
    struct seep_bpf_block place = {.address = landing->address, .pid = (uint64_t)landing->pid};
    uint8_t value = (uint8_t)state;
    bpf_map_update_elem(bpf_map__fd(attached->bpf->maps.seep_landings), &place, &value, BPF_ANY);
}

static const struct seep_code_area *area_of(const struct seep_process_map *map, uint64_t address) {
    for (size_t i = 0; i < map->nr_areas; i++)
        if (address >= map->areas[i].start && address < map->areas[i].end)
            return &map->areas[i];
    return NULL;
}

// false: the kernel wants no probe on one of them.
static bool put_probes(struct seep_attached *attached, struct seep_attach_landing *landings, size_t nr,
                       const struct seep_code_area *area, const char *path) {
    unsigned long offsets[TOGETHER_MAX];
    uint64_t cookies[TOGETHER_MAX] = {0};
    for (size_t i = 0; i < nr; i++)
        offsets[i] = landings[i].address - area->start + area->file_off;
    struct seep_bpf_places places = {
        .path = path, .offsets = offsets, .cookies = cookies, .nr = (uint32_t)nr, .pid = landings->pid};
    struct seep_error *err = seep_bpf_attach_multi(bpf_program__fd(attached->bpf->progs.seep_landing),
                                                   SEEP_BPF_ATTACH_MULTI, &places, false, &landings->link);
    bool done = !err;
    seep_error_destroy(err);
    for (size_t i = 0; i < nr && (done || nr == 1); i++)
        mark(attached, &landings[i], done ? SEEP_BPF_LANDING_PROBED : SEEP_BPF_LANDING_REFUSED);
    return done;
}

// Those of one area, in this process.
static void place_together(struct seep_attached *attached, struct seep_attach_landing *landings, size_t nr,
                           const struct seep_code_area *area) {
    char path[64];
    int fd = seep_code_area_open(landings->pid, area);
    if (fd < 0) {
        for (size_t i = 0; i < nr; i++)
            mark(attached, &landings[i], SEEP_BPF_LANDING_REFUSED);
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (!put_probes(attached, landings, nr, area, path) && nr > 1)
        for (size_t i = 0; i < nr; i++)
            put_probes(attached, &landings[i], 1, area, path);
    close(fd);
}

static int compare_landings(const void *left, const void *right) {
    const struct seep_attach_landing *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return (a->address > b->address) - (a->address < b->address);
}

// Those of one process, by address.
static struct seep_error *place_in_process(struct seep_attached *attached,
                                           struct seep_attach_landing *landings, size_t nr) {
    struct seep_process_map map;
    struct seep_error *err = seep_process_map_init(landings->pid, &map);
    if (err && err->code == SEEP_E_NOT_FOUND) {
        seep_error_destroy(err);
        return NULL;
    }
    for (size_t i = 0, end; !err && i < nr; i = end) {
        const struct seep_code_area *area = area_of(&map, landings[i].address);
        for (end = i + 1; end < nr && end - i < TOGETHER_MAX && area && landings[end].address < area->end;
             end++)
            ;
        if (area)
            place_together(attached, &landings[i], end - i, area);
        else
            mark(attached, &landings[i], SEEP_BPF_LANDING_REFUSED);
    }
    if (!err)
        seep_process_map_deinit(&map);
    return err;
}

struct seep_error *seep_attach_place_landings(struct seep_attached *attached) {
    size_t nr = attached->nr_landings - attached->nr_landings_placed;
    if (!nr)
        return NULL;
    struct seep_attach_landing *asked = attached->landings + attached->nr_landings_placed;
    attached->nr_landings_placed = attached->nr_landings;
    qsort(asked, nr, sizeof(*asked), compare_landings);
    struct seep_error *err = NULL;
    for (size_t i = 0, end; !err && i < nr; i = end) {
        for (end = i + 1; end < nr && asked[end].pid == asked[i].pid; end++)
            ;
        err = place_in_process(attached, &asked[i], end - i);
    }
    return err;
}

void seep_attach_forget_landings(struct seep_attached *attached, pid_t pid) {
    size_t kept = 0, placed = 0;
    for (size_t i = 0; i < attached->nr_landings; i++) {
        struct seep_attach_landing *landing = &attached->landings[i];
        if (landing->pid != pid) {
            placed += i < attached->nr_landings_placed;
            attached->landings[kept++] = *landing;
            continue;
        }
        struct seep_bpf_block place = {.address = landing->address, .pid = (uint64_t)pid};
        bpf_map_delete_elem(bpf_map__fd(attached->bpf->maps.seep_landings), &place);
        if (landing->link >= 0)
            close(landing->link);
    }
    attached->nr_landings = kept;
    attached->nr_landings_placed = placed;
}

void seep_attach_close_landings(struct seep_attached *attached) {
    for (size_t i = 0; i < attached->nr_landings; i++)
        if (attached->landings[i].link >= 0)
            close(attached->landings[i].link);
    free(attached->landings);
}
