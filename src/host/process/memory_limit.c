// SPDX-License-Identifier: BSD-2-Clause
//
// Limits of memory, see memory_limit.h.
// Source: Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst, proc(5) of Linux.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/live_thread.h"
#include "base/sum.h"
#include "process/memory_limit.h"

// ---- small files ------------------------------------------------------------------------------------

// false: not there, or not a number ("max").
static bool read_number(const char *path, uint64_t *ret_value) {
    FILE *file = fopen(path, "re");
    unsigned long long value;
    bool found = file && fscanf(file, "%llu", &value) == 1;
    if (file)
        fclose(file);
    if (found)
        *ret_value = value;
    return found;
}

// A figure of /proc/meminfo, in bytes; 0: not there.
static uint64_t meminfo(const char *name) {
    char line[256], wanted[64];
    unsigned long long kib = 0;
    int length = snprintf(wanted, sizeof(wanted), "%s: %%llu kB", name);
    FILE *file = fopen("/proc/meminfo", "re");
    bool found = false;
    while (file && length > 0 && !found && fgets(line, sizeof(line), file))
        found = strncmp(line, wanted, strlen(name) + 1) == 0 &&
                sscanf(line + strlen(name) + 1, "%llu", &kib) == 1;
    if (file)
        fclose(file);
    return found ? (uint64_t)kib * 1024 : 0;
}

uint64_t seep_process_rss(pid_t pid) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/statm", (int)seep_live_thread(pid));
    FILE *file = fopen(path, "re");
    unsigned long long pages = 0;
    if (!file || fscanf(file, "%*u %llu", &pages) != 1)
        pages = 0;
    if (file)
        fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t seep_process_cpu_ns(pid_t pid) {
    clockid_t clock;
    struct timespec ran;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &ran) != 0)
        return 0;
    return (uint64_t)ran.tv_sec * 1000000000 + (uint64_t)ran.tv_nsec;
}

// ---- where the groups are ---------------------------------------------------------------------------

// The group of a process in one hierarchy, and where that is mounted.
struct place {
    char group[256]; // "/a/b"; "": none
    char mount[256];
    char top[256]; // the group that the mount shows, "/" but in containers
};

struct places {
    struct place v2;
    struct place v1; // of the memory controller
};

static bool has_word(const char *list, const char *word) {
    size_t length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == 0))
            return true;
    return false;
}

