/* The kernels of a search: what NumPy computes in salience, in fewer and faster steps.

   Each gives the bits that the NumPy way gives. Cosines are exact, so the order of their sums is
   free; all else that is rounded is computed in the order of the NumPy way. Nothing here reads
   beyond its arguments, whatever these hold, unless another thread writes to them meanwhile. What a
   kernel does not take (a wrong length, type, order or place, an output over another argument) is a
   ValueError, and the caller has NumPy do it.
   The lock of the interpreter is released while a kernel runs.

   The loops are plain C. They are compiled several times, for processors with and without AVX2 and
   AVX-512, and the variant is chosen when the module is imported. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INTERFACE 6 /* raised with each change of what a function takes or gives */

#if defined(__x86_64__) && defined(__GNUC__)
#define X86 1
#define WITH_AVX2 __attribute__((target("avx2,fma,popcnt,bmi,bmi2,lzcnt")))
#define WITH_AVX512                                                                                \
    __attribute__((target("avx2,fma,popcnt,bmi,bmi2,lzcnt,avx512f,avx512bw,avx512dq,avx512vl,"     \
                          "avx512vpopcntdq,prefer-vector-width=512")))
#endif
#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#define PREFETCH(address) __builtin_prefetch(address)
#define BITS(word) ((uint64_t)__builtin_popcountll(word))
#else
#define INLINE static __forceinline
#define PREFETCH(address)
INLINE uint64_t BITS(uint64_t x)
{
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return (x * 0x0101010101010101u) >> 56;
}
#endif

typedef Py_ssize_t Size;

/* Arguments: arrays by the buffer protocol, each checked for type, dimensions and order. */

typedef struct View {
    Py_buffer buffer;
    int written;
    struct View *before;
} View;

typedef struct {
    View *last;
} Held;

typedef struct {
    void *data;
    Size rows, width; /* width is 1 for one dimension */
} Array;

static void release(Held *held)
{
    while (held->last) {
        View *view = held->last;
        held->last = view->before;
        PyBuffer_Release(&view->buffer);
        free(view);
    }
}

static int refuse(const char *name, const char *problem)
{
    PyErr_Format(PyExc_ValueError, "%s %s", name, problem);
    return 0;
}

/* One letter for each type: d, f: floats of 8 and 4 bytes; q, i: whole numbers of 8 and 4;
   h, c: of 2 and 1; Q, H, B: without a sign, of 8, 2 and 1; b: of one byte, true or false. */
static int is_type(const Py_buffer *view, char type)
{
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=')
        format++;
    if (!*format || format[1])
        return 0;
    switch (type) {
    case 'd':
    case 'f': return *format == type;
    case 'q': return strchr("qln", *format) && view->itemsize == 8;
    case 'i': return strchr("il", *format) && view->itemsize == 4;
    case 'Q': return strchr("QLN", *format) && view->itemsize == 8;
    case 'H':
    case 'h':
    case 'B': return *format == type;
    case 'c': return *format == 'b';
    default: return *format == '?';
    }
}

#define READ 0
#define WRITE PyBUF_WRITABLE

/* Test whether some memory is apart from all that is held, of which only what is written counts for
   memory that is read. */
static int is_apart(const Held *held, const void *start, Size length, int written)
{
    for (const View *view = held->last; view; view = view->before) {
        const char *low = view->buffer.buf, *own = start;
        if ((written || view->written) && own < low + view->buffer.len && low < own + length)
            return 0;
    }
    return 1;
}

/* Take an array of a type with 1 or 2 dimensions and so many rows (-1: any). */
static int take(Held *held, PyObject *object, const char *name, char type, int dimensions,
                Size rows, int flags, Array *array)
{
    View *taken = malloc(sizeof *taken);
    if (!taken) {
        PyErr_NoMemory();
        return 0;
    }
    Py_buffer *view = &taken->buffer;
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | flags) < 0) {
        free(taken);
        PyErr_Clear();
        return refuse(name, "is no contiguous array that can be used so");
    }
    int apart = is_apart(held, view->buf, view->len, flags == WRITE);
    taken->written = flags == WRITE;
    taken->before = held->last;
    held->last = taken;
    if (!apart)
        return refuse(name, "is in the memory of another argument");
    if (!is_type(view, type) || (uintptr_t)view->buf % (uintptr_t)view->itemsize)
        return refuse(name, "has another type of numbers");
    if (view->ndim != dimensions)
        return refuse(name, "has another number of dimensions");
    array->data = view->buf;
    array->rows = view->shape[0];
    array->width = dimensions == 2 ? view->shape[1] : 1;
    if (rows >= 0 && array->rows != rows)
        return refuse(name, "has another length");
    return 1;
}

static int take_number(PyObject *object, const char *name, Size least, Size *number)
{
    *number = PyLong_AsSsize_t(object);
    if (*number == -1 && PyErr_Occurred())
        return 0;
    return *number >= least ? 1 : refuse(name, "is too small");
}

static int arguments(Size given, Size wanted)
{
    if (given == wanted)
        return 1;
    PyErr_Format(PyExc_TypeError, "takes %zd arguments and was given %zd", wanted, given);
    return 0;
}

/* Each of some places has to be one of `size`; -1 for none, if that may be. */
static int check_places(const int64_t *places, Size count, Size size, int64_t least)
{
    int64_t low = 0, high = -1;
    for (Size i = 0; i < count; i++) {
        low = places[i] < low ? places[i] : low;
        high = places[i] > high ? places[i] : high;
    }
    return low >= least && high < (int64_t)size ? 1 : refuse("places", "are not all there");
}

/* Loops that are compiled for several processors */

#define LANES 16

