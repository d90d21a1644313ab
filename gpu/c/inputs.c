#include "gpu/c/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/mem.h"

/* ---------------------------------------------------------------- generator: xoshiro256++ */

/* Layers of the ziggurat (Marsaglia and Tsang, J. Stat. Software 5(8), 2000): 3 ns a normal. */
#define LAYERS 128
#define TAIL   3.442619855899
#define AREA   9.91256303526217e-3

struct rng {
    uint64_t s[4];
    uint32_t edge[LAYERS];
    float width[LAYERS], height[LAYERS];
};

static void ziggurat(struct rng *g)
{
    const double m = 2147483648.0;
    double d = TAIL, t = TAIL, q = AREA / exp(-0.5 * d * d);
    g->edge[0] = (uint32_t)(d / q * m);
    g->edge[1] = 0;
    g->width[0] = (float)(q / m);
    g->width[LAYERS - 1] = (float)(d / m);
    g->height[0] = 1;
    g->height[LAYERS - 1] = (float)exp(-0.5 * d * d);
    for (int i = LAYERS - 2; i > 0; i--) {
        d = sqrt(-2 * log(AREA / d + exp(-0.5 * d * d)));
        g->edge[i + 1] = (uint32_t)(d / t * m);
        t = d;
        g->height[i] = (float)exp(-0.5 * d * d);
        g->width[i] = (float)(d / m);
    }
}

static void rng_seed(struct rng *g, uint64_t seed)
{
    for (unsigned i = 0; i < 4; i++)
        g->s[i] = hash_mix(seed, i);
    if (!(g->s[0] | g->s[1] | g->s[2] | g->s[3]))
        g->s[0] = 1;
}

static inline uint64_t rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

static inline uint64_t rng_next(struct rng *g)
{
    uint64_t *s = g->s, result = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* [0, 1) with 53 bits. */
static inline double rng_unit(struct rng *g)
{
    return (double)(rng_next(g) >> 11) * 0x1p-53;
}

/* The cases at the edge of a layer and in the tail: 1.2 % of all. */
static float rng_normal_edge(struct rng *g, int32_t h, unsigned layer)
{
    for (;;) {
        float x = (float)h * g->width[layer];
        if (layer == 0) {
            double a, b;
            do {
                a = -log(1 - rng_unit(g)) / TAIL;
                b = -log(1 - rng_unit(g));
            } while (b + b < a * a);
            return (float)(h > 0 ? TAIL + a : -TAIL - a);
        }
        float y = g->height[layer] + (float)rng_unit(g) * (g->height[layer - 1] - g->height[layer]);
        if (y < expf(-0.5f * x * x))
            return x;
        uint64_t r = rng_next(g);
        h = (int32_t)(r >> 32);
        layer = r % LAYERS;
        if ((uint32_t)(h < 0 ? -(int64_t)h : h) < g->edge[layer])
            return (float)h * g->width[layer];
    }
}

/* Needs ziggurat(g) before. */
static inline float rng_normal(struct rng *g)
{
    uint64_t r = rng_next(g);
    int32_t h = (int32_t)(r >> 32);
    unsigned layer = r % LAYERS;
    if ((uint32_t)(h < 0 ? -(int64_t)h : h) < g->edge[layer])
        return (float)h * g->width[layer];
    return rng_normal_edge(g, h, layer);
}

/* ---------------------------------------------------------------- parsing */

static const char *const dist_names[] = {
#define FILL_NAME(id, name) name,
    FILL_DISTS(FILL_NAME)
#undef FILL_NAME
};

/* Members any fill may have, beside those of its distribution. */
static const char *const modifier_names[] = {
#define FILL_NAME(id, name) name,
    FILL_MODIFIERS(FILL_NAME)
#undef FILL_NAME
};

static const char *const dist_members[FILL_COUNT] = {
    [FILL_NORMAL] = " mean std ",
    [FILL_UNIFORM] = " lo hi ",
    [FILL_CONSTANT] = " value ",
    [FILL_CHOICE] = " values ",
    [FILL_LOGSIGMOID] = " mean std ",
    [FILL_LOWER_BOUND] = " lb a_log bias raw ",
    [FILL_ARANGE] = " ",
};

static bool member_known(enum fill_dist dist, const char *key)
{
    if (strcmp(key, "dist") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(modifier_names); i++)
        if (strcmp(key, modifier_names[i]) == 0)
            return true;
    char padded[40];
    size_t n = strlen(key);
    if (n + 3 > sizeof padded)
        return false;
    padded[0] = ' ';
    memcpy(padded + 1, key, n);
    padded[n + 1] = ' ';
    padded[n + 2] = '\0';
    return strstr(dist_members[dist], padded) != NULL;
}

static bool number(const cJSON *o, const char *key, double *out, struct error *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!v)
        return true;
    if (!cJSON_IsNumber(v) || !isfinite(v->valuedouble))
        return error_set(e, ERR_INPUT, "fill member %s: a finite number was expected", key);
    *out = v->valuedouble;
    return true;
}

