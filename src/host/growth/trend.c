// SPDX-License-Identifier: BSD-2-Clause
// The verdict on a series (growing, plateau, sawtooth, ...) and the tests behind it, see trend.h.
#include "growth/trend.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#define NR_PAIRS_MOST (SEEP_TREND_MOST * (SEEP_TREND_MOST - 1) / 2)
struct demand {
    double z;     // one-sided normal deviate of the trend
    double half;  // slope of its latest half, over its slope
    double third; // slope of its latest third, over its slope
    double shape; // what a line leaves, over what the best of the shapes that stop leaves
};
// A part has more chances to look like growth than the whole.
static const struct demand of_whole = {2.7, 0.2, -0.5, 2.5}, of_part = {3.2, 0.6, 0.6, 1};
// What bends leaves residuals that look alike, too: more than this is taken for shape, not for memory.
#define ALIKE_MOST 0.45
// A part of a series is judged alone when it has so many points.
#define PART_LEAST  8u
#define RISES_LEAST 3u

const char *seep_trend_name(enum seep_trend_verdict verdict) {
    static const char *const names[SEEP_TREND_NR] = {"unknown",  "steady",    "growing", "plateau",
                                                     "sawtooth", "shrinking", "no trend"};
    return verdict < SEEP_TREND_NR ? names[verdict] : "unknown";
}

struct series {
    const double *t;
    const double *y;
    size_t nr;
};

static struct series latest(struct series s, size_t nr) {
    return (struct series){s.t + s.nr - nr, s.y + s.nr - nr, nr};
}

// fmin() and fmax() are calls because of NaN, and no series has a NaN.
static inline double less_of(double a, double b) {
    return a < b ? a : b;
}

static inline double more_of(double a, double b) {
    return a > b ? a : b;
}

static int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

// Those below the pivot, or with `or_same` not above it, come first: how many they are. All are written, as a
// branch here would be guessed wrong every second time.
static size_t divide(double *values, size_t nr, double pivot, bool or_same) {
    size_t nr_first = 0;
    for (size_t i = 0; i < nr; i++) {
        double value = values[i];
        values[i] = values[nr_first];
        values[nr_first] = value;
        nr_first += (value < pivot) | (or_same & (value == pivot));
    }
    return nr_first;
}

#define SAMPLE_MOST 15u // of values that are at least eight times as many

// A value near the one at `at` in order: the one at the same share of a sample.
static double pivot_near(const double *values, size_t nr, size_t at) {
    double sample[SAMPLE_MOST];
    size_t nr_sample = nr < SAMPLE_MOST * 8 ? 3 : SAMPLE_MOST;
    for (size_t i = 0; i < nr_sample; i++) {
        double value = values[i * (nr - 1) / (nr_sample - 1)];
        size_t k = i;
        for (; k && sample[k - 1] > value; k--)
            sample[k] = sample[k - 1];
        sample[k] = value;
    }
    return sample[at * nr_sample / nr];
}

#define ROUNDS_MOST 48u // more rounds mean hostile values, which are sorted instead

// Returns the value that would be at `place` if all were sorted, and moves it there: no value before it is
// larger and no value behind it is smaller.
static double place(double *values, size_t nr, size_t at) {
    size_t first = 0;
    for (unsigned round = 0; nr - first > 1; round++) {
        double *rest = values + first;
        size_t nr_rest = nr - first;
        if (round == ROUNDS_MOST) {
            qsort(rest, nr_rest, sizeof(*rest), compare_doubles);
            break;
        }
        double pivot = pivot_near(rest, nr_rest, at - first);
        size_t nr_below = divide(rest, nr_rest, pivot, false);
        if (at < first + nr_below) {
            nr = first + nr_below;
            continue;
        }
        first += nr_below;
        if (nr_below)
            continue;
        first += divide(rest, nr_rest, pivot, true);
        if (at < first)
            break;
    }
    return values[at];
}

// The values below the middle are before it afterwards, as `place` has it.
static double median(double *values, size_t nr) {
    double upper = place(values, nr, nr / 2);
    if (nr % 2)
        return upper;
    double lower = values[0];
    for (size_t i = 1; i < nr / 2; i++)
        lower = values[i] > lower ? values[i] : lower;
    return (lower + upper) / 2;
}

