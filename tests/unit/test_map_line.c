// SPDX-License-Identifier: BSD-2-Clause
// Lines of /proc/PID/maps: those of this process against sscanf, made ones, and what is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/map_line.h"

static void check_as_sscanf(const char *line) {
    unsigned long long start, end, off, inode;
    unsigned major, minor;
    char rights[5];
    int path_at = 0;
    bool is = sscanf(line, "%llx-%llx %4s %llx %x:%x %llu %n", &start, &end, rights, &off, &major, &minor,
                     &inode, &path_at) == 7;
    struct seep_map_line read;
    assert_int_equal(seep_map_line_read(line, &read), is);
    if (!is)
        return;
    assert_true(read.start == start && read.end == end && read.file_off == off && read.inode == inode);
    assert_true(read.device_major == major && read.device_minor == minor);
    assert_memory_equal(read.rights, rights, 4);
    assert_ptr_equal(read.path, line + path_at);
}

static void lines_of_this_process(void **state) {
    static const char *const files[] = {"/proc/self/maps", "/proc/self/smaps"};
    for (size_t i = 0; i < 2; i++) {
        FILE *file = fopen(files[i], "re");
        char line[8192];
        assert_non_null(file);
        while (fgets(line, sizeof(line), file)) {
            line[strcspn(line, "\n")] = 0;
            check_as_sscanf(line);
        }
        fclose(file);
    }
}

static void made_lines(void **state) {
    static const char *const lines[] = {
        "7f0000000000-7f0000001000 rw-s fffffffff000 fe:1f 18446744073709551615   /a name  with (spaces)",
        "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
        "1-2 r--p 0 00:00 0",
        "1-2 r--p 0 00:00 0 ",
        "Rss:                  12 kB",
        "VmFlags: rd wr mr mw me ac",
        "Size:",
        "",
        "-",
        "12",
        "12-",
        "12-13",
        "12-13 ",
        "12-13 r",
        "12-13 rw-p",
        "12-13 rw-p ",
        "12-13 rw-p 0 0",
        "12-13 rw-p 0 0:",
        "12-13 rw-p 0 0:0 ",
        "12-13 rw-p 0 0:0 x",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
        check_as_sscanf(lines[i]);
}

// Whatever is changed in a line: nothing is read beyond its end.
static void damaged_lines(void **state) {
    static const char whole[] = "7f0000000000-7f0000001000 rw-s 0000f000 fe:1f 12345   /x";
    srandom(5);
    for (int i = 0; i < 20000; i++) {
        size_t nr = (size_t)random() % sizeof(whole);
        char *line = malloc(nr + 1);
        assert_non_null(line);
        memcpy(line, whole, nr);
        line[nr] = 0;
        for (long n = random() % 3; nr && n > 0; n--)
            line[(size_t)random() % nr] = (char)random();
        struct seep_map_line read;
        if (seep_map_line_read(line, &read))
            assert_true(read.path >= line && read.path <= line + nr);
        free(line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_of_this_process),
        cmocka_unit_test(made_lines),
        cmocka_unit_test(damaged_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
