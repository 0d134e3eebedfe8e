// SPDX-License-Identifier: BSD-2-Clause
//
// Functions, files, lines and inlined frames, compared with addr2line at every instruction of
// programs that make_programs.sh compiled; and every place where debug information may lie.
// Arguments: the directory of those programs.
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names/module_file.h"
#include "symbols/reference.h"

// How many addresses of this program and of libc are compared.
#ifdef LINES_KEPT_MAX // each time that libdw starts afresh, it decodes again
enum { OWN_MAX = 1500, LIBC_MAX = 2500 };
#else
enum { OWN_MAX = 5000, LIBC_MAX = 10000 };
#endif

static const char *programs;

static char *program(const char *name) {
    return test_format("%s/%s", programs, name);
}

static const struct seep_symbol *resolve(struct seep_symbols *symbols, unsigned module, uint64_t address) {
    const struct seep_symbol *symbol;
    check_no_error(seep_symbols_resolve(symbols, module, address, true, &symbol));
    assert_true(symbol->nr_frames >= 1);
    for (unsigned i = 0; i < symbol->nr_frames; i++)
        assert_int_equal(symbol->frames[i].inlined, i + 1 < symbol->nr_frames);
    return symbol;
}

// ---- against other tools ----

enum { LINES = 1, NAMES = 2, FILES = 4 };

static bool same_text(const char *ours, const char *theirs) {
    return ours ? !strcmp(ours, theirs) : !strcmp(theirs, "??");
}

static bool same_frame(const struct seep_symbol_frame *ours, const struct reference_frame *theirs, int what) {
    char real[4096];
    const char *file = ours->file && realpath(ours->file, real) ? real : ours->file;
    return (!(what & LINES) || ours->line == theirs->line) &&
           (!(what & FILES) || same_text(file, theirs->file)) &&
           (!(what & NAMES) || same_text(ours->function, theirs->function));
}

static void describe(const char *path, const struct seep_symbol *symbol, const struct reference *reference) {
    print_message("%s 0x%llx\n", path, (unsigned long long)reference->address);
    for (unsigned i = 0; i < symbol->nr_frames; i++)
        print_message("  ours   %s %s:%u\n", symbol->frames[i].function, symbol->frames[i].file,
                      symbol->frames[i].line);
    for (unsigned i = 0; i < reference->nr_frames; i++)
        print_message("  theirs %s %s:%u\n", reference->frames[i].function, reference->frames[i].file,
                      reference->frames[i].line);
}

// Looks `path` up and asks `tool` about `asked` (the file with the debug information). Returns how
// many addresses were compared: those where the tool knows the source. `allowed` is how many may
// differ because the tool is known to be wrong there.
static size_t compare(const char *tool, const char *path, const char *asked, int what, size_t max,
                      size_t allowed) {
    uint64_t *addresses;
    size_t nr = reference_addresses(path, max, &addresses), nr_compared = 0, nr_wrong = 0;
    struct reference *references = reference_ask(tool, asked, addresses, nr);
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, path);
    for (size_t i = 0; i < nr; i++) {
        const struct seep_symbol *symbol = resolve(symbols, module, addresses[i]);
        const struct reference *reference = &references[i];
        if (!reference->has_source)
            continue;
        nr_compared++;
        bool same = symbol->nr_frames == reference->nr_frames;
        for (unsigned f = 0; same && f < symbol->nr_frames; f++)
            same = same_frame(&symbol->frames[f], &reference->frames[f], what);
        if (!same && ++nr_wrong > allowed)
            describe(path, symbol, reference);
    }
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DEBUG);
    assert_null(seep_symbols_trouble(symbols, module));
    if (nr_wrong > allowed)
        fail_msg("%s: %zu of %zu addresses differ from %s", path, nr_wrong, nr_compared, tool);
    print_message("%s: %zu addresses as %s says\n", path, nr_compared, tool);
    reference_free(references, nr);
    free(addresses);
    seep_symbols_destroy(symbols);
    return nr_compared;
}

