// SPDX-License-Identifier: BSD-2-Clause
// The rows for the unwinder in the kernel against the interpreter: at random addresses of this program and of
// the C library, what the table says is what the row at that address packs to.
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/attach/unwind_table.h"
#include "image/bpf_events.h"
#include "unwind/row.h"

static uint32_t look_up(const struct seep_unwind_table *table, uint64_t address) {
    if (address < table->base || (address - table->base) >> SEEP_BPF_PAGE_SHIFT >= table->nr_pages)
        return 0;
    uint64_t offset = address - table->base;
    uint32_t low = table->index[offset >> SEEP_BPF_PAGE_SHIFT];
    uint32_t high = table->index[(offset >> SEEP_BPF_PAGE_SHIFT) + 1];
    while (low < high && SEEP_BPF_ROW_ADDRESS(table->rows[low]) <= offset)
        low++;
    return low ? (uint32_t)(table->rows[low - 1] >> 32) : 0;
}

static uint32_t interpret(const struct seep_cfi_object *object, uint64_t address) {
    struct seep_cfi_row row;
    return seep_cfi_row_at(object, address, &row) == SEEP_CFI_OK ? seep_row_pack(&row) : 0;
}

static int check_module(struct dl_phdr_info *info, size_t size, void *context) {
    size_t *nr_checked = context;
    uint64_t eh_frame_hdr = 0, first = UINT64_MAX, last = 0, code = 0, code_bytes = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_GNU_EH_FRAME)
            eh_frame_hdr = segment->p_vaddr;
        if (segment->p_type == PT_LOAD)
            first = SEEP_MIN(first, segment->p_vaddr);
        if (segment->p_type == PT_LOAD && !(segment->p_flags & PF_W))
            last = segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X) {
            code = segment->p_vaddr;
            code_bytes = segment->p_memsz;
        }
    }
    int fd = open(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !eh_frame_hdr || !code_bytes) {
        if (fd >= 0)
            close(fd);
        return 0;
    }
    struct seep_elf_file elf;
    struct seep_unwind_table table;
    assert_null(seep_elf_file_init(fd, "a module", &elf));
    assert_null(seep_unwind_table_init(&elf, &table));
    assert_true(table.nr_rows > 10);
    // .eh_frame lies before the first segment that can be written.
    struct seep_cfi_object object = {.bytes = (const uint8_t *)(info->dlpi_addr + first),
                                     .start = first,
                                     .size_bytes = last - first,
                                     .eh_frame_hdr = eh_frame_hdr};
    for (int i = 0; i < 20000; i++) {
        uint64_t address = code + ((uint64_t)rand() << 16 ^ (uint64_t)rand()) % code_bytes;
        assert_int_equal(look_up(&table, address), interpret(&object, address));
    }
    ++*nr_checked;
    seep_unwind_table_deinit(&table);
    seep_elf_file_deinit(&elf);
    close(fd);
    return 0;
}

static void test_tables_of_this_process(void **state) {
    size_t nr_checked = 0;
    srand(1);
    dl_iterate_phdr(check_module, &nr_checked);
    assert_true(nr_checked >= 3); // this, libc, the loader
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tables_of_this_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
