// SPDX-License-Identifier: BSD-2-Clause
//
// Generated histories of a site's live bytes, and what seep says of them: how many of those that grow without
// bound are found, and how often it cries wolf. `growth [SEED [POINTS [HISTORIES]]]` prints JSON.
//
// Drawn anew for each history ("a..b": evenly; "a...b": evenly in the logarithm):
//   all        size of a block 16...1 MiB; base 100...100,000 blocks; rise: base times 0.1...10, at least 40
//   blocks;
//              each look is late by up to 0..40 % of the interval; live blocks are whole numbers, never below
//              0
//   noise      of standard deviation sd (in rises), each value keeping 0..0.4 of the one before; normal in
//   half of
//              the histories, Laplace (heavy tails) in the others
//   leak       straight, sd 0..0.02; in half of the histories block by block at random moments (Poisson)
//   leak+noise the same, sd 0.03..0.15
//   cache      fills within 0.1..0.5 of the time, then stays: linearly, exponentially (to 95 %), or as a
//   table that
//              doubles; sd 0..0.05
//   sawtooth   rises and is emptied at once 2.5...10 times, each period 0.8..1.2 of the mean one; sd 0..0.05
//   step       one rise, in half of the histories two of 0.2..1 each, at moments of their own; sd 0..0.05
//   steady     sd 0..1: no rise, only noise; in a quarter of the histories a share of the looks (0.1..0.5)
//   sees nothing
//              of it (0 blocks more), as where work comes in bursts
// The thresholds of src/host/growth/trend.c were set with another generator and other seeds.
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "growth/trend.h"

static uint64_t state;

// Source: splitmix64, Steele, Lea, Flood, "Fast splittable pseudorandom number generators" (2014).
static double uniform(void) {
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static double between(double low, double high) {
    return low + (high - low) * uniform();
}

static double log_between(double low, double high) {
    return exp(between(log(low), log(high)));
}

struct noise {
    double sd;
    double memory;
    double last;
    bool laplace;
};

static double next_noise(struct noise *noise) {
    double fresh;
    if (noise->laplace) {
        double u = uniform() - 0.5;
        fresh = (u < 0 ? 1 : -1) * log(1 - 2 * fabs(u)) / sqrt(2);
    } else {
        fresh = sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
    }
    noise->last = noise->memory * noise->last + sqrt(1 - noise->memory * noise->memory) * fresh;
    return noise->last * noise->sd;
}

enum history { LEAK, LEAK_NOISE, CACHE, SAWTOOTH, STEP, STEADY, NR_HISTORIES };
static const char *const names[NR_HISTORIES] = {"leak",     "leak and noise", "cache to plateau",
                                                "sawtooth", "step",           "steady and noise"};

// x: 0 to 1. The shapes, by the history.
static void shape_leak(const double *x, double *y, size_t nr, double rise_blocks) {
    bool random = uniform() < 0.5;
    double at = 0, count = 0;
    for (size_t i = 0; i < nr; i++) {
        while (random && at < x[i]) {
            at += -log(1 - uniform()) / rise_blocks;
            count++;
        }
        y[i] = random ? count / rise_blocks : x[i];
    }
}

static void shape_cache(const double *x, double *y, size_t nr) {
    double fill = between(0.1, 0.5), kind = uniform(), least = between(0.01, 0.1);
    for (size_t i = 0; i < nr; i++) {
        double part = fmin(x[i] / fill, 1);
        if (kind < 1.0 / 3)
            y[i] = part;
        else if (kind < 2.0 / 3)
            y[i] = 1 - exp(-3 * x[i] / fill);
        else
            y[i] = fmin(exp2(ceil(log2(fmax(part, least)))), 1);
    }
}

static void shape_sawtooth(const double *x, double *y, size_t nr) {
    double period = 1 / log_between(2.5, 10), start = -uniform() * period, end = start + period;
    for (size_t i = 0; i < nr; i++) {
        while (x[i] >= end) {
            start = end;
            end += period * between(0.8, 1.2);
        }
        y[i] = (x[i] - start) / (end - start);
    }
}

static void shape_step(const double *x, double *y, size_t nr) {
    unsigned nr_steps = uniform() < 0.5 ? 1 : 2;
    memset(y, 0, nr * sizeof(*y));
    for (unsigned step = 0; step < nr_steps; step++) {
        double at = between(0.05, 0.95), height = between(0.2, 1);
        for (size_t i = 0; i < nr; i++)
            y[i] += x[i] > at ? height : 0;
    }
}

static void make(enum history which, double *t, double *y, size_t nr) {
    static double x[SEEP_TREND_MOST];
    double block = log_between(16, 1 << 20), base = floor(log_between(100, 1e5));
    double rise = fmax(floor(base * log_between(0.1, 10)), 40), late = between(0, 0.4);
    double most[NR_HISTORIES] = {0.02, 0.15, 0.05, 0.05, 0.05, 1};
    double least[NR_HISTORIES] = {0, 0.03, 0, 0, 0, 0};
    struct noise noise = {
        .sd = between(least[which], most[which]), .memory = between(0, 0.4), .laplace = uniform() < 0.5};
    double quiet = which == STEADY && uniform() < 0.25 ? between(0.1, 0.5) : 0;
    for (size_t i = 0; i < nr; i++) {
        t[i] = (double)i + late * uniform();
        x[i] = t[i] / (double)nr;
        y[i] = 0;
    }
    if (which == LEAK || which == LEAK_NOISE)
        shape_leak(x, y, nr, rise);
    else if (which == CACHE)
        shape_cache(x, y, nr);
    else if (which == SAWTOOTH)
        shape_sawtooth(x, y, nr);
    else if (which == STEP)
        shape_step(x, y, nr);
    for (size_t i = 0; i < nr; i++) {
        double value = next_noise(&noise);
        if (uniform() >= quiet)
            y[i] += value;
        y[i] = fmax(floor(base + rise * y[i]), 0) * block;
    }
}

int main(int argc, char **argv) {
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 20261121;
    size_t nr = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;
    unsigned nr_each = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 1000;
    double t[SEEP_TREND_MOST], y[SEEP_TREND_MOST];
    if (nr < SEEP_TREND_LEAST || nr > SEEP_TREND_MOST || !nr_each)
        return 2;
    state = seed;
    printf("{\"seed\": %llu, \"points\": %zu, \"histories\": %u, \"cases\": [", (unsigned long long)seed, nr,
           nr_each);
    for (int which = 0; which < NR_HISTORIES; which++) {
        unsigned said[SEEP_TREND_NR] = {0};
        for (unsigned i = 0; i < nr_each; i++) {
            struct seep_trend trend;
            make((enum history)which, t, y, nr);
            seep_trend_judge(t, y, nr, &trend);
            said[trend.verdict]++;
        }
        printf("%s\n {\"case\": \"%s\", \"leaks\": %s", which ? "," : "", names[which],
               which <= LEAK_NOISE ? "true" : "false");
        for (int v = SEEP_TREND_STEADY; v < SEEP_TREND_NR; v++)
            printf(", \"%s\": %u", seep_trend_name((enum seep_trend_verdict)v), said[v]);
        printf("}");
    }
    printf("\n]}\n");
    return 0;
}
