// SPDX-License-Identifier: BSD-2-Clause
//
// Damaged files: programs that were cut short or have bytes changed must give an answer, whatever
// it is, and nothing on stderr. The damage is the same in every run.
// Arguments: the directory of the programs.
#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/elf_file.h"
#include "process/own_allocator.h"
#include "symbols/reference.h"

#define ROUNDS 150

static const char *programs;
static uint64_t random_state;

// Source: xorshift64, George Marsaglia, "Xorshift RNGs" (2003).
static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static unsigned char *read_program(const char *name, size_t *ret_bytes) {
    char *path = test_format("%s/%s", programs, name);
    FILE *file = fopen(path, "rb");
    if (!file) {
        print_message("left out: %s was not made\n", name);
        free(path);
        return NULL;
    }
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    *ret_bytes = (size_t)status.st_size;
    unsigned char *bytes = malloc(*ret_bytes);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *ret_bytes, file), *ret_bytes);
    fclose(file);
    free(path);
    return bytes;
}

static char place[] = "/tmp/seep-test-XXXXXX";

// From a variable along what its pointers lead to and into its members, as a chain of holders does.
static void look_along(struct seep_symbols *symbols, const struct seep_type *type) {
    for (unsigned i = 0; type && i < 20; i++) {
        const struct seep_type *to;
        struct seep_variable member;
        const char *text;
        check_no_error(seep_symbols_declare(symbols, type, "name", &text));
        assert_true(!text || strlen(text) < 1024);
        const struct seep_pointed pointed = {type, 8 * (i % 3), 4096, i % 2};
        check_no_error(seep_symbols_member(symbols, &pointed, 8 * i, &member));
        assert_true(!member.name || strlen(member.name) < 1024);
        check_no_error(seep_symbols_pointee(symbols, member.type ? member.type : type, &to));
        type = to;
    }
}

static void look_at_variables(struct seep_symbols *symbols, unsigned module, uint64_t base) {
    struct seep_variable variable;
    for (uint64_t address = base + 0x3d00; address < base + 0x4200; address += 24) {
        check_no_error(seep_symbols_global(symbols, module, address, address % 16, &variable));
        assert_true(!variable.name || strlen(variable.name) < 1024);
        look_along(symbols, variable.type);
    }
    uint64_t words[64];
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(words); i++)
        words[i] = base + 0x1000 + i;
    const struct seep_thread_stack stack = {0x7000, (const uint8_t *)words, sizeof(words)};
    for (uint64_t address = base + 0x1000; address < base + 0x1800; address += 61) {
        struct seep_call_frame frame = {.address = address, .known = UINT64_MAX >> 31}, caller;
        bool there;
        for (unsigned i = 0; i < SEEP_FRAME_REGISTERS; i++)
            frame.registers[i] = 0x7000 + 8 * i;
        check_no_error(seep_symbols_caller(symbols, module, &stack, &frame, &there, &caller));
        for (uint64_t word = 0x7000; word < 0x7080; word += 24) {
            check_no_error(seep_symbols_local(symbols, module, &frame, &stack, word, 0, &variable));
            look_along(symbols, variable.type);
        }
    }
}

static void look_at(const unsigned char *bytes, size_t nr_bytes) {
    FILE *file = fopen(place, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nr_bytes, file), nr_bytes);
    assert_int_equal(fclose(file), 0);

    struct seep_symbols_options options = {.no_debuginfod = true};
    struct seep_symbols *symbols;
    check_no_error(seep_symbols_create(&options, &symbols));
    unsigned module;
    check_no_error(seep_symbols_module(symbols, place, NULL, 0, &module));
    static const char *const functions[] = {"main", "exported_one", "_start", "none"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(functions); i++) {
        bool found;
        const char *text;
        check_no_error(seep_symbols_returned_text(symbols, module, functions[i], &found, &text));
        assert_true(found || !text);
    }
    bool has_runtime;
    check_no_error(seep_symbols_has_cxx_runtime(symbols, module, &has_runtime));
    assert_false(has_runtime);
    for (uint64_t address = 0x1000; address < 0x2400; address += 23) {
        const char *called;
        check_no_error(seep_symbols_called_import(symbols, module, address, &called));
        assert_true(!called || strlen(called) <= 16384);
        const struct seep_symbol *symbol;
        check_no_error(seep_symbols_resolve(symbols, module, address, true, &symbol));
        assert_true(symbol->nr_frames >= 1);
        assert_false(symbol->frames[symbol->nr_frames - 1].inlined);
        // Every text must end.
        for (unsigned i = 0; i < symbol->nr_frames; i++)
            assert_true(!symbol->frames[i].function || strlen(symbol->frames[i].function) <= 16384);
    }
    look_at_variables(symbols, module, 0);
    look_at_variables(symbols, module, 0x400000);
    if (seep_symbols_quality(symbols, module) == SEEP_SYMBOLS_NONE)
        assert_non_null(seep_symbols_trouble(symbols, module));
    seep_symbols_destroy(symbols);
}

