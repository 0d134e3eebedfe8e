// SPDX-License-Identifier: BSD-2-Clause
// Arrays of objects with virtual functions, and tables of pointers to them.
#include "corpus.h"
#include <memory>
#include <vector>

struct Shape {
    virtual ~Shape() {
    }
    virtual double area() {
        return 0;
    }
};

struct Circle : Shape {
    double radius = 1;
    struct node *cached;
    Circle() {
        cached = make(40); // EXPECT: 6 reachable, 3 indirect
    }
    double area() override {
        return radius;
    }
};

Shape *array;
std::vector<std::unique_ptr<Shape>> shapes;

static void held() {
    array = new Circle[3]; // EXPECT: reachable
    shapes.reserve(3);     // EXPECT: reachable
    for (int i = 0; i < 3; i++)
        shapes.push_back(std::make_unique<Circle>()); // EXPECT: 3 reachable
}

static void dropped() {
    Shape *lost = new Circle[3]; // EXPECT: lost
    KEEP(lost);
}

int main() {
    play(held);
    play(dropped);
    park();
}
