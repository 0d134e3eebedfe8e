// SPDX-License-Identifier: BSD-2-Clause
//
// Makes files that cost their reader as much as they can: hostile-files KIND PATH. Each is an ELF file that can
// be mapped as code; what is wrong with it is in its sections.
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u

struct section {
    const char *name;
    uint32_t type;
    uint64_t flags;
    uint64_t address;
    const void *bytes;
    uint64_t nr_bytes; // in the file; or, without bytes, as it is said to be
    uint64_t entry_bytes;
    uint32_t link;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void put(int fd, uint64_t at, const void *bytes, uint64_t nr_bytes) {
    const char *from = bytes;
    while (nr_bytes) {
        ssize_t nr = pwrite(fd, from, nr_bytes, (off_t)at);
        if (nr <= 0)
            fail("write");
        from += nr;
        at += (uint64_t)nr;
        nr_bytes -= (uint64_t)nr;
    }
}

// A page of code, the sections, their names, their headers.
static void write_elf(const char *path, const struct section *sections, uint32_t nr, uint64_t hole) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (fd < 0)
        fail(path);
    Elf64_Shdr headers[16] = {{0}};
    char names[512] = "";
    uint64_t at = PAGE, names_bytes = 1;
    for (uint32_t i = 0; i < nr; i++) {
        headers[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names_bytes,
                                      .sh_type = sections[i].type,
                                      .sh_flags = sections[i].flags,
                                      .sh_addr = sections[i].address,
                                      .sh_offset = at,
                                      .sh_size = sections[i].nr_bytes,
                                      .sh_link = sections[i].link,
                                      .sh_entsize = sections[i].entry_bytes,
                                      .sh_addralign = 1};
        names_bytes += (uint64_t)sprintf(names + names_bytes, "%s", sections[i].name) + 1;
        if (sections[i].bytes)
            put(fd, at, sections[i].bytes, sections[i].nr_bytes);
        at = (at + sections[i].nr_bytes + 7) & ~UINT64_C(7);
    }
    at += hole;
    headers[nr + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names_bytes,
                                   .sh_type = SHT_STRTAB,
                                   .sh_offset = at,
                                   .sh_size = names_bytes + 10};
    memcpy(names + names_bytes, ".shstrtab", 10);
    put(fd, at, names, names_bytes + 10);
    at = (at + names_bytes + 10 + 7) & ~UINT64_C(7);
    put(fd, at, headers, (nr + 2) * sizeof(headers[0]));
    Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                         .e_type = ET_DYN,
                         .e_machine = EM_X86_64,
                         .e_version = EV_CURRENT,
                         .e_phoff = sizeof(header),
                         .e_shoff = at,
                         .e_ehsize = sizeof(header),
                         .e_phentsize = sizeof(Elf64_Phdr),
                         .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr),
                         .e_shnum = (uint16_t)(nr + 2),
                         .e_shstrndx = (uint16_t)(nr + 1)};
    Elf64_Phdr segment = {
        .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = PAGE, .p_memsz = PAGE, .p_align = PAGE};
    put(fd, 0, &header, sizeof(header));
    put(fd, sizeof(header), &segment, sizeof(segment));
    if (close(fd) != 0)
        fail(path);
}

// ---- call-frame information ----

struct bytes {
    unsigned char *at;
    uint64_t nr;
    uint64_t capacity;
};

static void add(struct bytes *bytes, const void *from, uint64_t nr) {
    if (bytes->nr + nr > bytes->capacity) {
        bytes->capacity = (bytes->nr + nr) * 2;
        bytes->at = realloc(bytes->at, bytes->capacity);
        if (!bytes->at)
            fail("memory");
    }
    memcpy(bytes->at + bytes->nr, from, nr);
    bytes->nr += nr;
}

static void add32(struct bytes *bytes, uint32_t value) {
    add(bytes, &value, sizeof(value));
}

static void fill(struct bytes *bytes, unsigned char value, uint64_t nr) {
    for (uint64_t i = 0; i < nr; i++)
        add(bytes, &value, 1);
}

// "zR", absolute addresses of eight bytes; then `nr` operations that do nothing.
static uint64_t add_cie(struct bytes *frame, uint64_t nr) {
    uint64_t start = frame->nr;
    add32(frame, (uint32_t)(4 + 1 + 3 + 1 + 1 + 1 + 1 + 1 + 3 + nr));
    add32(frame, 0);
    add(frame, "\1zR\0\1\x78\x10\1\0\x0c\7\10", 12); // version, letters, alignments, register, encoding, CFA
    fill(frame, 0, nr);
    return start;
}