/* q . v, exact: see `cosines` in arithmetic.py. */
INLINE double dot(const float *row, const double *query, Size width)
{
    double lanes[LANES] = {0.0}, sum = 0.0;
    Size i = 0;
    for (; i + LANES <= width; i += LANES)
        for (int l = 0; l < LANES; l++)
            lanes[l] += (double)row[i + l] * query[i + l];
    for (; i < width; i++)
        sum += (double)row[i] * query[i];
    for (int l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum < -1.0 ? -1.0 : sum > 1.0 ? 1.0 : sum;
}

#define AHEAD 8 /* rows that are on their way from memory */

INLINE void prefetch_row(const float *row, Size width)
{
    for (Size i = 0; i < width; i += 16)
        PREFETCH(row + i);
}

/* The cosines of the rows at some places (all rows for NULL); NaN for a place of -1. */
INLINE void cosines_loop(const float *rows, Size width, const double *query, const int64_t *places,
                         Size count, double *cosines)
{
    for (Size i = 0; i < count; i++) {
        if (!places) {
            if (i + 2 * AHEAD < count)
                prefetch_row(rows + (i + 2 * AHEAD) * width, width);
            cosines[i] = dot(rows + i * width, query, width);
            continue;
        }
        if (i + AHEAD < count && places[i + AHEAD] >= 0)
            prefetch_row(rows + places[i + AHEAD] * width, width);
        cosines[i] = places[i] < 0 ? NAN : dot(rows + places[i] * width, query, width);
    }
}

#define BLOCK 512

/* The number of signs in which each vector differs from a query. */
INLINE void signs_loop(const uint64_t *const *signs, Size words, Size count, const uint64_t *query,
                       uint16_t *distances)
{
    uint64_t sums[BLOCK];
    for (Size start = 0; start < count; start += BLOCK) {
        Size size = count - start < BLOCK ? count - start : BLOCK;
        memset(sums, 0, sizeof sums);
        for (Size w = 0; w < words; w++) {
            const uint64_t *own = signs[w] + start, wanted = query[w];
            for (Size i = 0; i < size; i++)
                sums[i] += BITS(own[i] ^ wanted);
        }
        for (Size i = 0; i < size; i++)
            distances[start + i] = (uint16_t)sums[i];
    }
}

#define NEAREST_WHOLE 12582912.0f /* 3 * 2^22: added and taken away, it leaves a whole number */
#define LARGEST_BYTE 127

/* The bytes c of some numbers x of a vector, at most LANES of them: (x - s c)^2 is added to each. */
INLINE void reduce_part(const float *x, Size count, float factor, float scale, int8_t *c, float *missed)
{
    for (Size l = 0; l < count; l++) {
        float whole = (x[l] * factor + NEAREST_WHOLE) - NEAREST_WHOLE, rest = x[l] - whole * scale;
        c[l] = (int8_t)whole;
        missed[l] += rest * rest;
    }
}

/* The bytes c of vectors x, and for each s = max |x_i| / 127 and no less than |x - s c|. What is no
   vector of numbers has an infinite bound, so that it is always compared. */
INLINE void reduce_loop(const float *rows, Size width, Size count, int8_t *bytes, float *bounds)
{
    for (Size i = 0; i < count; i++, rows += width, bytes += width) {
        float missed[LANES] = {0.0f}, largest, sum = 0.0f;
        int32_t bits = 0; /* those of numbers without a sign are in their order, and NaN is last */
        for (Size k = 0; k < width; k++) {
            int32_t own;
            memcpy(&own, rows + k, sizeof own);
            own &= INT32_MAX;
            bits = own > bits ? own : bits;
        }
        memcpy(&largest, &bits, sizeof largest);
        int sound = largest <= 1e30f, known = sound && largest > 1e-30f;
        float scale = known ? largest / LARGEST_BYTE : 0.0f, factor = known ? 1.0f / scale : 0.0f;
        Size k = 0;
        if (known) {
            for (; k + LANES <= width; k += LANES)
                reduce_part(rows + k, LANES, factor, scale, bytes + k, missed);
            reduce_part(rows + k, width - k, factor, scale, bytes + k, missed);
        } else
            memset(bytes, 0, (size_t)width);
        for (int l = 0; l < LANES; l++)
            sum += missed[l];
        bounds[2 * i] = scale;
        bounds[2 * i + 1] = sound ? sqrtf(sum) * 1.001f + 1e-5f : INFINITY;
    }
}

#define EXACT_SUM 256 /* products of a byte and two bytes: so many fit into four */

/* An estimate of q . x for the vectors at some places (all for NULL) by their bytes: see
   `VectorBytes`. */
INLINE void bytes_loop(const int8_t *bytes, Size width, const int16_t *query, const float *bounds,
                       double step, const int64_t *places, Size count, double *estimates)
{
    for (Size i = 0; i < count; i++) {
        Size at = places ? places[i] : i;
        const int8_t *own = bytes + at * width;
        if (places && i + AHEAD < count)
            for (Size k = 0; k < width; k += 64)
                PREFETCH(bytes + places[i + AHEAD] * width + k);
        int64_t total = 0;
        for (Size start = 0; start < width; start += EXACT_SUM) {
            Size end = width - start < EXACT_SUM ? width : start + EXACT_SUM;
            int32_t sum = 0;
            for (Size k = start; k < end; k++)
                sum += (int32_t)own[k] * query[k];
            total += sum;
        }
        estimates[i] = (double)bounds[2 * at] * step * (double)total;
    }
}

#define ROUNDING 6755399441055744.0 /* 3 * 2^51: added and taken away, it leaves a whole number */

/* e^x in the steps of `exp` in arithmetic.py. */
INLINE double power_of_e(double x)
{
    if (x != x)
        return x;
    x = x < -746.0 ? -746.0 : x > 709.782712893384 + 1.0 ? 709.782712893384 + 1.0 : x;
    double k = (x * 1.44269504088896338700 + ROUNDING) - ROUNDING;
    double high = x - k * 6.93147180369123816490e-01, low = k * 1.90821492927058770002e-10;
    double r = high - low, square = r * r;
    double series = 1.66666666666666019037e-01 +
                    square * (-2.77777777770155933842e-03 +
                              square * (6.61375632143793436117e-05 +
                                        square * (-1.65339022054652515390e-06 +
                                                  square * 4.13813679705723846039e-08)));
    double remainder = r - square * series;
    double value = 1.0 + (high - (low - r * remainder / (2.0 - remainder)));
    if (k < -1000.0 || k > 1000.0)
        return ldexp(value, (int)k);
    uint64_t bits = (uint64_t)((int64_t)k + 1023) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return value * power;
}

/* The formula of a score: steps over columns of candidates. See `Program` in evaluation.py. */

typedef struct {
    const double *data;
    Size step;             /* 0 for one number that holds for every candidate */
    const int64_t *places; /* of whole numbers instead */
    Size rows, width;
} Value;

#define ANY_NUMBER INT32_MAX /* of values that a step reads */

/* The name of each operation, and how many values it reads: at least, at most. */
typedef enum {
    SUM, PRODUCT, FIRST_OF, QUOTIENT, MINIMUM, MAXIMUM, AT_MOST, EXP, SIGMOID, SQRT, FLOOR,
    MIN_MAX, MAX_SCALED, TRUSTED, GROUP_MAX, SESSION_COVER, NEIGHBOR_MASS, OPERATIONS
} Operation;

static const struct {
    const char *name;
    int least, most;
} OPERATION[OPERATIONS] = {
    {"sum", 1, ANY_NUMBER}, {"product", 1, ANY_NUMBER}, {"first_of", 1, ANY_NUMBER},
    {"quotient", 2, 2}, {"minimum", 2, 2}, {"maximum", 2, 2}, {"at_most", 2, 2}, {"exp", 1, 1},
    {"sigmoid", 1, 1}, {"sqrt", 1, 1}, {"floor", 1, 1}, {"min_max", 1, 2}, {"max_scaled", 1, 2},
    {"trusted", 3, 3}, {"group_max", 2, 2}, {"session_cover", 2, 2}, {"neighbor_mass", 5, 5},
};

/* out = expression of x and y, each of which is an array or one number. */
#define BINARY(expression)                                                                         \
    do {                                                                                           \
        double x = *a.data, y = *b.data;                                                           \
        if (a.step && b.step)                                                                      \
            for (Size i = 0; i < rows; i++) {                                                      \
                x = a.data[i];                                                                     \
                y = b.data[i];                                                                     \
                out[i] = expression;                                                               \
            }                                                                                      \
        else if (a.step)                                                                           \
            for (Size i = 0; i < rows; i++) {                                                      \
                x = a.data[i];                                                                     \
                out[i] = expression;                                                               \
            }                                                                                      \
        else if (b.step)                                                                           \
            for (Size i = 0; i < rows; i++) {                                                      \
                y = b.data[i];                                                                     \
                out[i] = expression;                                                               \
            }                                                                                      \
        else                                                                                       \
            out[0] = expression;                                                                   \
        a.step = a.step || b.step;                                                                 \
        a.data = out;                                                                              \
    } while (0)

/* Values from left to right; a number of 0 is not added, as it is not in `Sum.combine`. */
INLINE Size fold(Operation operation, const Value *given, int count, Size rows, double *out)
{
    Value a = given[0];
    for (int i = 1; i < count; i++) {
        Value b = given[i];
        if (operation == SUM && (b.step || *b.data != 0.0))
            BINARY(x + y);
        else if (operation == PRODUCT)
            BINARY(x * y);
        else if (operation == FIRST_OF)
            BINARY(x != x ? y : x);
    }
    if (a.data != out)
        memcpy(out, a.data, (size_t)(a.step ? rows : 1) * sizeof(double));
    return a.step;
}

/* MinMax, or MaxScaled, of a by the least and the largest value of b. */
INLINE Size scaled(Operation operation, Value a, Value b, int by_others, Size rows, double *out)
{
    double low = NAN, high = NAN;
    for (Size i = 0; i < (b.step ? rows : 1); i++) {
        double x = b.data[i];
        low = low <= x ? low : x == x ? x : low;
        high = high >= x ? high : x == x ? x : high;
    }
    Size count = a.step ? rows : 1;
    int flat = operation == MIN_MAX ? !(high > low) : !(high > 0.0);
    for (Size i = 0; i < count; i++) {
        double x = a.data[i];
        if (flat)
            out[i] = x * 0.0;
        else if (operation == MAX_SCALED)
            out[i] = x / high;
        else {
            x = (x - low) / (high - low);
            out[i] = !by_others || x != x ? x : x < 0.0 ? 0.0 : x > 1.0 ? 1.0 : x;
        }
    }
    return a.step;
}

/* t x + (1 - t) y; x where t is the number NaN. */
INLINE Size trusted(Value t, Value x, Value y, Size rows, double *out)
{
    if (!t.step && *t.data != *t.data)
        return fold(SUM, &x, 1, rows, out);
    Size step = t.step || x.step || y.step;
    for (Size i = 0; i < (step ? rows : 1); i++) {
        double trust = t.data[i * t.step];
        out[i] = trust * x.data[i * x.step] + (1.0 - trust) * y.data[i * y.step];
    }
    return step;
}

/* The largest value of each group, column by column, NaN where there is none. */
INLINE void largest_of_groups(const int64_t *group, Value of, Size rows, Size width,
                              double *largest)
{
    for (Size i = 0; i < rows * width; i++)
        largest[i] = NAN;
    for (Size i = 0; i < rows; i++)
        for (Size w = 0; w < width; w++) {
            double x = of.data[(i * width + w) * of.step], *own = &largest[group[i] * width + w];
            *own = *own >= x ? *own : x == x ? x : *own;
        }
}

/* The sum of some numbers, the second half of them added to the first: see `row_sums`. */
INLINE double halved_sum(double *numbers, Size width)
{
    if (width < 1)
        return 0.0;
    for (Size half; width > 1; width = half) {
        half = (width + 1) / 2;
        for (Size i = half; i < width; i++)
            numbers[i - half] += numbers[i];
    }
    return numbers[0];
}

/* See `SessionCover`; `largest` has room for a row for each candidate and one more. */
INLINE Size session_cover(const int64_t *group, Value matched, Size rows, double *largest,
                          double *out)
{
    Size width = matched.width, groups = 0;
    largest_of_groups(group, matched, rows, width, largest);
    double *top = largest + rows * width;
    for (Size i = 0; i < rows; i++)
        groups = group[i] >= groups ? (Size)group[i] + 1 : groups;
    for (Size w = 0; w < width; w++)
        top[w] = largest[w];
    for (Size g = 1; g < groups; g++)
        for (Size w = 0; w < width; w++) {
            double x = largest[g * width + w];
            top[w] = top[w] > x || top[w] != top[w] ? top[w] : x;
        }
    double total = halved_sum(top, width);
    if (!(total > 0.0)) {
        *out = 0.0;
        return 0;
    }
    for (Size g = 0; g < groups; g++)
        largest[g * width] = halved_sum(largest + g * width, width) / total;
    for (Size i = 0; i < rows; i++)
        out[i] = largest[group[i] * width];
    return 1;
}

INLINE double faded(Value table, double distance)
{
    int known = distance >= 0.0 && distance < (double)table.rows;
    return known ? table.data[(Size)distance * table.step] : 0.0;
}

/* See `NeighborMass`: places ascend in `order`, and `fading` is a table by distance. */
INLINE void neighbor_mass(const int64_t *order, const double *places, Value fading, Size reach,
                          Value of, Size rows, double *weight, double *out)
{
    for (Size i = 0; i < rows; i++) {
        double x = of.data[order[i] * of.step];
        weight[i] = x * x > 0.0 ? x * x : 0.0;
    }
    for (Size i = 0; i < rows; i++) {
        double later = 0.0, earlier = 0.0;
        for (Size d = 1; d <= reach && i + d < rows; d++) {
            later += faded(fading, places[i + d] - places[i]) * weight[i + d];
        }
        for (Size d = 1; d <= reach && d <= i; d++) {
            earlier += faded(fading, places[i] - places[i - d]) * weight[i - d];
        }
        out[order[i]] = later + earlier;
    }
}

/* Compute a step; 1 if it gives an array, 0 for one number, -1 without memory. */
INLINE Size compute(Operation operation, const Value *given, int count, Size rows, double *out)
{
    Value a = given[0], b = given[count > 1];
    double *room = NULL;
    switch (operation) {
    case SUM:
    case PRODUCT:
    case FIRST_OF: return fold(operation, given, count, rows, out);
    case QUOTIENT: BINARY(y != 0.0 ? x / y : x != x ? x : 0.0); return a.step;
    case MINIMUM: BINARY(x < y || x != x ? x : y); return a.step;
    case MAXIMUM: BINARY(x > y || x != x ? x : y); return a.step;
    case AT_MOST: BINARY(x <= y ? 1.0 : 0.0); return a.step;
    case MIN_MAX:
    case MAX_SCALED: return scaled(operation, a, b, count > 1, rows, out);
    case TRUSTED: return trusted(a, b, given[2], rows, out);
    case EXP:
    case SIGMOID:
    case SQRT:
    case FLOOR:
        for (Size i = 0; i < (a.step ? rows : 1); i++) {
            double x = a.data[i];
            out[i] = operation == EXP    ? power_of_e(x)
                     : operation == SQRT ? sqrt(x)
                     : operation == FLOOR ? floor(x)
                                          : 1.0 / (1.0 + power_of_e(-x));
        }
        return a.step;
    default: break;
    }
    room = malloc((size_t)((rows + 1) * (operation == SESSION_COVER ? b.width + 1 : 1)) * sizeof(double));
    Size step = room ? 1 : -1;
    if (room && operation == GROUP_MAX) {
        largest_of_groups(a.places, b, rows, 1, room);
        for (Size i = 0; i < rows; i++)
            out[i] = room[a.places[i]];
    } else if (room && operation == SESSION_COVER)
        step = session_cover(a.places, b, rows, room, out);
    else if (room)
        neighbor_mass(a.places, b.data, given[2], (Size)*given[3].data, given[4], rows, room, out);
    free(room);
    return step;
}

/* The values that the steps of a formula read, by place in a list; each is taken once. */
typedef struct {
    PyObject *list;
    Size size;
    Value *known;
    double *numbers;
    Py_buffer *views; /* with an object where one is held */
} Values;

/* `given` has room for the values that any step reads. */
INLINE int formula_loop(const int32_t *code, Size count, const Values *values, Size rows,
                        Value *given, double *block, uint8_t *steps)
{
    for (Size row = 0; row < count; row++) {
        for (int i = 0; i < code[1]; i++) {
            int32_t place = code[2 + i];
            if (place >= 0)
                given[i] = values->known[place];
            else
                given[i] = (Value){block + (-1 - place) * rows, steps[-1 - place], NULL, rows, 1};
        }
        Size step = compute((Operation)code[0], given, code[1], rows, block + row * rows);
        if (step < 0)
            return 0;
        steps[row] = (uint8_t)step;
        code += 2 + code[1];
    }
    return 1;
}

typedef struct {
    const char *name;
    void (*cosines)(const float *, Size, const double *, const int64_t *, Size, double *);
    void (*signs)(const uint64_t *const *, Size, Size, const uint64_t *, uint16_t *);
    void (*reduce)(const float *, Size, Size, int8_t *, float *);
    void (*bytes)(const int8_t *, Size, const int16_t *, const float *, double, const int64_t *, Size,
                  double *);
    int (*formula)(const int32_t *, Size, const Values *, Size, Value *, double *, uint8_t *);
} Variant;

#define COMPILED(suffix, with)                                                                     \
    with static void cosines_##suffix(const float *rows, Size width, const double *query,          \
                                      const int64_t *places, Size count, double *cosines)          \
    {                                                                                              \
        cosines_loop(rows, width, query, places, count, cosines);                                  \
    }                                                                                              \
    with static void signs_##suffix(const uint64_t *const *signs, Size words, Size count,          \
                                    const uint64_t *query, uint16_t *distances)                    \
    {                                                                                              \
        signs_loop(signs, words, count, query, distances);                                         \
    }                                                                                              \
    with static void reduce_##suffix(const float *rows, Size width, Size count, int8_t *bytes,     \
                                     float *bounds)                                                \
    {                                                                                              \
        reduce_loop(rows, width, count, bytes, bounds);                                            \
    }                                                                                              \
    with static void bytes_##suffix(const int8_t *bytes, Size width, const int16_t *query,         \
                                    const float *bounds, double step, const int64_t *places,       \
                                    Size count, double *estimates)                                 \
    {                                                                                              \
        bytes_loop(bytes, width, query, bounds, step, places, count, estimates);                   \
    }                                                                                              \
    with static int formula_##suffix(const int32_t *code, Size count, const Values *values,        \
                                     Size rows, Value *given, double *block, uint8_t *steps)       \
    {                                                                                              \
        return formula_loop(code, count, values, rows, given, block, steps);                       \
    }