static const char *const victims[] = {"c_dwarf5", "c_dwarf4", "c_packed", "c_split", "clang_dwarf4",
                                      "s_mini",   "c_lib.so", "c_typed",  "c_locals"};

static void test_cut(void **state) {
    for (size_t v = 0; v < SEEP_ARRAY_SIZE(victims); v++) {
        size_t nr_bytes;
        unsigned char *bytes = read_program(victims[v], &nr_bytes);
        for (size_t i = 0; bytes && i < 40; i++)
            look_at(bytes, nr_bytes * i / 40);
        // Cut, with the section headers moved to where they still are: the contents are gone.
        for (size_t i = 0; bytes && i < 10; i++)
            look_at(bytes, nr_bytes - 1 - i * 77);
        free(bytes);
    }
}

static void test_changed(void **state) {
    for (size_t v = 0; v < SEEP_ARRAY_SIZE(victims); v++) {
        size_t nr_bytes;
        unsigned char *bytes = read_program(victims[v], &nr_bytes);
        unsigned char *damaged = bytes ? malloc(nr_bytes) : NULL;
        random_state = 0x5eeb + v;
        for (size_t round = 0; bytes && round < ROUNDS; round++) {
            assert_non_null(damaged);
            memcpy(damaged, bytes, nr_bytes);
            // What is not code or data is in the second half: most changes go there.
            size_t from = round % 4 ? nr_bytes / 3 : 0, nr_changes = 1 + next_random() % 60;
            for (size_t i = 0; i < nr_changes; i++) {
                static const unsigned char extremes[] = {0, 1, 0x7f, 0x80, 0xff, 0xfe, 4, 0x10};
                unsigned char *at = &damaged[from + next_random() % (nr_bytes - from)];
                *at = next_random() % 2 ? extremes[next_random() % 8] : (unsigned char)next_random();
            }
            look_at(damaged, nr_bytes);
        }
        free(damaged);
        free(bytes);
    }
}

// A run of one value over a stretch: whole tables gone or absurd.
static void test_blanked(void **state) {
    for (size_t v = 0; v < SEEP_ARRAY_SIZE(victims); v++) {
        size_t nr_bytes;
        unsigned char *bytes = read_program(victims[v], &nr_bytes);
        unsigned char *damaged = bytes ? malloc(nr_bytes) : NULL;
        for (size_t i = 0; bytes && i < 40; i++) {
            assert_non_null(damaged);
            memcpy(damaged, bytes, nr_bytes);
            size_t length = nr_bytes / 60, from = (nr_bytes - length) * i / 40;
            memset(damaged + SEEP_MAX(from, (size_t)64), i % 2 ? 0xff : 0, length);
            look_at(damaged, nr_bytes);
        }
        free(damaged);
        free(bytes);
    }
}

// Every byte of the file header and of the section headers that come last in the file.
static void test_headers(void **state) {
    size_t nr_bytes;
    unsigned char *bytes = read_program("c_dwarf5", &nr_bytes);
    assert_non_null(bytes);
    for (size_t i = 16; i < 64; i++) {
        unsigned char kept = bytes[i];
        bytes[i] = 0xff;
        look_at(bytes, nr_bytes);
        bytes[i] = kept;
    }
    for (size_t i = 1; i <= 64 * 12; i += 3) {
        unsigned char kept = bytes[nr_bytes - i];
        bytes[nr_bytes - i] = i % 2 ? 0xff : 0x01;
        look_at(bytes, nr_bytes);
        bytes[nr_bytes - i] = kept;
    }
    free(bytes);
}

enum { NR_TABLES = 20000, NR_SYMBOLS = 40000, NR_NOTES = 30000, NOTES_BYTES = 600000 };

