// SPDX-License-Identifier: BSD-2-Clause
// The agent's printf and scanf beside libc's: what the agent prints and scans comes out alike.
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int small_snprintf(char *to, size_t room, const char *format, ...);
int small_asprintf(char **ret_text, const char *format, ...);
int small_fprintf(FILE *file, const char *format, ...);
int small_sscanf(const char *text, const char *format, ...);
int small_fscanf(FILE *file, const char *format, ...);

#define SAME(...)                                                                                            \
    do {                                                                                                     \
        char ours[64], theirs[64];                                                                           \
        memset(ours, 'x', sizeof(ours));                                                                     \
        int nr = small_snprintf(ours, sizeof(ours), __VA_ARGS__);                                            \
        assert_int_equal(nr, snprintf(theirs, sizeof(theirs), __VA_ARGS__));                                 \
        assert_string_equal(ours, theirs);                                                                   \
    } while (0)

static void test_printed(void **state) {
    (void)state;
    SAME("%s", "");
    SAME("a %s b%%", "text");
    SAME("[%10s] [%-10s] [%.3s] [%.*s]", "text", "text", "text", 2, "text");
    SAME("[%*s] [%*s]", 8, "right", -8, "left");
    SAME("%d %d %d %d", 0, 1, INT_MAX, INT_MIN);
    SAME("[%5d] [%-5d] [%05d] [%.3d]", -12, -12, -12, 7);
    SAME("%u %x %02x %010d", UINT_MAX, 0xbeefu, 10u, -5);
    SAME("%ld %lu %lx", LONG_MIN, ULONG_MAX, ULONG_MAX);
    SAME("%lld %llu %016llx", LLONG_MIN, ULLONG_MAX, 0x1234ull);
    SAME("%zu %jd", (size_t)12, (intmax_t)-3);
    SAME("%" PRIu64 " %" PRIx64 " %" PRId64, UINT64_MAX, UINT64_MAX, INT64_MIN);
    SAME("%c%c [%3c]", 'a', 'b', 'c');
    SAME("%.0f %.1f %.2f %.*f %f", 12.7, 0.04, 99.999, 3, -1.0637, 2.0);
    SAME("[%8.1f] %.1f", 1234.56, 1e15);
}

static void test_too_long(void **state) {
    (void)state;
    char text[4] = "xxx", *whole = NULL;
    assert_int_equal(small_snprintf(text, sizeof(text), "%s", "longer"), 6);
    assert_string_equal(text, "lon");
    assert_int_equal(small_snprintf(NULL, 0, "%d", 1234), 4);
    assert_int_equal(small_asprintf(&whole, "%s of %d", "two", 3), 8);
    assert_string_equal(whole, "two of 3");
    free(whole);
}

// A NULL string is no error. A length beyond int is one, also where the width is INT_MIN.
static void test_at_the_limits(void **state) {
    (void)state;
    char text[16];
    const char *volatile missing = NULL;
    small_snprintf(text, sizeof(text), "[%s]", missing);
    assert_string_equal(text, "[(null)]");
    assert_int_equal(small_snprintf(NULL, 0, "%*s%*s", INT_MIN, "", 1 << 20, ""), -1);
}

// As the agent scans files of /proc.
static void test_scanned(void **state) {
    (void)state;
    unsigned long flags = 0, words[3] = {0};
    unsigned long long kib = 0;
    char name[8], type[8];
    int pid = 0;
    long number = 0;
    assert_int_equal(small_sscanf(" S 12 13 14 15 16 4194304 1", " %*c %*d %*d %*d %*d %*d %lu", &flags), 1);
    assert_int_equal(flags, 4194304);
    assert_int_equal(small_sscanf("CapEff:\t000001ffffffffff\n", "CapEff: %llx", &kib), 1);
    assert_int_equal(kib, 0x1ffffffffff);
    assert_int_equal(
        small_sscanf("-1 0x7f 0X10 ff", "%ld %lx %lx %lx", &number, &words[0], &words[1], &words[2]), 4);
    assert_true(number == -1 && words[0] == 0x7f && words[1] == 0x10 && words[2] == 0xff);
    assert_int_equal(small_sscanf("memory  12345678901 x", "%7s %llu", name, &kib), 2);
    assert_string_equal(name, "memory");
    assert_int_equal(kib, 12345678901);
    assert_int_equal(small_sscanf("longer than that", "%3s%7s", name, type), 2);
    assert_string_equal(name, "lon");
    assert_string_equal(type, "ger");
    assert_int_equal(small_sscanf("36 35 98:0 /root /mnt rw", "%*s %*s %*s %7s %7s", name, type), 2);
    assert_string_equal(type, "/mnt");
    assert_int_equal(small_sscanf("Tgid: 12", "Pid: %d", &pid), 0);
    assert_int_equal(small_sscanf("none", "%d", &pid), 0);
    assert_int_equal(small_sscanf("", "%d", &pid), EOF);
    assert_int_equal(small_sscanf("5 ", "%d %d", &pid, &pid), 1);
}

static void test_files(void **state) {
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(small_fprintf(file, "%d %d\n%s 7", 12, -13, "max"), 12);
    rewind(file);
    int pid = 0, sum = 0;
    while (small_fscanf(file, "%d", &pid) == 1)
        sum += pid;
    assert_int_equal(sum, -1);
    char word[8];
    assert_int_equal(small_fscanf(file, "%7s", word), 1); // what was no number is there yet
    assert_string_equal(word, "max");
    assert_int_equal(small_fscanf(file, "%*u"), 0);
    assert_int_equal(small_fscanf(file, "%*u"), EOF);
    fclose(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_printed), cmocka_unit_test(test_too_long), cmocka_unit_test(test_at_the_limits),
        cmocka_unit_test(test_scanned), cmocka_unit_test(test_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