#define NOTHING
COMPILED(plain, NOTHING)
#ifdef X86
COMPILED(avx2, WITH_AVX2)
COMPILED(avx512, WITH_AVX512)
#endif

static const Variant VARIANTS[] = {
#ifdef X86
    {"avx512", cosines_avx512, signs_avx512, reduce_avx512, bytes_avx512, formula_avx512},
    {"avx2", cosines_avx2, signs_avx2, reduce_avx2, bytes_avx2, formula_avx2},
#endif
    {"plain", cosines_plain, signs_plain, reduce_plain, bytes_plain, formula_plain},
};
#define VARIANT_COUNT (int)(sizeof VARIANTS / sizeof VARIANTS[0])

static const Variant *chosen = &VARIANTS[VARIANT_COUNT - 1];

static int supported(const char *name)
{
#ifdef X86
    int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi2");
    if (!strcmp(name, "avx2"))
        return avx2;
    if (!strcmp(name, "avx512"))
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
               __builtin_cpu_supports("avx512vpopcntdq");
#endif
    return !strcmp(name, "plain");
}

/* Selection */

static void swap(double *a, double *b)
{
    double other = *a;
    *a = *b;
    *b = other;
}

/* The value that `wanted` of some values reach or exceed and fewer exceed; changes their order. */
static double largest(double *values, Size count, Size wanted)
{
    Size low = 0, high = count - 1, rank = wanted - 1;
    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        Size i = low, j = high;
        while (i <= j) {
            while (values[i] > pivot)
                i++;
            while (values[j] < pivot)
                j--;
            if (i <= j)
                swap(&values[i++], &values[j--]);
        }
        if (rank <= j)
            high = j;
        else if (rank >= i)
            low = i;
        else
            break;
    }
    return values[rank];
}

