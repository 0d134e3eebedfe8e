// SPDX-License-Identifier: BSD-2-Clause
//
// Records of the ring buffer of `seep attach`, of any bytes: each has a byte for its length, then what the kernel's
// side writes. Processes are few, and none of them is there: what the machine has mapped is no input. Besides not
// crashing: the profile of each process is whole, and one that is read again is the same.
#include <stdlib.h>
#include <string.h>

#include "file/session_file.h"
#include "image/bpf_events.h"
#include "source/attach/attach_parts.h"
#include "source/attach/profile_traced.h"
#include "source/attach/traced_process.h"
#include "unwind/row_kinds.h"
#include "fuzz.h"

#define PIDS       8u
#define FIRST_PID  0x40000000u // above what a kernel gives
#define FAKE_BYTES 65536u      // of the loaded programs: all of their maps are NULL, which libbpf refuses

static uint32_t pid_of(uint64_t value) {
    return FIRST_PID + (uint32_t)(value % PIDS);
}

// Rows of each kind, 4 KiB of code each, for the program at 4096.
#define KIND_SHIFT 12u
#define NR_PAGES   (60u)

static void give_rows(struct seep_attached *attached, struct seep_traced_process *process) {
    static uint64_t rows[SEEP_ROW_UNSUPPORTED + 1], index[NR_PAGES + 1];
    const struct seep_bpf_mapping mapping = {.start = 4096, .end = 65536, .base = 4096, .nr_pages = NR_PAGES};
    for (uint64_t kind = 0; kind < SEEP_ARRAY_SIZE(rows); kind++)
        rows[kind] = kind << KIND_SHIFT | 2ull << 32 | kind << 48 | 1ull << 52 | 0xfeull << 56;
    for (uint64_t page = 0; page <= NR_PAGES; page++)
        index[page] = SEEP_MIN((page + 3) / 4, (uint64_t)SEEP_ARRAY_SIZE(rows));
    attached->tables.rows = rows;
    attached->tables.index = index;
    struct seep_error *error = seep_attach_set_code(process, &mapping, 1, (uint32_t[]){0, 1});
    MUST(!error);
}

static struct seep_attached *start(uint8_t how) {
    struct seep_attached *attached = calloc(1, sizeof(*attached));
    struct seep_traced_process *process;
    MUST(attached);
    attached->pidfd = attached->cgroup = -1;
    attached->tables.processes_fd = -1;
    attached->scope = how & 1 ? SEEP_BPF_SCOPE_ALL : SEEP_BPF_SCOPE_FAMILY;
    attached->options.all = how & 1;
    attached->options.source = how & 2 ? SEEP_SOURCE_OTEL : SEEP_SOURCE_FUNCTIONS;
    attached->options.ignore_children = how & 4;
    attached->options.pid = (pid_t)FIRST_PID;
    attached->bpf = calloc(1, FAKE_BYTES);
    MUST(attached->bpf);
    struct seep_error *error = seep_attach_add_process(attached, (pid_t)FIRST_PID, &process);
    MUST(!error);
    struct seep_heap_module module = {
        .module = {.path = "/program", .bias_rt = 4096, .start_rt = 4096, .end_rt = 65536}};
    struct seep_heap_area area = {.start = 4096, .end = 65536};
    error = seep_heap_add_module(&process->heap, &module, &area.module);
    if (!error)
        error = seep_heap_add_area(&process->heap, &area);
    MUST(!error);
    give_rows(attached, process);
    return attached;
}

static void take(struct seep_attached *attached, const uint8_t *data, size_t size) {
    while (size && !attached->failed) {
        size_t nr = SEEP_MIN((size_t)data[0], size - 1);
        uint8_t *record = malloc(nr ? nr : 1); // of its own size, so that a read beyond it is seen
        MUST(record);
        memcpy(record, data + 1, nr);
        if (nr >= sizeof(struct seep_bpf_event)) {
            struct seep_bpf_event *event = (void *)record;
            event->pid = pid_of(event->pid);
            if (event->kind == SEEP_BPF_FORK || event->kind == SEEP_BPF_EXEC)
                event->address = pid_of(event->address);
        }
        seep_attach_take(attached, record, nr);
        free(record);
        data += 1 + nr;
        size -= 1 + nr;
        attached->now_ns += 1000;
    }
}

static void check(const struct seep_profile *profile) {
    for (uint32_t i = 1; i < profile->nr_nodes; i++)
        MUST(profile->nodes[i].parent < i && profile->nodes[i].module < profile->nr_modules);
    for (uint32_t i = 1; i < profile->nr_sites; i++)
        MUST(profile->sites[i].node < profile->nr_nodes);
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        MUST(profile->blocks[i].site < profile->nr_sites);
        MUST(!i || profile->blocks[i - 1].address < profile->blocks[i].address);
    }
}

static void look(const struct seep_attached *attached) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_from_trace(attached, &session);
    MUST(!error);
    for (size_t i = 0; i < session->nr_profiles; i++)
        check(session->profiles[i]);
    if (session->nr_profiles) {
        error = seep_session_save(session, "/dev/null");
        MUST(!error);
    }
    seep_session_destroy(session);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    struct seep_attached *attached = start(data[0]);
    take(attached, data + 1, size - 1);
    void *fake = attached->bpf;
    seep_attach_close_landings(attached);
    attached->landings = NULL;
    attached->nr_landings = 0;
    attached->bpf = NULL;
    look(attached);
    seep_attached_destroy(attached);
    free(fake);
    return 0;
}
