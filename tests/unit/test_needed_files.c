// SPDX-License-Identifier: BSD-2-Clause
// What a loader will map for a program: all that it did map for this test, and no crash for files that are damaged.
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/attach/needed_files.h"

enum { SEEN_MAX = 256, DAMAGES = 2000 };

static char *seen[SEEN_MAX];
static size_t nr_seen;
static bool is_whole; // the program is

static void see(void *context, int fd, const char *path) {
    Elf64_Ehdr header;
    assert_ptr_equal(context, seen);
    assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
    if (is_whole) // the cache has libraries of 32 bits under the same names
        assert_int_equal(header.e_ident[EI_CLASS], sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32);
    assert_in_range(nr_seen, 0, SEEN_MAX - 1);
    seen[nr_seen++] = realpath(path, NULL);
}

static void forget(void) {
    while (nr_seen)
        free(seen[--nr_seen]);
}

static int is_seen(struct dl_phdr_info *info, size_t nr_bytes, void *context) {
    char *real = strchr(info->dlpi_name, '/') ? realpath(info->dlpi_name, NULL) : NULL;
    size_t i = 0;
    (void)nr_bytes;
    while (real && i < nr_seen && strcmp(seen[i], real) != 0)
        i++;
    if (real && i == nr_seen)
        fail_msg("%s is not seen", real);
    *(int *)context += real != NULL;
    free(real);
    return 0;
}

static void test_what_is_loaded_is_found(void **state) {
    char self[PATH_MAX] = "";
    int root = open("/", O_PATH | O_DIRECTORY), fd = open("/proc/self/exe", O_RDONLY), nr = 0;
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    is_whole = true;
    seep_needed_files(root, fd, self, NULL, see, seen);
    is_whole = false;
    dl_iterate_phdr(is_seen, &nr);
    assert_in_range(nr, 3, SEEN_MAX); // libc, cmocka, the loader
    forget();
    close(fd);
    close(root);
}

// Only what is there is told, whatever the file says.
static void test_damaged_files(void **state) {
    char bytes[16384];
    int root = open("/", O_PATH | O_DIRECTORY), from = open("/proc/self/exe", O_RDONLY);
    int fd = memfd_create("damaged", MFD_CLOEXEC);
    ssize_t nr = pread(from, bytes, sizeof(bytes), 0);
    assert_int_equal(nr, sizeof(bytes));
    srandom(1);
    for (int i = 0; i < DAMAGES; i++) {
        int at = (int)(random() % (i % 2 ? 1024 : nr)); // half of them in its headers
        char was = bytes[at];
        bytes[at] = (char)random();
        assert_int_equal(ftruncate(fd, random() % 8 ? nr : random() % nr), 0);
        assert_int_equal(pwrite(fd, bytes, (size_t)nr, 0), nr);
        seep_needed_files(root, fd, "/damaged", "/usr/lib:$ORIGIN;;:", see, seen);
        forget();
        if (i % 8)
            bytes[at] = was;
    }
    close(fd);
    close(from);
    close(root);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_loaded_is_found),
        cmocka_unit_test(test_damaged_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
