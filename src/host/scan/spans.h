// SPDX-License-Identifier: BSD-2-Clause
//
// A set of ranges of addresses: added in any order, then settled, then asked.
#ifndef SEEP_SCAN_SPANS_H
#define SEEP_SCAN_SPANS_H

#include "core/attr.h"

// Runtime addresses, end excluded.
struct seep_span {
    uint64_t start;
    uint64_t end;
};

struct seep_spans {
    struct seep_span *items;
    size_t nr_items;
    size_t capacity;
};
void seep_spans_deinit(struct seep_spans *spans);
// [start, end), in any order until the spans are settled. false: out of memory.
SEEP_MUST_CHECK bool seep_spans_add(struct seep_spans *spans, uint64_t start, uint64_t end);
// Sorts; spans may touch and overlap.
void seep_spans_settle(struct seep_spans *spans);
// The index of the first of settled spans that ends behind `address`.
size_t seep_spans_from(const struct seep_spans *spans, uint64_t address);
// The settled span that has `address`, or NULL.
const struct seep_span *seep_spans_find(const struct seep_spans *spans, uint64_t address);

#endif
