// SPDX-License-Identifier: BSD-2-Clause
// Titles of processes, see process_title.h. (Source: Linux, fs/proc/base.c, get_mm_cmdline.)
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text_copy.h"
#include "process/process_title.h"

#define TITLE_MOST_BYTES 1024u

char *seep_process_title(pid_t pid) {
    char path[64], text[TITLE_MOST_BYTES + 1];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t nr = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (nr <= 0)
        return NULL;
    text[nr] = 0;
    size_t length = strlen(text);
    for (size_t i = length; i < (size_t)nr; i++)
        if (text[i] != 0 && text[i] != ' ') // another argument
            return NULL;
    while (length && text[length - 1] == ' ')
        length--;
    return length ? seep_text_copy(text, length) : NULL;
}