static void test_as_binutils(void **state) {
    const struct {
        const char *name;
        size_t at_least;
    } cases[] = {
        {"c_dwarf5", 100}, {"c_dwarf4", 100}, {"c_packed", 100}, {"c_fixed", 100}, {"cxx_plain4", 500}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        char *path = program(cases[i].name);
        assert_true(compare("addr2line", path, path, LINES | NAMES | FILES, 4000, 0) >= cases[i].at_least);
        free(path);
    }
    if (!test_is_missing(programs, "clang_dwarf4", "no clang")) {
        char *path = program("clang_dwarf4");
        assert_true(compare("addr2line", path, path, LINES | NAMES | FILES, 4000, 0) >= 100);
        free(path);
    }
}

static const char *llvm_tool(void) {
    const char *tool = reference_has_tool("llvm-addr2line") ? "llvm-addr2line" : "llvm-addr2line-14";
    if (!reference_has_tool(tool)) {
        print_message("skipped: neither llvm-addr2line nor llvm-addr2line-14 is installed\n");
        skip();
    }
    return tool;
}

// binutils 2.40 does not read all that GCC 12 and clang 14 write as DWARF 5 for C++; LLVM does, but
// names the last function by the symbol table, and lambdas in its own words.
static void test_as_llvm(void **state) {
    const char *tool = llvm_tool();
    const char *names[] = {"c_dwarf5", "c_split", "cxx_dwarf5",  "cxx_plain4",
                           "cxx_lto",  "clangxx", "clang_lines", "clang_dwarf4"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        if (test_is_missing(programs, names[i], "no clang, or it or GCC cannot"))
            continue;
        char *path = program(names[i]);
        assert_true(compare(tool, path, path, LINES | FILES, 4000, 0) >= 100);
        free(path);
    }
}

static void test_own_binary(void **state) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    assert_true(length > 0);
    path[length] = '\0';
    // binutils misreads inlined functions that clang writes as DWARF 5.
#ifdef __clang__
    const char *tool = llvm_tool();
#else
    const char *tool = "addr2line";
#endif
    // Behind a last call that does not return, addr2line goes on with the function before (clang 19).
    assert_true(compare(tool, path, path, LINES | NAMES | FILES, OWN_MAX, 40) >= OWN_MAX / 10);
}

extern char _init[], __executable_start[];

// A return address that is a function's first: nothing called from there. Before _init there is none.
static void test_returned_to_at_its_start(void **state) {
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, "/proc/self/exe");
    bool is_moved = ((const ElfW(Ehdr) *)(const void *)__executable_start)->e_type == ET_DYN;
    uint64_t offset = (uint64_t)(uintptr_t)_init - (is_moved ? (uint64_t)(uintptr_t)__executable_start : 0);
    const struct seep_symbol *symbol;
    check_no_error(seep_symbols_resolve(symbols, module, offset, false, &symbol));
    assert_string_equal(symbol->frames[0].function, "_init");
    check_no_error(seep_symbols_resolve(symbols, module, offset - 8, false, &symbol));
    assert_null(symbol->frames[0].function);
    seep_symbols_destroy(symbols);
}

// The C library with its separate debug file, found by build-id. binutils 2.40 is wrong about the
// file and the line of cold parts there, and says __GI_malloc for malloc: LLVM is asked.
static void test_libc(void **state) {
    const char *path = "/lib/x86_64-linux-gnu/libc.so.6";
    const char *tool = reference_has_tool("llvm-addr2line") ? "llvm-addr2line" : "llvm-addr2line-14";
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, path);
    resolve(symbols, module, 0x26000);
    bool has_debug = seep_symbols_quality(symbols, module) == SEEP_SYMBOLS_DEBUG;
    seep_symbols_destroy(symbols);
    if (!has_debug || !reference_has_tool(tool)) {
        print_message("skipped: %s\n",
                      has_debug ? "no llvm-addr2line" : "no debug information of libc.so.6 (libc6-dbg)");
        skip();
    }
    assert_true(compare(tool, path, path, LINES, LIBC_MAX, 0) >= LIBC_MAX / 10);
}

