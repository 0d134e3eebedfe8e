// SPDX-License-Identifier: BSD-2-Clause
// C++20 coroutines: the frame is a block, held by its handle; parameters and locals are inside.
// FLAGS: -std=c++20
// COMPILER: gcc: clang 14 does not take <coroutine> of libstdc++
#include "corpus.h"
#include <coroutine>
#include <memory>

struct Task {
    struct promise_type {
        Task get_return_object() {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() {
            return {};
        }
        std::suspend_always final_suspend() noexcept {
            return {};
        }
        void return_void() {
        }
        void unhandled_exception() {
        }
    };
    std::coroutine_handle<promise_type> handle;
};

static Task work(int number) {
    auto local = std::make_unique<long[]>(20); // EXPECT: 1 reachable, 1 indirect
    local[0] = number;
    co_await std::suspend_always();
    KEEP(local.get());
}

std::coroutine_handle<> held_handle;

static void held() {
    held_handle = work(1).handle; // EXPECT: reachable
    held_handle.resume();
}

static void dropped() {
    work(2).handle.resume(); // EXPECT: lost
}

int main() {
    play(held);
    play(dropped);
    park();
}
