// SPDX-License-Identifier: BSD-2-Clause
//
// Probes of an object in a process, by what the kernel has for it. See attach_parts.h.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "process/gone.h"
#include "source/attach/bpf_program.h"
#include "source/attach/heap.skel.h"
#include "source/attach/attach_parts.h"

static struct bpf_program *program_of(const struct seep_attached *attached, enum seep_probe_kind kind,
                                      bool returns) {
    switch (kind) {
    case SEEP_PROBE_FREE:
        return attached->bpf->progs.seep_free;
    case SEEP_PROBE_MODULES:
        return attached->bpf->progs.seep_modules;
    case SEEP_PROBE_NEW:
        return attached->bpf->progs.seep_new;
    case SEEP_PROBE_OTEL_ALLOC:
        return attached->bpf->progs.seep_otel_alloc;
    case SEEP_PROBE_OTEL_FREE:
        return attached->bpf->progs.seep_otel_free;
    default:
        if (attached->options.probes == SEEP_PROBES_BEST)
            return attached->bpf->progs.seep_session;
        return returns ? attached->bpf->progs.seep_return : attached->bpf->progs.seep_entry;
    }
}

// Kernels before 6.6: one link for each place.
static struct seep_error *attach_old(struct seep_attached *attached,
                                     struct seep_attach_attachment *attachment, enum seep_probe_kind kind,
                                     const struct seep_bpf_places *places, bool returns) {
    size_t capacity = attachment->nr_old_links;
    if (!seep_grow(&attachment->old_links, &capacity, attachment->nr_old_links + places->nr,
                   sizeof(*attachment->old_links)))
        return seep_error_no_memory();
    pid_t pid = places->pid ? places->pid : -1; // for libbpf 0 is ourselves
    for (uint32_t i = 0; i < places->nr; i++) {
        LIBBPF_OPTS(bpf_uprobe_opts, options, .bpf_cookie = places->cookies[i], .retprobe = returns,
                    .ref_ctr_offset = places->semaphores ? places->semaphores[i] : 0);
        struct bpf_link *link = bpf_program__attach_uprobe_opts(program_of(attached, kind, returns), pid,
                                                                places->path, places->offsets[i], &options);
        if (!link)
            return seep_error_system(errno, "cannot put probes on %s",
                                     attached->objects[attachment->object]->path);
        attachment->old_links[attachment->nr_old_links++] = link;
    }
    return NULL;
}

static struct seep_error *attach_kind(struct seep_attached *attached,
                                      struct seep_attach_attachment *attachment, enum seep_probe_kind kind) {
    const struct seep_attach_object *object = attached->objects[attachment->object];
    const struct seep_probe_places *found = &object->allocator.places[kind];
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", object->fd);
    struct seep_bpf_places places = {.path = path,
                                     .offsets = found->offsets,
                                     .cookies = found->cookies,
                                     .semaphores = found->semaphores,
                                     .nr = (uint32_t)found->nr,
                                     .pid = attachment->pid};
    bool session = kind == SEEP_PROBE_ALLOC && attached->options.probes == SEEP_PROBES_BEST;
    // Landings come one by one, which takes too long without uprobe.multi.
    if (!found->nr || (kind == SEEP_PROBE_NEW && attached->options.probes == SEEP_PROBES_PERF))
        return NULL;
    struct seep_error *err = NULL;
    if (attached->options.probes == SEEP_PROBES_PERF) {
        err = attach_old(attached, attachment, kind, &places, false);
        return !err && kind == SEEP_PROBE_ALLOC ? attach_old(attached, attachment, kind, &places, true) : err;
    }
    err = seep_bpf_attach_multi(bpf_program__fd(program_of(attached, kind, false)),
                                session ? SEEP_BPF_ATTACH_SESSION : SEEP_BPF_ATTACH_MULTI, &places, false,
                                &attachment->links[kind]);
    // Without sessions the return is a probe of its own.
    if (!err && kind == SEEP_PROBE_ALLOC && !session)
        err = seep_bpf_attach_multi(bpf_program__fd(program_of(attached, kind, true)), SEEP_BPF_ATTACH_MULTI,
                                    &places, true, &attachment->links[SEEP_PROBE_NR]);
    return err ? seep_error_prefix(err, "%s", object->path) : NULL;
}

void seep_attach_attachment_deinit(struct seep_attach_attachment *attachment) {
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(attachment->links); i++)
        if (attachment->links[i] >= 0)
            close(attachment->links[i]);
    for (size_t i = 0; i < attachment->nr_old_links; i++)
        bpf_link__destroy(attachment->old_links[i]);
    free(attachment->old_links);
}

// A file may be made so that no probe can stand in it. Then the others have theirs, which counts where any of
// them is an allocator: seep_attach_check_probed().
static struct seep_error *refuse(struct seep_attached *attached, struct seep_attach_attachment *attachment,
                                 struct seep_error *err) {
    struct seep_attach_object *object = attached->objects[attachment->object];
    if (err->code == SEEP_E_MEMORY)
        return err;
    bool has_ended = attachment->pid && kill(attachment->pid, 0) != 0 && errno == ESRCH;
    seep_attach_attachment_deinit(attachment);
    attached->nr_attachments--; // it is the last
    if (has_ended || (attachment->pid && seep_process_is_zombie(attachment->pid))) {
        seep_error_destroy(err); // it is no fault of the file
        return NULL;
    }
    object->is_refused = true;
    close(object->fd);
    object->fd = -1;
    if (attached->refused)
        seep_error_destroy(err);
    else
        attached->refused = err;
    return NULL;
}

struct seep_error *seep_attach_check_probed(struct seep_attached *attached) {
    if (attached->nr_probed || !attached->refused)
        return NULL;
    struct seep_error *err = attached->refused;
    attached->refused = NULL;
    return err;
}

struct seep_error *seep_attach_probes(struct seep_attached *attached, size_t object, pid_t pid) {
    if (attached->scope != SEEP_BPF_SCOPE_PROBED)
        pid = 0;
    for (size_t i = 0; i < attached->nr_attachments; i++)
        if (attached->attachments[i].object == object && attached->attachments[i].pid == pid)
            return NULL;
    if (attached->objects[object]->fd < 0)
        return NULL;
    if (!seep_grow(&attached->attachments, &attached->attachments_capacity, attached->nr_attachments + 1,
                   sizeof(*attached->attachments)))
        return seep_error_no_memory();
    attached->objects[object]->probed = !pid;
    struct seep_attach_attachment *attachment = &attached->attachments[attached->nr_attachments++];
    *attachment = (struct seep_attach_attachment){.object = object, .pid = pid};
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(attachment->links); i++)
        attachment->links[i] = -1;
    static const enum seep_probe_kind order[] = {SEEP_PROBE_MODULES,   SEEP_PROBE_FREE,
                                                 SEEP_PROBE_ALLOC,     SEEP_PROBE_NEW,
                                                 SEEP_PROBE_OTEL_FREE, SEEP_PROBE_OTEL_ALLOC};
    struct seep_error *err = NULL;
    for (size_t i = 0; i < SEEP_ARRAY_SIZE(order) && !err; i++)
        err = attach_kind(attached, attachment, order[i]);
    attached->nr_probed += !err && attached->objects[object]->allocator.places[SEEP_PROBE_ALLOC].nr != 0;
    return err ? refuse(attached, attachment, err) : NULL;
}