// Two programs with the same code, whose debug information is packed in two ways.
static void compare_pair(const char *name_a, const char *name_b, size_t at_least) {
    char *a = program(name_a), *b = program(name_b);
    uint64_t *addresses;
    size_t nr = reference_addresses(a, 4000, &addresses), nr_lines = 0;
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module_a = test_module_of(symbols, a), module_b = test_module_of(symbols, b);
    for (size_t i = 0; i < nr; i++) {
        const struct seep_symbol *of_a = resolve(symbols, module_a, addresses[i]);
        const struct seep_symbol *of_b = resolve(symbols, module_b, addresses[i]);
        assert_int_equal(of_a->nr_frames, of_b->nr_frames);
        for (unsigned f = 0; f < of_a->nr_frames; f++) {
            // Texts are kept once: the same text is the same address.
            assert_ptr_equal(of_a->frames[f].function, of_b->frames[f].function);
            assert_ptr_equal(of_a->frames[f].file, of_b->frames[f].file);
            assert_int_equal(of_a->frames[f].line, of_b->frames[f].line);
            nr_lines += of_a->frames[f].line > 0;
        }
    }
    assert_int_equal(seep_symbols_quality(symbols, module_a), SEEP_SYMBOLS_DEBUG);
    assert_int_equal(seep_symbols_quality(symbols, module_b), SEEP_SYMBOLS_DEBUG);
    assert_true(nr_lines >= at_least);
    seep_symbols_destroy(symbols);
    free(addresses);
    free(a);
    free(b);
}

static void test_split(void **state) {
    compare_pair("c_dwarf5", "c_split", 100);
}

static void test_dwz(void **state) {
    if (test_is_missing(programs, "z_one", "no dwz"))
        skip();
    compare_pair("cxx_dwarf5", "z_one", 500);
}

// ---- an inlined chain, word by word ----

static void test_inlined_chain(void **state) {
    char *path = program("c_dwarf5");
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, path);
    uint64_t *addresses, start = reference_symbol("", path, "exported_one");
    size_t nr = reference_addresses(path, 4000, &addresses), nr_deep = 0;
    for (size_t i = 0; i < nr; i++) {
        const struct seep_symbol *symbol = resolve(symbols, module, addresses[i]);
        if (symbol->nr_frames != 3 || strcmp(symbol->frames[0].function, "header_inline") != 0)
            continue;
        nr_deep++;
        assert_string_equal(symbol->frames[1].function, "twice_square");
        assert_string_equal(symbol->frames[2].function, "exported_one");
        assert_non_null(strstr(symbol->frames[0].file, "/include/inlined.h"));
        assert_non_null(strstr(symbol->frames[1].file, "/inlined.c"));
        assert_int_equal(symbol->frames[0].file[0], '/');
        assert_int_equal(symbol->frames[1].line, 18);
        assert_int_equal(symbol->frames[2].line, 24);
        assert_int_equal(symbol->frames[2].function_offset, addresses[i] - start);

        // The same place as a return address: one further, and not exact.
        const struct seep_symbol *call;
        check_no_error(seep_symbols_resolve(symbols, module, addresses[i] + 1, false, &call));
        assert_int_equal(call->nr_frames, 3);
        assert_int_equal(call->frames[0].line, symbol->frames[0].line);
        assert_int_equal(call->frames[2].function_offset, addresses[i] + 1 - start);
    }
    assert_true(nr_deep > 3);
    free(addresses);
    seep_symbols_destroy(symbols);
    free(path);
}

