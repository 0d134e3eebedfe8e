// SPDX-License-Identifier: BSD-2-Clause
// std::unordered_map: buckets point to the node before the first of theirs, which may be the map itself.
#include "corpus.h"
#include <string>
#include <unordered_map>

std::unordered_map<int, std::string> global;

static void held() {
    global.reserve(50); // EXPECT: reachable
    for (int i = 0; i < 20; i++)
        global[i] = std::string(60, 'x'); // EXPECT: 40 reachable
}

static void dropped() {
    auto *map = new std::unordered_map<int, int>; // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    map->reserve(20); // EXPECT: indirect
    for (int i = 0; i < 5; i++)
        (*map)[i] = i; // EXPECT: 5 indirect
    KEEP(map);
}

int main() {
    play(held);
    play(dropped);
    park();
}
