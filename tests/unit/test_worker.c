// SPDX-License-Identifier: BSD-2-Clause
//
// What a worker cannot do, and what becomes of the tool when it dies, lies, is slow or takes memory.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "confine/worker.h"
#include "confine/worker_rights.h"
#include "confine/untrusted.h"
#include "only_child.h"

enum { ECHO, TRY_ALL, DIE, LIE, ENDLESS, EAT, LARGE_ANSWER, WISH_FOREVER, READ_FILE, WISH_FILE };

static void note_if(struct seep_put *answer, bool could, const char *what) {
    if (could)
        seep_put_text(answer, what);
}

// Says what it could do and should not.
static void try_all(struct seep_put *answer) {
    note_if(answer, open("/etc/passwd", O_RDONLY) >= 0, "open a file");
    note_if(answer, open("/tmp", O_RDWR | O_TMPFILE, 0600) >= 0, "make a file");
    note_if(answer, access("/etc/passwd", R_OK) == 0, "look for a file");
    note_if(answer, socket(AF_INET, SOCK_STREAM, 0) >= 0, "make a socket");
    note_if(answer, socket(AF_UNIX, SOCK_STREAM, 0) >= 0, "make a local socket");
    note_if(answer, fork() >= 0, "fork");
    note_if(answer, kill(getppid(), 0) == 0, "send a signal");
    note_if(answer, ptrace(PTRACE_ATTACH, 1, NULL, NULL) == 0, "trace");
    note_if(answer, setuid(0) == 0, "become root");
    note_if(answer, execl("/bin/true", "true", NULL) == 0, "run a program");
    note_if(answer, write(1, "", 1) >= 0, "write");
    note_if(answer, dup(SEEP_WORKER_SOCKET) >= 0, "copy a descriptor");
    note_if(answer, mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED,
            "make code");
    struct stat status;
    note_if(answer, stat("/etc/passwd", &status) == 0, "look at a file");
    note_if(answer, fstat(4, &status) == 0, "see another descriptor");
}

static bool serve(void *context, struct seep_worker_end *end, struct seep_take *question, int file,
                  struct seep_put *answer) {
    char bytes[16] = "";
    struct seep_put wish = {NULL}, reply = {NULL};
    switch (seep_take_leb(question)) {
    case ECHO:
        seep_put_text(answer, context);
        return true;
    case TRY_ALL:
        try_all(answer);
        return true;
    case DIE:
        raise(SIGSEGV);
        *(volatile int *)NULL = 1;
        return true;
    case LIE: {
        char lie[] = "all of this is a lie, and so is its length";
        struct iovec piece = {lie, 40};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        return sendmsg(SEEP_WORKER_SOCKET, &message, 0) == 40;
    }
    case ENDLESS:
        for (;;)
            ;
    case EAT:
        for (;;) {
            void *eaten = malloc(1 << 20);
            memset(eaten, 1, 1 << 20);
            __asm__ volatile("" : : "r"(eaten) : "memory"); // clang leaves out what nobody reads
        }
    case LARGE_ANSWER:
        for (size_t i = 0; i < 5000; i++)
            seep_put_text(answer, "more");
        return true;
    case WISH_FOREVER:
        for (;;) {
            seep_put_text(&wish, "more");
            seep_worker_wish(end, &wish, &reply);
        }
    case WISH_FILE:
        seep_put_text(&wish, "a file");
        file = seep_worker_wish(end, &wish, &reply);
        // fallthrough
    case READ_FILE:
        if (pread(file, bytes, sizeof(bytes) - 1, 0) < 0)
            return false;
        seep_put_text(answer, bytes);
        seep_put_leb(answer, write(file, "x", 1) < 0);
        return true;
    default:
        return false;
    }
}

static char hello[] = "hello";

static struct seep_worker *start(void) {
    struct seep_worker *worker;
    struct seep_error *error = seep_worker_start(serve, hello, &worker);
    if (error)
        fail_msg("%s", error->message);
    return worker;
}

static unsigned nr_given;

static int give(void *context, struct seep_take *wish, struct seep_put *reply) {
    size_t length;
    nr_given++;
    seep_take_text(wish, &length);
    seep_put_text(reply, "here");
    return context ? dup(*(int *)context) : -1;
}

static volatile sig_atomic_t stop;

// Asks; every later question must get the same verdict where it is not an answer.
static enum seep_worker_verdict ask(struct seep_worker *worker, unsigned what, int file,
                                    struct seep_put *answer) {
    struct seep_put words = {NULL};
    seep_put_leb(&words, what);
    const struct seep_worker_question question = {
        .words = &words,
        .file = file,
        .answer_max = 1000,
        .cpu_s = what == ENDLESS ? 1 : 60, // pages of EAT take over a second where faults are slow
        .memory_max = 256 << 20,           // more than what AddressSanitizer keeps of ours
        .stop = &stop,
        .give = give,
        .context = what == WISH_FILE ? &file : NULL};
    enum seep_worker_verdict verdict = seep_worker_ask(worker, &question, answer);
    if (verdict != SEEP_WORKER_ANSWERED)
        assert_int_equal(seep_worker_ask(worker, &question, answer), verdict);
    seep_put_deinit(&words);
    return verdict;
}