// GCC gives most lambdas, and functions in an anonymous namespace, no linkage name: the entries around them have
// their scopes.
static void test_scopes_of_inlined(void **state) {
    static const struct {
        const char *first, *last;
    } expected[] = {{"shapes::total(std::", "const&)::{lambda}::operator()"},
                    {"shapes::total(std::", "const&)::{lambda}::operator()::{lambda}::operator()"},
                    {"shapes::", "(anonymous namespace)::quick"}};
    size_t nr_found[SEEP_ARRAY_SIZE(expected)] = {0};
    char *path = program("cxx_dwarf5");
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, path);
    uint64_t *addresses;
    size_t nr = reference_addresses(path, 4000, &addresses);
    for (size_t i = 0; i < nr; i++) {
        const struct seep_symbol *symbol = resolve(symbols, module, addresses[i]);
        for (unsigned f = 0; f + 1 < symbol->nr_frames; f++) {
            const char *name = symbol->frames[f].function;
            assert_string_not_equal(name, "operator()");
            for (size_t e = 0; e < SEEP_ARRAY_SIZE(expected); e++) {
                const char *last = strstr(name, expected[e].last);
                if (strncmp(name, expected[e].first, strlen(expected[e].first)) != 0 || !last ||
                    strcmp(last, expected[e].last) != 0)
                    continue;
                nr_found[e]++;
                // Suppressions of other tools have its name without scopes.
                assert_string_equal(symbol->frames[f].linkage, strrchr(name, ':') + 1);
            }
        }
    }
    for (size_t e = 0; e < SEEP_ARRAY_SIZE(expected); e++)
        if (!nr_found[e])
            fail_msg("no inlined function is named %s...%s", expected[e].first, expected[e].last);
    free(addresses);
    seep_symbols_destroy(symbols);
    free(path);
}

// ---- where the debug information lies ----

// The function of `name`'s symbol `function`, whose address `from` knows.
static void expect_found(const char *name, const char *debug_dir, const char *from, const char *function,
                         enum seep_symbols_quality quality) {
    char *path = program(name), *known = program(from);
    struct seep_symbols *symbols = test_open_symbols(debug_dir, NULL);
    unsigned module = test_module_of(symbols, path);
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_NONE);
    const struct seep_symbol *symbol = resolve(symbols, module, reference_symbol("", known, function));
    print_message("%s: quality %d\n", name, seep_symbols_quality(symbols, module));
    assert_int_equal(seep_symbols_quality(symbols, module), quality);
    assert_string_equal(symbol->frames[symbol->nr_frames - 1].function, function);
    if (quality == SEEP_SYMBOLS_DEBUG)
        assert_non_null(strstr(symbol->frames[0].file, "/inlined.c"));
    seep_symbols_destroy(symbols);
    free(path);
    free(known);
}

static void test_separate_files(void **state) {
    char *debug_dir = program("debug");
    char *mirrored = test_format("debug%s/s_mirror.debug", programs);
    expect_found("s_link", NULL, ".debug/s_link.debug", "hidden_two", SEEP_SYMBOLS_DEBUG);
    expect_found("s_crc", NULL, "s_crc.debug", "hidden_two", SEEP_SYMBOLS_DEBUG);
    expect_found("s_by_id", debug_dir, "debug/.build-id/11/22334455667788990011223344556677889900.debug",
                 "hidden_two", SEEP_SYMBOLS_DEBUG);
    expect_found("s_mirror", debug_dir, mirrored, "hidden_two", SEEP_SYMBOLS_DEBUG);
    // The user names the folder; a relative name is ignored.
    setenv("SEEP_DEBUG_DIR", debug_dir, 1);
    expect_found("s_mirror", NULL, mirrored, "hidden_two", SEEP_SYMBOLS_DEBUG);
    setenv("SEEP_DEBUG_DIR", "debug", 1);
    assert_null(seep_debug_dir_of_user());
    unsetenv("SEEP_DEBUG_DIR");
    free(mirrored);
    free(debug_dir);
}

#define ANOTHER_BUILD "file is another build"
#define OF_THE_KERNEL "mapped by the kernel, not from a file"
#define NO_SYMBOLS    "file has no symbols"
#define NOT_REGULAR   "not a regular file"

static void expect_trouble(const char *path, const uint8_t *build_id, size_t nr_bytes, const char *trouble) {
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module;
    check_no_error(seep_symbols_module(symbols, path, build_id, nr_bytes, &module));
    assert_null(seep_symbols_trouble(symbols, module));
    const struct seep_symbol *symbol = resolve(symbols, module, 0x1234);
    assert_int_equal(symbol->nr_frames, 1);
    assert_null(symbol->frames[0].function);
    assert_null(symbol->frames[0].file);
    assert_int_equal(symbol->frames[0].line, 0);
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_NONE);
    assert_string_equal(seep_symbols_trouble(symbols, module), trouble);
    seep_symbols_destroy(symbols);
}

