// SPDX-License-Identifier: BSD-2-Clause
// Writes events as lines, see report_events.h.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "output/report_events.h"
#include "view/summary.h"

static bool find_process(struct seep_events_walk *walking) {
    const struct seep_view *view = walking->view;
    struct seep_profile *const *profiles = view->session->profiles + view->first_process;
    walking->process = seep_profiles_find(profiles, view->nr_processes, walking->chunk->pid,
                                          walking->chunk->start_realtime_ns);
    if (walking->process == view->nr_processes)
        return false;
    walking->profile = profiles[walking->process];
    return true;
}

struct seep_error *seep_events_walk_all(struct seep_events_walk *walking,
                                        struct seep_error *(*put)(const struct seep_events_walk *,
                                                                  const struct seep_recorded *)) {
    struct seep_error *error = walking->source->rewind(walking->source->data, INT64_MIN, INT64_MAX);
    while (!error) {
        const struct seep_recorded *events;
        error = walking->source->next(walking->source->data, &walking->chunk, &events);
        if (error || !walking->chunk)
            break;
        if (!find_process(walking))
            continue;
        for (uint64_t i = 0; !error && i < walking->chunk->nr_events; i++)
            if (events[i].site < walking->profile->nr_sites)
                error = put(walking, &events[i]);
    }
    return error;
}

const char *seep_event_name(uint32_t kind) {
    return kind == SEEP_EVENT_ALLOCATION ? "allocation"
           : kind == SEEP_EVENT_KEPT     ? "kept"
                                         : seep_release_name(kind - SEEP_EVENT_FREE);
}

// ---- as the log --------------------------------------------------------------------------------------

// A block that realloc has taken, by process and slot: address, + 1 where it is one.
struct log {
    struct seep_map moving;
};

static struct seep_error *put_log(const struct seep_events_walk *walking, const struct seep_recorded *event) {
    struct log *log = walking->data;
    FILE *out = walking->out;
    uint64_t *moving = seep_map_at(&log->moving, (uint64_t)walking->process << 32 | event->slot, NULL);
    if (!moving)
        return seep_error_no_memory();
    uint32_t via = walking->profile->sites[event->site].via;
    if (event->kind == SEEP_EVENT_FREE + SEEP_RELEASE_REALLOC) {
        *moving = event->address;
        return NULL;
    }
    uint64_t from = *moving;
    *moving = 0;
    if (event->kind == SEEP_EVENT_KEPT) {
        fprintf(out, "realloc\t0x%" PRIx64 " ?\t(nil)\n", event->address);
        return NULL;
    }
    bool is_resize = via == SEEP_VIA_REALLOC || via == SEEP_VIA_REALLOCARRAY;
    if (from && (event->kind != SEEP_EVENT_ALLOCATION || !is_resize))
        fprintf(out, "realloc\t0x%" PRIx64 " 0\t(nil)\n", from);
    if (event->kind != SEEP_EVENT_ALLOCATION) {
        uint32_t release = event->kind - SEEP_EVENT_FREE;
        fprintf(out, "%s\t0x%" PRIx64 "\t-\n",
                release == SEEP_RELEASE_DELETE         ? "operator delete"
                : release == SEEP_RELEASE_DELETE_ARRAY ? "operator delete[]"
                                                       : "free",
                event->address);
        return NULL;
    }
    if (via == SEEP_VIA_REALLOC || via == SEEP_VIA_REALLOCARRAY) {
        fprintf(out, from ? "realloc\t0x%" PRIx64 : "realloc\t(nil)", from);
        fprintf(out, " %" PRIu64, event->size);
    } else if (via == SEEP_VIA_CALLOC) {
        fprintf(out, "calloc\t1 %" PRIu64, event->size);
    } else if (via == SEEP_VIA_NEW || via == SEEP_VIA_NEW_ARRAY) {
        fprintf(out, "operator new%s\t%" PRIu64, via == SEEP_VIA_NEW_ARRAY ? "[]" : "", event->size);
    } else if (via == SEEP_VIA_POSIX_MEMALIGN || via == SEEP_VIA_ALIGNED_ALLOC || via == SEEP_VIA_MEMALIGN) {
        fprintf(out, "%s\t? %" PRIu64, seep_via_name(via), event->size);
    } else {
        fprintf(out, "%s\t%" PRIu64, seep_via_name(via), event->size);
    }
    fprintf(out, "\t0x%" PRIx64 "\n", event->address);
    return NULL;
}

struct seep_error *seep_events_log(FILE *out, const struct seep_view *view,
                                   const struct seep_event_source *source) {
    struct log log = {SEEP_MAP_INIT};
    struct seep_events_walk walking = {.out = out, .view = view, .source = source, .data = &log};
    struct seep_error *error = seep_events_walk_all(&walking, put_log);
    seep_map_deinit(&log.moving);
    return error;
}

// ---- as a table --------------------------------------------------------------------------------------

static void put_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, out);
    }
    fputc('"', out);
}

static struct seep_error *put_csv(const struct seep_events_walk *walking, const struct seep_recorded *event) {
    struct seep_view *view = walking->data;
    const struct seep_site *site = &walking->profile->sites[event->site];
    const char *place;
    // The view remembers what it was asked.
    struct seep_error *error = seep_summary_place(view, view->nodes[walking->process][site->node], &place);
    if (error)
        return error;
    fprintf(walking->out, "%" PRId64 ",%" PRIu32 ",%" PRIu32 ",%s,0x%" PRIx64 ",%" PRIu64 ",%" PRIu32 ",%s,",
            walking->source->time(walking->chunk, event->stamp), walking->profile->process.pid, event->slot,
            seep_event_name(event->kind), event->address, event->size, event->site, seep_via_name(site->via));
    put_quoted(walking->out, place ? place : "");
    fputc('\n', walking->out);
    return NULL;
}

struct seep_error *seep_events_csv(FILE *out, struct seep_view *view,
                                   const struct seep_event_source *source) {
    struct seep_events_walk walking = {.out = out, .view = view, .source = source, .data = view};
    fputs("at_ns,process,thread,event,address,size,site,function,place\n", out);
    return seep_events_walk_all(&walking, put_csv);
}
