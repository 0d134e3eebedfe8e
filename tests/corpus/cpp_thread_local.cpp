// SPDX-License-Identifier: BSD-2-Clause
// thread_local objects with destructors: libc keeps a list of what to destroy, in blocks of its own.
#include "corpus.h"
#include <string>
#include <vector>

static thread_local std::vector<std::string> words;
static thread_local std::string name;

static void build() {
    words.reserve(4);            // EXPECT: 3 reachable
    words.emplace_back(80, 'x'); // EXPECT: reachable
    name.assign(90, 'n');        // EXPECT: reachable
}

int main() {
    play(build);
    park();
}
