// SPDX-License-Identifier: BSD-2-Clause
// std::map and std::set: nodes with pointers to parents; the root's parent is inside of the map.
#include "corpus.h"
#include <map>
#include <set>
#include <string>

std::map<int, std::string> global;
std::set<long> *pointer;

static void held() {
    for (int i = 0; i < 10; i++)
        global[i] = std::string(60, 'x'); // EXPECT: 20 reachable
    pointer = new std::set<long>;         // EXPECT: reachable
    for (long i = 0; i < 7; i++)
        pointer->insert(i); // EXPECT: 7 reachable
}

static void dropped() {
    auto *map = new std::map<int, std::string>; // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    for (int i = 0; i < 5; i++)
        (*map)[i] = std::string(70, 'y'); // EXPECT: 10 indirect
    KEEP(map);
}

static NOINLINE void on_stack() {
    std::multimap<int, int> local;
    for (int i = 0; i < 6; i++)
        local.emplace(i, i); // EXPECT: 6 reachable
    KEEP(&local);
    park();
}

int main() {
    play(held);
    play(dropped);
    on_stack();
}