#define BUCKETS 4096

static int bucket_of(double score, double low, double scale)
{
    double bucket = (score - low) * scale;
    return bucket >= BUCKETS - 1 ? BUCKETS - 1 : bucket >= 0.0 ? (int)bucket : 0; /* NaN: 0 */
}

/* Keep the places with the `wanted` best scores, and those as good as the last of them; their
   number, -1 without memory. Scores are from `low` to `high`, mostly. */
static Size keep_best(int64_t *places, double *scores, Size count, Size wanted, double low,
                      double high)
{
    if (count <= wanted)
        return count;
    double scale = (BUCKETS - 1) / (high - low);
    Size counts[BUCKETS] = {0}, above = 0;
    for (Size i = 0; i < count; i++)
        counts[bucket_of(scores[i], low, scale)]++;
    int bucket = BUCKETS - 1;
    while (above + counts[bucket] < wanted)
        above += counts[bucket--];
    double *likely = malloc((size_t)counts[bucket] * sizeof(double));
    if (!likely)
        return -1;
    Size found = 0;
    for (Size i = 0; i < count; i++)
        if (bucket_of(scores[i], low, scale) == bucket)
            likely[found++] = scores[i];
    double least = largest(likely, found, wanted - above);
    free(likely);
    Size kept = 0;
    for (Size i = 0; i < count; i++) {
        places[kept] = places[i];
        scores[kept] = scores[i];
        kept += scores[i] >= least;
    }
    return kept;
}

/* Keep the places that may be among the `wanted` nearest, by estimates that are wrong by no more
   than the bounds of each allow. A NaN or an infinite bound keeps its place. */
static Size keep_possible(int64_t *places, const double *estimates, Size count, Size wanted,
                          const float *bounds, double length, double width)
{
    if (count <= wanted)
        return count;
    Size counts[BUCKETS] = {0};
    double scale = (BUCKETS - 1) / 2.0;
#define ERROR(i) (length * bounds[2 * places[i] + 1] + width * bounds[2 * places[i]] + 1e-5)
    for (Size i = 0; i < count; i++)
        counts[bucket_of(estimates[i] - ERROR(i), -1.0, scale)]++;
    int bucket = BUCKETS - 1;
    for (Size above = counts[bucket]; above < wanted; above += counts[bucket])
        bucket--;
    double least = bucket ? bucket / scale - 1.0 - 1e-6 : -INFINITY;
    Size kept = 0;
    for (Size i = 0; i < count; i++) {
        int is_far = estimates[i] + ERROR(i) < least;
        places[kept] = places[i];
        kept += !is_far;
    }
#undef ERROR
    return kept;
}

/* Write the places within the least radius that more than `rows` vectors are within; at most
   `most`, a distance of vectors that may not be found being `most` + 1. */
static Size within_radius(const uint16_t *distances, Size count, Size rows, Size most,
                          int64_t *places)
{
    Size *counts = calloc((size_t)most + 2, sizeof(Size));
    if (!counts)
        return -1;
    for (Size i = 0; i < count; i++)
        counts[distances[i]]++;
    Size radius = 0, found = 0;
    for (Size sum = counts[0]; sum <= rows && radius < most; sum += counts[radius])
        radius++;
    free(counts);
    for (Size i = 0; i < count; i++) {
        places[found] = i;
        found += distances[i] <= radius;
    }
    return found;
}

/* Functions of the module */