// What least squares of y on x leaves of the sum of squares.
static double left_over(const double *x, const double *y, size_t nr) {
    double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, n = (double)nr;
    for (size_t i = 0; i < nr; i++) {
        sx += x[i];
        sy += y[i];
    }
    for (size_t i = 0; i < nr; i++) {
        double dx = x[i] - sx / n, dy = y[i] - sy / n;
        sxx += dx * dx;
        sxy += dx * dy;
        syy += dy * dy;
    }
    return sxx > 0 ? more_of(syy - sxy * sxy / sxx, 0) : syy;
}

static double sum_of_squares(struct series s) {
    static const double nothing[SEEP_TREND_MOST];
    return left_over(nothing, s.y, s.nr);
}

// ---- is there a trend -------------------------------------------------------------------------------

struct slope {
    double middle;
    double low;
    double high;
};

// Each group of n equal values takes n (n - 1) (2n + 5) of the variance: here what one more takes.
static double tie(size_t nr_before) {
    double n = (double)nr_before + 1, m = (double)nr_before;
    return n * (n - 1) * (2 * n + 5) - m * (m - 1) * (2 * m + 5);
}

// Mann and Kendall: the sign of all pairs as a normal deviate.
static double rank_test(struct series s) {
    double ties = 0, n = (double)s.nr;
    int pairs = 0; // rising pairs less falling pairs
    for (size_t i = 0; i < s.nr; i++) {
        int nr_rise = 0, nr_fall = 0;
        for (size_t j = i + 1; j < s.nr; j++) {
            nr_rise += s.y[j] > s.y[i];
            nr_fall += s.y[j] < s.y[i];
        }
        pairs += nr_rise - nr_fall;
        ties += tie(s.nr - i - 1 - (size_t)(nr_rise + nr_fall));
    }
    double sign = pairs;
    double variance = (n * (n - 1) * (2 * n + 5) - ties) / 18;
    return variance <= 0 || sign == 0 ? 0 : (sign - (sign > 0 ? 1 : -1)) / sqrt(variance);
}

// The slopes of all pairs.
static size_t find_slopes(struct series s, double *slopes) {
    size_t nr = 0;
    for (size_t i = 0; i < s.nr; i++)
        for (size_t j = i + 1; j < s.nr; j++)
            if (s.t[j] > s.t[i])
                slopes[nr++] = (s.y[j] - s.y[i]) / (s.t[j] - s.t[i]);
    return nr;
}

// The tests of one series. Each is made when it is asked for, because the tests take nearly all of the time.
struct tested {
    struct series s;
    bool has_rank, has_slope;
    double rank;
    double middle; // of the slopes; those below it are before it then
    size_t nr;
    double slopes[NR_PAIRS_MOST];
};

static void begin_tests(struct tested *tested, struct series s) {
    tested->s = s;
    tested->has_rank = tested->has_slope = false;
}

static double rank_of(struct tested *tested) {
    if (!tested->has_rank)
        tested->rank = rank_test(tested->s);
    tested->has_rank = true;
    return tested->rank;
}

// Theil and Sen: the median of the slopes of all pairs.
static double slope_of(struct tested *tested) {
    if (tested->has_slope)
        return tested->middle;
    tested->nr = find_slopes(tested->s, tested->slopes);
    tested->middle = tested->nr ? median(tested->slopes, tested->nr) : 0;
    tested->has_slope = true;
    return tested->middle;
}

// The median slope with its bounds. The bounds are those without ties, and take as long as the median.
static struct slope bounds_of(struct tested *tested) {
    double n = (double)tested->s.nr, *slopes = tested->slopes;
    struct slope result = {.middle = slope_of(tested)};
    size_t nr = tested->nr;
    if (!nr)
        return result;
    double reach = 1.96 * sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2, middle = (double)nr / 2;
    size_t low = (size_t)more_of(middle - reach, 0), high = (size_t)less_of(middle + reach, (double)nr - 1);
    result.low = place(slopes, nr / 2 + 1, low);
    result.high = place(slopes + nr / 2, nr - nr / 2, high - nr / 2);
    return result;
}

static double middle_slope(struct series s) {
    double slopes[NR_PAIRS_MOST];
    size_t nr = find_slopes(s, slopes);
    return nr ? median(slopes, nr) : 0;
}

