// SPDX-License-Identifier: BSD-2-Clause
//
// Memory whose pages come only when somebody gives them (userfaultfd), and who should does not: a variable
// lies in it, a block that malloc mapped, and three pages of which one is there, as of a block of eight pages. A
// reader of this memory would wait for as long as this lives. Says "ready", and leaves when its input ends. Exit
// status 77: not possible here.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char variable[4 * 4096] __attribute__((aligned(4096)));
static char *volatile block, *volatile few;
static void **pages;

static int withhold(int fd, void *start, size_t nr_bytes) {
    struct uffdio_register range = {.range = {(uintptr_t)start, nr_bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};
    return ioctl(fd, UFFDIO_REGISTER, &range);
}

int main(void) {
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) != 0) {
        perror("userfaultfd");
        return 77;
    }
    block = malloc(1 << 20);
    char *page = (char *)(((uintptr_t)block + 8191) & ~(uintptr_t)4095);
    if (madvise(variable, sizeof(variable), MADV_DONTNEED) != 0 ||
        withhold(fd, variable, sizeof(variable)) != 0 || withhold(fd, page, 1 << 19) != 0) {
        perror("register");
        return 77;
    }
    pages = mmap(NULL, 3 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    few = aligned_alloc(4096, 8 << 12);
    pages[1] = malloc(1001);
    *(void **)few = malloc(1002);
    if (madvise(few + 4096, 7 << 12, MADV_DONTNEED) != 0 || withhold(fd, few + 4096, 7 << 12) != 0 ||
        withhold(fd, pages, 3 << 12) != 0) {
        perror("register");
        return 77;
    }
    puts("ready");
    fflush(stdout);
    return read(0, &fd, 1) != 0;
}
