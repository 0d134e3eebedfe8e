// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
char *volatile kept;
int main(void) { for (int i = 0; i < 100; i++) { kept = malloc(1000); usleep(10000); } raise(SIGKILL); }
