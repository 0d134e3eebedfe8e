// SPDX-License-Identifier: BSD-2-Clause
// std::shared_ptr to a member of its object, and one to something else that keeps an object alive.
#include "corpus.h"
#include <memory>

struct Whole {
    char before[64];
    int member = 3;
    std::unique_ptr<int> part;
};

std::shared_ptr<int> *by_member, *by_other;
static int other;

static void build() {
    static char rooms[2][sizeof(std::shared_ptr<int>)];
    auto whole = std::make_shared<Whole>();  // EXPECT: reachable
    whole->part = std::make_unique<int>(4);  // EXPECT: reachable
    auto second = std::make_shared<Whole>(); // EXPECT: reachable
    second->part = std::make_unique<int>(5); // EXPECT: reachable
    by_member = new (rooms[0]) std::shared_ptr<int>(whole, &whole->member);
    by_other = new (rooms[1]) std::shared_ptr<int>(second, &other);
    auto *dropped = new std::shared_ptr<int>(std::make_shared<int>(6)); // EXPECT: 1 lost, 1 indirect
    KEEP(dropped);
}

int main() {
    play(build);
    park();
}
