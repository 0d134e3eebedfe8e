// SPDX-License-Identifier: BSD-2-Clause
// The memos of kernel stacks against the kernel's own unwinder: while this process makes the kernel allocate
// in many ways, each stack that a memo knows is unwound as well, and must be the same one.
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "source/kernel/kernel_heap.h"

static void run(const char *command) {
    int status = system(command);
    assert_true(WIFEXITED(status));
}

static void use_pipes(void) {
    for (int i = 0; i < 200; i++) {
        int ends[2];
        char byte = 0;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], &byte, 1), 1);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        close(ends[0]);
        close(ends[1]);
    }
}

static void use_sockets(void) {
    int server = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof(address)) || listen(server, 8) ||
        getsockname(server, (struct sockaddr *)&address, &length)) {
        print_message("no network here\n");
        close(server);
        return;
    }
    static char bytes[100000];
    for (int i = 0; i < 50; i++) {
        int client = socket(AF_INET, SOCK_STREAM, 0);
        assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
        int peer = accept(server, NULL, NULL);
        ssize_t nr = write(client, bytes, sizeof(bytes));
        while (nr > 0)
            nr -= read(peer, bytes, sizeof(bytes));
        close(client);
        close(peer);
    }
    close(server);
}

static void use_files(void) {
    char path[] = "kernel-memo-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    static char bytes[100000];
    for (int i = 0; i < 20; i++)
        assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
    void *memory = mmap(NULL, sizeof(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    memset(memory, 1, sizeof(bytes));
    munmap(memory, sizeof(bytes));
    close(fd);
    unlink(path);
}

static void *idle(void *argument) {
    return argument;
}

static void use_threads(void) {
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, idle, NULL), 0);
        pthread_join(thread, NULL);
        char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(memory, 1, 1 << 20);
        munmap(memory, 1 << 20);
    }
}

// NULL: may not be traced here, which is printed.
static struct seep_kernel_probes *start(bool plain) {
    struct seep_kernel_probes_options options = {
        .sample = 1, .max_size = UINT64_MAX, .blocks_max = 100000, .plain = plain, .check_memos = true};
    struct seep_kernel_probes *probes = NULL;
    struct seep_error *err = seep_kernel_probes_create(&options, &probes);
    if (!err)
        return probes;
    print_message("skipped: %s\n", err->message);
    seep_error_destroy(err);
    return NULL;
}

static void check(bool plain) {
    struct seep_kernel_probes *probes = start(plain);
    if (!probes)
        skip();
    for (int i = 0; i < 2; i++) {
        use_pipes();
        use_sockets();
        use_files();
        use_threads();
        run("find /usr/lib /proc/self/ -maxdepth 3 >/dev/null 2>&1");
        run("ls -lR /sys/kernel 2>/dev/null | cat >/dev/null");
    }
    struct seep_kernel_heap heap;
    assert_null(seep_kernel_probes_read(probes, 0, &heap));
    uint64_t recalled = heap.counters[SEEP_KERNEL_RECALLED], all = heap.counters[SEEP_KERNEL_ALLOCATIONS];
    print_message("%llu of %llu stacks were known by a memo\n", (unsigned long long)recalled,
                  (unsigned long long)all);
    assert_int_equal(heap.counters[SEEP_KERNEL_MISTAKEN], 0);
    assert_true(all > 10000);
    assert_true(recalled <= all + heap.counters[SEEP_KERNEL_LOST_BLOCKS]);
    assert_true(recalled == 0 || recalled > all / 2); // 0: a kernel before 5.17
    seep_kernel_heap_deinit(&heap);
    seep_kernel_probes_destroy(probes);
}

static void test_memos_agree(void **state) {
    check(false);
}

// The form for kernels that lack bpf_rdonly_cast.
static void test_memos_agree_plain(void **state) {
    check(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memos_agree),
                                       cmocka_unit_test(test_memos_agree_plain)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