static void test_answers(void **state) {
    struct seep_worker *worker = start();
    for (int i = 0; i < 3; i++) {
        struct seep_put answer = {NULL};
        assert_int_equal(ask(worker, ECHO, -1, &answer), SEEP_WORKER_ANSWERED);
        assert_int_equal(answer.used, 6);
        assert_memory_equal(answer.bytes + 1, "hello", 5);
        seep_put_deinit(&answer);
    }
    seep_worker_destroy(worker);
}

static void test_can_do_nothing(void **state) {
    struct seep_worker *worker = start();
    struct seep_put answer = {NULL};
    assert_int_equal(ask(worker, TRY_ALL, -1, &answer), SEEP_WORKER_ANSWERED);
    if (answer.used)
        fail_msg("a worker can %.*s", (int)answer.used - 1, (const char *)answer.bytes + 1);
    seep_put_deinit(&answer);
    seep_worker_destroy(worker);
}

static char *status_of_child(void) {
    static char text[8192];
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)only_child());
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = 0;
    fclose(file);
    return text;
}

static void test_has_no_rights(void **state) {
    struct seep_worker *worker = start();
    const char *status = status_of_child();
    assert_non_null(strstr(status, "\nCapPrm:\t0000000000000000\n"));
    assert_non_null(strstr(status, "\nCapEff:\t0000000000000000\n"));
    assert_non_null(strstr(status, "\nNoNewPrivs:\t1\n"));
    assert_non_null(strstr(status, "\nSeccomp:\t2\n"));
    if (geteuid() == 0)
        assert_non_null(strstr(status, "\nUid:\t65534\t65534\t65534\t65534\n"));
    else
        print_message("not root: its user was not asked for\n");
    seep_worker_destroy(worker);
}

static void test_reads_what_it_is_given(void **state) {
    char name[] = "/tmp/seep-test-XXXXXX";
    int file = mkstemp(name);
    assert_int_equal(write(file, "contents", 8), 8);
    close(file);
    file = open(name, O_RDONLY | O_CLOEXEC);
    struct seep_worker *worker = start();
    for (unsigned what = READ_FILE; what <= WISH_FILE; what++) {
        struct seep_put answer = {NULL};
        assert_int_equal(ask(worker, what, file, &answer), SEEP_WORKER_ANSWERED);
        assert_memory_equal(answer.bytes,
                            "\x09"
                            "contents\x01",
                            10);
        seep_put_deinit(&answer);
    }
    seep_worker_destroy(worker);
    close(file);
    unlink(name);
}

static void test_ends_badly(void **state) {
    const struct {
        unsigned what;
        enum seep_worker_verdict verdict;
    } cases[] = {
        {DIE, SEEP_WORKER_ENDED}, {LIE, SEEP_WORKER_ENDED},          {ENDLESS, SEEP_WORKER_SLOW},
        {EAT, SEEP_WORKER_LARGE}, {LARGE_ANSWER, SEEP_WORKER_ENDED}, {WISH_FOREVER, SEEP_WORKER_ENDED},
        {99, SEEP_WORKER_ENDED}};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        struct seep_worker *worker = start();
        struct seep_put answer = {NULL};
        assert_int_equal(ask(worker, cases[i].what, -1, &answer), cases[i].verdict);
        assert_non_null(seep_worker_verdict_words(cases[i].verdict));
        seep_put_deinit(&answer);
        seep_worker_destroy(worker);
    }
    assert_true(nr_given > 100 && nr_given < 100000);
}

static void raise_stop(int number) {
    stop = 1;
}

static void test_is_left_when_asked_to_stop(void **state) {
    struct seep_worker *worker = start();
    struct seep_put answer = {NULL};
    signal(SIGALRM, raise_stop);
    ualarm(100000, 0);
    assert_int_equal(ask(worker, ENDLESS, -1, &answer), SEEP_WORKER_STOPPED);
    stop = 0;
    seep_put_deinit(&answer);
    seep_worker_destroy(worker);
}

static void test_whose_file(void **state) {
    const struct {
        uid_t owner;
        gid_t group;
        mode_t mode;
        bool for_root;
        bool for_1000;
    } cases[] = {
        {0, 0, 0755, false, false},   {0, 0, 0775, false, false},      {0, 50, 0664, true, true},
        {0, 0, 0757, true, true},     {1000, 1000, 0644, true, false}, {1000, 1000, 0664, true, false},
        {1000, 50, 0664, true, true}, {1001, 1000, 0644, true, true},
    };
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(cases); i++) {
        const struct stat status = {
            .st_uid = cases[i].owner, .st_gid = cases[i].group, .st_mode = S_IFREG | cases[i].mode};
        assert_int_equal(seep_status_is_untrusted(&status, 0, 0), cases[i].for_root);
        assert_int_equal(seep_status_is_untrusted(&status, 1000, 1000), cases[i].for_1000);
    }
    assert_true(seep_file_is_untrusted(-1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),       cmocka_unit_test(test_can_do_nothing),
        cmocka_unit_test(test_has_no_rights), cmocka_unit_test(test_reads_what_it_is_given),
        cmocka_unit_test(test_ends_badly),    cmocka_unit_test(test_is_left_when_asked_to_stop),
        cmocka_unit_test(test_whose_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
