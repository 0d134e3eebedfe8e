// SPDX-License-Identifier: BSD-2-Clause
//
// The child of a test that has one: the process that opens files, or a worker. Include it behind <cmocka.h>.
#ifndef SEEP_TESTS_ONLY_CHILD_H
#define SEEP_TESTS_ONLY_CHILD_H

#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

static pid_t only_child(void) {
    char path[64];
    long pid = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    FILE *children = fopen(path, "r");
    assert_non_null(children);
    assert_int_equal(fscanf(children, "%ld", &pid), 1);
    fclose(children);
    return (pid_t)pid;
}

#endif
