// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
#include <stdio.h>
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <sys/stat.h>
        #include <unistd.h>
        int main(void) {
            int fd = memfd_create("sparse", 0);
            struct stat s;
            if (ftruncate(fd, 1L << 30)) return 1;
            void **at = mmap(NULL, 1L << 30, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            at[1 << 20] = malloc(100);
            fstat(fd, &s);
            long before = (long)s.st_blocks;
            printf("%d\n", (int)getpid()); fflush(stdout); getchar();
            fstat(fd, &s);
            printf("%ld\n", (long)s.st_blocks - before);
            return 0; }