static bool range(const cJSON *o, const char *key, double out[2], struct error *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    if (!v)
        return true;
    const cJSON *a = cJSON_GetArrayItem(v, 0), *b = cJSON_GetArrayItem(v, 1);
    if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != 2 || !cJSON_IsNumber(a) ||
        !cJSON_IsNumber(b) || a->valuedouble > b->valuedouble)
        return error_set(e, ERR_INPUT, "fill member %s: [low, high] was expected", key);
    out[0] = a->valuedouble;
    out[1] = b->valuedouble;
    return true;
}

static bool choices(const cJSON *o, struct fill *f, struct error *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, "values"), *item;
    int n = cJSON_GetArraySize(v);
    if (!cJSON_IsArray(v) || n < 1 || n > 4096)
        return error_set(e, ERR_INPUT,
                         "fill member values: an array of 1 to 4096 numbers was "
                         "expected");
    f->values = xcalloc((size_t)n, sizeof *f->values);
    cJSON_ArrayForEach(item, v)
    {
        if (!cJSON_IsNumber(item))
            return error_set(e, ERR_INPUT, "fill member values: holds something not a number");
        f->values[f->nvalues++] = item->valuedouble;
    }
    return true;
}

static bool modifiers(const cJSON *o, struct fill *f, struct error *e)
{
    if (!number(o, "zero_fraction", &f->zero_fraction, e) || !number(o, "scale", &f->scale, e))
        return false;
    f->unit = json_bool(o, "unit", false);
    const cJSON *spike = cJSON_GetObjectItemCaseSensitive(o, "spike");
    if (spike && (!number(spike, "fraction", &f->spike_fraction, e) ||
                  !number(spike, "value", &f->spike_value, e)))
        return false;
    double rows = 0;
    if (!number(o, "repeat_rows", &rows, e))
        return false;
    if (rows < 0 || rows > 1e9 || rows != floor(rows))
        return error_set(e, ERR_INPUT, "fill member repeat_rows: a whole number was expected");
    f->repeat_rows = (size_t)rows;
    if (f->zero_fraction < 0 || f->zero_fraction > 1 || f->spike_fraction < 0 ||
        f->spike_fraction > 1)
        return error_set(e, ERR_INPUT, "a fraction of a fill lies outside 0..1");
    return true;
}

static bool parse_into(const cJSON *o, struct fill *f, int depth, struct error *e)
{
    const char *name = json_str(o, "dist", "");
    int dist = 0;
    while (dist < FILL_COUNT && strcmp(name, dist_names[dist]) != 0)
        dist++;
    if (dist == FILL_COUNT)
        return error_set(e, ERR_INPUT, "unknown fill dist \"%.40s\"", name);
    f->dist = (enum fill_dist)dist;
    const cJSON *m;
    cJSON_ArrayForEach(m, o)
    {
        if (!member_known(f->dist, m->string))
            return error_set(e, ERR_INPUT, "fill \"%s\" has no member \"%.40s\"", name, m->string);
    }
    if (!number(o, "mean", &f->mean, e) || !number(o, "std", &f->std, e) ||
        !number(o, "lo", &f->lo, e) || !number(o, "hi", &f->hi, e) ||
        !number(o, "value", &f->value, e) || !number(o, "lb", &f->lb, e) ||
        !range(o, "a_log", f->a_log, e) || !range(o, "bias", f->bias, e) || !modifiers(o, f, e))
        return false;
    if (f->dist == FILL_CHOICE && !choices(o, f, e))
        return false;
    const cJSON *raw = cJSON_GetObjectItemCaseSensitive(o, "raw");
    if (!raw)
        return true;
    if (depth > 2)
        return error_set(e, ERR_INPUT, "fills nested too deep");
    f->raw = xcalloc(1, sizeof *f->raw);
    *f->raw =
        (struct fill){.std = 1, .hi = 1, .lb = -5, .a_log = {0, 1}, .bias = {0, 1}, .scale = 1};
    return parse_into(raw, f->raw, depth + 1, e);
}

bool fill_parse(const cJSON *o, struct fill **out, struct error *e)
{
    if (!cJSON_IsObject(o))
        return error_set(e, ERR_INPUT, "a fill must be an object with a member dist");
    struct fill *f = xcalloc(1, sizeof *f);
    *f = (struct fill){.std = 1, .hi = 1, .lb = -5, .a_log = {0, 1}, .bias = {0, 1}, .scale = 1};
    if (!parse_into(o, f, 0, e)) {
        fill_free(f);
        return false;
    }
    *out = f;
    return true;
}

void fill_free(struct fill *f)
{
    if (!f)
        return;
    free(f->values);
    fill_free(f->raw);
    free(f);
}

size_t extent_count(const struct extent *x)
{
    size_t n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= x->n[i];
    return n;
}

/* ---------------------------------------------------------------- distributions */

