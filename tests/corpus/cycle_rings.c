// SPDX-License-Identifier: BSD-2-Clause
// Rings: alone, of two that share a block, and with a tail that leads in or out.
#include "corpus.h"

static void self(void) {
    struct node *one = make(24); // EXPECT: lost
    one->a = one;
}

static void of_two(void) {
    struct node *one = make(32); // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    one->a = make(32); // EXPECT: indirect
    one->a->a = one;
}

static void joined(void) {
    struct node *shared = make(40); // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    shared->a = make(40); // EXPECT: indirect
    shared->b = make(40); // EXPECT: indirect
    shared->a->a = shared;
    shared->b->b = shared;
}

static void tail_leads_in(void) {
    struct node *tail = make(48); // EXPECT: lost
    tail->a = make(48);           // EXPECT: indirect
    tail->a->a = make(48);        // EXPECT: indirect
    tail->a->a->a = tail->a;
}

static void later_tail_leads_in(void) {
    struct node *one = make(56); // EXPECT: indirect
    one->a = make(56);           // EXPECT: indirect
    one->a->a = one;
    struct node *tail = make(56); // EXPECT: lost
    tail->b = one;
}

static void tail_leads_out(void) {
    struct node *one = make(64); // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    one->a = make(64); // EXPECT: indirect
    one->a->a = one;
    one->a->b = make(64); // EXPECT: indirect
}

int main(void) {
    play(self);
    play(of_two);
    play(joined);
    play(tail_leads_in);
    play(later_tail_leads_in);
    play(tail_leads_out);
    park();
}
