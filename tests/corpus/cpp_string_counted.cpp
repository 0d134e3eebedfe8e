// SPDX-License-Identifier: BSD-2-Clause
// The reference-counted strings of the old ABI of libstdc++: length, capacity and count stand in front of
// the text, and strings point to the text.
// FLAGS: -D_GLIBCXX_USE_CXX11_ABI=0
#include "corpus.h"
#include <string>

std::string global;
std::string *copies[2];

static void held() {
    global.assign(200, 'x');               // EXPECT: reachable
    copies[0] = new std::string(global);   // EXPECT: reachable
    copies[1] = new std::string(300, 'y'); // EXPECT: 2 reachable
}

static void dropped() {
    auto *string = new std::string(400, 'z'); // EXPECT: 1 lost, 1 indirect
    KEEP(string);
}

int main() {
    play(held);
    play(dropped);
    park();
}