// As many points as the series is worth, where neighbouring residuals are alike.
static double effective_points(struct series s, double slope) {
    double residuals[SEEP_TREND_MOST], sorted[SEEP_TREND_MOST], n = (double)s.nr;
    for (size_t i = 0; i < s.nr; i++)
        sorted[i] = residuals[i] = s.y[i] - slope * s.t[i];
    double middle = median(sorted, s.nr), sum = 0, cross = 0;
    for (size_t i = 0; i < s.nr; i++) {
        residuals[i] -= middle;
        sum += residuals[i] * residuals[i];
        cross += i ? residuals[i] * residuals[i - 1] : 0;
    }
    double r = sum > 0 ? cross / sum : 0;
    r += (1 + 4 * r) / n; // its bias in short series (Kendall 1954)
    r = less_of(more_of(r, 0), ALIKE_MOST);
    return more_of(n * (1 - r) / (1 + r), 3);
}

static size_t nr_rises(struct series s) {
    size_t nr = 0;
    for (size_t i = 1; i < s.nr; i++)
        nr += s.y[i] > s.y[i - 1];
    return nr;
}

// Higher at each look, and at the end by half of its pace at least: it goes on, whatever bends it (a machine
// that was busy for a while makes a line look like two levels).
#define RISING_LEAST 8u
#define RISING_PACE  0.5

static bool rises_throughout(struct series s, double slope) {
    return s.nr >= RISING_LEAST && nr_rises(s) == s.nr - 1 &&
           middle_slope(latest(s, (s.nr + 1) / 2)) > slope * RISING_PACE &&
           middle_slope(latest(s, (s.nr + 2) / 3)) > slope * RISING_PACE;
}

// A line that leaves less than this of the variance is one: what is left is noise, however it looks.
#define LINE_LEAVES 0.005

// The share of the variance that a line takes, as a normal deviate.
static double line_test(struct series s, double slope) {
    double all = sum_of_squares(s), rest = left_over(s.t, s.y, s.nr);
    if (all <= 0)
        return 0;
    bool alike = rest > all * LINE_LEAVES && !rises_throughout(s, slope);
    double freedom = (alike ? effective_points(s, slope) : (double)s.nr) - 2;
    double t_squared = rest > 0 ? (all - rest) / rest * freedom : 1e12;
    // Student to normal; Source: Wallace, "Bounds on normal approximations to Student's and the chi-square
    // distributions", 1959.
    return sqrt(freedom * log1p(t_squared / freedom)) * (8 * freedom + 1) / (8 * freedom + 3);
}

// The weaker of both tests, with the sign of the trend. `z` is rank_test() of the series, and has that sign.
static double trend_test(struct series s, double z, double slope) {
    double weaker = less_of(fabs(z), line_test(s, slope));
    return z < 0 ? -weaker : weaker;
}

// ---- which shape ------------------------------------------------------------------------------------

// What the best three levels leave, one after the other: the sums of squares about the mean of each, by
// running sums of the values less the first.
static double left_by_levels(struct series s) {
    double sum[SEEP_TREND_MOST + 1] = {0}, one_by[SEEP_TREND_MOST + 1] = {0}, last[SEEP_TREND_MOST + 1];
    double squares = 0, most = 0;
    for (size_t i = 0; i < s.nr; i++) {
        double y = s.y[i] - s.y[0];
        sum[i + 1] = sum[i] + y;
        one_by[i + 1] = 1 / (double)(i + 1);
        squares += y * y;
    }
    for (size_t to = 1; to < s.nr; to++) {
        double c = sum[s.nr] - sum[to];
        last[to] = c * c * one_by[s.nr - to];
    }
    for (size_t from = 1; from < s.nr; from++) {
        double best = 0;
        for (size_t to = from; to < s.nr; to++) {
            double b = sum[to] - sum[from];
            best = more_of(best, last[to] + b * b * one_by[to - from]);
        }
        most = more_of(most, best + sum[from] * sum[from] * one_by[from]);
    }
    return more_of(squares - most, 0);
}

// The values of a series about their mean.
struct deviations {
    double y[SEEP_TREND_MOST];
    double squares;
};

