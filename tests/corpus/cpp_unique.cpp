// SPDX-License-Identifier: BSD-2-Clause
// std::unique_ptr: release() without delete, and a chain that holds.
#include "corpus.h"
#include <memory>

struct Link {
    std::unique_ptr<Link> next;
    long data[6] = {};
};

std::unique_ptr<Link> head;

static void held() {
    head = std::make_unique<Link>();             // EXPECT: reachable
    head->next = std::make_unique<Link>();       // EXPECT: reachable
    head->next->next = std::make_unique<Link>(); // EXPECT: reachable
}

static void released() {
    auto link = std::make_unique<Link>();  // EXPECT: lost
    link->next = std::make_unique<Link>(); // EXPECT: indirect
    KEEP(link.release());
}

static void of_array() {
    static std::unique_ptr<long[]> numbers;
    numbers = std::make_unique<long[]>(20); // EXPECT: reachable
    KEEP(&numbers);
}

int main() {
    play(held);
    play(released);
    play(of_array);
    park();
}
