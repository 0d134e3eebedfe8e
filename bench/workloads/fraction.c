// SPDX-License-Identifier: BSD-2-Clause
//
// Much allocation, little else, as in factoring by continued fractions with arbitrary precision
// (the shape of cfrac): expands the square root of a large number N and multiplies the numerators of
// its convergents modulo N. Every number is a heap block of a few words, most die at once.
#include "bench.h"

struct number {
    uint32_t references, nr_digits;
    uint32_t digits[]; // least significant first, no leading zero
};

static struct number *make(uint32_t nr_digits) {
    struct number *number = bench_check(malloc(sizeof(*number) + nr_digits * sizeof(uint32_t)));
    number->references = 1;
    number->nr_digits = nr_digits;
    return number;
}

static void drop(struct number *number) {
    if (--number->references == 0)
        free(number);
}

static struct number *trim(struct number *number) {
    while (number->nr_digits && number->digits[number->nr_digits - 1] == 0)
        number->nr_digits--;
    return number;
}

static BENCH_NOINLINE struct number *of_integer(uint64_t value) {
    struct number *number = make(2);
    number->digits[0] = (uint32_t)value;
    number->digits[1] = (uint32_t)(value >> 32);
    return trim(number);
}

static int compare(const struct number *left, const struct number *right) {
    if (left->nr_digits != right->nr_digits)
        return left->nr_digits > right->nr_digits ? 1 : -1;
    for (uint32_t i = left->nr_digits; i-- > 0;)
        if (left->digits[i] != right->digits[i])
            return left->digits[i] > right->digits[i] ? 1 : -1;
    return 0;
}

static BENCH_NOINLINE struct number *add(const struct number *left, const struct number *right) {
    if (left->nr_digits < right->nr_digits)
        return add(right, left);
    struct number *sum = make(left->nr_digits + 1);
    uint64_t carry = 0;
    for (uint32_t i = 0; i < left->nr_digits; i++) {
        carry += (uint64_t)left->digits[i] + (i < right->nr_digits ? right->digits[i] : 0);
        sum->digits[i] = (uint32_t)carry;
        carry >>= 32;
    }
    sum->digits[left->nr_digits] = (uint32_t)carry;
    return trim(sum);
}

// left >= right
static BENCH_NOINLINE struct number *subtract(const struct number *left, const struct number *right) {
    struct number *difference = make(left->nr_digits);
    int64_t borrow = 0;
    for (uint32_t i = 0; i < left->nr_digits; i++) {
        borrow += (int64_t)left->digits[i] - (i < right->nr_digits ? right->digits[i] : 0);
        difference->digits[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    return trim(difference);
}

static BENCH_NOINLINE struct number *multiply(const struct number *left, const struct number *right) {
    struct number *product = make(left->nr_digits + right->nr_digits);
    memset(product->digits, 0, product->nr_digits * sizeof(uint32_t));
    for (uint32_t i = 0; i < left->nr_digits; i++) {
        uint64_t carry = 0;
        for (uint32_t k = 0; k < right->nr_digits; k++) {
            carry += (uint64_t)left->digits[i] * right->digits[k] + product->digits[i + k];
            product->digits[i + k] = (uint32_t)carry;
            carry >>= 32;
        }
        product->digits[i + right->nr_digits] = (uint32_t)carry;
    }
    return trim(product);
}

// Remainder by shift and subtract: slow on purpose in blocks, not in digits.
static BENCH_NOINLINE struct number *halve(const struct number *number) {
    struct number *half = make(number->nr_digits);
    for (uint32_t i = 0; i < number->nr_digits; i++)
        half->digits[i] =
            number->digits[i] >> 1 | (i + 1 < number->nr_digits ? number->digits[i + 1] << 31 : 0);
    return trim(half);
}

// number mod modulus, and the quotient where it fits 64 bits.
static BENCH_NOINLINE struct number *divide(const struct number *number, const struct number *modulus,
                                            uint64_t *ret_quotient) {
    struct number *rest = add(number, &(struct number){1, 0}), *step = add(modulus, &(struct number){1, 0});
    uint64_t quotient = 0;
    int shifts = 0;
    while (compare(step, rest) <= 0) {
        struct number *doubled = add(step, step);
        drop(step);
        step = doubled;
        shifts++;
    }
    while (shifts-- > 0) {
        struct number *half = halve(step);
        drop(step);
        step = half;
        quotient <<= 1;
        if (compare(step, rest) <= 0) {
            struct number *less = subtract(rest, step);
            drop(rest);
            rest = less;
            quotient |= 1;
        }
    }
    drop(step);
    *ret_quotient = quotient;
    return rest;
}

static struct number *root_of(const struct number *square) {
    struct number *low = of_integer(0), *high = add(square, &(struct number){1, 0});
    struct number *one = of_integer(1);
    for (;;) {
        struct number *sum = add(low, high), *up = add(sum, one), *middle = halve(up);
        drop(sum);
        drop(up);
        if (compare(middle, low) <= 0) {
            drop(middle);
            break;
        }
        struct number *power = multiply(middle, middle);
        if (compare(power, square) <= 0) {
            drop(low);
            low = middle;
        } else {
            drop(high);
            high = subtract(middle, one);
            drop(middle);
        }
        drop(power);
        if (compare(low, high) >= 0)
            break;
    }
    drop(high);
    drop(one);
    return low;
}

int main(int nr_arguments, char **arguments) {
    long steps = nr_arguments > 1 ? atol(arguments[1]) : 20000;
    // Two primes of 18 and 19 digits.
    struct number *p = of_integer(1000000000000000003u), *q = of_integer(100000000000000003u);
    struct number *n = multiply(p, q);
    struct number *root = root_of(n);
    // The expansion: m' = d*a - m, d' = (n - m'^2) / d, a' = (root + m') / d'.
    struct number *m = of_integer(0), *d = of_integer(1), *a = add(root, &(struct number){1, 0});
    struct number *before = of_integer(1), *now = add(root, &(struct number){1, 0});
    uint64_t checksum = 0;
    for (long i = 0; i < steps; i++) {
        uint64_t quotient;
        struct number *product = multiply(d, a), *m_next = subtract(product, m);
        struct number *power = multiply(m_next, m_next), *left = subtract(n, power);
        drop(divide(left, d, &quotient));
        struct number *d_next = of_integer(quotient), *sum = add(root, m_next);
        drop(divide(sum, d_next, &quotient));
        struct number *a_next = of_integer(quotient), *scaled = multiply(a_next, now);
        struct number *next = add(scaled, before), *reduced = divide(next, n, &quotient);
        struct number *dead[] = {product, power, left, sum, scaled, next, m, d, a, before};
        for (size_t k = 0; k < sizeof(dead) / sizeof(dead[0]); k++)
            drop(dead[k]);
        m = m_next;
        d = d_next;
        a = a_next;
        before = now;
        now = reduced;
        checksum = checksum * 31 + now->digits[0];
    }
    struct number *rest[] = {p, q, n, root, m, d, a, before, now};
    for (size_t k = 0; k < sizeof(rest) / sizeof(rest[0]); k++)
        drop(rest[k]);
    printf("fraction %llu\n", (unsigned long long)checksum);
    return 0;
}
