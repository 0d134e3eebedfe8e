// SPDX-License-Identifier: BSD-2-Clause
//
// `hostile-swap vdso|library FILE LIBRARY SECOND`: maps the library as code and says "ready". When the library's file is
// opened, it maps FILE in place of the vdso; or it maps SECOND, and FILE in place of the library when the file SECOND is
// opened. Then it says "swapped". It leaves when its input ends. Exit status 77: not possible here.
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// Where the kernel has mapped nothing yet, and the tool comes before it comes to the library.
enum { BELOW = 16 << 20 };

static void *map(void *place, size_t nr_bytes, int fd) {
    return mmap(place, nr_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | (place ? MAP_FIXED : 0), fd, 0);
}

static void *find_vdso(size_t *ret_nr_bytes) {
    char line[4500];
    uintptr_t start = 0, end = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    bool found = false;
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, "[vdso]") && sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2;
    if (maps)
        fclose(maps);
    *ret_nr_bytes = end - start;
    return found ? (void *)start : NULL;
}

// false: the input has ended.
static bool is_opened(const char *path) {
    int watch = inotify_init1(IN_CLOEXEC);
    if (inotify_add_watch(watch, path, IN_OPEN) < 0)
        return false;
    static bool told;
    if (!told) {
        puts("ready");
        fflush(stdout);
        told = true;
    }
    struct pollfd waits[2] = {{.fd = watch, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
    poll(waits, 2, -1);
    return waits[0].revents != 0;
}

int main(int argc, char **argv) {
    struct stat status;
    int file = argc > 4 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
    int code = argc > 4 ? open(argv[3], O_RDONLY | O_CLOEXEC) : -1;
    int second = argc > 4 ? open(argv[4], O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0 || code < 0 || second < 0 || fstat(code, &status) != 0)
        return 1;
    size_t nr_bytes = (size_t)status.st_size, vdso_bytes;
    void *library = map(NULL, nr_bytes, code), *vdso = find_vdso(&vdso_bytes);
    if (library == MAP_FAILED || !vdso) {
        fprintf(stderr, "no vdso\n");
        return 77;
    }
    bool swapped = is_opened(argv[3]);
    if (swapped && strcmp(argv[1], "vdso") == 0)
        swapped = map(vdso, vdso_bytes, file) == vdso;
    else if (swapped)
        swapped = map((char *)library - BELOW, 4096, second) != MAP_FAILED && is_opened(argv[4]) &&
                  map(library, nr_bytes, file) == library;
    puts(swapped ? "swapped" : "not swapped");
    fflush(stdout);
    struct pollfd input = {.fd = 0, .events = POLLIN};
    poll(&input, 1, -1);
    return 0;
}
