// SPDX-License-Identifier: BSD-2-Clause
// std::string: long texts have a block, short ones lie inside of the string.
#include "corpus.h"
#include <string>

std::string global;
std::string *pointer, *short_text;

static void held() {
    global.assign(200, 'x');               // EXPECT: reachable
    pointer = new std::string(300, 'y');   // EXPECT: 2 reachable
    short_text = new std::string("short"); // EXPECT: reachable
}

static void dropped() {
    auto *string = new std::string(400, 'z'); // EXPECT: 1 lost, 1 indirect
    KEEP(string);
    auto *small = new std::string("small"); // EXPECT: lost
    KEEP(small);
}

int main() {
    play(held);
    play(dropped);
    park();
}
