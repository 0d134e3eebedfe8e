// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

        #include <signal.h>
        #include <stdlib.h>
        int main(void) {
            for (int i = 0; i < 20000; i++)
                free(malloc(30));
            malloc(77);
            raise(SIGKILL);
        }