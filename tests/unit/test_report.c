// SPDX-License-Identifier: BSD-2-Clause
//
// Reports of hand-made profiles, byte for byte against tests/golden/report-*. With SEEP_GOLDEN_WRITE
// set the files are written instead: read the difference before you commit it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synthetic.h"
#include "output/format.h"
#include "output/output.h"
#include "output/report.h"

static char *report(struct seep_session *session, const struct seep_view_options *options,
                    const char *source) {
    struct seep_symbols *symbols = NULL;
    assert_null(seep_symbols_create(NULL, &symbols));
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    struct seep_error *error = seep_report_write(out, session, symbols, options, source);
    assert_int_equal(fclose(out), 0);
    if (error)
        fail_msg("%s", error->message);
    seep_symbols_destroy(symbols);
    return text;
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file)
        fail_msg("%s is not there", path);
    char *text = NULL;
    size_t size = 0;
    if (getdelim(&text, &size, 0, file) < 0 && ferror(file))
        fail_msg("%s cannot be read", path);
    fclose(file);
    return text;
}

static void compare(const char *name, const char *text) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/report-%s",
             getenv("SEEP_GOLDEN") ? getenv("SEEP_GOLDEN") : "tests/golden", name);
    if (getenv("SEEP_GOLDEN_WRITE")) {
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        fputs(text, file);
        assert_int_equal(fclose(file), 0);
        return;
    }
    char *expected = read_file(path);
    if (strcmp(expected, text) != 0)
        fprintf(stderr, "---- %s is now:\n%s----\n", name, text);
    assert_string_equal(text, expected);
    free(expected);
}

static void golden(const char *name, struct seep_session *session, const struct seep_view_options *options) {
    char *text = report(session, options, "app.seep");
    compare(name, text);
    free(text);
    seep_session_destroy(session);
}

static void test_text(void **state) {
    struct seep_view_options o = seep_view_options_default;
    golden("leaky.txt", synthetic_leaky(), &o);
    golden("clean.txt", synthetic_clean(), &o);
    golden("empty.txt", synthetic_empty(), &o);
    golden("hurt.txt", synthetic_hurt(), &o);
    golden("family.txt", synthetic_family(), &o);
    golden("strange.txt", synthetic_strange(), &o);
    golden("many.txt", synthetic_many(), &o);
}

static void test_text_options(void **state) {
    struct seep_view_options o = seep_view_options_default;
    o.blocks = o.full_paths = true;
    golden("blocks.txt", synthetic_leaky(), &o);
    o = seep_view_options_default;
    for (o.by = SEEP_BY_FUNCTION; o.by < SEEP_BY_NR; o.by++) {
        char name[64];
        snprintf(name, sizeof(name), "by-%s.txt", seep_view_by_name(o.by));
        golden(name, o.by == SEEP_BY_PROCESS ? synthetic_family() : synthetic_leaky(), &o);
    }
    o = seep_view_options_default;
    o.min_size = 65;
    golden("min-size.txt", synthetic_leaky(), &o);
    o = seep_view_options_default;
    o.sort = SEEP_SORT_TEMPORARY;
    o.top = 2;
    golden("temporary.txt", synthetic_leaky(), &o);
}

static void test_json(void **state) {
    struct seep_view_options o = seep_view_options_default;
    o.json = 1;
    golden("leaky.json", synthetic_leaky(), &o);
    golden("clean.json", synthetic_clean(), &o);
    golden("empty.json", synthetic_empty(), &o);
    golden("hurt.json", synthetic_hurt(), &o);
    golden("family.json", synthetic_family(), &o);
    golden("strange.json", synthetic_strange(), &o);
    o.blocks = true;
    golden("blocks.json", synthetic_leaky(), &o);
    o.blocks = false;
    o.by = SEEP_BY_THREAD;
    o.top = 1;
    golden("by-thread.json", synthetic_leaky(), &o);
    o = seep_view_options_default;
    o.json = 2;
    golden("leaky-1.json", synthetic_leaky(), &o);
    golden("family-1.json", synthetic_family(), &o);
}

static void test_formats(void **state) {
    struct seep_view_options o = seep_view_options_default;
    for (o.format = 0; seep_outputs[o.format]; o.format++) {
        const struct seep_output *output = seep_outputs[o.format];
        if (output == &seep_output_text || output == &seep_output_csv || output == &seep_output_json ||
            output == &seep_output_json1 || output->lacks ||
            output->needs & (SEEP_OUTPUT_BINARY | SEEP_OUTPUT_BLOCKS | SEEP_OUTPUT_POINTERS))
            continue; // others look at these, and this profile has no blocks
        char name[64];
        snprintf(name, sizeof(name), "strange-%s%s", output->name, output->suffix);
        golden(name, synthetic_strange(), &o);
    }
}

static void test_csv(void **state) {
    struct seep_view_options o = seep_view_options_default;
    o.csv = true;
    golden("leaky.csv", synthetic_leaky(), &o);
    golden("strange.csv", synthetic_strange(), &o);
    golden("empty.csv", synthetic_empty(), &o);
    o.blocks = true;
    golden("blocks.csv", synthetic_leaky(), &o);
    o.blocks = false;
    o.by = SEEP_BY_LINE;
    golden("by-line.csv", synthetic_leaky(), &o);
}