static void find_deviations(struct series s, struct deviations *ret_from_mean) {
    double sum = 0;
    for (size_t i = 0; i < s.nr; i++)
        sum += s.y[i];
    ret_from_mean->squares = 0;
    for (size_t i = 0; i < s.nr; i++) {
        ret_from_mean->y[i] = s.y[i] - sum / (double)s.nr;
        ret_from_mean->squares += ret_from_mean->y[i] * ret_from_mean->y[i];
    }
}

// What least squares on x takes of the sum of squares, by the sums of x, of its squares and of its products
// with the deviations.
static double taken(double x, double xx, double xy, size_t nr) {
    double about_mean = xx - x * x / (double)nr;
    return about_mean > 0 ? xy * xy / about_mean : 0;
}

// The most that a rise takes that stops at a point: x is the time until then. All by running sums.
static double taken_by_rise(struct series s, const struct deviations *from_mean) {
    double before = 0, squares = 0, products = 0, y = 0, most = 0; // of the points before `at`
    for (size_t at = 0; at * 5 <= s.nr * 4; at++) {
        double time = s.t[at] - s.t[0], nr_rest = (double)(s.nr - at);
        most = more_of(
            most, taken(before + nr_rest * time, squares + nr_rest * time * time, products - time * y, s.nr));
        before += time;
        squares += time * time;
        products += time * from_mean->y[at];
        y += from_mean->y[at];
    }
    return most;
}

// The most that a curve takes that comes ever closer to a level.
static double taken_by_curve(struct series s, const struct deviations *from_mean) {
    double most = 0, whole = s.t[s.nr - 1] - s.t[0];
    double part = 0.05; // of the whole time: how fast it comes closer
    while (part < 0.6) {
        double sum = 0, squares = 0, products = 0;
        for (size_t i = 0; i < s.nr; i++) {
            double x = exp(-(s.t[i] - s.t[0]) / (whole * part));
            sum += x;
            squares += x * x;
            products += x * from_mean->y[i];
        }
        most = more_of(most, taken(sum, squares, products, s.nr));
        part *= 1.25;
    }
    return most;
}

// What the best of these leaves: one or two steps, a rise that stops, and one that comes ever closer to a
// level.
static double left_by_stops(struct series s) {
    struct deviations from_mean;
    find_deviations(s, &from_mean);
    double most = more_of(taken_by_rise(s, &from_mean), taken_by_curve(s, &from_mean));
    return less_of(left_by_levels(s), more_of(from_mean.squares - most, 0));
}

static bool is_line(struct series s, double slope, const struct demand *demand) {
    double rest = left_over(s.t, s.y, s.nr);
    return rest <= sum_of_squares(s) * LINE_LEAVES || rest <= left_by_stops(s) * demand->shape ||
           rises_throughout(s, slope);
}

// Neither stops nor has stopped, as far as the series goes.
static bool goes_on(struct series s, double slope, const struct demand *demand) {
    struct series half = latest(s, (s.nr + 1) / 2), third = latest(s, (s.nr + 2) / 3);
    return nr_rises(s) >= RISES_LEAST && rank_test(half) > 0 && is_line(s, slope, demand) &&
           middle_slope(half) > slope * demand->half && middle_slope(third) > slope * demand->third;
}

static bool grows(struct tested *tested, const struct demand *demand, double *ret_z) {
    double z = rank_of(tested);
    if (z <= demand->z)
        return false;
    double slope = slope_of(tested);
    *ret_z = trend_test(tested->s, z, slope);
    return *ret_z > demand->z && slope > 0 && goes_on(tested->s, slope, demand);
}

// ---- sawtooth ---------------------------------------------------------------------------------------

struct lows {
    double y[SEEP_TREND_MOST];
    size_t nr;
};

// Where it turns after it has fallen by a good part of its range.
static void find_lows(struct series s, double range, struct lows *lows) {
    double much = range * 0.35, top = s.y[0];
    bool falling = false;
    lows->nr = 0;
    for (size_t i = 1; i < s.nr; i++) {
        if (!falling && top - s.y[i] > much) {
            falling = true;
            lows->y[lows->nr++] = s.y[i];
        } else if (falling && s.y[i] < lows->y[lows->nr - 1]) {
            lows->y[lows->nr - 1] = s.y[i];
        } else if (falling && s.y[i] > lows->y[lows->nr - 1] + much) {
            falling = false;
            top = s.y[i];
        }
        if (!falling)
            top = more_of(top, s.y[i]);
    }
}