// Thousands of tables and of note segments that are all the same bytes of the file.
struct repeated {
    Elf64_Ehdr header;
    Elf64_Phdr code;
    Elf64_Phdr notes[NR_NOTES];
    unsigned char text[64];
    char strings[8];
    Elf64_Sym symbols[NR_SYMBOLS];
    uint32_t note_words[NOTES_BYTES / 4]; // notes without name and contents
    Elf64_Shdr null, text_section, strings_section;
    Elf64_Shdr tables[NR_TABLES];
};
#define PLACE(member) offsetof(struct repeated, member)

static struct repeated *make_repeated(void) {
    struct repeated *elf = calloc(1, sizeof(*elf));
    assert_non_null(elf);
    elf->header = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_DYN,
                               .e_machine = EM_X86_64,
                               .e_version = EV_CURRENT,
                               .e_phoff = PLACE(code),
                               .e_shoff = PLACE(null),
                               .e_ehsize = sizeof(Elf64_Ehdr),
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_phnum = 1 + NR_NOTES,
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = 3 + NR_TABLES,
                               .e_shstrndx = 2};
    elf->code = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, PLACE(text), 0x1000, 0x1000, 64, 64, 4096};
    for (size_t i = 0; i < NR_NOTES; i++)
        elf->notes[i] = (Elf64_Phdr){
            PT_NOTE, PF_R, PLACE(note_words), 0x2000, 0x2000, sizeof(elf->note_words), NOTES_BYTES, 4};
    memcpy(elf->strings, "\0fun", 5);
    for (size_t i = 0; i < NR_SYMBOLS; i++)
        elf->symbols[i] =
            (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), STV_DEFAULT, 1, 0x1000 + i % 60, 1};
    elf->text_section = (Elf64_Shdr){
        1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x1000, PLACE(text), sizeof(elf->text), 0, 0, 16, 0};
    elf->strings_section =
        (Elf64_Shdr){1, SHT_STRTAB, 0, 0, PLACE(strings), sizeof(elf->strings), 0, 0, 1, 0};
    for (size_t i = 0; i < NR_TABLES; i++)
        elf->tables[i] = (Elf64_Shdr){1, SHT_SYMTAB,       0, 0, PLACE(symbols), sizeof(elf->symbols), 2, 1,
                                      8, sizeof(Elf64_Sym)};
    return elf;
}

// A file may not take the product of what is in it: this one would take minutes, and gigabytes.
static void test_repeated(void **state) {
    (void)state;
    struct repeated *repeated = make_repeated();
    alarm(60);
    look_at((const unsigned char *)repeated, sizeof(*repeated));
    int fd = open(place, O_RDONLY | O_CLOEXEC);
    struct seep_elf_file elf;
    struct seep_own_allocator own;
    struct seep_imports imports;
    uint8_t id[20];
    check_no_error(seep_elf_file_init(fd, "repeated", &elf));
    check_no_error(seep_own_allocator_find(&elf, &own, &imports));
    assert_int_equal(own.kind, SEEP_OWN_NONE);
    assert_int_equal(seep_elf_build_id(&elf, id, sizeof(id)), 0);
    seep_elf_file_deinit(&elf);
    close(fd);
    alarm(0);
    free(repeated);
}

static void write_place(const void *bytes, size_t nr_bytes) {
    FILE *file = fopen(place, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, nr_bytes, file), nr_bytes);
    assert_int_equal(fclose(file), 0);
}

enum { NR_CALLS = 20000, CALL_BYTES = 6, NR_RELOCATIONS = 300000, SLOT = 0x200000 };

// Calls through one slot, whose relocation is the last of many.
struct calling {
    Elf64_Ehdr header;
    Elf64_Phdr code;
    unsigned char text[NR_CALLS * CALL_BYTES];
    char strings[8];
    Elf64_Sym symbols[2];
    Elf64_Rela relocations[NR_RELOCATIONS];
    Elf64_Shdr sections[4];
};

