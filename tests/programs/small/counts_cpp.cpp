// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <list>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
struct alignas(64) Wide { char c[64]; };
static void work(unsigned seed, size_t *sum) {
    std::list<std::string> list;
    std::unordered_map<unsigned, std::vector<std::unique_ptr<Wide>>> map;
    for (int i = 0; i < 20000; i++) {
        seed = seed * 1664525 + 1013904223;
        list.emplace_back(seed % 90, 'x');
        if (list.size() > 200) list.pop_front();
        map[seed >> 24].push_back(std::make_unique<Wide>());
        if (map[seed >> 24].size() > 8) map.erase(seed >> 24);
    }
    *sum = list.size() + map.size();
}
int main() {
    std::vector<std::thread> threads;
    size_t sums[6];
    for (unsigned i = 0; i < 6; i++) threads.emplace_back(work, i, &sums[i]);
    for (auto &t : threads) t.join();
    return 0;
}
