// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

    #include <pthread.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void *work(void *data) {
        for (int i = 0; i < 40000; i++)
            free(malloc(10));
        return data;
    }
    // Threads end one after another with full rings, then a child of fork that becomes another program.
    int main(int argc, char **argv) {
        char go;
        pthread_t threads[6];
        if (argc != 2 || read(0, &go, 1) != 1)
            return 1;
        for (int i = 0; i < 6; i++)
            if (pthread_create(&threads[i], NULL, work, NULL) || (i % 2 && pthread_join(threads[i], NULL)))
                return 1;
        for (int i = 0; i < 6; i += 2)
            pthread_join(threads[i], NULL);
        pid_t child = fork();
        if (child == 0) {
            work(NULL);
            execlp("true", "true", NULL);
            _exit(1);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status)
            return 1;
        FILE *done = fopen(argv[1], "w");
        return !done || fclose(done);
    }
