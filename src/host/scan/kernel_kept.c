// SPDX-License-Identifier: BSD-2-Clause
// What the kernel keeps for a process, see kernel_kept.h. Each watched descriptor has one line of text.
// The number of lines is bounded, because the process waits while they are read.
#include "scan/kernel_kept.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"

#define WORDS_MAX 1000000u // the kernel's limit of descriptors (fs.nr_open) is about that

static bool add(struct seep_kernel_kept *kept, struct seep_kernel_word word) {
    if (kept->nr_items >= WORDS_MAX) {
        kept->is_cut = true;
        return true;
    }
    if (!seep_grow(&kept->items, &kept->capacity, kept->nr_items + 1, sizeof(*kept->items)))
        return false;
    kept->items[kept->nr_items++] = word;
    return true;
}

bool seep_kernel_kept_find(pid_t pid, struct seep_kernel_kept *kept) {
    static const char kind[] = "anon_inode:[eventpoll]";
    char path[64], target[sizeof(kind)];
    bool fits = true;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)seep_live_thread(pid));
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && fits && (entry = readdir(folder)) != NULL;) {
        ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));
        if (length != (ssize_t)sizeof(kind) - 1 || memcmp(target, kind, sizeof(kind) - 1) != 0)
            continue;
        fits = seep_grow(&kept->epolls, &kept->epolls_capacity, kept->nr_epolls + 1, sizeof(*kept->epolls));
        if (fits)
            kept->epolls[kept->nr_epolls++] = (int32_t)strtol(entry->d_name, NULL, 10);
    }
    if (folder)
        closedir(folder);
    return fits;
}

static bool read_epoll(struct seep_kernel_kept *kept, pid_t tid, int32_t descriptor) {
    char path[64], line[256];
    bool fits = true;
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)tid, (int)descriptor);
    FILE *file = fopen(path, "re");
    struct seep_kernel_word word = {.epoll = descriptor};
    while (file && fits && !kept->is_cut && fgets(line, sizeof(line), file))
        if (sscanf(line, "tfd: %" SCNu32 " events: %*x data: %" SCNx64, &word.of, &word.word) == 2)
            fits = add(kept, word);
    if (file)
        fclose(file);
    return fits;
}

static bool read_timers(struct seep_kernel_kept *kept, pid_t tid) {
    char path[64], line[256];
    bool fits = true;
    snprintf(path, sizeof(path), "/proc/%d/timers", (int)tid);
    FILE *file = fopen(path, "re");
    struct seep_kernel_word word = {.epoll = -1};
    while (file && fits && fgets(line, sizeof(line), file))
        if (sscanf(line, "ID: %" SCNu32, &word.of) != 1 &&
            sscanf(line, "signal: %*d/%" SCNx64, &word.word) == 1)
            fits = add(kept, word);
    if (file)
        fclose(file);
    return fits;
}

bool seep_kernel_kept_read(pid_t pid, struct seep_kernel_kept *kept) {
    pid_t tid = seep_live_thread(pid);
    bool fits = true;
    for (size_t i = 0; fits && i < kept->nr_epolls; i++)
        fits = read_epoll(kept, tid, kept->epolls[i]);
    return fits && read_timers(kept, tid);
}

void seep_kernel_kept_deinit(struct seep_kernel_kept *kept) {
    free(kept->items);
    free(kept->epolls);
    *kept = (struct seep_kernel_kept){NULL};
}