/* cosines(vectors, query, places or None, cosines) */
static PyObject *py_cosines(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array vectors, query, places = {NULL, 0, 0}, cosines;
    PyObject *answer = NULL;
    if (!arguments(count, 4) || !take(&held, given[0], "vectors", 'f', 2, -1, READ, &vectors) ||
        !take(&held, given[1], "query", 'd', 1, vectors.width, READ, &query))
        goto done;
    if (given[2] != Py_None && (!take(&held, given[2], "places", 'q', 1, -1, READ, &places) ||
                                !check_places(places.data, places.rows, vectors.rows, -1)))
        goto done;
    Size wanted = given[2] == Py_None ? vectors.rows : places.rows;
    if (!take(&held, given[3], "cosines", 'd', 1, wanted, WRITE, &cosines))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    chosen->cosines(vectors.data, vectors.width, query.data,
                    given[2] == Py_None ? NULL : places.data, wanted, cosines.data);
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
done:
    release(&held);
    return answer;
}

/* The words of signs, one array for each word, to be freed, and the query's. */
static int take_signs(Held *held, PyObject *arrays, PyObject *own, const uint64_t ***signs,
                      Size *words, Size *count, Array *query)
{
    *words = PyTuple_Check(arrays) ? PyTuple_Size(arrays) : 0;
    if (*words < 1 || 64 * *words >= UINT16_MAX)
        return refuse("signs", "are no tuple of arrays, or differences exceed two bytes");
    *signs = malloc((size_t)*words * sizeof **signs);
    if (!*signs) {
        PyErr_NoMemory();
        return 0;
    }
    *count = -1;
    for (Size w = 0; w < *words; w++) {
        Array word;
        if (!take(held, PyTuple_GetItem(arrays, w), "signs", 'Q', 1, *count, READ, &word))
            return 0;
        (*signs)[w] = word.data;
        *count = word.rows;
    }
    return take(held, own, "query_signs", 'Q', 1, *words, READ, query);
}

/* sign_distances(signs, query_signs, distances) */
static PyObject *py_sign_distances(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    const uint64_t **signs = NULL;
    Size words, rows;
    Array query, distances;
    PyObject *answer = NULL;
    if (!arguments(count, 3) ||
        !take_signs(&held, given[0], given[1], &signs, &words, &rows, &query) ||
        !take(&held, given[2], "distances", 'H', 1, rows, WRITE, &distances))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    chosen->signs(signs, words, rows, query.data, distances.data);
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
done:
    free((void *)signs);
    release(&held);
    return answer;
}

