// SPDX-License-Identifier: BSD-2-Clause
// Fills the tables of the unwinder, see bpf_tables.h.
#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/attach/bpf_tables.h"

static void *map_array(int fd, uint64_t nr_bytes) {
    void *memory = mmap(NULL, nr_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct seep_error *seep_bpf_tables_init(int rows_fd, int index_fd, int mappings_fd, int processes_fd,
                                        const uint64_t capacities[3], struct seep_bpf_tables *ret_tables) {
    struct seep_bpf_tables tables = {.rows_capacity = capacities[0],
                                     .index_capacity = capacities[1],
                                     .mappings_capacity = capacities[2],
                                     .processes_fd = processes_fd};
    tables.rows = map_array(rows_fd, tables.rows_capacity * sizeof(*tables.rows));
    tables.index = map_array(index_fd, tables.index_capacity * sizeof(*tables.index));
    tables.mappings = map_array(mappings_fd, tables.mappings_capacity * sizeof(*tables.mappings));
    if (tables.rows && tables.index && tables.mappings) {
        *ret_tables = tables;
        return NULL;
    }
    struct seep_error *err = seep_error_system(errno, "cannot map the tables of the unwinder");
    seep_bpf_tables_deinit(&tables);
    return err;
}

void seep_bpf_tables_deinit(struct seep_bpf_tables *tables) {
    if (tables->rows)
        munmap(tables->rows, tables->rows_capacity * sizeof(*tables->rows));
    if (tables->index)
        munmap(tables->index, tables->index_capacity * sizeof(*tables->index));
    if (tables->mappings)
        munmap(tables->mappings, tables->mappings_capacity * sizeof(*tables->mappings));
    *tables = (struct seep_bpf_tables){.processes_fd = -1};
}

bool seep_bpf_tables_add(struct seep_bpf_tables *tables, const struct seep_unwind_table *table,
                         struct seep_bpf_table_place *ret_place) {
    *ret_place = (struct seep_bpf_table_place){0};
    if (!table->nr_rows)
        return true;
    if (table->nr_rows > tables->rows_capacity - tables->nr_rows ||
        table->nr_pages + UINT64_C(1) > tables->index_capacity - tables->nr_index)
        return false;
    memcpy(tables->rows + tables->nr_rows, table->rows, table->nr_rows * sizeof(*table->rows));
    for (uint32_t i = 0; i <= table->nr_pages; i++)
        tables->index[tables->nr_index + i] = tables->nr_rows + table->index[i];
    *ret_place = (struct seep_bpf_table_place){(uint32_t)tables->nr_index, table->nr_pages};
    tables->nr_rows += table->nr_rows;
    tables->nr_index += table->nr_pages + UINT64_C(1);
    return true;
}

static struct seep_error *put_process(struct seep_bpf_tables *tables, uint32_t pid,
                                      const struct seep_bpf_process *process) {
    if (bpf_map_update_elem(tables->processes_fd, &pid, process, BPF_ANY) != 0)
        return seep_error_system(errno, "process %u: no room for more processes", pid);
    return NULL;
}

uint32_t seep_bpf_tables_moved(const struct seep_bpf_tables *tables, uint32_t pid) {
    struct seep_bpf_process process = {0};
    bool known = bpf_map_lookup_elem(tables->processes_fd, &pid, &process) == 0;
    return known && process.flags & SEEP_BPF_PROCESS_MOVED ? process.generation : 0;
}

struct seep_error *seep_bpf_tables_set_process(struct seep_bpf_tables *tables, uint32_t pid,
                                               const struct seep_bpf_mapping *mappings, size_t nr,
                                               uint32_t generation, uint32_t flags) {
    nr = SEEP_MIN(nr, (size_t)SEEP_BPF_MAPPINGS_MAX);
    // Round and round: what is overwritten belongs to a list that was replaced long ago.
    if (tables->next_mapping + nr > tables->mappings_capacity)
        tables->next_mapping = 0;
    struct seep_bpf_process process = {.first = (uint32_t)tables->next_mapping,
                                       .nr = (uint32_t)nr,
                                       .generation = generation,
                                       .flags = flags};
    if (nr)
        memcpy(tables->mappings + tables->next_mapping, mappings, nr * sizeof(*mappings));
    tables->next_mapping += nr;
    return put_process(tables, pid, &process);
}

struct seep_error *seep_bpf_tables_ignore_process(struct seep_bpf_tables *tables, uint32_t pid) {
    struct seep_bpf_process process = {.flags = SEEP_BPF_PROCESS_IGNORED};
    return put_process(tables, pid, &process);
}

void seep_bpf_tables_forget_process(struct seep_bpf_tables *tables, uint32_t pid) {
    bpf_map_delete_elem(tables->processes_fd, &pid);
}

// As the kernel's side finds it: seep_find_row().
uint64_t seep_bpf_tables_row(const struct seep_bpf_tables *tables, const struct seep_bpf_mapping *mapping,
                             uint64_t address) {
    if (address < mapping->base || (address - mapping->base) >> SEEP_BPF_PAGE_SHIFT >= mapping->nr_pages)
        return 0;
    uint64_t offset = address - mapping->base;
    uint64_t at = mapping->first_page + (offset >> SEEP_BPF_PAGE_SHIFT);
    uint64_t low = tables->index[at], high = tables->index[at + 1];
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (SEEP_BPF_ROW_ADDRESS(tables->rows[middle]) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    uint64_t row = low ? tables->rows[low - 1] : 0;
    return SEEP_BPF_ROW_ADDRESS(row) <= offset ? row : 0;
}