// Falls deeper than it rises at a time, as what is emptied at once does; noise goes both ways alike.
static bool falls_at_once(struct series s) {
    double rise = 0, fall = 0;
    size_t rises = 0, falls = 0;
    for (size_t i = 1; i < s.nr; i++) {
        double step = s.y[i] - s.y[i - 1];
        rise += more_of(step, 0);
        fall += more_of(-step, 0);
        rises += step > 0;
        falls += step < 0;
    }
    return falls && rises && fall / (double)falls > 1.6 * rise / (double)rises;
}

static double range_of(struct series s) {
    double low = s.y[0], high = s.y[0];
    for (size_t i = 1; i < s.nr; i++) {
        low = less_of(low, s.y[i]);
        high = more_of(high, s.y[i]);
    }
    return high - low;
}

// Comes back to where it was; one whose lows rise from tooth to tooth does not.
static bool is_sawtooth(struct series s) {
    struct lows lows;
    double range = range_of(s);
    find_lows(s, range, &lows);
    if (lows.nr < 2 || !falls_at_once(s))
        return false;
    for (size_t i = 1; i < lows.nr; i++)
        if (lows.nr < 3 || lows.y[i] <= lows.y[i - 1])
            return true;
    return lows.y[lows.nr - 1] - lows.y[0] <= range * 0.3;
}

// ---- the verdict ------------------------------------------------------------------------------------

// Most of what it does is one rise, which has stopped.
static bool has_stopped(struct series s, double z, double slope) {
    return z > 0.5 && s.y[s.nr - 1] > s.y[0] &&
           middle_slope(latest(s, (s.nr + 2) / 3)) <= slope * RISING_PACE &&
           left_by_stops(s) < sum_of_squares(s) * 0.25;
}

// Twice as much at one time as at another is not steady, though nothing of it goes on.
static bool varies(struct series s) {
    double low = s.y[0], high = s.y[0];
    for (size_t i = 1; i < s.nr; i++) {
        low = less_of(low, s.y[i]);
        high = more_of(high, s.y[i]);
    }
    return high / 2 > low;
}

static enum seep_trend_verdict judge(struct series s, struct slope *slope, double *z) {
    static const size_t parts[] = {3, 2}; // quarters
    struct tested whole, part;
    bool sawtooth = is_sawtooth(s);
    begin_tests(&whole, s);
    if (!sawtooth && grows(&whole, &of_whole, z)) {
        *slope = bounds_of(&whole);
        return SEEP_TREND_GROWING;
    }
    for (size_t i = 0; !sawtooth && i < sizeof(parts) / sizeof(*parts); i++) {
        size_t nr = (s.nr * parts[i] + 3) / 4;
        begin_tests(&part, latest(s, nr));
        if (nr >= PART_LEAST && grows(&part, &of_part, z)) {
            *slope = bounds_of(&part);
            return SEEP_TREND_GROWING;
        }
    }
    *slope = bounds_of(&whole);
    *z = trend_test(s, rank_of(&whole), slope->middle);
    if (sawtooth)
        return SEEP_TREND_SAWTOOTH;
    if (*z < -of_whole.z)
        return SEEP_TREND_SHRINKING;
    if (has_stopped(s, rank_of(&whole), slope->middle))
        return SEEP_TREND_PLATEAU;
    return varies(s) ? SEEP_TREND_NONE : SEEP_TREND_STEADY;
}

void seep_trend_judge(const double *times, const double *values, size_t nr, struct seep_trend *ret_trend) {
    struct series s = {times, values, nr};
    *ret_trend = (struct seep_trend){.verdict = SEEP_TREND_UNKNOWN};
    if (nr < SEEP_TREND_LEAST || nr > SEEP_TREND_MOST || times[nr - 1] <= times[0])
        return;
    struct slope slope = {0};
    double z = 0;
    ret_trend->verdict = SEEP_TREND_STEADY;
    if (range_of(s) > 0)
        ret_trend->verdict = judge(s, &slope, &z);
    ret_trend->slope = slope.middle;
    ret_trend->slope_low = slope.low;
    ret_trend->slope_high = slope.high;
    ret_trend->confidence = erf(fabs(z) / sqrt(2));
}
