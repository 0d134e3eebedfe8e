// SPDX-License-Identifier: BSD-2-Clause
//
// A file that others can change is read by a worker without rights: it says the same of it as the tool itself
// says of a file of its own, gets no file that is none of its business, and takes nothing with it when it
// dies. Arguments: the directory of the programs.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names/untrusted_symbols.h"
#include "names/untrusted_messages.h"
#include "symbols/reference.h"

static const char *programs;
static char place[] = "/tmp/seep-test-XXXXXX";

// A copy in a folder of its own that everybody may write to.
static char *copy(const char *name, const char *as) {
    char *path = test_format("%s/%s", place, as);
    char *command = test_format("cp '%s/%s' '%s' && chmod 0646 '%s'", programs, name, path, path);
    assert_int_equal(system(command), 0);
    free(command);
    return path;
}

// The other child opens files (confine/opener.h).
static bool is_filtered(unsigned pid) {
    char path[64], line[256];
    bool is = false;
    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof(line), file))
        is |= strncmp(line, "Seccomp:\t2", 10) == 0;
    if (file)
        fclose(file);
    return is;
}

static unsigned pid_of_worker(void) {
    char path[64];
    unsigned pid = 0, child;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fscanf(file, "%u", &child) == 1)
        pid = is_filtered(child) ? child : pid;
    fclose(file);
    return pid;
}

static void same_text(const char *near, const char *far) {
    assert_int_equal(!near, !far);
    if (near)
        assert_string_equal(near, far);
}

// Both know the same module, one in the process and one by a worker.
struct pair {
    struct seep_symbols *near, *far;
    unsigned near_module, far_module;
    size_t nr_names, nr_types;
};

static void compare_symbol(struct pair *pair, uint64_t address) {
    const struct seep_symbol *near, *far;
    check_no_error(seep_symbols_resolve(pair->near, pair->near_module, address, true, &near));
    check_no_error(seep_symbols_resolve(pair->far, pair->far_module, address, true, &far));
    assert_int_equal(near->nr_frames, far->nr_frames);
    for (unsigned i = 0; i < near->nr_frames; i++) {
        const struct seep_symbol_frame *a = &near->frames[i], *b = &far->frames[i];
        same_text(a->function, b->function);
        same_text(a->file, b->file);
        same_text(a->linkage, b->linkage);
        assert_int_equal(a->line, b->line);
        assert_int_equal(a->inlined, b->inlined);
        assert_int_equal(a->function_offset, b->function_offset);
        pair->nr_names += b->function != NULL;
    }
}

// Both types, what they lead to and their members.
static void compare_types(struct pair *pair, const struct seep_type *near, const struct seep_type *far) {
    for (unsigned i = 0; i < 6; i++) {
        const char *near_text, *far_text;
        struct seep_variable near_member, far_member;
        assert_int_equal(!near, !far);
        if (!near)
            return;
        pair->nr_types++;
        assert_true(seep_symbols_types_are_same(far, far));
        assert_false(seep_symbols_types_are_same(near, far));
        check_no_error(seep_symbols_declare(pair->near, near, "it", &near_text));
        check_no_error(seep_symbols_declare(pair->far, far, "it", &far_text));
        same_text(near_text, far_text);
        const struct seep_pointed at_near = {near, 0, 4096, i % 2}, at_far = {far, 0, 4096, i % 2};
        check_no_error(seep_symbols_member(pair->near, &at_near, 8 * i, &near_member));
        check_no_error(seep_symbols_member(pair->far, &at_far, 8 * i, &far_member));
        same_text(near_member.name, far_member.name);
        assert_int_equal(near_member.off, far_member.off);
        check_no_error(seep_symbols_pointee(pair->near, near_member.type ? near_member.type : near, &near));
        check_no_error(seep_symbols_pointee(pair->far, far_member.type ? far_member.type : far, &far));
    }
}

static void compare_variable(struct pair *pair, const struct seep_variable *near,
                             const struct seep_variable *far) {
    same_text(near->name, far->name);
    same_text(near->function, far->function);
    same_text(near->file, far->file);
    assert_int_equal(near->line, far->line);
    assert_int_equal(near->off, far->off);
    compare_types(pair, near->type, far->type);
}

