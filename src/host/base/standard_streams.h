// SPDX-License-Identifier: BSD-2-Clause
//
// Standard streams that the caller has closed. Without this the next file that is opened has the number of
// one of them, and what is printed goes into it. For main().
#ifndef SEEP_BASE_STANDARD_STREAMS_H
#define SEEP_BASE_STANDARD_STREAMS_H

#include <fcntl.h>
#include <unistd.h>

// Takes each number that is free, so that reading there finds an error, and so does writing. Closed by exec:
// a program that is started finds them closed, as the caller wanted.
static inline void seep_hold_standard_streams(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            // The number that it gets is the lowest free one, which is fd.
            (void)!open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
}

#endif
