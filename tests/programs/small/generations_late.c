// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
/* How long there has been this process, its start by the loader and all. */
static double lived(void) {
    char text[1024];
    struct timespec now;
    int file = open("/proc/self/stat", O_RDONLY);
    text[read(file, text, sizeof(text) - 1)] = 0;
    close(file);
    char *field = strrchr(text, ')');
    for (int i = 0; i < 20; i++)
        field = strchr(field, ' ') + 1;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec + now.tv_nsec / 1e9 - atoll(field) / (double)sysconf(_SC_CLK_TCK);
}
int main(int argc, char **argv) {
    if (argc > 1)
        (void)!malloc(1000);
    double start = lived();
    usleep(start > 0.1 ? start * 4e6 : 400000);
    if (argc < 2)
        (void)!malloc(1000);
    return 0;
}