static void test_trouble(void **state) {
    char *good = program("c_dwarf5"), *nothing = program("c_nothing"), *bad_crc = program("s_bad_crc");
    char *script = program("stamp"), *fifo = program("fifo"), *deleted = test_format("%s (deleted)", good);
    char *text = test_format("%s/sources/inlined.c", programs);
    assert_true(mkfifo(fifo, 0600) == 0 || access(fifo, F_OK) == 0);
    const uint8_t other_id[20] = {1, 2, 3};
    expect_trouble("/nowhere/at/all", NULL, 0, "file is gone");
    expect_trouble(good, other_id, sizeof(other_id), ANOTHER_BUILD);
    expect_trouble(deleted, NULL, 0, "file was deleted while it was in use");
    expect_trouble(deleted, other_id, sizeof(other_id), ANOTHER_BUILD);
    expect_trouble("[vdso]", NULL, 0, OF_THE_KERNEL);
    expect_trouble("", NULL, 0, OF_THE_KERNEL);
    expect_trouble(nothing, NULL, 0, NO_SYMBOLS);
    expect_trouble(bad_crc, NULL, 0, NO_SYMBOLS);
    expect_trouble(fifo, NULL, 0, NOT_REGULAR);
    expect_trouble("/dev/zero", NULL, 0, NOT_REGULAR);
    expect_trouble(programs, NULL, 0, NOT_REGULAR);
    expect_trouble(script, NULL, 0, "file is empty or not to be read");
    expect_trouble(text, NULL, 0, "not an ELF program or library");
    assert_int_equal(unlink(fifo), 0);
    free(good);
    free(nothing);
    free(bad_crc);
    free(script);
    free(fifo);
    free(deleted);
    free(text);
}

// A file that was deleted and put back is used if it is the same build.
static void test_deleted_but_back(void **state) {
    char *path = program("s_by_id"), *deleted = test_format("%s (deleted)", path),
         *debug_dir = program("debug");
    const uint8_t id[20] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0x00,
                            0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0x00};
    const char *known = "debug/.build-id/11/22334455667788990011223344556677889900.debug";
    char *known_path = program(known);
    uint64_t address = reference_symbol("", known_path, "hidden_two");
    // And one that is gone for good is known by its build-id alone.
    const char *paths[] = {path, deleted, "/nowhere/at/all", "[vdso]"};
    struct seep_symbols *symbols = test_open_symbols(debug_dir, NULL);
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(paths); i++) {
        unsigned module;
        check_no_error(seep_symbols_module(symbols, paths[i], id, sizeof(id), &module));
        assert_int_equal(module, i);
        assert_string_equal(resolve(symbols, module, address)->frames[0].function, "hidden_two");
        assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DEBUG);
    }
    seep_symbols_destroy(symbols);
    free(path);
    free(deleted);
    free(debug_dir);
    free(known_path);
}

// ---- symbol tables ----

static void test_tables(void **state) {
    expect_found("c_table", NULL, "c_table", "hidden_two", SEEP_SYMBOLS_TABLE);
    char *lib = program("c_lib.so");
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, lib);
    uint64_t start = reference_symbol("-D", lib, "exported_one");
    const struct seep_symbol *symbol = resolve(symbols, module, start + 5);
    assert_string_equal(symbol->frames[0].function, "exported_one");
    assert_int_equal(symbol->frames[0].function_offset, 5);
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DYNAMIC);
    seep_symbols_destroy(symbols);
    free(lib);
    if (test_is_missing(programs, "s_mini", "no xz"))
        return;
    expect_found("s_mini", NULL, "c_table", "exported_one", SEEP_SYMBOLS_TABLE);
}

