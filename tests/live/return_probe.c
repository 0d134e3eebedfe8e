// SPDX-License-Identifier: BSD-2-Clause
// Another tracer has a return probe on a function that is at work: the kernel's trampoline stands where its return
// address was. Allocates below it with the probe (10 times 100 bytes) and without (10 times 200).
#include <elf.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern const char __ehdr_start[];
static void *volatile kept[20];

__attribute__((noinline)) void inner(int i, size_t bytes) {
    kept[i] = malloc(bytes);
}

__attribute__((noinline)) void probed(int i, size_t bytes) {
    inner(i, bytes);
    __asm__ volatile("");
}

// A probe of this process alone, gone when the descriptor is closed. Linked so that offsets in the file are those
// in memory.
static int return_probe(void (*function)(int, size_t)) {
    static char path[4096];
    struct perf_event_attr attr = {.size = sizeof(attr), .config = 1, .uprobe_path = (uint64_t)path};
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (!file || length <= 0 || fscanf(file, "%u", &attr.type) != 1)
        return -1;
    fclose(file);
    attr.probe_offset = (uint64_t)function - (uint64_t)__ehdr_start;
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
}

int main(void) {
    int fd = return_probe(probed);
    if (fd < 0)
        return 77;
    for (int i = 0; i < 10; i++)
        probed(i, 100);
    close(fd);
    for (int i = 10; i < 20; i++)
        probed(i, 200);
    return 0;
}
