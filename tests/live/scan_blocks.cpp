// SPDX-License-Identifier: BSD-2-Clause
// Blocks of C++ whose class is known, as in scan_blocks.c.
#include <cstdio>
#include <cstring>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

template <int N> struct Pad {
    char bytes[N] = {};
};

struct Counted {
    ~Counted() {
        c[0] = 1;
    }
    char c[100] = {};
};

struct First {
    virtual ~First() {
    }
    long a = 1;
};
struct Second {
    virtual ~Second() {
    }
    long b = 2;
};
template <int N> struct Both : First, Second { Pad<N> pad; };

struct Bare1 {
    long a = 100003; // divides nothing: else it looks like the cookie of new[]
};
struct Bare2 {
    long b = 2;
};
template <int N> struct BothBare : Bare1, Bare2 { Pad<N> pad; };

Counted *counted;
std::string text;
std::vector<Pad<100>> vector;
std::list<Pad<500>> list;
std::map<int, Pad<600>> map;
std::shared_ptr<Pad<700>> shared;
std::unique_ptr<Pad<800>> unique;
Second *second;
Bare2 *bare;
std::function<int()> function;
static thread_local std::vector<Pad<900>> of_thread;
static Pad<1040> *volatile array_of_pads;

static NOINLINE void wipe() {
    volatile char room[65536];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = 0;
}

static NOINLINE void keep_store(void *block) {
    __asm__ volatile("" ::"r"(block) : "memory"); // or the compiler leaves unused blocks out
}

static NOINLINE void held() {
    counted = new Counted[7];              // SCAN: 708 reachable
    text.assign(1499, 'x');                // SCAN: 1500 reachable
    vector.resize(11);                     // SCAN: 1100 reachable
    list.push_back({});                    // SCAN: 520 reachable
    map[1] = {};                           // SCAN: 640 reachable
    shared = std::make_shared<Pad<700>>(); // SCAN: 720 reachable
    unique.reset(new Pad<800>);            // SCAN: 800 reachable
    second = new Both<1000>;               // SCAN: 1032 reachable
    bare = new BothBare<1200>;             // SCAN: 1216 possible
    Pad<1300> captured;
    function = [captured] { return captured.bytes[5]; }; // SCAN: 1300 reachable
    of_thread.resize(2);                                 // SCAN: 1800 reachable
    array_of_pads = new Pad<1040>[3];                    // SCAN: 3120 reachable
}

static NOINLINE void lost() {
    struct Long {
        std::string text;
        Pad<3000> pad;
    };
    auto *string = new Long;        // SCAN: 3032 lost
    string->text.assign(1999, 'y'); // SCAN: 2000 indirect
    keep_store(string);
    auto *list_lost = new std::vector<std::unique_ptr<Pad<2100>>>; // SCAN: 24 lost
    keep_store(list_lost);
    list_lost->reserve(251);                                                  // SCAN: 2008 indirect
    list_lost->push_back(std::make_unique<Pad<2100>>());                      // SCAN: 2100 indirect
    keep_store(new Both<2200>);                                               // SCAN: 2232 lost
    keep_store(new Counted[23]);                                              // SCAN: 2308 lost
    auto a = std::make_shared<std::pair<Pad<2400>, std::shared_ptr<void>>>(); // SCAN: 2432 lost
    a->second = a;                                                            // a cycle that counts itself
}

int main() {
    held();
    wipe();
    lost();
    wipe();
    ssize_t done = write(1, "ready\n", 6);
    for (;;)
        pause();
    return (int)done;
}