static void test_mini(void **state) {
    if (test_is_missing(programs, "s_mini", "no xz"))
        skip();
    // Not exported, so only .gnu_debugdata has it.
    expect_found("s_mini", NULL, "mini.full", "hidden_two", SEEP_SYMBOLS_TABLE);
}

static void expect_name(struct seep_symbols *symbols, unsigned module, uint64_t address, const char *function,
                        uint64_t offset) {
    const struct seep_symbol *symbol = resolve(symbols, module, address);
    if (!function) {
        assert_null(symbol->frames[0].function);
        return;
    }
    assert_non_null(symbol->frames[0].function);
    assert_string_equal(symbol->frames[0].function, function);
    assert_int_equal(symbol->frames[0].function_offset, offset);
}

static void test_labels(void **state) {
    const char *names[] = {"labels.so", "labels_lines.so"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        char *path = program(names[i]);
        struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
        unsigned module = test_module_of(symbols, path);
        uint64_t start = reference_symbol("", path, "sized_function");
        expect_name(symbols, module, start - 1, NULL, 0);
        expect_name(symbols, module, start + 15, "sized_function", 15);
        expect_name(symbols, module, start + 16, NULL, 0); // data that lies in code
        expect_name(symbols, module, start + 32, "unsized_label", 0);
        expect_name(symbols, module, start + 63, "unsized_label", 31);
        expect_name(symbols, module, start + 96, NULL, 0);
        bool has_lines = i == 1;
        if (!has_lines) { // else the assembler says which: it describes each alias
            expect_name(symbols, module, start + 64, "alias_global", 0);
            expect_name(symbols, module, start + 95, "alias_global", 31);
        }
        assert_int_equal(seep_symbols_quality(symbols, module),
                         has_lines ? SEEP_SYMBOLS_DEBUG : SEEP_SYMBOLS_TABLE);
        if (has_lines) {
            const struct seep_symbol_frame *frame = resolve(symbols, module, start)->frames;
            assert_non_null(strstr(frame->file, "/labels.S"));
            assert_true(frame->line >= 7 && frame->line <= 11);
        }
        seep_symbols_destroy(symbols);
        free(path);
    }
}

// The stubs of imported functions have no names.
static void test_plt(void **state) {
    char *path = program("c_table");
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, path);
    char *command = test_format("objdump -h -w '%s'", path);
    FILE *pipe = popen(command, "re");
    assert_non_null(pipe);
    char line[512];
    unsigned long long size, start = 0;
    while (fgets(line, sizeof(line), pipe))
        if (strstr(line, " .plt ") && sscanf(line, "%*d .plt %llx %llx", &size, &start) != 2)
            start = 0;
    assert_int_equal(pclose(pipe), 0);
    assert_true(start > 0);
    expect_name(symbols, module, start + 16, NULL, 0);
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_TABLE);
    seep_symbols_destroy(symbols);
    free(command);
    free(path);
}

// ---- the interface ----

static void test_sysroot(void **state) {
    char *root = program("root"), *path = program("c_dwarf5");
    uint64_t address = reference_symbol("", path, "exported_keep");
    struct seep_symbols *symbols = test_open_symbols(NULL, root);
    unsigned module = test_module_of(symbols, "/opt/prog");
    assert_string_equal(resolve(symbols, module, address)->frames[0].function, "exported_keep");
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DEBUG);
    unsigned outside = test_module_of(symbols, path);
    expect_name(symbols, outside, address, NULL, 0);
    seep_symbols_destroy(symbols);

    struct seep_symbols_options options = {.sysroot = "/nowhere/at/all"};
    struct seep_error *error = seep_symbols_create(&options, &symbols);
    assert_non_null(error);
    assert_int_equal(error->code, SEEP_E_NOT_FOUND);
    assert_non_null(error->hint);
    seep_error_destroy(error);
    free(root);
    free(path);
}

