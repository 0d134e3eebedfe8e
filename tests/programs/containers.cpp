// SPDX-License-Identifier: BSD-2-Clause
//
// Ordinary C++: containers and shared pointers in threads, all freed, and one cycle of shared pointers,
// which is the leak.
// EXPECT:
// {
//   "others": true,
//   "sites": [
//     {"in": "make_cycle", "reaching": true, "live_blocks": 2}
//   ]
// }
#include "program.h"
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Node {
    std::shared_ptr<Node> other;
};

APART static void make_cycle() {
    auto first = std::make_shared<Node>(), second = std::make_shared<Node>();
    first->other = second;
    second->other = first;
}

APART static size_t work(unsigned seed) {
    std::map<std::string, std::vector<int>> tree;
    std::unordered_map<unsigned, std::unique_ptr<std::string>> table;
    for (int i = 0; i < 5000; i++) {
        seed = seed * 1664525 + 1013904223;
        tree["a key that does not fit into the small buffer " + std::to_string(seed >> 24)].push_back(i);
        table[seed >> 20] = std::make_unique<std::string>(40, 'x');
    }
    return tree.size() + table.size();
}

int main() {
    std::vector<std::thread> threads;
    size_t sums[4] = {};
    for (unsigned i = 0; i < 4; i++)
        threads.emplace_back([i, &sums] { sums[i] = work(i); });
    for (auto &thread : threads)
        thread.join();
    make_cycle();
    printf("%zu %zu %zu %zu\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
