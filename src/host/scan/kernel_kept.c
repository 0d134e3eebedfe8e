// SPDX-License-Identifier: BSD-2-Clause
// What the kernel keeps for a process, see kernel_kept.h. Each watched descriptor has one line of text.
// The number of lines is bounded, because the process waits while they are read.
#include "scan/kernel_kept.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/map.h"
#include "profile/chain.h"
#include "scan/roots.h"

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

static bool add_descriptor(int32_t **items, size_t *capacity, size_t *nr, const char *name) {
    if (!seep_grow(items, capacity, *nr + 1, sizeof(**items)))
        return false;
    (*items)[(*nr)++] = (int32_t)strtol(name, NULL, 10);
    return true;
}

bool seep_kernel_kept_find(pid_t pid, struct seep_kernel_kept *kept) {
    char path[64], target[32];
    bool fits = true;
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)seep_live_thread(pid));
    DIR *folder = opendir(path);
    for (const struct dirent *entry; folder && fits && (entry = readdir(folder)) != NULL;) {
        bool is_number = *entry->d_name != '.';
        ssize_t length =
            is_number ? readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) : -1;
        if (length < 0)
            continue;
        target[length] = 0;
        if (strcmp(target, "anon_inode:[eventpoll]") == 0)
            fits = add_descriptor(&kept->epolls, &kept->epolls_capacity, &kept->nr_epolls, entry->d_name);
        else if (strcmp(target, "anon_inode:[io_uring]") == 0)
            fits = add_descriptor(&kept->rings, &kept->rings_capacity, &kept->nr_rings, entry->d_name);
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
    struct seep_kernel_word word = {.kind = SEEP_ROOT_EPOLL, .id = descriptor};
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
    struct seep_kernel_word word = {.kind = SEEP_ROOT_TIMER};
    while (file && fits && fgets(line, sizeof(line), file))
        if (sscanf(line, "ID: %" SCNd32, &word.id) != 1 &&
            sscanf(line, "signal: %*d/%" SCNx64, &word.word) == 1)
            fits = add(kept, word);
    if (file)
        fclose(file);
    return fits;
}

// The lines behind "UserBufs:" are `  0: 0xADDRESS/BYTES`, up to one that is not. Files have lines of numbers
// too, before it.
static bool read_ring(struct seep_kernel_kept *kept, pid_t tid, int32_t descriptor) {
    char path[64], line[256];
    bool fits = true, is_there = false;
    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", (int)tid, (int)descriptor);
    FILE *file = fopen(path, "re");
    struct seep_kernel_word word = {
        .kind = SEEP_ROOT_KERNEL, .is_start = true, .id = descriptor, .of = SEEP_KERNEL_BUFFER};
    while (file && fits && !kept->is_cut && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "UserBufs:", 9) == 0)
            is_there = true;
        else if (line[0] != ' ')
            is_there = false;
        else if (is_there && sscanf(line, "%*u: 0x%" SCNx64 "/", &word.word) == 1)
            fits = add(kept, word);
    }
    if (file)
        fclose(file);
    return fits;
}

// Of what sigqueue, timers, mq_notify and aio send. What a process sends by kill has no value.
static bool add_signal(struct seep_kernel_kept *kept, const siginfo_t *info) {
    if (info->si_code >= 0 || info->si_code == SI_TKILL || info->si_code == SI_SIGIO)
        return true;
    return add(kept, (struct seep_kernel_word){.word = (uintptr_t)info->si_value.sival_ptr,
                                               .kind = SEEP_ROOT_KERNEL,
                                               .id = info->si_signo,
                                               .of = SEEP_KERNEL_SIGNAL});
}

// The kernel walks its queue from the start for each signal that it tells: 60,000 signals took 20 seconds.
#define SIGNALS_MAX 8192u

// Signals that wait for the thread, or for the process. Source: ptrace(2), PTRACE_PEEKSIGINFO.
static bool read_signals(struct seep_kernel_kept *kept, pid_t tid, bool of_process) {
    siginfo_t infos[64];
    struct __ptrace_peeksiginfo_args from = {.flags = of_process ? PTRACE_PEEKSIGINFO_SHARED : 0,
                                             .nr = SEEP_ARRAY_SIZE(infos)};
    while (kept->nr_signals < SIGNALS_MAX) {
        long nr = ptrace(PTRACE_PEEKSIGINFO, tid, &from, infos);
        for (long i = 0; i < nr; i++)
            if (!add_signal(kept, &infos[i]))
                return false;
        if (nr < (long)SEEP_ARRAY_SIZE(infos) || kept->is_cut)
            return true; // also where the thread is not traced
        from.off += (uint64_t)nr;
        kept->nr_signals += (size_t)nr;
    }
    kept->is_cut = true;
    return true;
}

// Of <linux/ptrace.h>, since Linux 5.13.
struct rseq_configuration {
    uint64_t area_rt;
    uint32_t area_bytes, signature, flags, pad;
};
#define GET_RSEQ_CONFIGURATION 0x420f

static bool read_thread(struct seep_kernel_kept *kept, const struct seep_stopped_thread *thread) {
    struct seep_kernel_word word = {.kind = SEEP_ROOT_KERNEL, .is_start = true, .id = thread->tid};
    struct rseq_configuration sequences = {0};
    void *head = NULL;
    size_t bytes;
    siginfo_t info;
    bool fits = true;
    if (syscall(SYS_get_robust_list, thread->tid, &head, &bytes) == 0 && head) {
        word.of = SEEP_KERNEL_ROBUST_LIST;
        word.word = (uintptr_t)head;
        fits = add(kept, word);
    }
    if (fits && ptrace(GET_RSEQ_CONFIGURATION, thread->tid, sizeof(sequences), &sequences) > 0 &&
        sequences.area_rt) {
        word.of = SEEP_KERNEL_RSEQ;
        word.word = sequences.area_rt;
        fits = add(kept, word);
    }
    // One that it was about to take is in no queue.
    if (fits && thread->signal && ptrace(PTRACE_GETSIGINFO, thread->tid, NULL, &info) == 0)
        fits = add_signal(kept, &info);
    return fits && read_signals(kept, thread->tid, false);
}

bool seep_kernel_kept_read(pid_t pid, const struct seep_stopped *stopped, struct seep_kernel_kept *kept) {
    pid_t tid = seep_live_thread(pid);
    bool fits = true;
    for (size_t i = 0; fits && i < kept->nr_epolls; i++)
        fits = read_epoll(kept, tid, kept->epolls[i]);
    for (size_t i = 0; fits && i < kept->nr_rings; i++)
        fits = read_ring(kept, tid, kept->rings[i]);
    fits = fits && read_timers(kept, tid);
    for (size_t i = 0; fits && i < stopped->nr_threads; i++)
        fits = read_thread(kept, &stopped->threads[i]) &&
               (i || read_signals(kept, stopped->threads[i].tid, true));
    return fits;
}

void seep_kernel_kept_deinit(struct seep_kernel_kept *kept) {
    free(kept->items);
    free(kept->epolls);
    free(kept->rings);
    *kept = (struct seep_kernel_kept){NULL};
}
