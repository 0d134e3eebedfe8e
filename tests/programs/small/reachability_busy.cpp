// SPDX-License-Identifier: BSD-2-Clause
// clang-format off

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>
#include <memory>
#include <unistd.h>
static std::atomic<int> at_work;
static void work(int seed) {
    std::map<int, std::unique_ptr<std::string>> map;
    std::vector<std::string> texts;
    unsigned rounds = 0;
    for (unsigned i = seed;; i = i * 1103515245 + 12345) {
        map[i >> 20 & 1023] = std::make_unique<std::string>(i >> 8 & 255, 'x');
        texts.emplace_back(i & 127, 'y');
        if (texts.size() > 1000) texts.erase(texts.begin(), texts.begin() + 500);
        if ((i >> 12 & 15) == 0) map.erase(map.begin());
        if (++rounds == 20000) at_work++;
    }
}
int main() {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) threads.emplace_back(work, i);
    while (at_work < 4) usleep(1000);
    write(1, "ready\n", 6);
    for (auto &t : threads) t.join();
}
