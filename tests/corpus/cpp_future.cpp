// SPDX-License-Identifier: BSD-2-Clause
// std::promise and std::future: the shared state is held by either.
// FLAGS: -pthread
#include "corpus.h"
#include <future>
#include <string>

std::future<std::string> future;
std::promise<int> *promise;

static void held() {
    std::promise<std::string> local; // EXPECT: 2 reachable
    future = local.get_future();
    local.set_value(std::string(100, 'v')); // EXPECT: reachable
    promise = new std::promise<int>;        // EXPECT: 3 reachable
}

static void dropped() {
    auto *lost = new std::promise<int>; // EXPECT: 1 lost, 2 indirect
    KEEP(lost);
}

int main() {
    play(held);
    play(dropped);
    park();
}