static struct calling *make_calling(void) {
    const uint32_t text = offsetof(struct calling, text);
    struct calling *elf = calloc(1, sizeof(*elf));
    assert_non_null(elf);
    elf->header = (Elf64_Ehdr){.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                               .e_type = ET_DYN,
                               .e_machine = EM_X86_64,
                               .e_version = EV_CURRENT,
                               .e_phoff = offsetof(struct calling, code),
                               .e_shoff = offsetof(struct calling, sections),
                               .e_ehsize = sizeof(Elf64_Ehdr),
                               .e_phentsize = sizeof(Elf64_Phdr),
                               .e_phnum = 1,
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = 4};
    elf->code = (Elf64_Phdr){PT_LOAD, PF_R | PF_X, text, text, text, sizeof(elf->text), sizeof(elf->text), 1};
    for (uint32_t i = 0; i < NR_CALLS; i++) { // call *N(%rip)
        uint32_t distance = SLOT - (text + (i + 1) * CALL_BYTES);
        memcpy(&elf->text[i * CALL_BYTES], "\xff\x15", 2);
        memcpy(&elf->text[i * CALL_BYTES + 2], &distance, sizeof(distance));
    }
    memcpy(elf->strings, "\0fun", 5);
    elf->symbols[1].st_name = 1;
    elf->relocations[NR_RELOCATIONS - 1] = (Elf64_Rela){SLOT, ELF64_R_INFO(1, R_X86_64_GLOB_DAT), 0};
    elf->sections[1] = (Elf64_Shdr){
        0, SHT_STRTAB, 0, 0, offsetof(struct calling, strings), sizeof(elf->strings), 0, 0, 1, 0};
    elf->sections[2] =
        (Elf64_Shdr){0, SHT_DYNSYM,       0, 0, offsetof(struct calling, symbols), sizeof(elf->symbols), 1, 1,
                     8, sizeof(Elf64_Sym)};
    elf->sections[3] = (Elf64_Shdr){
        0, SHT_RELA,          0, 0, offsetof(struct calling, relocations), sizeof(elf->relocations), 2, 0,
        8, sizeof(Elf64_Rela)};
    return elf;
}

// The relocations are searched once for a function, and not for each call of it: that would take a minute.
static void test_many_calls(void **state) {
    (void)state;
    struct calling *calling = make_calling();
    struct seep_symbols_options options = {.no_debuginfod = true};
    struct seep_symbols *symbols;
    unsigned module;
    write_place(calling, sizeof(*calling));
    free(calling);
    check_no_error(seep_symbols_create(&options, &symbols));
    check_no_error(seep_symbols_module(symbols, place, NULL, 0, &module));
    alarm(10);
    for (uint64_t i = 1; i <= NR_CALLS; i++) {
        const char *called;
        check_no_error(seep_symbols_called_import(symbols, module,
                                                  offsetof(struct calling, text) + i * CALL_BYTES, &called));
        assert_string_equal(called, "fun");
    }
    alarm(0);
    seep_symbols_destroy(symbols);
}

// Names of `place` are asked for; what there is to say when nothing is known.
static const char *trouble_of(bool hasty, void (*meanwhile)(void)) {
    struct seep_symbols_options options = {.no_debuginfod = true, .hasty = hasty};
    struct seep_symbols *symbols;
    const struct seep_symbol *symbol;
    unsigned module;
    check_no_error(seep_symbols_create(&options, &symbols));
    check_no_error(seep_symbols_module(symbols, place, NULL, 0, &module));
    check_no_error(seep_symbols_resolve(symbols, module, 0x1100, true, &symbol));
    if (meanwhile)
        meanwhile();
    for (uint64_t address = 0x1000; address < 0x2400; address += 23)
        check_no_error(seep_symbols_resolve(symbols, module, address, true, &symbol));
    look_at_variables(symbols, module, 0);
    const char *trouble = seep_symbols_trouble(symbols, module);
    seep_symbols_destroy(symbols);
    return trouble;
}

static void cut_place(void) {
    assert_int_equal(truncate(place, 0), 0);
}

// Large files are mapped (`hasty`: all are): their owner can cut them under our hands.
static void test_cut_while_mapped(void **state) {
    (void)state;
    for (size_t v = 0; v < SEEP_ARRAY_SIZE(victims); v++) {
        size_t nr_bytes;
        unsigned char *bytes = read_program(victims[v], &nr_bytes);
        if (!bytes)
            continue;
        write_place(bytes, nr_bytes);
        trouble_of(true, cut_place);
        free(bytes);
    }
}

