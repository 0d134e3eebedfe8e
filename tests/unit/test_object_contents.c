// SPDX-License-Identifier: BSD-2-Clause
//
// A file that others can change is read by a worker, which says of it what the tool says of one of its own.
// Arguments: files; `-w FOLDER` before them writes their answers there, as seeds of fuzz_untrusted.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/attach/object_contents.h"

static char **files;
static const char *seeds;

static struct seep_put read_file(int fd, uint64_t steps, uint64_t *ret_left) {
    struct seep_object_reader reader = {NULL};
    struct seep_budget budget = {steps, NULL};
    const struct seep_object_question question = {
        .fd = fd, .name = "it", .wants_table = true, .budget = &budget};
    struct seep_object_contents contents;
    struct seep_put put = {NULL};
    const char *trouble;
    struct seep_error *error = seep_object_read(&reader, &question, &contents, &trouble);
    if (error || trouble)
        fail_msg("%s", error ? error->message : trouble);
    assert_int_equal(contents.elf.fd, fd);
    seep_object_put(&put, &contents);
    seep_object_contents_deinit(&contents);
    seep_object_reader_deinit(&reader);
    *ret_left = budget.steps;
    return put;
}

static void write_seed(size_t index, const struct seep_put *put) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/object-%zu", seeds, index);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputc(0, file), 0);
    assert_int_equal(fwrite(put->bytes, 1, put->used, file), put->used);
    fclose(file);
}

static void test_says_the_same(void **state) {
    char path[] = "/tmp/seep-test-XXXXXX", command[8192];
    close(mkstemp(path));
    for (size_t i = 0; files[i]; i++) {
        snprintf(command, sizeof(command), "cp '%s' %s && chmod 0600 %s", files[i], path, path);
        assert_int_equal(system(command), 0);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        for (uint64_t steps = 50; steps < 100000000; steps *= 1000) {
            uint64_t near_left, far_left;
            assert_int_equal(chmod(path, 0600), 0);
            struct seep_put near = read_file(fd, steps, &near_left);
            assert_int_equal(chmod(path, 0606), 0);
            struct seep_put far = read_file(fd, steps, &far_left);
            assert_int_equal(near_left, far_left);
            assert_int_equal(near.used, far.used);
            assert_true(near.used > sizeof(Elf64_Ehdr));
            assert_memory_equal(near.bytes, far.bytes, near.used);
            if (seeds && steps == 50)
                write_seed(i, &near);
            seep_put_deinit(&near);
            seep_put_deinit(&far);
        }
        close(fd);
    }
    unlink(path);
}

static void test_what_is_no_elf_file(void **state) {
    char path[] = "/tmp/seep-test-XXXXXX";
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "no", 2), 2);
    for (unsigned i = 0; i < 2; i++) {
        struct seep_object_reader reader = {NULL};
        const struct seep_object_question question = {.fd = fd, .name = "it"};
        struct seep_object_contents contents;
        const char *trouble;
        assert_int_equal(fchmod(fd, i ? 0606 : 0600), 0);
        assert_null(seep_object_read(&reader, &question, &contents, &trouble));
        assert_string_equal(trouble, SEEP_OBJECT_NO_ELF);
        assert_int_equal(reader.worker != NULL, i);
        seep_object_reader_deinit(&reader);
    }
    close(fd);
    unlink(path);
}

int main(int argc, char **argv) {
    files = argv + 1;
    if (argc > 2 && !strcmp(argv[1], "-w")) {
        seeds = argv[2];
        files = argv + 3;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_says_the_same),
                                       cmocka_unit_test(test_what_is_no_elf_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
