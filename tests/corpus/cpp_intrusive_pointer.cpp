// SPDX-License-Identifier: BSD-2-Clause
// Objects that count their references, and a circle of them.
#include "corpus.h"

class Object {
  public:
    virtual ~Object() {
    }
    void take() {
        references++;
    }
    void give() {
        if (--references == 0)
            delete this;
    }

  private:
    long references = 0;
};

template <class T> class Pointer {
  public:
    Pointer() = default;
    Pointer(T *object) : object(object) {
        object->take();
    }
    Pointer(const Pointer &other) : object(other.object) {
        if (object)
            object->take();
    }
    Pointer &operator=(Pointer other) {
        T *before = object;
        object = other.object;
        other.object = before;
        return *this;
    }
    ~Pointer() {
        if (object)
            object->give();
    }
    T *operator->() {
        return object;
    }

  private:
    T *object = nullptr;
};

struct Part : Object {
    Pointer<Part> next;
};

Pointer<Part> global;

static void held() {
    global = new Part;       // EXPECT: reachable
    global->next = new Part; // EXPECT: reachable
}

static void circle() {
    Pointer<Part> one = new Part; // EXPECT: lost
    // LSAN: indirect: of a ring of lost blocks it calls all indirect, for each has one that points to it
    one->next = new Part; // EXPECT: indirect
    one->next->next = one;
}

static void freed() {
    Pointer<Part> one = new Part;
    one->next = new Part;
}

int main() {
    play(held);
    play(circle);
    play(freed);
    park();
}
