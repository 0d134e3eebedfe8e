// SPDX-License-Identifier: BSD-2-Clause
//
// Puts the programs of memleak_way.bpf.c on a process: memleak_way OBJECT PID LIBC MALLOC FREE, the last two
// as offsets in the file. Says "ready" when they are in place and goes when its input ends.
#include <stdio.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

static void attach(struct bpf_object *object, const char *name, bool returns, pid_t pid, const char *path,
                   const char *offset) {
    struct bpf_program *program = bpf_object__find_program_by_name(object, name);
    if (!program ||
        !bpf_program__attach_uprobe(program, returns, pid, path, (size_t)strtoul(offset, NULL, 0))) {
        perror(name);
        exit(1);
    }
}

int main(int nr_arguments, char **arguments) {
    if (nr_arguments != 6)
        return 2;
    struct bpf_object *object = bpf_object__open_file(arguments[1], NULL);
    if (!object || bpf_object__load(object)) {
        perror("memleak_way");
        return 1;
    }
    pid_t pid = atoi(arguments[2]);
    attach(object, "malloc_enters", false, pid, arguments[3], arguments[4]);
    attach(object, "malloc_returns", true, pid, arguments[3], arguments[4]);
    attach(object, "free_enters", false, pid, arguments[3], arguments[5]);
    puts("ready");
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