/* reduce(vectors, bytes, bounds): see `VectorBytes` */
static PyObject *py_reduce(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array vectors, bytes, bounds;
    PyObject *answer = NULL;
    if (!arguments(count, 3) || !take(&held, given[0], "vectors", 'f', 2, -1, READ, &vectors) ||
        !take(&held, given[1], "bytes", 'c', 2, vectors.rows, WRITE, &bytes) ||
        !take(&held, given[2], "bounds", 'f', 2, vectors.rows, WRITE, &bounds))
        goto done;
    if (bytes.width != vectors.width || bounds.width != 2) {
        refuse("bytes or bounds", "are those of other vectors");
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    chosen->reduce(vectors.data, vectors.width, vectors.rows, bytes.data, bounds.data);
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
done:
    release(&held);
    return answer;
}

/* nearest(vectors, query, allowed or None, depth, bytes, bounds, query_bytes, (step, length, width),
   signs or None, query_signs, rows, places, cosines) -> how many were written: the `depth` nearest,
   and those as near as the last, by place; with signs, of more than `rows` that have the nearest. */
static PyObject *py_nearest(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    const uint64_t **signs = NULL;
    Array vectors, query, allowed = {NULL, 0, 0}, bytes, bounds, query_bytes, numbers, query_signs,
        places, cosines;
    Size depth, words, size, rows, found = 0;
    PyObject *answer = NULL;
    if (!arguments(count, 13) || !take(&held, given[0], "vectors", 'f', 2, -1, READ, &vectors) ||
        !take(&held, given[1], "query", 'd', 1, vectors.width, READ, &query) ||
        (given[2] != Py_None &&
         !take(&held, given[2], "allowed", 'b', 1, vectors.rows, READ, &allowed)) ||
        !take_number(given[3], "depth", 1, &depth) ||
        !take(&held, given[4], "bytes", 'c', 2, vectors.rows, READ, &bytes) ||
        !take(&held, given[5], "bounds", 'f', 2, vectors.rows, READ, &bounds) ||
        !take(&held, given[6], "query_bytes", 'h', 1, vectors.width, READ, &query_bytes) ||
        !take(&held, given[7], "numbers", 'd', 1, 3, READ, &numbers) ||
        (given[8] != Py_None &&
         !take_signs(&held, given[8], given[9], &signs, &words, &size, &query_signs)) ||
        !take_number(given[10], "rows", 0, &rows) ||
        !take(&held, given[11], "places", 'q', 1, vectors.rows, WRITE, &places) ||
        !take(&held, given[12], "cosines", 'd', 1, vectors.rows, WRITE, &cosines))
        goto done;
    if (bytes.width != vectors.width || bounds.width != 2 || (signs && size != vectors.rows)) {
        refuse("bytes, bounds or signs", "are those of other vectors");
        goto done;
    }
    int64_t *at = places.data;
    Py_BEGIN_ALLOW_THREADS
    const uint8_t *passes = allowed.data;
    const double *number = numbers.data;
    if (signs) {
        Size most = 64 * words;
        uint16_t *distances = malloc((size_t)size * sizeof(uint16_t) + 1);
        found = -1;
        if (distances) {
            chosen->signs(signs, words, size, query_signs.data, distances);
            for (Size i = 0; passes && i < size; i++)
                if (!passes[i])
                    distances[i] = (uint16_t)(most + 1);
            found = within_radius(distances, size, rows, most, at);
        }
        free(distances);
    } else
        for (Size i = 0; i < vectors.rows; i++) {
            at[found] = i;
            found += !passes || passes[i];
        }
    if (found > 0) {
        chosen->bytes(bytes.data, bytes.width, query_bytes.data, bounds.data, number[0],
                      found < vectors.rows ? at : NULL, found, cosines.data);
        found = keep_possible(at, cosines.data, found, depth, bounds.data, number[1], number[2]);
        chosen->cosines(vectors.data, vectors.width, query.data, at, found, cosines.data);
        found = keep_best(at, cosines.data, found, depth, -1.0, 1.0);
    }
    Py_END_ALLOW_THREADS
    answer = found < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(found);
done:
    free((void *)signs);
    release(&held);
    return answer;
}

/* best(scores, passing or None, least, depth or None, places, found) -> how many were written: the
   `depth` best of the scores that reach `least` (0: that exceed it), and those as good. */
static PyObject *py_best(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array scores, passing = {NULL, 0, 0}, places, kept;
    Size depth = -1, found = 0;
    double least;
    PyObject *answer = NULL;
    if (!arguments(count, 6) || !take(&held, given[0], "scores", 'd', 1, -1, READ, &scores) ||
        (given[1] != Py_None &&
         !take(&held, given[1], "passing", 'b', 1, scores.rows, READ, &passing)) ||
        ((least = PyFloat_AsDouble(given[2])) == -1.0 && PyErr_Occurred()) ||
        (given[3] != Py_None && !take_number(given[3], "depth", 1, &depth)) ||
        !take(&held, given[4], "places", 'q', 1, scores.rows, WRITE, &places) ||
        !take(&held, given[5], "found", 'd', 1, scores.rows, WRITE, &kept))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    const double *all = scores.data;
    const uint8_t *passes = passing.data;
    int64_t *at = places.data;
    double *best = kept.data, high = 0.0;
    for (Size i = 0; i < scores.rows; i++) {
        double score = all[i];
        at[found] = i;
        best[found] = score;
        high = score > high ? score : high;
        found += (least > 0.0 ? score >= least : score > 0.0) && (!passes || passes[i]);
    }
    if (depth > 0)
        found = keep_best(at, best, found, depth, 0.0, high);
    Py_END_ALLOW_THREADS
    answer = found < 0 ? PyErr_NoMemory() : PyLong_FromSsize_t(found);
done:
    release(&held);
    return answer;
}

/* BM25 of occurrences: see `bm25.saturated` and the order of sums in `bm25.bm25`. */
typedef struct {
    const int64_t *term, *ordinal, *words;
    const double *idf;
    double k1, b, mean;
} Weighed;

static double gain(const Weighed *by, Size i, double tf, double span)
{
    double length = by->mean != 0.0 ? span / by->mean : 0.0;
    return by->idf[by->term[i]] * (by->k1 + 1.0) * tf / (tf + by->k1 * (1.0 - by->b + by->b * length));
}

/* Add what occurrences near one end of a turn are worth to the turn next to it. */
static int add_to_neighbors(const Weighed *by, Size count, Size size, double weight,
                            const double *tf, const int32_t *lengths, int window,
                            const int32_t *receivers, double *scores)
{
    for (Size i = 0; i < count; i++) {
        int64_t receiver = receivers[by->ordinal[i]];
        if (receiver < 0)
            continue;
        if (receiver >= size)
            return 0;
        int32_t span = lengths[by->ordinal[i]];
        scores[receiver] += weight * gain(by, i, tf[i], span < window ? span : window);
    }
    return 1;
}

/* bm25(term, ordinal, tf, head, tail, idf, words, (k1, b, mean, before, after, window), lengths,
   previous, next, scores): adds to scores; lengths, previous and next may be None. */
static PyObject *py_bm25(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array term, ordinal, tf, head, tail, idf, words, numbers, lengths, previous, next, scores;
    int neighbors, sound = 1;
    PyObject *answer = NULL;
    if (!arguments(count, 12) || !take(&held, given[0], "term", 'q', 1, -1, READ, &term) ||
        !take(&held, given[1], "ordinal", 'q', 1, term.rows, READ, &ordinal) ||
        !take(&held, given[2], "tf", 'd', 1, term.rows, READ, &tf) ||
        !take(&held, given[3], "head", 'd', 1, term.rows, READ, &head) ||
        !take(&held, given[4], "tail", 'd', 1, term.rows, READ, &tail) ||
        !take(&held, given[5], "idf", 'd', 1, -1, READ, &idf) ||
        !take(&held, given[6], "words", 'q', 1, -1, READ, &words) ||
        !take(&held, given[7], "numbers", 'd', 1, 6, READ, &numbers) ||
        !check_places(term.data, term.rows, idf.rows, 0) ||
        !check_places(ordinal.data, ordinal.rows, words.rows, 0))
        goto done;
    Size size = words.rows;
    neighbors = given[8] != Py_None;
    if ((neighbors && (!take(&held, given[8], "lengths", 'i', 1, size, READ, &lengths) ||
                       !take(&held, given[9], "previous", 'i', 1, size, READ, &previous) ||
                       !take(&held, given[10], "next", 'i', 1, size, READ, &next))) ||
        !take(&held, given[11], "scores", 'd', 1, size, WRITE, &scores))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    const double *number = numbers.data, *own = tf.data;
    double *sums = scores.data;
    Weighed by = {term.data, ordinal.data, words.data, idf.data, number[0], number[1], number[2]};
    int window = number[5] >= 0.0 && number[5] < 1e9 ? (int)number[5] : 0;
    for (Size i = 0; i < term.rows; i++)
        sums[by.ordinal[i]] += gain(&by, i, own[i], (double)by.words[by.ordinal[i]]);
    if (neighbors)
        sound = add_to_neighbors(&by, term.rows, size, number[3], tail.data, lengths.data, window,
                                 next.data, sums) &&
                add_to_neighbors(&by, term.rows, size, number[4], head.data, lengths.data, window,
                                 previous.data, sums);
    Py_END_ALLOW_THREADS
    if (sound || refuse("neighbors", "are not all there"))
        answer = Py_NewRef(Py_None);
done:
    release(&held);
    return answer;
}

/* Where a number is among ascending ones; -1 where it is not. */
static Size find(const uint64_t *ascending, Size count, uint64_t wanted)
{
    Size low = 0, high = count;
    while (low < high) {
        Size middle = low + (high - low) / 2;
        if (ascending[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && ascending[low] == wanted ? low : -1;
}

/* The arrays of occurrences, and how many there are. */
typedef struct {
    int64_t *term, *ordinal;
    double *tf, *head, *tail;
    Size count, room;
    const uint8_t *alive;
    Size size;
} Found;

static int add_found(Found *found, int64_t term, int64_t ordinal, double tf, double head, double tail)
{
    if (found->alive && (ordinal < 0 || ordinal >= found->size || !found->alive[ordinal]))
        return ordinal >= 0 && ordinal < found->size;
    if (found->count >= found->room)
        return 0;
    Size at = found->count++;
    found->term[at] = term;
    found->ordinal[at] = ordinal;
    found->tf[at] = tf;
    found->head[at] = head;
    found->tail[at] = tail;
    return 1;
}

/* Add what a segment of postings (terms, start, ordinals, tf, head, tail, first) has of some terms;
   without `found` only count it. */
static int scan_segment(PyObject *segment, Array terms, Array place_of, double weight, int content,
                        Found *found, Size *total)
{
    Held held = {NULL};
    Array own, start, ordinals, tf, head, tail;
    int sound = PyTuple_Check(segment) && PyTuple_Size(segment) == 7;
    int64_t first = sound ? PyLong_AsLongLong(PyTuple_GetItem(segment, 6)) : 0;
    sound = sound && !PyErr_Occurred() &&
            take(&held, PyTuple_GetItem(segment, 0), "terms", 'Q', 1, -1, READ, &own) &&
            take(&held, PyTuple_GetItem(segment, 1), "start", 'q', 1, own.rows + 1, READ, &start) &&
            take(&held, PyTuple_GetItem(segment, 2), "ordinals", 'i', 1, -1, READ, &ordinals) &&
            take(&held, PyTuple_GetItem(segment, 3), "tf", 'H', 1, ordinals.rows, READ, &tf) &&
            take(&held, PyTuple_GetItem(segment, 4), "head", 'B', 1, ordinals.rows, READ, &head) &&
            take(&held, PyTuple_GetItem(segment, 5), "tail", 'B', 1, ordinals.rows, READ, &tail);
    for (Size t = 0; sound && t < terms.rows; t++) {
        Size at = find(own.data, own.rows, ((const uint64_t *)terms.data)[t]);
        if (at < 0)
            continue;
        int64_t low = ((const int64_t *)start.data)[at], high = ((const int64_t *)start.data)[at + 1];
        sound = low >= 0 && low <= high && high <= ordinals.rows;
        *total += sound ? high - low : 0;
        for (int64_t i = low; found && sound && i < high; i++)
            sound = add_found(found, ((const int64_t *)place_of.data)[t],
                              first + ((const int32_t *)ordinals.data)[i],
                              weight * ((const uint16_t *)tf.data)[i],
                              content ? ((const uint8_t *)head.data)[i] : 0.0,
                              content ? ((const uint8_t *)tail.data)[i] : 0.0);
    }
    release(&held);
    return sound;
}

/* Add what fields (weight, content, segments, recent) have of some terms, each field's after those
   of the ones before it; without `found` only count it. */
static int scan_fields(PyObject *fields, Array terms, Array place_of, Found *found, int64_t *ends,
                       Size *total)
{
    for (Size f = 0; f < PyTuple_Size(fields); f++) {
        Held held = {NULL};
        PyObject *field = PyTuple_GetItem(fields, f);
        if (!PyTuple_Check(field) || PyTuple_Size(field) != 4)
            return 0;
        double weight = PyFloat_AsDouble(PyTuple_GetItem(field, 0));
        int content = PyObject_IsTrue(PyTuple_GetItem(field, 1));
        PyObject *segments = PyTuple_GetItem(field, 2), *latest = PyTuple_GetItem(field, 3);
        if (PyErr_Occurred() || !PyTuple_Check(segments))
            return 0;
        for (Size s = 0; s < PyTuple_Size(segments); s++)
            if (!scan_segment(PyTuple_GetItem(segments, s), terms, place_of, weight, content,
                              found, total))
                return 0;
        Array recent = {NULL, 0, 5};
        int sound = latest == Py_None || take(&held, latest, "recent", 'q', 2, -1, READ, &recent);
        sound = sound && recent.width == 5;
        const int64_t *row = recent.data;
        for (Size i = 0; found && sound && i < recent.rows; i++, row += 5)
            sound = row[0] >= 0 && row[0] < terms.rows &&
                    add_found(found, ((const int64_t *)place_of.data)[row[0]], row[1],
                              weight * (double)row[2], content ? (double)row[3] : 0.0,
                              content ? (double)row[4] : 0.0);
        *total += recent.rows;
        release(&held);
        if (!sound)
            return 0;
        if (found)
            ends[f] = found->count;
    }
    return 1;
}

/* occurrences(fields, terms, place_of, alive or None, ends) -> the arrays of `Occurrences` one after
   the other, each of the same length; `ends` tells where those of each field end. */
static PyObject *py_occurrences(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array terms, place_of, alive = {NULL, 0, 0}, ends;
    Size total = 0, again = 0;
    PyObject *answer = NULL;
    if (!arguments(count, 5) || !take(&held, given[1], "terms", 'Q', 1, -1, READ, &terms) ||
        !take(&held, given[2], "place_of", 'q', 1, terms.rows, READ, &place_of) ||
        (given[3] != Py_None && !take(&held, given[3], "alive", 'b', 1, -1, READ, &alive)) ||
        !take(&held, given[4], "ends", 'q', 1, -1, WRITE, &ends))
        goto done;
    if (PyTuple_Check(given[0]) && PyTuple_Size(given[0]) == ends.rows &&
        scan_fields(given[0], terms, place_of, NULL, NULL, &total) && total < INT32_MAX)
        answer = PyByteArray_FromStringAndSize(NULL, total * 40);
    if (answer) {
        int64_t *at = (int64_t *)PyByteArray_AsString(answer);
        double *of = (double *)(at + 2 * total);
        Found found = {at, at + total, of, of + total, of + 2 * total, 0, total, alive.data, alive.rows};
        if (!scan_fields(given[0], terms, place_of, &found, ends.data, &again))
            Py_CLEAR(answer);
    }
    if (!answer && !PyErr_Occurred())
        refuse("fields", "do not fit together");
done:
    release(&held);
    return answer;
}

/* matched(term, ordinal, idf, ordinals, size, matched): the weights of the terms that memories at
   some ordinals hold, among `size` memories; writes those that occur. */
static PyObject *py_matched(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array term, ordinal, idf, wanted, matched;
    Size size;
    PyObject *answer = NULL;
    if (!arguments(count, 6) || !take(&held, given[0], "term", 'q', 1, -1, READ, &term) ||
        !take(&held, given[1], "ordinal", 'q', 1, term.rows, READ, &ordinal) ||
        !take(&held, given[2], "idf", 'd', 1, -1, READ, &idf) ||
        !take(&held, given[3], "ordinals", 'q', 1, -1, READ, &wanted) ||
        !take_number(given[4], "size", 0, &size) ||
        !take(&held, given[5], "matched", 'd', 2, wanted.rows, WRITE, &matched) ||
        !check_places(term.data, term.rows, idf.rows, 0) ||
        !check_places(ordinal.data, ordinal.rows, size, 0) ||
        !check_places(wanted.data, wanted.rows, size, 0))
        goto done;
    if (matched.width != idf.rows || size > INT32_MAX || wanted.rows > INT32_MAX) {
        refuse("matched", "has another width");
        goto done;
    }
    int32_t *row_of = malloc((size_t)size * sizeof(int32_t) + 1);
    if (!row_of) {
        PyErr_NoMemory();
        goto done;
    }
    Py_BEGIN_ALLOW_THREADS
    const int64_t *terms = term.data, *ordinals = ordinal.data, *rows = wanted.data;
    const double *weights = idf.data;
    memset(row_of, 0xff, (size_t)size * sizeof(int32_t)); /* -1: not wanted */
    for (Size i = 0; i < wanted.rows; i++)
        row_of[rows[i]] = (int32_t)i;
    for (Size i = 0; i < term.rows; i++) {
        int32_t row = row_of[ordinals[i]];
        if (row >= 0)
            ((double *)matched.data)[row * matched.width + terms[i]] = weights[terms[i]];
    }
    Py_END_ALLOW_THREADS
    free(row_of);
    answer = Py_NewRef(Py_None);
done:
    release(&held);
    return answer;
}

/* exp(numbers, powers) */
static PyObject *py_exp(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Array numbers, powers;
    PyObject *answer = NULL;
    if (!arguments(count, 2) || !take(&held, given[0], "numbers", 'd', 1, -1, READ, &numbers) ||
        !take(&held, given[1], "powers", 'd', 1, numbers.rows, WRITE, &powers))
        goto done;
    Py_BEGIN_ALLOW_THREADS
    for (Size i = 0; i < numbers.rows; i++)
        ((double *)powers.data)[i] = power_of_e(((const double *)numbers.data)[i]);
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
done:
    release(&held);
    return answer;
}

/* Take the value at a place of the list, which is apart from what is written; 1 if it is one. */
static int take_value(Values *values, Size place, const Held *held)
{
    Value *value = &values->known[place];
    PyObject *object = PyList_GetItem(values->list, place);
    if (value->data || value->places)
        return 1;
    value->width = value->rows = 1;
    if (PyFloat_Check(object) || PyLong_Check(object)) {
        values->numbers[place] = PyFloat_AsDouble(object);
        value->data = &values->numbers[place];
        if (!PyErr_Occurred())
            return 1;
        PyErr_Clear();
        return 0;
    }
    Py_buffer *view = &values->views[place];
    if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_STRIDES) < 0) {
        PyErr_Clear();
        return 0;
    }
    int whole = is_type(view, 'q'), dimensions = view->ndim;
    if ((!whole && !is_type(view, 'd')) || dimensions > 2 || (uintptr_t)view->buf % 8)
        return 0;
    int shown = !whole && dimensions == 1 && view->strides[0] == 0; /* one number, many times */
    Size packed = 8;
    for (int d = dimensions - 1; d >= 0 && !shown; packed *= view->shape[d--])
        if (view->shape[d] > INT32_MAX ||
            (view->shape[d] > 1 && packed && view->strides[d] != packed))
            return 0;
    value->rows = dimensions ? view->shape[0] : 1;
    value->width = dimensions == 2 ? view->shape[1] : 1;
    value->step = dimensions && !shown;
    if (!is_apart(held, view->buf, shown ? 8 : view->len, 0))
        return 0;
    if (whole)
        value->places = view->buf;
    else
        value->data = view->buf;
    return 1;
}

/* Test whether the values of a step are what its operation reads; a Value without data is that of
   a step before it. */
static int fits(Operation operation, const Value *given, int count, Size rows)
{
    int grouped = operation >= GROUP_MAX;
    if (grouped && (!given[0].places || given[0].rows != rows || given[0].width != 1))
        return 0;
    for (Size i = 0; grouped && i < rows; i++)
        if (given[0].places[i] < 0 || given[0].places[i] >= rows)
            return 0;
    if (operation == SESSION_COVER)
        return given[1].data && given[1].step && given[1].rows == rows;
    if (operation == NEIGHBOR_MASS &&
        (!given[1].step || !given[2].data || given[2].width != 1 || !given[3].data ||
         !(*given[3].data >= 1.0 && *given[3].data < 1e6)))
        return 0;
    for (int i = grouped; i < count; i++) {
        int any = operation == NEIGHBOR_MASS && (i == 2 || i == 3);
        if (given[i].places ||
            (!any && given[i].data && (given[i].width != 1 || (given[i].step && given[i].rows != rows))))
            return 0;
    }
    return 1;
}

/* Check the steps of a formula and take the values that they read: their number, -1 for an error,
   -2 for values that are no numbers. Step r reads from the list by place, or that of step s as
   -1 - s. `given` has room for as many values as the code has numbers. */
static Size take_steps(const int32_t *code, Size length, Size most, Values *values, Size rows,
                       const Held *held, Value *given)
{
    Size count = 0;
    for (Size at = 0; at < length; count++) {
        int32_t operation = code[at], own = at + 1 < length ? code[at + 1] : 0;
        if (count >= most || operation < 0 || operation >= OPERATIONS ||
            own < OPERATION[operation].least || own > OPERATION[operation].most ||
            at + 2 + own > length)
            return refuse("code", "is no formula") - 1;
        for (int i = 0; i < own; i++) {
            int32_t place = code[at + 2 + i];
            if (place >= values->size || place < -count)
                return refuse("code", "reads values that are not there") - 1;
            if (place >= 0 && !take_value(values, place, held))
                return -2;
            given[i] = place >= 0 ? values->known[place] : (Value){NULL, 0, NULL, 0, 0};
        }
        if (!fits((Operation)operation, given, own, rows))
            return -2;
        at += 2 + own;
    }
    return count;
}

/* formula(code, values, rows, block) -> a byte for each step: 1 where its row of `block` has a
   value for each candidate, 0 where its first number holds for all. None, with nothing computed,
   if the values are no numbers of eight bytes in a row. */
static PyObject *py_formula(PyObject *module, PyObject *const *given, Size count)
{
    Held held = {NULL};
    Values values = {NULL, 0, NULL, NULL, NULL};
    Array code, block;
    Size rows, found = -1;
    int computed = 0;
    uint8_t *steps = NULL;
    Value *room = NULL;
    PyObject *answer = NULL;
    if (!arguments(count, 4) || !take(&held, given[0], "code", 'i', 1, -1, READ, &code) ||
        !take_number(given[2], "rows", 1, &rows) ||
        !take(&held, given[3], "block", 'd', 2, -1, WRITE, &block))
        goto done;
    if (!PyList_Check(given[1]) || block.width != rows) {
        refuse("values", "are no list, or the block has another width");
        goto done;
    }
    values.list = given[1];
    values.size = PyList_Size(given[1]);
    values.known = calloc((size_t)values.size + 1, sizeof(Value));
    values.numbers = calloc((size_t)values.size + 1, sizeof(double));
    values.views = calloc((size_t)values.size + 1, sizeof(Py_buffer));
    steps = calloc((size_t)block.rows + 1, 1);
    room = calloc((size_t)code.rows + 1, sizeof(Value));
    if (values.known && values.numbers && values.views && steps && room)
        found = take_steps(code.data, code.rows, block.rows, &values, rows, &held, room);
    else
        PyErr_NoMemory();
    if (found >= 0) {
        Py_BEGIN_ALLOW_THREADS
        computed = chosen->formula(code.data, found, &values, rows, room, block.data, steps);
        Py_END_ALLOW_THREADS
        answer = computed ? PyBytes_FromStringAndSize((const char *)steps, found)
                          : PyErr_NoMemory();
    } else if (found == -2)
        answer = Py_NewRef(Py_None);
done:
    for (Size i = 0; values.views && i < values.size; i++)
        if (values.views[i].obj)
            PyBuffer_Release(&values.views[i]);
    free(values.known);
    free(values.numbers);
    free(values.views);
    free(steps);
    free(room);
    release(&held);
    return answer;
}

/* variant() -> the name of the one that runs; variants() -> those that this processor runs, the
   fastest first; choose(name) runs another, for tests. */
static PyObject *py_variant(PyObject *module, PyObject *none)
{
    return PyUnicode_FromString(chosen->name);
}

static PyObject *py_variants(PyObject *module, PyObject *none)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < VARIANT_COUNT; i++) {
        if (!supported(VARIANTS[i].name))
            continue;
        PyObject *name = PyUnicode_FromString(VARIANTS[i].name);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *py_choose(PyObject *module, PyObject *name)
{
    const char *wanted = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!wanted)
        return NULL;
    for (int i = 0; i < VARIANT_COUNT; i++)
        if (!strcmp(VARIANTS[i].name, wanted) && supported(wanted)) {
            chosen = &VARIANTS[i];
            return Py_NewRef(Py_None);
        }
    refuse(wanted, "is no variant that this processor runs");
    return NULL;
}

static PyMethodDef METHODS[] = {
    {"cosines", (PyCFunction)(void (*)(void))py_cosines, METH_FASTCALL, NULL},
    {"reduce", (PyCFunction)(void (*)(void))py_reduce, METH_FASTCALL, NULL},
    {"nearest", (PyCFunction)(void (*)(void))py_nearest, METH_FASTCALL, NULL},
    {"sign_distances", (PyCFunction)(void (*)(void))py_sign_distances, METH_FASTCALL, NULL},
    {"best", (PyCFunction)(void (*)(void))py_best, METH_FASTCALL, NULL},
    {"bm25", (PyCFunction)(void (*)(void))py_bm25, METH_FASTCALL, NULL},
    {"occurrences", (PyCFunction)(void (*)(void))py_occurrences, METH_FASTCALL, NULL},
    {"matched", (PyCFunction)(void (*)(void))py_matched, METH_FASTCALL, NULL},
    {"formula", (PyCFunction)(void (*)(void))py_formula, METH_FASTCALL, NULL},
    {"exp", (PyCFunction)(void (*)(void))py_exp, METH_FASTCALL, NULL},
    {"variant", py_variant, METH_NOARGS, NULL},
    {"variants", py_variants, METH_NOARGS, NULL},
    {"choose", py_choose, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static int start(PyObject *module)
{
#ifdef X86
    __builtin_cpu_init();
#endif
    for (int i = VARIANT_COUNT - 1; i >= 0; i--)
        if (supported(VARIANTS[i].name))
            chosen = &VARIANTS[i];
    PyObject *names = PyTuple_New(OPERATIONS);
    for (int i = 0; names && i < OPERATIONS; i++) {
        PyObject *name = PyUnicode_FromString(OPERATION[i].name);
        if (!name || PyTuple_SetItem(names, i, name) < 0)
            Py_CLEAR(names);
    }
    int added = names ? PyModule_AddObjectRef(module, "OPERATIONS", names) : -1;
    Py_XDECREF(names);
    return added < 0 ? added : PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, start}, {0, NULL}};

static PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "salience_native", "The kernels of a search in salience.", 0, METHODS, SLOTS,
    NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_salience_native(void) { return PyModuleDef_Init(&MODULE); }
