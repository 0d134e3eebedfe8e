// SPDX-License-Identifier: BSD-2-Clause
// std::thread: the new thread owns its state and what it captured.
// FLAGS: -pthread
#include "corpus.h"
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

static std::atomic<int> ready;
static std::vector<std::thread> threads;

int main() {
    threads.reserve(2); // EXPECT: reachable
    for (int i = 0; i < 2; i++) {
        auto shared = std::make_shared<long>(i); // EXPECT: 2 reachable
        threads.emplace_back([shared] {          // EXPECT: 4 reachable
            // VALGRIND: 2 reachable, 2 possible: the thread's control block points into its own dtv
            std::vector<long> local(50); // EXPECT: 2 reachable
            KEEP(local.data());
            scrub();
            ready++;
            for (;;)
                pause();
        });
    }
    while (ready < 2)
        usleep(1000);
    park();
}
