// SPDX-License-Identifier: BSD-2-Clause
// Limits of control groups, from files as the kernel has them: version 2, version 1, containers, none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/memory_limit.h"

#define PID 4711

static char root[] = "/tmp/seep-test-limit-XXXXXX";

// Makes the folders on the way, too.
static void put(const char *path, const char *text) {
    char whole[512];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(whole, 0700);
        *slash = '/';
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static int set_up(void **state) {
    (void)state;
    strcpy(root + sizeof(root) - 7, "XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    return system(command);
}

static struct seep_memory_limit find(void) {
    struct seep_memory_limit limit;
    seep_memory_limit_find(PID, root, &limit);
    return limit;
}

static struct seep_memory_limit expect(uint64_t bytes, const char *what) {
    struct seep_memory_limit limit = find();
    assert_int_equal(limit.bytes, bytes);
    assert_string_equal(limit.what, what);
    return limit;
}

static void test_version_2(void **state) {
    (void)state;
    put("/proc/4711/cgroup", "0::/user.slice/job.scope\n");
    put("/proc/self/mountinfo", "22 1 0:20 / / rw - ext4 /dev/sda rw\n"
                                "29 22 0:26 / /cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    put("/cgroup/memory.stat", "");
    put("/cgroup/user.slice/memory.max", "max\n");
    put("/cgroup/user.slice/memory.high", "1000000\n");
    put("/cgroup/user.slice/memory.current", "900000\n");
    put("/cgroup/user.slice/memory.stat", "anon 600000\ninactive_file 100000\nactive_file 5\n");
    put("/cgroup/user.slice/job.scope/memory.max", "500000\n");
    put("/cgroup/user.slice/job.scope/memory.high", "max\n");
    put("/cgroup/user.slice/job.scope/memory.current", "100000\n");
    // The tightest is not the smallest: it is the one that comes first.
    struct seep_memory_limit limit = expect(1000000, "memory.high of /user.slice");
    // Without file pages that were not used lately.
    assert_int_equal(seep_memory_limit_used(&limit), 800000);
    put("/cgroup/user.slice/job.scope/memory.current", "499000\n");
    limit = expect(500000, "memory.max of /user.slice/job.scope");
    assert_int_equal(seep_memory_limit_used(&limit), 499000);
}

static void test_version_1(void **state) {
    (void)state;
    put("/proc/4711/cgroup", "9:name=systemd:/x\n4:cpuset,memory:/jobs/one\n3:memoryless:/no\n0::/\n");
    put("/proc/self/mountinfo", "31 22 0:30 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
                                "32 22 0:31 / /cg/memory rw - cgroup cgroup rw,cpuset,memory\n"
                                "33 22 0:32 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    put("/cg/memory/memory.limit_in_bytes", "9223372036854771712\n"); // none
    put("/cg/memory/memory.usage_in_bytes", "1\n");
    put("/cg/memory/jobs/memory.limit_in_bytes", "3000000\n");
    put("/cg/memory/jobs/memory.usage_in_bytes", "2000000\n");
    put("/cg/memory/jobs/memory.stat", "inactive_file 7\ntotal_inactive_file 500000\n");
    put("/cg/memory/jobs/one/memory.limit_in_bytes", "9223372036854771712\n");
    put("/cg/memory/jobs/one/memory.usage_in_bytes", "1\n");
    struct seep_memory_limit limit = expect(3000000, "memory.limit_in_bytes of /jobs");
    assert_int_equal(seep_memory_limit_used(&limit), 1500000);
}

// A container sees its own group as the top of the mount.
static void test_container(void **state) {
    (void)state;
    put("/proc/4711/cgroup", "0::/docker/abc/inner\n");
    put("/proc/self/mountinfo", "29 22 0:26 /docker/abc /cgroup rw - cgroup2 cgroup2 rw\n");
    put("/cgroup/memory.max", "700000\n");
    put("/cgroup/memory.current", "70000\n");
    put("/cgroup/inner/memory.max", "max\n");
    put("/cgroup/inner/memory.current", "70000\n");
    expect(700000, "memory.max of /");
    // And with a namespace of groups of its own.
    put("/proc/4711/cgroup", "0::/inner\n");
    put("/cgroup/inner/memory.max", "80000\n");
    assert_int_equal(find().bytes, 80000);
}

static void test_none(void **state) {
    (void)state;
    // Neither files nor groups: the machine.
    struct seep_memory_limit limit = find();
    assert_true(limit.bytes >= 64 << 20);
    assert_string_equal(limit.what, "the machine's memory");
    uint64_t used = seep_memory_limit_used(&limit);
    assert_true(used > 0 && used <= limit.bytes);
    // Files that are no such files.
    put("/proc/4711/cgroup", "\n:\n::\nx\n0:/broken\n");
    put("/proc/self/mountinfo", "\n - \n1 2 3 4 5 - cgroup2\n29 22 0:26 / /cgroup rw - cgroup2 cgroup2 rw\n");
    assert_string_equal(find().what, "the machine's memory");
    put("/proc/4711/cgroup", "0::/a\n");
    put("/cgroup/a/memory.max", "0\n");
    put("/cgroup/a/memory.current", "many\n");
    assert_string_equal(find().what, "the machine's memory");
    // A limit whose usage cannot be read is not known.
    put("/cgroup/a/memory.max", "1000\n");
    assert_string_equal(find().what, "the machine's memory");
}

static void test_rss(void **state) {
    (void)state;
    assert_true(seep_process_rss(getpid()) > 100000);
    assert_int_equal(seep_process_rss(INT32_MAX), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_version_1, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_container, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_none, set_up, tear_down),
        cmocka_unit_test(test_rss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
