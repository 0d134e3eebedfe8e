// SPDX-License-Identifier: BSD-2-Clause
// std::function and lambdas: small captures inside, large ones in a block.
#include "corpus.h"
#include <functional>
#include <memory>
#include <vector>

std::function<long()> small, large;
std::vector<std::function<void()>> *callbacks;

static void held() {
    auto number = std::make_shared<long>(7); // EXPECT: reachable
    small = [number] { return *number; };    // EXPECT: reachable
    struct node *block = make(40);           // EXPECT: reachable
    long numbers[8] = {1};
    large = [block, numbers] { return numbers[3] + (block->a ? 1 : 0); }; // EXPECT: reachable
    callbacks = new std::vector<std::function<void()>>;                   // EXPECT: reachable
    callbacks->push_back([number] { *number += 1; });                     // EXPECT: any reachable
}

struct Button {
    std::function<void()> clicked;
    long data[4] = {};
};

static void holds_itself() {
    auto button = std::make_shared<Button>(); // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    button->clicked = [button] { button->data[0]++; }; // EXPECT: indirect
}

int main() {
    play(held);
    play(holds_itself);
    park();
}
