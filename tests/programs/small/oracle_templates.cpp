// SPDX-License-Identifier: BSD-2-Clause
// clang-format off
template <int N> struct F { static constexpr long v = F<N - 1>::v + F<N - 2>::v; long a[N + 1]; };
template <> struct F<0> { static constexpr long v = 0; };
template <> struct F<1> { static constexpr long v = 1; };
template <class... T> auto sum(T... t) { return (t + ...); }
struct B { virtual ~B() {} virtual int f() { return 1; } }; struct D : B { int f() override { return 2; } };
int main() { B *b = new D; auto g = [=](auto x) { return x + b->f(); };
  return int(F<60>::v + sum(1, 2L, 3.0, g(4), g(5.0f))); }
