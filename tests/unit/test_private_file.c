// SPDX-License-Identifier: BSD-2-Clause
//
// Copies that hide files, while the program's user exchanges the folder for a link: whatever wins, a copy lies on a
// file and has its content, owner and mode, nothing stays mounted over a folder, and our own namespace has nothing of
// it.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "source/attach/private_file.h"

enum { ROUNDS = 60, EXCHANGE = 2 };

static char base[64];

static const char *in_base(const char *name) {
    static char paths[4][128];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", base, name);
    return path;
}

static void write_file(const char *name, const char *text, mode_t mode) {
    int fd = open(in_base(name), O_WRONLY | O_CREAT | O_EXCL, mode);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static pid_t start(bool exchanges, int *ret_ready) {
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool good = exchanges || seep_private_enter();
        if (write(ready[1], &good, 1) != 1)
            _exit(1);
        while (exchanges)
            syscall(SYS_renameat2, AT_FDCWD, in_base("folder"), AT_FDCWD, in_base("link"), EXCHANGE);
        pause();
        _exit(0);
    }
    bool good = false;
    assert_int_equal(read(ready[0], &good, 1), 1);
    *ret_ready = good;
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

// Mounts below the folder that a process sees. Each must be on one of the two files.
static int nr_mounts(pid_t pid) {
    char name[64], line[4096], place[1024];
    snprintf(name, sizeof(name), "/proc/%d/mountinfo", (int)pid);
    FILE *mounts = fopen(name, "r");
    assert_non_null(mounts);
    int nr = 0;
    while (fgets(line, sizeof(line), mounts)) {
        if (sscanf(line, "%*d %*d %*s %*s %1023s", place) != 1 || strncmp(place, base, strlen(base)) != 0)
            continue;
        assert_true(strlen(place) > 2 && strcmp(place + strlen(place) - 2, "/x") == 0);
        nr++;
    }
    fclose(mounts);
    return nr;
}

static void check_file(pid_t pid, const char *name, const char *text, mode_t mode) {
    char path[256], found[16] = "";
    struct stat status;
    snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, in_base(name));
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &status) == 0);
    assert_int_equal(read(fd, found, sizeof(found) - 1), strlen(text));
    assert_string_equal(found, text);
    assert_int_equal(status.st_mode & 07777, mode);
    assert_int_equal(status.st_uid, 0);
    close(fd);
}

static void test_the_folder_is_exchanged_meanwhile(void **state) {
    (void)state;
    int ready;
    if (geteuid() != 0 || !seep_private_is_possible()) {
        print_message("no mount namespaces for this user\n");
        skip();
    }
    strcpy(base, "/tmp/seep-private-XXXXXX");
    assert_non_null(mkdtemp(base));
    mkdir(in_base("folder"), 0755);
    mkdir(in_base("other"), 0755);
    write_file("folder/x", "asked", 0644);
    write_file("other/x", "other", 0600);
    assert_int_equal(symlink(in_base("other"), in_base("link")), 0);
    pid_t holder = start(false, &ready);
    assert_true(ready);
    assert_true(seep_private_copy(holder, in_base("folder/x")));
    assert_int_equal(nr_mounts(holder), 1);
    pid_t rival = start(true, &ready);
    int nr = 1;
    for (int i = 0; i < ROUNDS; i++)
        nr += seep_private_copy(holder, in_base("folder/x"));
    end(rival);
    assert_int_equal(nr_mounts(holder), nr);
    assert_int_equal(nr_mounts(getpid()), 0);
    // The folder has one of the two names.
    struct stat status;
    bool in_place = lstat(in_base("folder"), &status) == 0 && S_ISDIR(status.st_mode);
    check_file(holder, in_place ? "folder/x" : "link/x", "asked", 0644);
    check_file(holder, "other/x", "other", 0600);
    end(holder);
    assert_true(nr > 1);
    unlink(in_base(in_place ? "link" : "folder"));
    unlink(in_base(in_place ? "folder/x" : "link/x"));
    unlink(in_base("other/x"));
    rmdir(in_base(in_place ? "folder" : "link"));
    rmdir(in_base("other"));
    assert_int_equal(rmdir(base), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_folder_is_exchanged_meanwhile)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