static void compare_global(struct pair *pair, uint64_t address) {
    struct seep_variable near, far;
    const char *near_name, *far_name;
    uint64_t near_off, far_off;
    check_no_error(seep_symbols_variable(pair->near, pair->near_module, address, &near_name, &near_off));
    check_no_error(seep_symbols_variable(pair->far, pair->far_module, address, &far_name, &far_off));
    same_text(near_name, far_name);
    assert_int_equal(near_off, far_off);
    check_no_error(seep_symbols_global(pair->near, pair->near_module, address, address % 16, &near));
    check_no_error(seep_symbols_global(pair->far, pair->far_module, address, address % 16, &far));
    compare_variable(pair, &near, &far);
}

static void compare_frame(struct pair *pair, const struct seep_thread_stack *stack, uint64_t address) {
    struct seep_call_frame near = {.address = address, .known = UINT64_MAX >> 31}, near_caller = {0};
    struct seep_variable near_local, far_local;
    bool near_there, far_there;
    for (unsigned i = 0; i < SEEP_FRAME_REGISTERS; i++)
        near.registers[i] = 0x7000 + 8 * i;
    struct seep_call_frame far = near, far_caller = {0};
    check_no_error(
        seep_symbols_caller(pair->near, pair->near_module, stack, &near, &near_there, &near_caller));
    check_no_error(seep_symbols_caller(pair->far, pair->far_module, stack, &far, &far_there, &far_caller));
    assert_int_equal(near_there, far_there);
    assert_int_equal(near.cfa, far.cfa);
    if (near_there) {
        assert_int_equal(near_caller.pc, far_caller.pc);
        assert_int_equal(near_caller.exact, far_caller.exact);
        assert_int_equal(near_caller.known, far_caller.known);
        assert_memory_equal(near_caller.registers, far_caller.registers, sizeof(near_caller.registers));
        assert_memory_equal(near_caller.saved_at, far_caller.saved_at, sizeof(near_caller.saved_at));
    }
    for (uint64_t word = 0x7000; word < 0x7080; word += 24) {
        check_no_error(seep_symbols_local(pair->near, pair->near_module, &near, stack, word, 0, &near_local));
        check_no_error(seep_symbols_local(pair->far, pair->far_module, &far, stack, word, 0, &far_local));
        compare_variable(pair, &near_local, &far_local);
    }
}

static void compare_texts(struct pair *pair) {
    static const char *const functions[] = {"main", "exported_one", "_start", "none"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(functions); i++) {
        bool near_found, far_found;
        const char *near_text, *far_text;
        check_no_error(
            seep_symbols_returned_text(pair->near, pair->near_module, functions[i], &near_found, &near_text));
        check_no_error(
            seep_symbols_returned_text(pair->far, pair->far_module, functions[i], &far_found, &far_text));
        assert_int_equal(near_found, far_found);
        same_text(near_text, far_text);
    }
}

// Returns how many types were compared.
static size_t compare(const char *name) {
    char *near = test_format("%s/%s", programs, name), *far = copy(name, name);
    struct pair pair = {.near = test_open_symbols(NULL, NULL), .far = test_open_symbols(NULL, NULL)};
    uint64_t words[64], *addresses;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(words); i++)
        words[i] = 0x1000 + i;
    const struct seep_thread_stack stack = {0x7000, (const uint8_t *)words, sizeof(words)};
    pair.near_module = test_module_of(pair.near, near);
    pair.far_module = test_module_of(pair.far, far);
    size_t nr = reference_addresses(near, 300, &addresses);
    assert_true(nr > 20);
    for (size_t i = 0; i < nr; i++)
        compare_symbol(&pair, addresses[i]);
    assert_int_equal(seep_symbols_quality(pair.near, pair.near_module),
                     seep_symbols_quality(pair.far, pair.far_module));
    assert_null(seep_symbols_trouble(pair.far, pair.far_module));
    assert_true(pair.nr_names > 10);
    assert_true(pid_of_worker() != 0);
    for (size_t i = 0; i < nr; i += 7)
        compare_frame(&pair, &stack, addresses[i]);
    for (uint64_t address = 0x3d00; address < 0x4200; address += 24) {
        compare_global(&pair, address);
        compare_global(&pair, address + 0x400000);
    }
    compare_texts(&pair);
    seep_symbols_close_files(pair.far);
    compare_symbol(&pair, addresses[0]);
    seep_symbols_destroy(pair.near);
    seep_symbols_destroy(pair.far);
    assert_int_equal(pid_of_worker(), 0);
    assert_int_equal(unlink(far), 0);
    free(addresses);
    free(near);
    free(far);
    return pair.nr_types;
}

