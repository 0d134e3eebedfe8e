// SPDX-License-Identifier: BSD-2-Clause
//
// A saved trace from any bytes. Besides not crashing: whatever comes out keeps the promises of
// profile.h about its ids, and can be saved again. Checksums would stop nearly every input at the
// door, so each is tried twice: as it is, and with its checksums and its end section put right.
// tests/fuzz/corpus/trace is written by tests/golden/make_v1.py.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "file/session_file.h"
#include "fuzz.h"
#include "trace_repair.h"

static void check(const struct seep_profile *profile) {
    MUST(profile->nr_modules >= 1 && profile->nr_nodes >= 1 && profile->nr_sites >= 1);
    for (uint32_t i = 0; i < profile->nr_modules; i++)
        MUST(profile->modules[i].path &&
             profile->modules[i].build_id_bytes <= sizeof(profile->modules[i].build_id));
    for (uint32_t i = 1; i < profile->nr_nodes; i++) {
        const struct seep_node *node = &profile->nodes[i];
        MUST(node->parent < i && node->module < profile->nr_modules);
        MUST(node->kind == SEEP_NODE_FRAME || (node->kind == SEEP_NODE_CUT && !node->parent));
    }
    for (uint32_t i = 0; i < profile->nr_sites; i++)
        MUST(profile->sites[i].node < profile->nr_nodes);
    for (uint32_t i = 0; i < profile->nr_threads; i++)
        MUST(memchr(profile->threads[i].name, 0, sizeof(profile->threads[i].name)));
    for (size_t i = 0; i < profile->nr_blocks; i++) {
        const struct seep_block *at = &profile->blocks[i];
        MUST(at->site < profile->nr_sites && (at->thread == UINT32_MAX || at->thread < profile->nr_threads));
        MUST(i == 0 || at[-1].address <= at->address);
    }
    for (size_t i = 0; i < profile->nr_thread_sites; i++) {
        const struct seep_thread_site *at = &profile->thread_sites[i];
        MUST(at->site < profile->nr_sites && at->thread < profile->nr_threads);
        MUST(i == 0 || at[-1].site < at->site || (at[-1].site == at->site && at[-1].thread < at->thread));
    }
    for (uint32_t i = 0; i < profile->process.nr_args; i++)
        MUST(profile->process.args[i]);
    for (size_t i = 0; i < profile->health.nr_notes; i++)
        MUST(profile->health.notes[i].text && seep_note_name(profile->health.notes[i].code) &&
             !(profile->health.notes[i].flags & ~SEEP_NOTE_FLAGS));
}

static void load(const uint8_t *data, size_t size) {
    struct seep_session *session = NULL;
    struct seep_error *error = seep_session_load_bytes(data, size, "input", &session);
    if (error) {
        MUST(!session && error->message[0] && !strchr(error->message, '\n'));
        seep_error_destroy(error);
        return;
    }
    MUST(session->nr_profiles > 0);
    for (size_t i = 0; i < session->nr_profiles; i++)
        check(session->profiles[i]);
    error = seep_session_save(session, "/dev/null");
    MUST(!error);
    seep_session_destroy(session);
}

// One process by the index: what the whole file gives, or an error. From a file, as the index is found from
// its end.
static void load_some(const uint8_t *data, size_t size) {
    int fd = memfd_create("trace", MFD_CLOEXEC);
    MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    for (uint64_t pid = 200; pid <= 201; pid++) { // those of the seed with an index
        struct seep_session *session = NULL;
        struct seep_error *error = seep_session_load_some(path, pid, NULL, &session);
        MUST((error != NULL) == (session == NULL));
        for (size_t i = 0; session && i < session->nr_profiles; i++)
            check(session->profiles[i]);
        seep_session_destroy(session);
        seep_error_destroy(error);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    load(data, size);
    load_some(data, size);
    uint8_t *copy = malloc(size ? size : 1);
    MUST(copy);
    if (size)
        memcpy(copy, data, size);
    trace_repair(copy, size);
    load(copy, size);
    load_some(copy, size);
    free(copy);
    return 0;
}
