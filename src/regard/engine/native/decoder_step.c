/* One step of the transformer's decoders on a few rows: their tokens' vectors in, the likeliest
 * next tokens out. Equals StepDecoder of transformer/decoding.py, but for rounding.
 *
 * Query, key and value of a row stay where its product puts them: in the cache, which has a slot
 * for each row of each position. A beam that continues another one reads that one's slots, so that
 * nothing is ever copied. Products are shared out over threads; the rest is a few percent.
 */
#include <math.h>

#include "exponential.h"
#include "int8_product.h"
#include "threads.h"

typedef struct {
    const float *gain, *bias;
} LayerNorm;

typedef struct {
    LayerNorm self_norm, cross_norm, feed_forward_norm;
    const Int8Block *w_qkv, *w_output, *w_cross_query, *w_cross_output, *w_in, *w_out;
    const float *b_in, *b_out;
    float *const *cache; /* for each position (slots, 3 width): query, key and value */
    const float *source; /* (sentences, keys, 2 width): key and value for cross-attention */
} StepLayer;

typedef struct {
    const StepLayer *layers;
    LayerNorm norm;
    const Int8Block *embedding;
    const int32_t *slot;     /* (rows, slot_stride): the slot of a row at each position before */
    const int32_t *sentence; /* (rows): the sentence of a row */
    const int32_t *length;   /* (sentences): its keys */
    float *x;                /* (rows, width): vectors of the tokens, changed in place */
    float *normed, *mixed, *inner, *logits; /* (rows, width), the same, (rows, inner), (rows, v) */
    const float **entries;                  /* as many as positions or keys */
    float *scores;                          /* the same, in full vectors */
    float *best;                            /* (rows, top): log-probabilities, high to low */
    int64_t *token;                         /* (rows, top) */
    int64_t layer_count, width, heads, inner_width, vocabulary, rows, position, slot_stride, keys,
        top, pad, threads;
    double epsilon;
} DecoderStep;

static void multiply(const DecoderStep *step, const float *x, int64_t inner, const Int8Block *blocks,
                     int64_t count, float *out, int64_t outputs) {
    const Int8Product call = {x,     out,     blocks, step->rows,   inner,
                              inner, outputs, count,  step->threads};
    KERNEL(multiply_int8)(&call);
}

INLINE float dot(const float *x, const float *y, int64_t width) {
    vf sum = {0};
    int64_t i = 0;
    for (; i + LANES <= width; i += LANES) sum += load(x + i) * load(y + i);
    float total = sum_lanes(sum);
    for (; i < width; i++) total += x[i] * y[i];
    return total;
}

/* Mean 0 and variance 1 over each row, then gain and bias. */
static void normalise(const DecoderStep *step, const LayerNorm *norm) {
    const int64_t width = step->width;
    for (int64_t row = 0; row < step->rows; row++) {
        const float *x = step->x + row * width;
        float *out = step->normed + row * width;
        vf sum = {0};
        int64_t e = 0;
        for (; e + LANES <= width; e += LANES) sum += load(x + e);
        float mean = sum_lanes(sum);
        for (; e < width; e++) mean += x[e];
        mean /= (float)width;
        for (e = 0; e < width; e++) out[e] = x[e] - mean;
        const float variance = dot(out, out, width) / (float)width;
        const float factor = 1 / sqrtf(variance + (float)step->epsilon);
        for (e = 0; e < width; e++) out[e] = out[e] * factor * norm->gain[e] + norm->bias[e];
    }
}

/* Scores become e^(score - largest); returns their sum. */
static float exponentiate(float *scores, int64_t count) {
    float largest = scores[0];
    for (int64_t i = 1; i < count; i++) largest = scores[i] > largest ? scores[i] : largest;
    for (int64_t i = count; i % LANES; i++) scores[i] = FLOOR;
    vf total = {0};
    for (int64_t i = 0; i < count; i += LANES) {
        const vf e = vexp2((load(scores + i) - splat(largest)) * splat((float)LOG2_E));
        store(scores + i, e);
        total += e;
    }
    return sum_lanes(total);
}

/* Attention of one row: entries point at the keys, and each value lies `width` after its key. */
static void attend(const DecoderStep *step, const float *query, int64_t count, float *out) {
    const int64_t width = step->width, head_width = width / step->heads;
    const float scale = (float)(1 / sqrt((double)head_width));
    for (int64_t start = 0; start < width; start += head_width) {
        for (int64_t k = 0; k < count; k++)
            step->scores[k] = scale * dot(query + start, step->entries[k] + start, head_width);
        const float total = exponentiate(step->scores, count);
        int64_t d = start;
        for (; d + LANES <= start + head_width; d += LANES) {
            vf sum = {0};
            for (int64_t k = 0; k < count; k++)
                sum += splat(step->scores[k]) * load(step->entries[k] + width + d);
            store(out + d, sum / splat(total));
        }
        for (; d < start + head_width; d++) {
            float sum = 0;
            for (int64_t k = 0; k < count; k++)
                sum += step->scores[k] * step->entries[k][width + d];
            out[d] = sum / total;
        }
    }
}