static void test_says_the_same(void **state) {
    size_t nr_types = 0;
    static const char *const names[] = {"c_dwarf5", "c_typed", "c_locals", "cxx_dwarf5", "s_mini", "c_split"};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++)
        if (!test_is_missing(programs, names[i], "see make_programs.sh"))
            nr_types += compare(names[i]);
    assert_true(nr_types > 100);
}

// Separate debug information: by the name beside the file, and by build-id.
static void test_finds_debug_files(void **state) {
    static const char *const names[] = {"s_crc", "s_by_id"};
    char *debug_dir = test_format("%s/debug", programs), *beside = copy("s_crc.debug", "s_crc.debug");
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(names); i++) {
        char *path = copy(names[i], names[i]);
        struct seep_symbols *symbols = test_open_symbols(debug_dir, NULL);
        const struct seep_symbol *symbol;
        unsigned module = test_module_of(symbols, path);
        check_no_error(seep_symbols_resolve(symbols, module, 0x1200, true, &symbol));
        assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DEBUG);
        seep_symbols_destroy(symbols);
        unlink(path);
        free(path);
    }
    unlink(beside);
    free(beside);
    free(debug_dir);
}

static unsigned nr_inlined(const char *program, const uint64_t *addresses, size_t nr) {
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned module = test_module_of(symbols, program), nr_found = 0;
    for (size_t i = 0; i < nr; i++) {
        const struct seep_symbol *symbol;
        check_no_error(seep_symbols_resolve(symbols, module, addresses[i], true, &symbol));
        nr_found += symbol->nr_frames - 1;
    }
    assert_int_equal(seep_symbols_quality(symbols, module), SEEP_SYMBOLS_DEBUG);
    assert_true(pid_of_worker() != 0);
    seep_symbols_destroy(symbols);
    return nr_found;
}

