// SPDX-License-Identifier: BSD-2-Clause
// Figures of sites between looks: packed, and visited by their changes. See image_look.h.
#include <stdlib.h>
#include <string.h>

#include "source/image/image_look_parts.h"

// ---- figures, packed ----

void seep_look_put_figures(struct seep_put *put, const struct seep_figures *now,
                           const struct seep_figures *before) {
    uint64_t told[SEEP_FIGURES];
    unsigned mask = 0, nr = 0;
    if (!seep_put_room(put, (1 + SEEP_FIGURES) * SEEP_LEB_BYTES_MOST))
        return;
    for (unsigned i = 0; i < SEEP_FIGURES; i++) {
        uint64_t more = now->values[i] - (before ? before->values[i] : 0);
        if (!more)
            continue;
        mask |= 1u << i;
        told[nr++] = before ? seep_zigzag((int64_t)more) : more;
    }
    unsigned char *at = seep_store_leb(put->bytes + put->used, mask);
    for (unsigned i = 0; i < nr; i++)
        at = seep_store_leb(at, told[i]);
    put->used = (size_t)(at - put->bytes);
}

struct seep_take seep_look_take_of(const unsigned char *bytes, size_t nr_bytes) {
    return bytes ? (struct seep_take){bytes, bytes + nr_bytes, false} : (struct seep_take){NULL};
}

struct seep_figures seep_look_take_figures(struct seep_take *take) {
    struct seep_figures figures = {0};
    uint64_t mask = seep_take_leb(take);
    for (unsigned i = 0; i < SEEP_FIGURES; i++)
        if (mask >> i & 1)
            figures.values[i] = seep_take_leb(take);
    return figures;
}

struct seep_figures seep_figures_read(const unsigned char *bytes, size_t nr_bytes) {
    struct seep_take take = {bytes, bytes + nr_bytes, false};
    return seep_look_take_figures(&take);
}

struct seep_figures seep_look_figures_of(const struct seep_counters *c) {
    return (struct seep_figures){{c->allocations, c->allocated_bytes, c->frees, c->freed_bytes, c->temporary,
                                  c->peak_bytes, c->size_min, c->size_max}};
}

// ---- what changed ----

static const unsigned char *skip_figures(struct seep_take *take, size_t *ret_nr) {
    const unsigned char *bytes = take->at;
    uint64_t mask = seep_take_leb(take);
    for (unsigned i = 0; i < SEEP_FIGURES; i++)
        if (mask >> i & 1)
            seep_take_leb(take);
    *ret_nr = (size_t)(take->at - bytes);
    return bytes;
}

static struct seep_error *each_difference(const struct seep_look_group *group, uint32_t base,
                                          seep_figures_visit *visit, void *data) {
    struct seep_take take = seep_look_take_of(group->differences, group->nr_differences);
    struct seep_error *error = NULL;
    while (!error && take.at < take.end) {
        size_t nr;
        uint32_t site = base + (uint32_t)seep_take_leb(&take);
        const unsigned char *bytes = skip_figures(&take, &nr);
        if (site)
            error = visit(data, site, bytes, nr);
    }
    return error;
}

static struct seep_error *each_figures(const struct seep_look_group *group, uint32_t base, uint64_t since,
                                       seep_figures_visit *visit, void *data) {
    struct seep_take take = seep_look_take_of(group->now, group->nr_now);
    struct seep_error *error = NULL;
    for (uint32_t i = 0; !error && i < group->nr_sites; i++) {
        size_t nr;
        const unsigned char *bytes = skip_figures(&take, &nr);
        // Lower halves of epochs can be compared, because epochs are less than 2^31 apart.
        bool changed = since == 0 || (int32_t)(group->changed[i] - (uint32_t)since) > 0;
        if (base + i && changed)
            error = visit(data, base + i, bytes, nr);
    }
    return error;
}

struct seep_error *seep_image_look_each(const struct seep_image_look *look, uint64_t since, bool differences,
                                        seep_figures_visit *visit, void *data) {
    struct seep_error *error = NULL;
    for (size_t i = 0; !error && i < look->nr_groups; i++) {
        const struct seep_look_group *group = &look->groups[i];
        if (group->epoch <= since)
            continue;
        error = differences ? each_difference(group, (uint32_t)i * SEEP_LOOK_GROUP, visit, data)
                            : each_figures(group, (uint32_t)i * SEEP_LOOK_GROUP, since, visit, data);
    }
    return error;
}