static void self_attention(const DecoderStep *step, const StepLayer *layer) {
    const int64_t width = step->width;
    float *reached = layer->cache[step->position];
    multiply(step, step->normed, width, layer->w_qkv, 3, reached, 3 * width);
    for (int64_t row = 0; row < step->rows; row++) {
        const int32_t *slot = step->slot + row * step->slot_stride;
        for (int64_t t = 0; t < step->position; t++)
            step->entries[t] = layer->cache[t] + (slot[t] * 3 + 1) * width;
        step->entries[step->position] = reached + (row * 3 + 1) * width;
        attend(step, reached + row * 3 * width, step->position + 1, step->mixed + row * width);
    }
}

static void cross_attention(const DecoderStep *step, const StepLayer *layer) {
    const int64_t width = step->width;
    float *query = step->inner; /* free until the feed-forward layer */
    multiply(step, step->normed, width, layer->w_cross_query, 1, query, width);
    for (int64_t row = 0; row < step->rows; row++) {
        const int64_t sentence = step->sentence[row], count = step->length[sentence];
        for (int64_t k = 0; k < count; k++)
            step->entries[k] = layer->source + (sentence * step->keys + k) * 2 * width;
        attend(step, query + row * width, count, step->mixed + row * width);
    }
}

/* x += mixed @ matrix + bias */
static void add_product(const DecoderStep *step, const float *from, int64_t inner,
                        const Int8Block *matrix, const float *bias) {
    const int64_t width = step->width;
    multiply(step, from, inner, matrix, 1, step->normed, width);
    for (int64_t row = 0; row < step->rows; row++)
        for (int64_t e = 0; e < width; e++)
            step->x[row * width + e] += step->normed[row * width + e] + (bias ? bias[e] : 0);
}

static void feed_forward(const DecoderStep *step, const StepLayer *layer) {
    const int64_t width = step->inner_width;
    multiply(step, step->normed, step->width, layer->w_in, 1, step->inner, width);
    for (int64_t row = 0; row < step->rows; row++)
        for (int64_t f = 0; f < width; f++) {
            const float x = step->inner[row * width + f] + layer->b_in[f];
            step->inner[row * width + f] = x < 0 ? 0 : x;
        }
    add_product(step, step->inner, width, layer->w_out, layer->b_out);
}

/* The `top` largest of a row, the first of equal ones first. */
static void top_of_row(const float *logits, int64_t count, int64_t top, float *best,
                           int64_t *token) {
    enum { GROUP = 8 * LANES };
    for (int64_t i = 0; i < top; i++) best[i] = -INFINITY, token[i] = 0;
    for (int64_t start = 0; start < count; start += GROUP) {
        const int64_t end = start + GROUP < count ? start + GROUP : count;
        if (end - start == GROUP) {
            vf maximum = load(logits + start);
            for (int64_t i = start + LANES; i < end; i += LANES)
                maximum = vmax(maximum, load(logits + i));
            if (!(max_lane(maximum) > best[top - 1])) continue;
        }
        for (int64_t v = start; v < end; v++) {
            int64_t i = top;
            for (; i > 0 && logits[v] > best[i - 1]; i--)
                if (i < top) best[i] = best[i - 1], token[i] = token[i - 1];
            if (i < top) best[i] = logits[v], token[i] = v;
        }
    }
}

/* The likeliest tokens of a row and their log-probabilities. The padding never competes, but has
 * its share of the probability. */
static void likeliest(void *context, int64_t row, int worker) {
    (void)worker;
    const DecoderStep *step = context;
    const int64_t count = step->vocabulary, top = step->top;
    float *logits = step->logits + row * count, *best = step->best + row * top;
    const float padding = logits[step->pad];
    logits[step->pad] = -INFINITY;
    top_of_row(logits, count, top, best, step->token + row * top);
    logits[step->pad] = padding;
    const float largest = best[0] > padding ? best[0] : padding;
    double total = 0;
    int64_t v = 0;
    while (v + LANES <= count) { /* partial sums short enough for float32 */
        vf sum = {0};
        for (int i = 0; i < 64 && v + LANES <= count; i++, v += LANES)
            sum += vexp2((load(logits + v) - splat(largest)) * splat((float)LOG2_E));
        total += (double)sum_lanes(sum);
    }
    for (; v < count; v++) total += exp((double)logits[v] - largest);
    for (int64_t i = 0; i < top; i++) best[i] -= largest + (float)log(total);
}

EXPORT int KERNEL(decode_step)(const DecoderStep *step) {
    for (int64_t i = 0; i < step->layer_count; i++) {
        const StepLayer *layer = step->layers + i;
        normalise(step, &layer->self_norm);
        self_attention(step, layer);
        add_product(step, step->mixed, step->width, layer->w_output, 0);
        normalise(step, &layer->cross_norm);
        cross_attention(step, layer);
        add_product(step, step->mixed, step->width, layer->w_cross_output, 0);
        normalise(step, &layer->feed_forward_norm);
        feed_forward(step, layer);
    }
    normalise(step, &step->norm);
    multiply(step, step->normed, step->width, step->embedding, 1, step->logits, step->vocabulary);
    regard_parallel(likeliest, (void *)step, step->rows, (int)step->threads);
    return 0;
}