// false: the process is gone.
static bool read_groups(pid_t pid, const char *root, struct places *places) {
    char path[512], line[512];
    snprintf(path, sizeof(path), "%s/proc/%d/cgroup", root, (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = 0;
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        controllers++;
        struct place *place = !*controllers                     ? &places->v2
                              : has_word(controllers, "memory") ? &places->v1
                                                                : NULL;
        if (place)
            snprintf(place->group, sizeof(place->group), "%s", group);
    }
    if (file)
        fclose(file);
    return *places->v1.group || *places->v2.group;
}

// "36 35 98:0 /root /mount options - type source super-options"
static void read_mounts(const char *root, struct places *places) {
    char path[512], line[1024], top[256], mount[256], type[32], super[256];
    snprintf(path, sizeof(path), "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file)) {
        const char *dash = strstr(line, " - ");
        if (!dash || sscanf(line, "%*s %*s %*s %255s %255s", top, mount) != 2 ||
            sscanf(dash + 3, "%31s %*s %255s", type, super) != 2)
            continue;
        struct place *place = strcmp(type, "cgroup2") == 0                               ? &places->v2
                              : strcmp(type, "cgroup") == 0 && has_word(super, "memory") ? &places->v1
                                                                                         : NULL;
        if (!place || *place->mount)
            continue;
        snprintf(place->mount, sizeof(place->mount), "%s", mount);
        snprintf(place->top, sizeof(place->top), "%s", top);
    }
    if (file)
        fclose(file);
}

// ---- the tightest -----------------------------------------------------------------------------------

struct search {
    const char *root;
    struct seep_memory_limit best;
    double best_left; // share of the limit that is not used
};

static void consider(struct search *search, const struct place *place, const char *group,
                     const char *limit_name, const char *usage_name) {
    struct seep_memory_limit limit;
    char path[768];
    uint64_t used;
    snprintf(path, sizeof(path), "%s%s%s/%s", search->root, place->mount, group, limit_name);
    // v1 says "none" as a number that no machine has.
    if (!read_number(path, &limit.bytes) || !limit.bytes || limit.bytes >> 60)
        return;
    int length = snprintf(limit.usage, sizeof(limit.usage), "%s%s%s/%s", search->root, place->mount, group,
                          usage_name);
    if (length < 0 || (size_t)length >= sizeof(limit.usage) || !read_number(limit.usage, &used))
        return;
    double left = 1 - (double)used / (double)limit.bytes;
    if (search->best.bytes && left >= search->best_left)
        return;
    snprintf(limit.what, sizeof(limit.what), "%s of %.120s", limit_name, *group ? group : "/");
    search->best = limit;
    search->best_left = left;
}

// The group and those above it, as far as the mount shows them. `ret_own`: the folder of the first.
static void climb(struct search *search, const struct place *place, bool v2, char ret_own[512]) {
    char group[256];
    if (!*place->mount || !*place->group)
        return;
    size_t top = strcmp(place->top, "/") == 0 ? 0 : strlen(place->top);
    if (top &&
        (strncmp(place->group, place->top, top) != 0 || (place->group[top] && place->group[top] != '/')))
        top = 0; // a namespace of its own: the group is named from the mount on
    snprintf(group, sizeof(group), "%s", strcmp(place->group, "/") == 0 ? "" : place->group + top);
    snprintf(ret_own, 512, "%.200s%.100s%.200s", search->root, place->mount, group);
    for (;;) {
        if (v2) {
            consider(search, place, group, "memory.max", "memory.current");
            consider(search, place, group, "memory.high", "memory.current");
        } else {
            consider(search, place, group, "memory.limit_in_bytes", "memory.usage_in_bytes");
        }
        char *slash = strrchr(group, '/');
        if (!slash)
            return;
        *slash = 0;
    }
}

void seep_memory_limit_find(pid_t pid, const char *root, struct seep_memory_limit *ret_limit) {
    struct places places = {0};
    struct search search = {.root = root};
    char own[512] = "";
    bool is_known = read_groups(pid, root, &places);
    read_mounts(root, &places);
    climb(&search, &places.v2, true, own);
    climb(&search, &places.v1, false, own);
    if (!search.best.bytes) {
        search.best.bytes = meminfo("MemTotal");
        snprintf(search.best.what, sizeof(search.best.what), "the machine's memory");
    }
    *ret_limit = search.best;
    memcpy(ret_limit->own, own, sizeof(own));
    ret_limit->is_known = is_known;
}

// A line "NAME N" of a file in the folder.
static uint64_t line_of(const char *folder, int length, const char *file_name, const char *name) {
    char path[640], line[128], word[64];
    unsigned long long value = 0, found = 0;
    snprintf(path, sizeof(path), "%.*s/%s", length, folder, file_name);
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof(line), file))
        if (sscanf(line, "%63s %llu", word, &value) == 2 && strcmp(word, name) == 0)
            found = value;
    if (file)
        fclose(file);
    return found;
}

static uint64_t killed_in(const char *folder, int length) {
    uint64_t killed = line_of(folder, length, "memory.events", "oom_kill");
    return killed ? killed : line_of(folder, length, "memory.oom_control", "oom_kill");
}

uint64_t seep_memory_limit_killed(const struct seep_memory_limit *limit) {
    const char *slash = strrchr(limit->usage, '/');
    int length = slash ? (int)(slash - limit->usage) : 0, own = (int)strlen(limit->own);
    bool is_one = length == own && strncmp(limit->usage, limit->own, (size_t)own) == 0;
    uint64_t above = length ? killed_in(limit->usage, length) : 0,
             here = own && !is_one ? killed_in(limit->own, own) : 0;
    // Version 2 counts those of groups below, version 1 does not.
    return SEEP_MAX(above, here);
}

// File pages of a group that the kernel would reclaim first.
static uint64_t idle_cache(const char *usage) {
    char path[sizeof(((struct seep_memory_limit *)0)->usage) + 16], line[128];
    unsigned long long bytes = 0;
    const char *slash = strrchr(usage, '/');
    snprintf(path, sizeof(path), "%.*s/memory.stat", slash ? (int)(slash - usage) : 0, usage);
    FILE *file = fopen(path, "re");
    unsigned long long own = 0;
    while (file && fgets(line, sizeof(line), file)) // v1 tells of the groups below apart
        if (sscanf(line, "total_inactive_file %llu", &bytes) == 1)
            break;
        else if (sscanf(line, "inactive_file %llu", &own) == 1)
            bytes = own;
    if (file)
        fclose(file);
    return bytes;
}

uint64_t seep_memory_limit_used(const struct seep_memory_limit *limit) {
    uint64_t used = 0;
    if (*limit->usage) {
        uint64_t idle = idle_cache(limit->usage);
        return read_number(limit->usage, &used) ? seep_above(used, idle) : 0;
    }
    return seep_above(meminfo("MemTotal"), meminfo("MemAvailable"));
}
