// SPDX-License-Identifier: BSD-2-Clause
// C++ code with namespaces, templates, lambdas, constructors and functions without linkage.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace shapes {
namespace {
__attribute__((noinline)) int unseen(int x) {
    return x * 31;
}

inline int quick(int x) {
    return unseen(x) ^ 5;
}
} // namespace

template <typename T, int N> struct Box {
    T items[N];
    explicit Box(const T &first);
    T sum() const;
    T operator()(const T &more) const;
};

template <typename T, int N> Box<T, N>::Box(const T &first) {
    for (int i = 0; i < N; i++)
        items[i] = first;
}

template <typename T, int N> T Box<T, N>::sum() const {
    T total = T();
    for (const T &item : items)
        total = total + item;
    return total;
}

template <typename T, int N> T Box<T, N>::operator()(const T &more) const {
    return sum() + more;
}

struct Shape {
    virtual ~Shape() = default;
    virtual int area(int scale) const = 0;
};

struct Square : Shape {
    int side;
    explicit Square(int s) : side(quick(s)) {
    }
    int area(int scale) const override {
        auto grow = [scale](int x) { return unseen(x) * scale; };
        return grow(side) * grow(side + 1);
    }
};

template <typename F> __attribute__((noinline)) int apply(F &&function, int x) {
    return function(x) + 1;
}

int total(const std::vector<std::unique_ptr<Shape>> &all) {
    std::map<int, std::string> names;
    int sum = 0;
    std::for_each(all.begin(), all.end(), [&](const std::unique_ptr<Shape> &shape) {
        sum += apply([&shape](int x) { return shape->area(x); }, 3);
        names[sum] = std::to_string(sum) + " in all";
    });
    return sum + static_cast<int>(names.size());
}
} // namespace shapes

extern "C" __attribute__((noinline)) int plain_c_name(int x) {
    static int calls;
    return ++calls + x;
}

int main(int argc, char **) {
    std::vector<std::unique_ptr<shapes::Shape>> all;
    for (int i = 0; i < argc + 3; i++)
        all.push_back(std::make_unique<shapes::Square>(i));
    shapes::Box<std::string, 4> texts("abcdefghijklmnopqrstuvwxyz");
    shapes::Box<long, 3> numbers(argc);
    std::printf("%d %s %ld %d\n", shapes::total(all), texts("x").c_str(), numbers(2), plain_c_name(argc));
    return 0;
}