static void add_fde(struct bytes *frame, uint64_t cie, uint64_t address, uint64_t code_bytes,
                    const void *program, uint64_t nr) {
    add32(frame, (uint32_t)(4 + 16 + 1 + nr));
    add32(frame, (uint32_t)(frame->nr - cie));
    add(frame, &address, 8);
    add(frame, &code_bytes, 8);
    add(frame, "", 1);
    add(frame, program, nr);
}

static void write_frames(const char *path, const struct bytes *frame) {
    const struct section section = {".eh_frame", SHT_PROGBITS, SHF_ALLOC, PAGE, frame->at, frame->nr, 0, 0};
    write_elf(path, &section, 1, 0);
}

// Two long CIEs, and entries that take them in turn.
static void make_parents(const char *path) {
    struct bytes frame = {NULL, 0, 0};
    uint64_t first = add_cie(&frame, 1 << 20), second = add_cie(&frame, 1 << 20);
    for (uint64_t i = 0; i < 100000; i++)
        add_fde(&frame, i & 1 ? second : first, i, 1, "", 0);
    write_frames(path, &frame);
}

// Expressions whose lengths are padded, which each of many rows reads again.
static void make_padding(const char *path) {
    struct bytes frame = {NULL, 0, 0}, program = {NULL, 0, 0};
    uint64_t cie = add_cie(&frame, 0);
    for (unsigned char reg = 0; reg < 16; reg++) {
        unsigned char op[2] = {0x10, reg};
        add(&program, op, 2);
        fill(&program, 0x80, 100000);
        fill(&program, 0, 1);
    }
    fill(&program, 0x41, 1000000);
    add_fde(&frame, cie, 0, 1 << 30, program.at, program.nr);
    write_frames(path, &frame);
}

// A row for each two bytes, each other than the one before.
static void make_rows(const char *path) {
    struct bytes frame = {NULL, 0, 0}, program = {NULL, 0, 0};
    uint64_t cie = add_cie(&frame, 0);
    for (unsigned i = 0; i < 40000000; i++) {
        unsigned char row[3] = {0x41, 0x0e, (unsigned char)((i & 7) * 8)};
        add(&program, row, 3);
    }
    add_fde(&frame, cie, 0, UINT32_MAX, program.at, program.nr);
    write_frames(path, &frame);
}

// ---- symbols ----

static void write_symbols(const char *path, uint32_t nr, const char *names, uint64_t names_bytes,
                          uint32_t (*name_of)(uint32_t)) {
    Elf64_Sym *symbols = calloc(nr, sizeof(*symbols));
    if (!symbols)
        fail("memory");
    for (uint32_t i = 1; i < nr; i++)
        symbols[i] = (Elf64_Sym){.st_name = name_of(i),
                                 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                 .st_shndx = 1,
                                 .st_value = i & 2047,
                                 .st_size = 1 << 20};
    const struct section sections[] = {
        {".symtab", SHT_SYMTAB, 0, 0, symbols, nr * sizeof(*symbols), sizeof(*symbols), 2},
        {".strtab", SHT_STRTAB, 0, 0, names, names_bytes, 0, 0}};
    write_elf(path, sections, 2, 0);
}

static uint32_t same_name(uint32_t i) {
    return i % 8 + 1;
}

// Names that have no end, one within the other.
static void make_endless(const char *path) {
    uint64_t nr_bytes = 4 << 20;
    char *names = malloc(nr_bytes);
    if (!names)
        fail("memory");
    memset(names, 'n', nr_bytes);
    names[0] = names[nr_bytes - 1] = 0;
    write_symbols(path, 300000, names, nr_bytes, same_name);
}

static uint32_t first_name(uint32_t i) {
    return i & 1 ? 1 : 8;
}

// A million functions with the name malloc, and as many operators.
static void make_mallocs(const char *path) {
    write_symbols(path, 1000000, "\0malloc\0_Znwm", 14, first_name);
}

// ---- sizes ----

static void make_sparse(const char *path) {
    const struct section section = {".eh_frame", SHT_PROGBITS,        SHF_ALLOC, PAGE,
                                    NULL,        UINT64_C(200) << 30, 0,         0};
    write_elf(path, &section, 1, 0);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*make)(const char *path);
    } kinds[] = {{"parents", make_parents}, {"padding", make_padding}, {"rows", make_rows},
                 {"endless", make_endless}, {"mallocs", make_mallocs}, {"sparse", make_sparse}};
    for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].make(argv[2]);
            return 0;
        }
    fprintf(stderr, "usage: hostile-files KIND PATH\n");
    return 2;
}
