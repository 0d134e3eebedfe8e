// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <fcntl.h>
        #include <stdlib.h>
        #include <unistd.h>
        int main(void) {
            close(2);
            if (open("its-own", O_WRONLY | O_CREAT, 0600) != 2)
                return 1;
            for (int i = 0; i < 10; i++)
                free(malloc(10));
            return write(2, "mine", 4) != 4;
        }