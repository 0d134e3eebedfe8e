// SPDX-License-Identifier: BSD-2-Clause
// std::vector: of numbers, of strings, of vectors; on the stack, in a global, dropped.
#include "corpus.h"
#include <string>
#include <vector>

std::vector<int> numbers;
std::vector<std::vector<std::string>> table;

static void held() {
    numbers.reserve(100); // EXPECT: reachable
    table.resize(3);      // EXPECT: reachable
    for (auto &row : table)
        row.assign(4, std::string(100, 'x')); // EXPECT: 15 reachable
}

static void dropped() {
    auto *rows = new std::vector<std::string>; // EXPECT: lost
    rows->resize(3);                           // EXPECT: indirect
    for (auto &text : *rows)
        text.assign(50, 'y'); // EXPECT: 3 indirect
    KEEP(rows);
}

static NOINLINE void on_stack() {
    std::vector<std::vector<int>> local;
    local.resize(2);      // EXPECT: reachable
    local[0].reserve(20); // EXPECT: reachable
    local[1].reserve(20); // EXPECT: reachable
    KEEP(&local);
    park();
}

int main() {
    play(held);
    play(dropped);
    on_stack();
}
