// SPDX-License-Identifier: BSD-2-Clause
// std::any, std::variant and std::optional.
#include "corpus.h"
#include <any>
#include <optional>
#include <string>
#include <variant>

std::any any;
std::variant<int, std::string> variant;
std::optional<std::string> optional;

static void held() {
    any = std::string(70, 'a');     // EXPECT: 2 reachable
    variant = std::string(80, 'v'); // EXPECT: reachable
    optional.emplace(90, 'o');      // EXPECT: reachable
}

static void dropped() {
    auto *lost = new std::any(std::string(100, 'l')); // EXPECT: 1 lost, 2 indirect
    KEEP(lost);
}

int main() {
    play(held);
    play(dropped);
    park();
}
