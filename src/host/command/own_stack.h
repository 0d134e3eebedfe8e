// SPDX-License-Identifier: BSD-2-Clause
//
// A stack for the tool that is large enough, whatever `ulimit -s` leaves: readers of debug info take hundreds
// of KiB of it. The thread stays the same, and so does the limit that traced programs inherit.
#ifndef SEEP_COMMAND_OWN_STACK_H
#define SEEP_COMMAND_OWN_STACK_H

// What run(argc, argv) returns. Where the limit is small it runs on 8 MiB of memory of our own, if there are
// any.
int seep_on_large_stack(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
