// SPDX-License-Identifier: BSD-2-Clause
// A thread that is a lambda: the C++ library calls it by templates that have no mangled name, and so no std::.
// clang-format off

#include <thread>
#include <vector>
static std::vector<char *> kept;
struct pool {
    std::vector<std::thread> threads;
    explicit pool(int nr);
    void work();
};
void __attribute__((noinline)) pool::work() { kept.push_back(new char[100000]); }
pool::pool(int nr) { for (int i = 0; i < nr; i++) threads.emplace_back([this, i] { work(); }); }
int main(int argc, char **) { pool all(argc); all.threads[0].join(); return kept.size() != 1; }
