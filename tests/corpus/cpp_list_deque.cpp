// SPDX-License-Identifier: BSD-2-Clause
// std::list, std::forward_list, std::deque.
#include "corpus.h"
#include <deque>
#include <forward_list>
#include <list>

std::list<int> list;
std::forward_list<int> forward;
std::deque<int> *deque;

static void held() {
    for (int i = 0; i < 5; i++)
        list.push_back(i); // EXPECT: 5 reachable
    for (int i = 0; i < 5; i++)
        forward.push_front(i);       // EXPECT: 5 reachable
    deque = new std::deque<int>(10); // EXPECT: 3 reachable
}

static void dropped() {
    auto *lost = new std::list<int>(4); // EXPECT: 1 lost, 4 indirect
    // LSAN: 5 indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    KEEP(lost);
    auto *queue = new std::deque<int>(10); // EXPECT: 1 lost, 2 indirect
    // LSAN: 1 lost, 1 indirect, 1 held: its allocator leaves no gap, so the end of another block is where this one begins
    KEEP(queue);
}

int main() {
    play(held);
    play(dropped);
    park();
}