// No byte that a terminal acts on, whatever the profile says.
static void test_no_control_characters(void **state) {
    struct seep_view_options o = seep_view_options_default;
    for (o.by = 0; o.by < SEEP_BY_NR; o.by++) {
        if (o.by == SEEP_BY_SIZE)
            continue; // needs blocks
        for (int form = 0; form < 2; form++) {
            o.csv = form == 1;
            struct seep_session *session = synthetic_strange();
            char *text = report(session, &o, "a\033b\n.seep");
            for (const unsigned char *at = (const unsigned char *)text; *at; at++)
                assert_true(*at == '\n' || (*at >= 0x20 && *at != 0x7f));
            assert_null(strstr(text, "\xe2\x80\xae"));
            assert_null(strstr(text, "\xff"));
            free(text);
            seep_session_destroy(session);
        }
    }
}

static void test_failed_write(void **state) {
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        print_message("SKIP: there is no /dev/full here\n");
        skip();
    }
    struct seep_view_options o = seep_view_options_default;
    struct seep_symbols *symbols = NULL;
    struct seep_session *session = synthetic_leaky();
    assert_null(seep_symbols_create(NULL, &symbols));
    struct seep_error *error = seep_report_write(full, session, symbols, &o, NULL);
    assert_non_null(error);
    assert_int_equal(error->code, SEEP_E_IO);
    assert_non_null(strstr(error->message, "No space left"));
    seep_error_destroy(error);
    fclose(full);
    seep_symbols_destroy(symbols);
    seep_session_destroy(session);
}

static void test_numbers(void **state) {
    assert_string_equal(seep_format_count(0).text, "0");
    assert_string_equal(seep_format_count(999).text, "999");
    assert_string_equal(seep_format_count(1000).text, "1,000");
    assert_string_equal(seep_format_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(seep_format_signed(INT64_MIN).text, "-9,223,372,036,854,775,808");
    assert_string_equal(seep_format_bytes(1023).text, "1023 B");
    assert_string_equal(seep_format_bytes(1024).text, "1.00 KiB");
    assert_string_equal(seep_format_bytes(1023 * 1024).text, "1.00 MiB");
    assert_string_equal(seep_format_bytes(UINT64_MAX).text, "16.0 EiB");
    assert_string_equal(seep_format_share(1, 0).text, "-");
    assert_string_equal(seep_format_share(1, 100000).text, "<0.1%");
    assert_string_equal(seep_format_share(1, 3).text, "33.3%");
    assert_string_equal(seep_format_share(99999, 100000).text, "99.9%");
    assert_string_equal(seep_format_share(100000, 100000).text, "100.0%");
    assert_string_equal(seep_format_times(99.94).text, "99.9");
    assert_string_equal(seep_format_times(1233.7).text, "1,234");
    assert_string_equal(seep_format_times((double)UINT64_MAX).text, "18,446,744,073,709,551,615");
    assert_string_equal(seep_format_time(1700000000123456789).text, "2023-11-14T22:13:20.123Z");
    assert_string_equal(seep_format_duration(59000000000).text, "59.00 s");
    assert_string_equal(seep_format_duration(125000000000).text, "2 min 05 s");
}

static void test_escape(void **state) {
    static const char *const pairs[][2] = {
        {"plain \xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80", "plain \xc3\xa9 \xe6\x97\xa5 \xf0\x9f\x98\x80"},
        {"\033[0m", "\\x1b[0m"},
        {"a\nb\tc\rd\177", "a\\nb\\tc\\rd\\x7f"},
        {"\xc2\x9b"
         "31m",
         "\\u{009b}31m"}, // C1 "CSI"
        {"\xe2\x80\xae\xe2\x81\xa6", "\\u{202e}\\u{2066}"},
        {"\xc0\xaf", "\\xc0\\xaf"},                   // too long a form
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          // a surrogate
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, // beyond the last code point
        {"cut \xe2\x80", "cut \\xe2\\x80"},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(pairs); i++) {
        char *escaped = seep_escape(pairs[i][0]);
        assert_string_equal(escaped, pairs[i][1]);
        free(escaped);
    }
}

// The first write fails, as that to a disk that was full; the others do not.
static ssize_t write_second(void *cookie, const char *bytes, size_t nr_bytes) {
    int *nr = cookie;
    (void)bytes;
    if ((*nr)++)
        return (ssize_t)nr_bytes;
    errno = ENOSPC;
    return 0;
}

// Why the earlier write failed is not known any more, so nothing is said of it.
static void test_a_write_that_failed_before(void **unused) {
    int nr_writes = 0;
    (void)unused;
    FILE *out = fopencookie(&nr_writes, "w", (cookie_io_functions_t){.write = write_second});
    assert_non_null(out);
    fputs("a line", out);
    assert_int_equal(fflush(out), EOF);
    struct seep_error *error = seep_stream_check(out, "it");
    assert_non_null(error);
    assert_string_equal(error->message, "cannot write it: an earlier write failed");
    assert_non_null(strstr(error->hint, "try again"));
    seep_error_destroy(error);
    fclose(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_write_that_failed_before),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_options),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_no_control_characters),
        cmocka_unit_test(test_failed_write),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_escape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