// A program of our own whose .dwo file would lie where anybody may put one: the reader opens it, and waits for
// nothing that is no regular file.
static void test_a_split_file_of_anybody(void **state) {
    char *program = test_format("%s/c_split_away", programs),
         *split = test_format("%s/c_split_away.dwo", programs),
         *noted = test_format("%s/split_away", programs), folder[128] = "";
    FILE *file = fopen(noted, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%127s", folder), 1);
    fclose(file);
    char *path = test_format("%s/c_split_away.dwo", folder),
         *copied = test_format("cp '%s' '%s'", split, path);
    uint64_t *addresses;
    size_t nr = reference_addresses(program, 300, &addresses);
    alarm(60);
    assert_int_equal(nr_inlined(program, addresses, nr), 0); // nothing is there
    assert_int_equal(mkdir(folder, 0777), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(mkfifo(path, 0666), 0);
    assert_int_equal(nr_inlined(program, addresses, nr), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(system(copied), 0);
    assert_true(nr_inlined(program, addresses, nr) > 20);
    alarm(0);
    unlink(path);
    rmdir(folder);
    free(addresses);
    free(path);
    free(copied);
    free(noted);
    free(split);
    free(program);
}

static void test_a_dead_reader_costs_one_module(void **state) {
    char *one = copy("c_dwarf5", "one"), *two = copy("c_dwarf4", "two");
    struct seep_symbols *symbols = test_open_symbols(NULL, NULL);
    unsigned first = test_module_of(symbols, one), second = test_module_of(symbols, two);
    const struct seep_symbol *symbol;
    check_no_error(seep_symbols_resolve(symbols, first, 0x1200, true, &symbol));
    unsigned worker = pid_of_worker();
    assert_true(worker != 0);
    assert_int_equal(kill((pid_t)worker, SIGKILL), 0);
    check_no_error(seep_symbols_resolve(symbols, first, 0x1210, true, &symbol));
    assert_null(symbol->frames[0].function);
    assert_int_equal(seep_symbols_quality(symbols, first), SEEP_SYMBOLS_NONE);
    assert_string_equal(seep_symbols_trouble(symbols, first), "its reader died of it");
    check_no_error(seep_symbols_resolve(symbols, second, 0x1200, true, &symbol));
    assert_int_equal(seep_symbols_quality(symbols, second), SEEP_SYMBOLS_DEBUG);
    assert_true(pid_of_worker() != worker);
    seep_symbols_destroy(symbols);
    unlink(one);
    unlink(two);
    free(one);
    free(two);
}

// ---- what a worker that lies may wish ----

static int wish(struct seep_untrusted_symbols *far, const char *path) {
    struct seep_put words = {NULL}, reply = {NULL};
    seep_put_leb(&words, SEEP_UNTRUSTED_FILE);
    seep_put_leb(&words, true);
    seep_put_text(&words, path);
    struct seep_take take = seep_take_of(&words);
    int fd = seep_untrusted_give(far, &take, &reply);
    seep_put_deinit(&words);
    seep_put_deinit(&reply);
    return fd;
}

static bool gets(struct seep_untrusted_symbols *far, const char *path) {
    int fd = wish(far, path);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static void make(const char *path, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(chmod(path, mode), 0);
}

static void test_gets_no_secrets(void **state) {
    char *own = copy("c_dwarf5", "own"), *beside = test_format("%s/own.debug", place),
         *secret = test_format("%s/secret", place), *up = test_format("%s/../etc/hostname", place),
         *link = test_format("%s/link", place), *fifo = test_format("%s/fifo", place);
    struct seep_file_search search;
    struct seep_names names = SEEP_NAMES_INIT;
    struct seep_untrusted_symbols *far;
    const struct seep_symbol *symbol;
    check_no_error(seep_file_search_init(&search, NULL, NULL, NULL));
    search.server.off = true;
    check_no_error(seep_untrusted_symbols_create(&search, &names, &far));
    struct seep_untrusted_module module = {.path = own};
    check_no_error(seep_untrusted_resolve(far, &module, 0x1200, true, &symbol));
    assert_false(module.is_lost);
    make(beside, 0644);
    make(secret, 0600);
    assert_int_equal(symlink("/etc/hostname", link), 0);
    assert_int_equal(mkfifo(fifo, 0666), 0);
    assert_true(gets(far, own));
    assert_true(gets(far, beside));
    assert_false(gets(far, up));
    assert_false(gets(far, "/etc/passwd"));
    assert_false(gets(far, "/usr/lib/debug/../../../etc/passwd"));
    assert_false(gets(far, "relative"));
    assert_false(gets(far, fifo));
    assert_false(gets(far, link));
    assert_false(gets(far, "/etc/hostname.dwo/../hostname"));
    // What the user keeps from others is that user's: only root's tool must keep it back.
    if (geteuid() == 0) {
        assert_int_equal(chown(own, 12345, 12345), 0);
        assert_false(gets(far, secret));
        assert_true(gets(far, own));
        assert_false(gets(far, secret));
        assert_int_equal(chown(secret, 12345, 12345), 0);
        assert_true(gets(far, secret));
    } else {
        print_message("not root: a file cannot be kept from the worker\n");
    }
    seep_untrusted_symbols_destroy(far);
    seep_names_deinit(&names);
    seep_file_search_deinit(&search);
    const char *made[] = {own, beside, secret, link, fifo};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(made); i++)
        unlink(made[i]);
    free(own);
    free(beside);
    free(secret);
    free(up);
    free(link);
    free(fifo);
}

int main(int argc, char **argv) {
    assert_int_equal(argc, 2);
    programs = argv[1];
    if (!mkdtemp(place) || chmod(place, 0755) != 0)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_says_the_same),           cmocka_unit_test(test_finds_debug_files),
        cmocka_unit_test(test_a_split_file_of_anybody), cmocka_unit_test(test_a_dead_reader_costs_one_module),
        cmocka_unit_test(test_gets_no_secrets),
    };
    int nr_failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(place) != 0 && !nr_failed ? 1 : nr_failed;
}
