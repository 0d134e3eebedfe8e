// SPDX-License-Identifier: BSD-2-Clause
// Notes of ELF files: what is whole, what is cut, what is damaged.
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "process/elf_notes.h"

// Puts a note at `at`; returns where its padding ends.
static size_t put(unsigned char *bytes, size_t at, const char *name, uint32_t name_bytes, uint32_t type,
                  const void *content, uint32_t nr) {
    Elf64_Nhdr header = {.n_namesz = name_bytes, .n_descsz = nr, .n_type = type};
    memcpy(bytes + at, &header, sizeof(header));
    memcpy(bytes + at + sizeof(header), name, name_bytes);
    at += sizeof(header) + (name_bytes + 3) / 4 * 4;
    memcpy(bytes + at, content, nr);
    return at + (nr + 3) / 4 * 4;
}

static void test_build_id(void **state) {
    (void)state;
    unsigned char bytes[256] = {0}, content[64], id[44];
    memset(content, 0x5a, sizeof(content));
    size_t at = put(bytes, 0, "GNU", 4, NT_GNU_ABI_TAG, content, 16);
    at = put(bytes, at, "GNX", 4, NT_GNU_BUILD_ID, content, 8);
    assert_int_equal(seep_elf_notes_build_id(bytes, at, id, sizeof(id)), 0);
    size_t end = put(bytes, at, "GNU", 4, NT_GNU_BUILD_ID, content, 7);
    assert_int_equal(seep_elf_notes_build_id(bytes, end, id, sizeof(id)), 7);
    assert_memory_equal(id, content, 7);
    // The padding of the last may be missing; a byte of its contents may not.
    assert_int_equal(seep_elf_notes_build_id(bytes, end - 1, id, sizeof(id)), 7);
    assert_int_equal(seep_elf_notes_build_id(bytes, end - 2, id, sizeof(id)), 0);
    // A long one is cut, as the library does in an image.
    end = put(bytes, at, "GNU", 4, NT_GNU_BUILD_ID, content, sizeof(content));
    assert_int_equal(seep_elf_notes_build_id(bytes, end, id, sizeof(id)), sizeof(id));
    assert_memory_equal(id, content, sizeof(id));
}

static void test_damaged(void **state) {
    (void)state;
    static const uint32_t sizes[][2] = {
        {UINT32_MAX, 0}, {0, UINT32_MAX}, {UINT32_MAX, UINT32_MAX}, {5, 0}, {4, 1}};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        unsigned char bytes[16];
        Elf64_Nhdr header = {.n_namesz = sizes[i][0], .n_descsz = sizes[i][1]};
        memcpy(bytes, &header, sizeof(header));
        struct seep_elf_note note;
        uint64_t at = 0;
        assert_false(seep_elf_note_next(bytes, sizeof(bytes), &at, &note));
        assert_int_equal(at, 0);
    }
}

static void test_name(void **state) {
    (void)state;
    unsigned char bytes[64] = {0};
    struct seep_elf_note note;
    uint64_t at = 0;
    size_t end = put(bytes, 0, "CORE", 5, 1, "", 0);
    assert_true(seep_elf_note_next(bytes, end, &at, &note));
    assert_int_equal(at, end);
    assert_true(seep_elf_note_is_of(&note, "CORE"));
    assert_false(seep_elf_note_is_of(&note, "COR"));
    assert_false(seep_elf_note_is_of(&note, "LINUX"));
    assert_false(seep_elf_note_next(bytes, end, &at, &note));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_build_id), cmocka_unit_test(test_damaged),
                                       cmocka_unit_test(test_name)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
