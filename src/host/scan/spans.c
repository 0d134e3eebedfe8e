// SPDX-License-Identifier: BSD-2-Clause
// Ranges of addresses, see spans.h.
#include <stdlib.h>

#include "base/map.h"
#include "base/search.h"
#include "scan/spans.h"

void seep_spans_deinit(struct seep_spans *spans) {
    free(spans->items);
    *spans = (struct seep_spans){NULL, 0, 0};
}

bool seep_spans_add(struct seep_spans *spans, uint64_t start, uint64_t end) {
    if (start >= end)
        return true;
    if (!seep_grow(&spans->items, &spans->capacity, spans->nr_items + 1, sizeof(*spans->items)))
        return false;
    spans->items[spans->nr_items++] = (struct seep_span){start, end};
    return true;
}

static int compare_spans(const void *left, const void *right) {
    const struct seep_span *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

void seep_spans_settle(struct seep_spans *spans) {
    if (!spans->nr_items)
        return;
    qsort(spans->items, spans->nr_items, sizeof(*spans->items), compare_spans);
    size_t kept = 1;
    for (size_t i = 1; i < spans->nr_items; i++) {
        struct seep_span *last = &spans->items[kept - 1];
        if (spans->items[i].start <= last->end)
            last->end = SEEP_MAX(last->end, spans->items[i].end);
        else
            spans->items[kept++] = spans->items[i];
    }
    spans->nr_items = kept;
}

size_t seep_spans_from(const struct seep_spans *spans, uint64_t address) {
    return SEEP_FIRST_WHERE(at, spans->nr_items, spans->items[at].end > address);
}

const struct seep_span *seep_spans_find(const struct seep_spans *spans, uint64_t address) {
    size_t i = seep_spans_from(spans, address);
    return i < spans->nr_items && spans->items[i].start <= address ? &spans->items[i] : NULL;
}
