// SPDX-License-Identifier: BSD-2-Clause
//
// An ELF file of any bytes: its functions, unwind table, probe places, build-id. Besides not crashing: the
// table keeps the promises of unwind_table.h, which the program in the kernel relies on, and every probe
// place lies in the file.
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "source/attach/allocator_file.h"
#include "process/own_allocator.h"
#include "source/attach/unwind_table.h"
#include "image/bpf_events.h"
#include "fuzz.h"

static void check_table(const struct seep_elf_file *elf) {
    struct seep_unwind_table table;
    struct seep_error *err = seep_unwind_table_init(elf, &table);
    if (err) {
        seep_error_destroy(err);
        return;
    }
    MUST(!table.nr_rows || SEEP_BPF_ROW_ADDRESS(table.rows[0]) == 0);
    for (uint32_t i = 1; i < table.nr_rows; i++)
        MUST(SEEP_BPF_ROW_ADDRESS(table.rows[i - 1]) < SEEP_BPF_ROW_ADDRESS(table.rows[i]));
    MUST(!table.nr_rows || SEEP_BPF_ROW_KIND(table.rows[table.nr_rows - 1]) == 0);
    for (uint32_t page = 0; table.nr_rows && page < table.nr_pages; page++) {
        uint32_t row = table.index[page];
        MUST(row <= table.index[page + 1] && table.index[page + 1] <= table.nr_rows);
        MUST(!row || SEEP_BPF_ROW_ADDRESS(table.rows[row - 1]) >> SEEP_BPF_PAGE_SHIFT < page);
    }
    seep_unwind_table_deinit(&table);
}

static void check_places(const struct seep_elf_file *elf) {
    struct seep_allocator_file file;
    struct seep_error *err = seep_allocator_file_init(elf, NULL, &file);
    if (err) {
        seep_error_destroy(err);
        return;
    }
    for (size_t kind = 0; kind < SEEP_PROBE_NR; kind++)
        for (size_t i = 0; i < file.places[kind].nr; i++)
            MUST(file.places[kind].offsets[i] < elf->file_bytes);
    seep_allocator_file_deinit(&file);
}

static void check_own_allocator(const struct seep_elf_file *elf) {
    struct seep_own_allocator own;
    struct seep_imports imports;
    struct seep_error *err = seep_own_allocator_find(elf, &own, &imports);
    MUST(err || own.kind != SEEP_OWN_NAMED || (own.allocator && own.prefix));
    seep_error_destroy(err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    struct seep_elf_file elf;
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    struct seep_error *err = seep_elf_any_init(fd, "fuzz", &elf);
    if (!err) {
        uint8_t id[44];
        MUST(seep_elf_build_id(&elf, id, sizeof(id)) <= sizeof(id));
        check_table(&elf);
        check_places(&elf);
        check_own_allocator(&elf);
        seep_elf_file_deinit(&elf);
    }
    seep_error_destroy(err);
    close(fd);
    return 0;
}