static float logsigmoid(float x)
{
    return (x < 0 ? x : 0) - logf(1 + expf(-fabsf(x)));
}

static float sigmoid(float x)
{
    return 1 / (1 + expf(-x));
}

static void make_lower_bound(const struct fill *f, struct rng *g, const struct extent *x,
                             float *out)
{
    static const struct fill plain = {.dist = FILL_NORMAL, .std = 1, .scale = 1};
    size_t n = extent_count(x), last = x->rank > 0 ? x->n[x->rank - 1] : 1,
           heads = x->rank > 1 ? x->n[x->rank - 2] : 1;
    if (n == 0 || last == 0 || heads == 0)
        return;
    size_t rows = n / last, h = 0;
    float *a = xcalloc(heads, sizeof *a), *bias = xcalloc(heads * last, sizeof *bias);
    for (size_t i = 0; i < heads; i++)
        a[i] = expf((float)(f->a_log[0] + (f->a_log[1] - f->a_log[0]) * rng_unit(g)));
    for (size_t i = 0; i < heads * last; i++)
        bias[i] = (float)(f->bias[0] + (f->bias[1] - f->bias[0]) * rng_unit(g));
    fill_make(f->raw ? f->raw : &plain, rng_next(g), x, out);
    float lb = (float)f->lb;
    for (size_t row = 0; row < rows; row++) {
        for (size_t j = 0; j < last; j++) {
            float *p = &out[row * last + j];
            *p = lb * sigmoid(a[h] * (*p + bias[h * last + j]));
        }
        h = h + 1 < heads ? h + 1 : 0;
    }
    free(a);
    free(bias);
}

static void make_dist(const struct fill *f, struct rng *g, const struct extent *x, float *out)
{
    size_t n = extent_count(x);
    switch (f->dist) {
    case FILL_NORMAL:
        ziggurat(g);
        for (size_t i = 0; i < n; i++)
            out[i] = (float)f->mean + (float)f->std * rng_normal(g);
        break;
    case FILL_UNIFORM:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)f->lo + (float)(f->hi - f->lo) * (float)(rng_next(g) >> 40) * 0x1p-24f;
        break;
    case FILL_CONSTANT:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)f->value;
        break;
    case FILL_CHOICE:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)f->values[(size_t)(rng_unit(g) * (double)f->nvalues)];
        break;
    case FILL_LOGSIGMOID:
        ziggurat(g);
        for (size_t i = 0; i < n; i++)
            out[i] = logsigmoid((float)f->mean + (float)f->std * rng_normal(g));
        break;
    case FILL_LOWER_BOUND:
        make_lower_bound(f, g, x, out);
        break;
    case FILL_ARANGE:
        for (size_t i = 0; i < n; i++)
            out[i] = (float)((double)i / (double)n);
        break;
    case FILL_COUNT:
        break;
    }
}

/* ---------------------------------------------------------------- modifiers */

static void make_unit(const struct extent *x, float *out)
{
    size_t n = extent_count(x), last = x->rank > 0 ? x->n[x->rank - 1] : 1;
    for (size_t row = 0; row < n / last; row++) {
        float *p = out + row * last;
        double lane[4] = {0}; /* so that the additions overlap */
        for (size_t j = 0; j < last; j++)
            lane[j & 3] += (double)p[j] * (double)p[j];
        double s = lane[0] + lane[1] + lane[2] + lane[3];
        if (s <= 0)
            continue;
        float inv = (float)(1 / sqrt(s));
        for (size_t j = 0; j < last; j++)
            p[j] *= inv;
    }
}

/* Set elements to `value` with probability p. */
static void make_sparse(struct rng *g, double p, float value, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        if (rng_unit(g) < p)
            out[i] = value;
}

static void make_repeats(size_t block, const struct extent *x, float *out)
{
    if (x->rank < 2 || block < 2)
        return;
    size_t rows = x->n[1], inner = 1;
    for (int i = 2; i < x->rank; i++)
        inner *= x->n[i];
    for (size_t b = 0; b < x->n[0]; b++) {
        for (size_t r = 0; r < rows; r++) {
            size_t first = r - r % block;
            if (first != r)
                memcpy(out + (b * rows + r) * inner, out + (b * rows + first) * inner,
                       inner * sizeof *out);
        }
    }
}

void fill_make(const struct fill *f, uint64_t seed, const struct extent *x, float *out)
{
    struct rng g;
    size_t n = extent_count(x);
    if (n == 0)
        return;
    rng_seed(&g, seed);
    make_dist(f, &g, x, out);
    if (f->zero_fraction > 0)
        make_sparse(&g, f->zero_fraction, 0, n, out);
    if (f->unit)
        make_unit(x, out);
    if (f->scale < 1 || f->scale > 1)
        for (size_t i = 0; i < n; i++)
            out[i] *= (float)f->scale;
    if (f->spike_fraction > 0)
        make_sparse(&g, f->spike_fraction, (float)f->spike_value, n, out);
    make_repeats(f->repeat_rows, x, out);
}