static void test_kept(void **state) {
    char *path = program("cxx_dwarf5");
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, path);
    assert_int_equal(test_module_of(symbols, path), module);
    unsigned other;
    check_no_error(seep_symbols_module(symbols, path, (const uint8_t *)"id", 2, &other));
    assert_int_not_equal(other, module);
    uint64_t address = reference_symbol("", path, "plain_c_name");
    const struct seep_symbol *first = resolve(symbols, module, address);
    assert_ptr_equal(resolve(symbols, module, address), first);
    const struct seep_symbol *untouched = first;
    struct seep_error *error = seep_symbols_resolve(symbols, 77, address, true, &untouched);
    assert_non_null(error);
    assert_ptr_equal(untouched, first);
    seep_error_destroy(error);
    // Offsets no code can have.
    resolve(symbols, module, 0);
    resolve(symbols, module, UINT64_MAX);
    check_no_error(seep_symbols_resolve(symbols, module, 0, false, &first));
    assert_null(first->frames[0].function);
    seep_symbols_destroy(symbols);
    seep_symbols_destroy(NULL);
    free(path);
}

static void expect_variable(struct seep_symbols *symbols, unsigned module, uint64_t address,
                            const char *expected) {
    const char *name;
    uint64_t off;
    check_no_error(seep_symbols_variable(symbols, module, address + 3, &name, &off));
    if (!expected) {
        assert_null(name);
        return;
    }
    assert_string_equal(name, expected);
    assert_int_equal(off, 3);
}

// What has a build-id is asked no more once its file was closed: not even when it is gone. Else it is
// read again.
static void test_closed(void **state) {
    for (int with_id = 0; with_id <= 1; with_id++) {
        char *original = program("c_typed"), *path = test_format("%s/closed_%d", programs, with_id);
        char *copy = test_format("cp '%s' '%s'", original, path);
        assert_int_equal(system(copy), 0);
        uint64_t address = reference_symbol("", path, "config");
        uint8_t id[64];
        size_t nr_bytes = with_id ? reference_build_id(path, id, sizeof(id)) : 0;
        struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
        unsigned module;
        check_no_error(seep_symbols_module(symbols, path, id, nr_bytes, &module));
        expect_variable(symbols, module, address, "config");
        for (int i = 0; i < 2; i++) {
            seep_symbols_close_files(symbols);
            expect_variable(symbols, module, address, with_id ? "" : "config");
        }
        seep_symbols_close_files(symbols);
        assert_int_equal(unlink(path), 0);
        expect_variable(symbols, module, address, with_id ? "" : NULL);
        expect_variable(symbols, module, 0, NULL);
        assert_null(resolve(symbols, module, 0x1234)->frames[0].function);
        seep_symbols_destroy(symbols);
        free(original);
        free(path);
        free(copy);
    }
}

static void test_no_demangle(void **state) {
    char *path = program("cxx_plain4");
    const char *mangled = "_ZNK6shapes6Square4areaEi";
    uint64_t address = reference_symbol("", path, mangled);
    for (int raw = 0; raw <= 1; raw++) {
        struct seep_symbols_options options = {.no_demangle = raw, .no_debuginfod = true};
        struct seep_symbols *symbols;
        check_no_error(seep_symbols_create(&options, &symbols));
        const char *function = resolve(symbols, test_module_of(symbols, path), address)->frames[0].function;
        assert_string_equal(function, raw ? mangled : "shapes::Square::area(int) const");
        seep_symbols_destroy(symbols);
    }
    free(path);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIRECTORY_OF_PROGRAMS\n", argv[0]);
        return 2;
    }
    programs = realpath(argv[1], NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_binutils),
        cmocka_unit_test(test_as_llvm),
        cmocka_unit_test(test_returned_to_at_its_start),
        cmocka_unit_test(test_own_binary),
        cmocka_unit_test(test_libc),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_dwz),
        cmocka_unit_test(test_inlined_chain),
        cmocka_unit_test(test_scopes_of_inlined),
        cmocka_unit_test(test_separate_files),
        cmocka_unit_test(test_trouble),
        cmocka_unit_test(test_deleted_but_back),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_mini),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_plt),
        cmocka_unit_test(test_sysroot),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_closed),
        cmocka_unit_test(test_no_demangle),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free((char *)programs);
    return failed;
}