// What only says that it is large costs nothing, and is named.
static void test_holes(void **state) {
    (void)state;
    size_t nr_bytes;
    unsigned char *bytes = read_program("c_dwarf5", &nr_bytes);
    assert_non_null(bytes);
    write_place(bytes, nr_bytes);
    free(bytes);
    assert_int_equal(truncate(place, (off_t)1 << 33), 0);
    assert_string_equal(trouble_of(false, NULL), "file has nearly nothing but holes");
    assert_int_equal(truncate(place, (off_t)1 << 40), 0);
    assert_string_equal(trouble_of(false, NULL), "file is too large");
    cut_place();
}

// A section of a few bytes that says it stands for 5 GiB.
static void test_unpacks_to_much(void **state) {
    (void)state;
    size_t nr_bytes, nr_changed = 0;
    unsigned char *bytes = read_program("c_packed", &nr_bytes);
    if (!bytes)
        skip();
    Elf64_Ehdr header;
    memcpy(&header, bytes, sizeof(header));
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;
        Elf64_Chdr packed;
        memcpy(&section, bytes + header.e_shoff + i * sizeof(section), sizeof(section));
        if (!(section.sh_flags & SHF_COMPRESSED))
            continue;
        memcpy(&packed, bytes + section.sh_offset, sizeof(packed));
        packed.ch_size = UINT64_C(5) << 30;
        memcpy(bytes + section.sh_offset, &packed, sizeof(packed));
        nr_changed++;
    }
    assert_true(nr_changed > 0);
    write_place(bytes, nr_bytes);
    free(bytes);
    assert_string_equal(trouble_of(false, NULL), "its compressed sections stand for too much");
}

// A process that holds a lease may keep an open that waits for 45 seconds.
static void test_lease(void **state) {
    (void)state;
    size_t nr_bytes;
    unsigned char *bytes = read_program("c_dwarf5", &nr_bytes);
    assert_non_null(bytes);
    write_place(bytes, nr_bytes);
    free(bytes);
    signal(SIGIO, SIG_IGN);
    int fd = open(place, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    if (fcntl(fd, F_SETLEASE, F_WRLCK) != 0) {
        print_message("left out: no leases on the file system of %s\n", place);
        close(fd);
        skip();
    }
    assert_string_equal(trouble_of(false, NULL), "another process holds a lease on the file");
    close(fd);
}

// Runs a test with stderr in a file, which must stay empty.
static int quiet_setup(void **state) {
    FILE *catch = tmpfile();
    assert_non_null(catch);
    int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0);
    assert_true(dup2(fileno(catch), STDERR_FILENO) >= 0);
    int *fds = malloc(2 * sizeof(*fds));
    assert_non_null(fds);
    fds[0] = kept;
    fds[1] = dup(fileno(catch));
    fclose(catch);
    *state = fds;
    return 0;
}

static int quiet_teardown(void **state) {
    int *fds = *state;
    struct stat status;
    int failed = fstat(fds[1], &status);
    dup2(fds[0], STDERR_FILENO);
    char text[512];
    ssize_t length = pread(fds[1], text, sizeof(text) - 1, 0);
    if (length > 0) {
        text[length] = '\0';
        fprintf(stderr, "stderr was written to: %s\n", text);
        failed = -1;
    }
    close(fds[0]);
    close(fds[1]);
    free(fds);
    return failed;
}

static void test_quiet(void **state) {
    size_t nr_bytes;
    unsigned char *bytes = read_program("c_dwarf5", &nr_bytes);
    assert_non_null(bytes);
    random_state = 7;
    for (size_t i = 0; i < 50; i++) {
        bytes[next_random() % nr_bytes] ^= 0x55;
        look_at(bytes, nr_bytes);
        look_at(bytes, nr_bytes / (i + 1));
    }
    free(bytes);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY_OF_PROGRAMS\n", argv[0]);
        return 2;
    }
    programs = argv[1];
    int fd = mkstemp(place);
    if (fd < 0) {
        perror(place);
        return 1;
    }
    close(fd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_changed),
        cmocka_unit_test(test_blanked),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_many_calls),
        cmocka_unit_test(test_cut_while_mapped),
        cmocka_unit_test(test_holes),
        cmocka_unit_test(test_unpacks_to_much),
        cmocka_unit_test(test_lease),
        cmocka_unit_test_setup_teardown(test_quiet, quiet_setup, quiet_teardown),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(place);
    return failed;
}
