/* Attention of a whole problem in one call: every head, every query, every fact.
 *
 * A unit of work is a chunk of queries of one head, computed block by block; a block of some 64
 * queries takes one pass over its keys. Facts of columns are summed inside a unit and the units'
 * sums are added in their order: no result depends on the number of threads.
 */
#include "attention.h"

#include <math.h>

#include "best.h"
#include "columns.h"
#include "exponential.h"
#include "products.h"
#include "threads.h"

#define LN_2 0.6931471805599453
#define HUGE_SUM 0x1p26 /* the same as in tiles/rows.py */

/* The memory of one worker, all parts of which begin at a multiple of 16 floats. */
typedef struct {
    float *query, *panel, *output, *shift, *inverse, *block_shift, *received, *summed, *distance;
    double *total, *moment, *map_row;
} Memory;

static int64_t min(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t max(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t ceil_div(int64_t x, int64_t size) { return (x + size - 1) / size; }
static int64_t round_up(int64_t x, int64_t size) { return ceil_div(x, size) * size; }
static int64_t padded_value_width(const AttentionArguments *call) { return round_up(call->value_width, PAIR); }
static int has_columns(const AttentionArguments *call) {
    return call->received || call->distance || call->map;
}
/* Whether full rows are needed: otherwise one block of keys is in memory at a time. */
static int has_panel(const AttentionArguments *call) {
    return has_columns(call) || call->weights || call->top;
}
static int64_t panel_width(const AttentionArguments *call) {
    return has_panel(call) ? round_up(call->keys, PAIR) : call->block_keys;
}
/* The unit of scores in memory: the cap for capped scores, unless a bias is added to them. */
static float score_unit(const AttentionArguments *call) {
    return call->cap != 0 && !call->bias ? (float)call->cap : 1.0f;
}
/* The factor of queries. Under a cap it is a power of two, which is exact, and scores take the rest:
 * products of 16-bit queries and keys are exact then, and a cap of 1000 amplifies any rounding. */
static float query_scale(const AttentionArguments *call) {
    int exponent;
    frexp(call->factor, &exponent);
    return (float)(call->cap != 0 ? ldexp(1, exponent) : call->factor);
}
static int packs_value(const AttentionArguments *call) { return call->value_width % PAIR != 0; }

/* Divides the memory into its arrays; with memory null it only counts the floats. */
static int64_t lay_out(const AttentionArguments *call, float *memory, Memory *parts) {
    const int64_t rows = call->block_rows, span = panel_width(call) + 2 * PAIR;
    const int64_t blocks = ceil_div(call->keys, call->block_keys) + 1;
    const int columns = has_columns(call);
    const int64_t folded = columns && call->map ? span + round_up(call->map_keys, PAIR) + PAIR : 0;
    const struct {
        void *part;
        int64_t size;
    } layout[] = {
        {&parts->query, rows * call->width},
        {&parts->panel, (has_panel(call) ? rows : MAX_ROWS) * span},
        {&parts->output, rows * padded_value_width(call)},
        {&parts->shift, rows},
        {&parts->inverse, rows},
        {&parts->block_shift, rows * blocks},
        {&parts->received, columns ? span : 0},
        {&parts->summed, (call->map_rows < STRIP ? STRIP : 1) * folded},
        {&parts->distance, call->distance ? span + rows : 0},
        {&parts->total, 2 * rows},
        {&parts->moment, 2 * rows},
        {&parts->map_row, folded ? 2 * (ceil_div(call->keys, call->map_keys) + 1) : 0},
    };
    int64_t size = 0;
    for (size_t i = 0; i < sizeof layout / sizeof *layout; i++) {
        float *at = memory ? memory + size : 0;
        memcpy(layout[i].part, &at, sizeof at);
        size += round_up(layout[i].size, 16);
    }
    return size;
}

/* The plan of a call, from its shape and the requested facts; the caller allocates the memory. */
EXPORT int KERNEL(plan_attention)(AttentionArguments *call) {
    Memory unused;
    const int64_t group = max(1, call->group), key_heads = call->heads / group;
    const int64_t rows = call->block_rows = round_up(call->block_rows, STRIP);
    call->block_keys = round_up(call->block_keys, PAIR);
    call->chunk_rows = rows;
    if (has_columns(call)) {
        /* A row of the map lies in one unit. About 64 units keep many cores busy; each has sums for
         * every key, 8 MB in total. */
        const int64_t min_chunk_rows = max(rows, call->map ? call->map_rows : 1);
        const int64_t max_chunks = max(1, (1 << 20) / max(1, call->heads * call->keys));
        const int64_t target_chunks = ceil_div(64, max(1, call->heads));
        const int64_t chunks = min(min(max_chunks, target_chunks), ceil_div(call->queries, min_chunk_rows));
        call->chunk_rows = round_up(ceil_div(call->queries, max(1, chunks)), min_chunk_rows);
    }
    call->chunks = ceil_div(call->queries, max(1, call->chunk_rows));
    call->units = call->heads * call->chunks;
    call->packed_size = key_heads * round_up(call->keys, PAIR) * call->width;
    if (packs_value(call)) call->packed_size += key_heads * call->keys * padded_value_width(call);
    call->memory_size = lay_out(call, 0, &unused);
    call->part_size = has_columns(call) ? call->keys : 0;
    if (call->distance) call->part_size += call->chunk_rows + call->keys;
    return 0;
}

static int64_t key_count(const AttentionArguments *call, int64_t head) {
    return call->lengths ? call->lengths[head] : call->keys;
}
static int64_t first_key(const AttentionArguments *call, int64_t query) {
    return max(0, query + call->offset - call->left);
}
static int64_t end_key(const AttentionArguments *call, int64_t head, int64_t query) {
    return max(0, min(key_count(call, head), query + call->offset + call->right + 1));
}

static const float *query_at(const AttentionArguments *call, int64_t head, int64_t query) {
    return call->query + head / call->inner * call->query_entry +
           head % call->inner * call->query_head + query * call->query_row;
}

/* Packs PAIR keys of one head, and where their rows end inside a vector the values too. */
static void pack(void *context, int64_t unit, int worker) {
    (void)worker;
    const AttentionArguments *call = context;
    const int64_t strips = ceil_div(call->keys, PAIR), inner = max(1, call->inner / call->group);
    const int64_t head = unit / strips, first = unit % strips * PAIR;
    const int64_t keys = min(PAIR, call->keys - first);
    const float *key = call->key + head / inner * call->key_entry + head % inner * call->key_head;
    float *packed = call->packed + (head * strips * PAIR + first) * call->width;
    pack_keys(key + first * call->key_row, call->key_row, keys, call->width, packed);
    if (!packs_value(call)) return;
    const float *value =
        call->value + head / inner * call->value_entry + head % inner * call->value_head;
    const int64_t width = padded_value_width(call), key_heads = call->heads / call->group;
    float *to = call->packed + key_heads * strips * PAIR * call->width +
                (head * call->keys + first) * width;
    for (int64_t k = 0; k < keys; k++, to += width) {
        memset(to, 0, sizeof(float) * (size_t)width);
        memcpy(to, value + (first + k) * call->value_row, sizeof(float) * (size_t)call->value_width);
    }
}

/* A block of queries and its part of the call. */
typedef struct {
    const AttentionArguments *call;
    Memory memory;
    const float *packed, *value;
    int64_t value_row, head, first, rows, base, end, stride;
} Block;

static Block make_block(const AttentionArguments *call, const Memory *memory, int64_t head, int64_t first,
                      int64_t rows) {
    const int64_t padded = round_up(call->keys, PAIR), shared = head / call->group;
    const int64_t inner = max(1, call->inner / call->group), width = padded_value_width(call);
    const int64_t high = end_key(call, head, first + rows - 1);
    Block block = {.call = call, .memory = *memory, .head = head, .first = first, .rows = rows};
    block.packed = call->packed + shared * padded * call->width;
    if (packs_value(call)) {
        block.value_row = width;
        block.value = call->packed + call->heads / call->group * padded * call->width +
                      shared * call->keys * width;
    } else {
        block.value_row = call->value_row;
        block.value =
            call->value + shared / inner * call->value_entry + shared % inner * call->value_head;
    }
    block.base = min(first_key(call, first), high) / PAIR * PAIR;
    block.end = round_up(high, PAIR);
    block.stride = panel_width(call) + 2 * PAIR;
    return block;
}

static void start_block(const Block *block) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    const float scale = query_scale(call);
    const vf factor = splat(scale);
    for (int64_t i = 0; i < block->rows; i++) {
        const float *from = query_at(call, block->head, block->first + i);
        float *to = memory->query + i * call->width;
        int64_t d = 0;
        for (; d + LANES <= call->width; d += LANES) store(to + d, load(from + d) * factor);
        for (; d < call->width; d++) to[d] = from[d] * scale;
        memory->shift[i] = call->bounded ? 0 : FLOOR;
        memory->total[i] = memory->moment[i] = 0;
    }
    memset(memory->output, 0, sizeof(float) * (size_t)(block->rows * padded_value_width(call)));
}

/* Softcap, float mask and hidden keys of one row: columns start to stop, t being that of start. */
static void mask_row(const Block *block, int64_t query, float *t, int64_t start, int64_t stop) {
    const AttentionArguments *call = block->call;
    const int64_t low = max(start, first_key(call, query));
    const int64_t high = min(stop, end_key(call, block->head, query));
    if (call->cap != 0) {
        const vf cap = splat(call->bias ? (float)call->cap : 1.0f);
        const vf factor = splat((float)(call->factor / (double)query_scale(call)));
        for (int64_t k = 0; k < stop - start; k += LANES)
            store(t + k, vtanh(load(t + k) * factor) * cap);
    }
    if (call->mask || call->bias) {
        const int64_t at = call->mask_head[block->head] + query * call->mask_row;
        const int64_t step = call->mask_key;
        for (int64_t k = low; call->mask && k < high; k++)
            t[k - start] = call->mask[at + k * step] ? t[k - start] : FLOOR;
        for (int64_t k = low; call->bias && k < high; k++) {
            const float bias = call->bias[at + k * step], limit = -FLOOR / 2;
            float scaled = bias * (float)call->bias_factor;
            scaled = scaled > limit ? limit : scaled < -limit ? -limit : scaled;
            t[k - start] = bias == -INFINITY ? FLOOR : t[k - start] + scaled;
        }
    }
    for (int64_t k = start; k < min(low, stop); k++) t[k - start] = FLOOR;
    for (int64_t k = max(high, start); k < stop; k++) t[k - start] = FLOOR;
}

/* A new maximum: what was summed is scaled down to match; t - new = (t - old) + change. */
static void raise_shift(const Block *block, int64_t i, float highest) {
    const Memory *memory = &block->memory;
    if (memory->total[i] == 0) { /* nothing was summed */
        memory->shift[i] = highest;
        return;
    }
    const double change = (double)(memory->shift[i] - highest) * (double)score_unit(block->call);
    const double factor = exp2(change);
    memory->moment[i] = factor * (memory->moment[i] + change * memory->total[i]);
    memory->total[i] *= factor;
    memory->shift[i] = highest;
    float *output = memory->output + i * padded_value_width(block->call);
    for (int64_t v = 0; v < padded_value_width(block->call); v++) output[v] *= (float)factor;
}

/* The scores of a few rows and the keys from start to stop become unnormalised weights. */
static void exponentiate_scores(const Block *block, int64_t i, int64_t rows, float *tile, int64_t start,
                  int64_t stop) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    const float *query = memory->query + i * call->width;
    for (int64_t k = start; k < stop; k += PAIR)
        product((int)rows, call->width, query, call->width, block->packed + k * call->width, PAIR,
                tile + k - start, block->stride, 0);
    for (int64_t j = i; j < i + rows; j++, tile += block->stride) {
        mask_row(block, block->first + j, tile, start, stop);
        if (!call->bounded) {
            const float highest = row_max(tile, stop - start);
            if (highest > memory->shift[j]) raise_shift(block, j, highest);
        }
        double *total = memory->total + j, *moment = memory->moment + j;
        /* A row that has seen no key has its shift at the floor, where e would be 1. */
        const float shift = memory->shift[j] > FLOOR ? memory->shift[j] : 0, unit = score_unit(call);
        if (call->entropy && unit != 1)
            exponentials(tile, stop - start, shift, unit, 1, total, moment);
        else if (call->entropy)
            exponentials(tile, stop - start, shift, 1, 1, total, moment);
        else if (unit != 1)
            exponentials(tile, stop - start, shift, unit, 0, total, moment);
        else
            exponentials(tile, stop - start, shift, 1, 0, total, moment);
    }
}

/* One block of keys for a few rows; in a panel, columns that they cannot see become 0. */
static void pass_keys(const Block *block, int64_t i, int64_t rows, int64_t first, int64_t last) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    const int panel = has_panel(call);
    float *tile = memory->panel + (panel ? i * block->stride + first - block->base : 0);
    int64_t start = max(first, first_key(call, block->first + i) / PAIR * PAIR);
    int64_t stop = min(last, round_up(end_key(call, block->head, block->first + i + rows - 1), PAIR));
    if (start >= stop) start = stop = last;
    for (int64_t j = 0; panel && j < rows; j++) {
        float *row = tile + j * block->stride;
        memset(row, 0, sizeof(float) * (size_t)(start - first));
        memset(row + stop - first, 0, sizeof(float) * (size_t)(last - stop));
    }
    if (start == stop) return;
    tile += start - first;
    exponentiate_scores(block, i, rows, tile, start, stop);
    if (!call->output) return;
    const int64_t width = padded_value_width(call), depth = min(stop, call->keys) - start;
    const float *value = block->value + start * block->value_row;
    float *output = memory->output + i * width;
    for (int64_t v = 0; v < width; v += PAIR)
        product((int)rows, depth, tile, block->stride, value + v, block->value_row, output + v, width,
                1);
}

/* The factor from unnormalised weights to weights, and the facts of each row. */
static void finish_rows(const Block *block) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    for (int64_t i = 0; i < block->rows; i++) {
        const int64_t at = block->head * call->queries + block->first + i;
        const double total = memory->total[i];
        const double shift = (double)memory->shift[i] * (double)score_unit(call);
        const int seen = total > 0;
        double above = seen && call->logsumexp ? log2(total) : 0, inverse = seen ? 1 / total : 0;
        double log2_total = seen ? shift + above : -INFINITY;
        if (call->log2_totals) {
            const double given = call->log2_totals[at], apart = fabs(log2_total - given);
            /* A huge sum has no digits left for the number of keys: where it is that of these keys,
             * theirs is exact. */
            const int own = isfinite(apart) && fabs(given) > HUGE_SUM && apart <= fabs(given) * 0x1p-50;
            if (!own) {
                above = isfinite(given) ? given - shift : 0;
                inverse = seen && isfinite(given) ? exp2(shift - given) : 0;
            }
            log2_total = given;
            if (call->shares) call->shares[at] = inverse * total;
        }
        memory->inverse[i] = (float)inverse;
        if (call->logsumexp) call->logsumexp[at] = log2_total * LN_2;
        if (call->entropy) {
            const double nats = inverse * (total * above - memory->moment[i]) * LN_2;
            call->entropy[at] = (float)(nats > 0 ? nats : 0);
        }
        if (!call->output) continue;
        const float *from = memory->output + i * padded_value_width(call);
        float *to = call->output + at * call->value_width;
        for (int64_t v = 0; v < call->value_width; v++) to[v] = from[v] * (float)inverse;
    }
}

/* Rescales blocks of keys that were exponentiated before the row's maximum was known. */
static void scale_to_last_shift(const Block *block) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    const int64_t blocks = ceil_div(call->keys, call->block_keys) + 1;
    for (int64_t i = 0; i < block->rows; i++)
        for (int64_t b = 0, k = block->base; k < block->end; b++, k += call->block_keys) {
            const float change = memory->block_shift[i * blocks + b] - memory->shift[i];
            if (change == 0) continue;
            const vf factor = splat((float)exp2((double)change * (double)score_unit(call)));
            float *e = memory->panel + i * block->stride + k - block->base;
            for (int64_t j = 0; j < min(call->block_keys, block->end - k); j += LANES)
                store(e + j, load(e + j) * factor);
        }
}

static void write_weights(const Block *block) {
    const AttentionArguments *call = block->call;
    const int64_t stop = min(block->end, call->keys);
    for (int64_t i = 0; i < block->rows; i++) {
        const float *e = block->memory.panel + i * block->stride, by = block->memory.inverse[i];
        float *to = call->weights + (block->head * call->queries + block->first + i) * call->keys;
        memset(to, 0, sizeof(float) * (size_t)min(block->base, call->keys));
        for (int64_t k = block->base; k < stop; k++) to[k] = e[k - block->base] * by;
        memset(to + max(stop, 0), 0, sizeof(float) * (size_t)(call->keys - stop));
    }
}

static void write_best(const Block *block) {
    const AttentionArguments *call = block->call;
    const int64_t width = min(block->end, call->keys) - block->base;
    for (int64_t i = 0; i < block->rows; i++) {
        const int64_t at = (block->head * call->queries + block->first + i) * call->top;
        float *values = call->top_weights + at;
        int64_t *keys = call->top_keys + at;
        top_entries(block->memory.panel + i * block->stride, width, (int)call->top, values, keys);
        for (int64_t n = 0; n < call->top; n++) {
            values[n] *= block->memory.inverse[i];
            keys[n] = values[n] > 0 ? keys[n] + block->base : -1;
        }
    }
}

/* A row of the map: summed columns (from the block that has the first of them) into its cells. */
static void add_to_map(const Block *block, float *summed, int64_t query) {
    const AttentionArguments *call = block->call;
    const int64_t size = call->map_keys, cells = ceil_div(call->keys, size);
    const int64_t lead = block->base % size, first = block->base / size;
    const int64_t width = round_up(lead + block->end - block->base, max(size, PAIR));
    memset(summed, 0, sizeof(float) * (size_t)lead);
    const int64_t used = lead + block->end - block->base;
    memset(summed + used, 0, sizeof(float) * (size_t)(width - used));
    const int64_t number = min(fold(summed, width, size), cells - first);
    const int64_t rows = ceil_div(call->queries, call->map_rows), row = query / call->map_rows;
    float *to = call->map + (block->head * rows + row) * cells + first;
    const int64_t begins = row * call->map_rows;
    const int64_t ends = min(begins + call->map_rows, call->queries);
    double *sums = block->memory.map_row;
    if (call->map_rows <= call->block_rows) {
        int live = 0;
        for (int64_t i = begins; i < ends; i++) live += block->memory.total[i - block->first] > 0;
        const float by = 1.0f / (float)(live ? live : 1);
        for (int64_t c = 0; c < number; c++) to[c] = summed[c] * by;
        return;
    }
    /* A row of several blocks: their sums, then the mean; sums[cells] counts the live queries. */
    if (block->first == begins) memset(sums, 0, sizeof(double) * (size_t)(cells + 1));
    for (int64_t i = 0; i < block->rows; i++) sums[cells] += block->memory.total[i] > 0;
    add_to_doubles(sums + first, summed, number);
    if (block->first + block->rows < ends) return;
    to -= first;
    const double live = sums[cells] > 0 ? sums[cells] : 1;
    for (int64_t c = 0; c < cells; c++) to[c] = (float)(sums[c] / live);
}

/* The sums of a block over its queries: into the map, and into the unit's part. */
static void sum_columns(const Block *block, double *part, int64_t chunk_end) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    const int64_t span = block->end - block->base, keys = min(span, call->keys - block->base);
    const int64_t size = call->map_rows, lead = call->map ? block->base % call->map_keys : 0;
    const int64_t lead_room = call->map ? round_up(call->map_keys, PAIR) : 0;
    const int64_t summed_row = panel_width(call) + 2 * PAIR + lead_room + PAIR;
    memset(memory->received, 0, sizeof(float) * (size_t)span);
    for (int64_t i = 0; i < block->rows; i += STRIP) {
        const Strip strip = make_strip(memory->panel + i * block->stride, block->stride,
                                     memory->inverse + i, block->rows - i);
        float *summed = call->map ? memory->summed : 0;
        const int goes_on = call->map && size > STRIP && i % size != 0;
        sum_strip((int)min(size, STRIP), &strip, span, memory->received,
                  summed ? summed + lead : 0, summed_row, goes_on);
        if (!summed) continue;
        for (int64_t j = 0; size < STRIP && j < min(STRIP, block->rows - i); j += size)
            add_to_map(block, summed + j / size * summed_row, block->first + i + j);
        const int64_t next = i + STRIP;
        if (size >= STRIP && (next >= block->rows || next % size == 0))
            add_to_map(block, summed, block->first + i);
    }
    add_to_doubles(part + block->base, memory->received, keys);
    if (!call->distance) return;
    memset(memory->distance, 0, sizeof(float) * (size_t)(span + block->rows));
    sum_distances(memory->panel, block->stride, memory->inverse, block->rows, span, memory->distance);
    /* Column n of the part is key - query = n - (chunk_end - 1). */
    add_to_doubles(part + call->keys + block->base + chunk_end - block->first - block->rows,
                   memory->distance, keys + block->rows - 1);
}

static void attend_block(const Block *block) {
    const AttentionArguments *call = block->call;
    const Memory *memory = &block->memory;
    const int64_t blocks = ceil_div(call->keys, call->block_keys) + 1;
    const int shifts = has_panel(call) && !call->bounded;
    start_block(block);
    for (int64_t b = 0, k = block->base; k < block->end; b++, k += call->block_keys) {
        const int64_t last = min(k + call->block_keys, block->end);
        for (int64_t i = 0; i < block->rows; i += MAX_ROWS)
            pass_keys(block, i, min(MAX_ROWS, block->rows - i), k, last);
        for (int64_t i = 0; shifts && i < block->rows; i++)
            memory->block_shift[i * blocks + b] = memory->shift[i];
    }
    if (shifts) scale_to_last_shift(block);
    finish_rows(block);
}

static void attend_unit(void *context, int64_t unit, int worker) {
    const AttentionArguments *call = context;
    Memory memory;
    lay_out(call, call->memory + worker * call->memory_size, &memory);
    unit += call->first;
    /* The last queries first: under a causal mask they see most. */
    const int64_t head = unit % call->heads, chunk = call->chunks - 1 - unit / call->heads;
    const int64_t from = chunk * call->chunk_rows;
    const int64_t to = min(from + call->chunk_rows, call->queries);
    double *part = 0;
    if (call->part_size) {
        part = call->parts + (head * call->chunks + chunk) * call->part_size;
        memset(part, 0, sizeof(double) * (size_t)call->part_size);
    }
    for (int64_t first = from; first < to; first += call->block_rows) {
        const int64_t rows = min(call->block_rows, to - first);
        const Block block = make_block(call, &memory, head, first, rows);
        attend_block(&block);
        if (call->weights) write_weights(&block);
        if (call->top) write_best(&block);
        if (part) sum_columns(&block, part, to);
    }
}

/* The parts of a head's units, added in their order. */
static void add_parts(void *context, int64_t head, int worker) {
    (void)worker;
    const AttentionArguments *call = context;
    const int64_t distances = call->queries + call->keys - 1;
    double *received = call->received ? call->received + head * call->keys : 0;
    double *distance = call->distance ? call->distance + head * distances : 0;
    if (received) memset(received, 0, sizeof(double) * (size_t)call->keys);
    if (distance) memset(distance, 0, sizeof(double) * (size_t)distances);
    for (int64_t chunk = 0; chunk < call->chunks; chunk++) {
        const double *part = call->parts + (head * call->chunks + chunk) * call->part_size;
        for (int64_t k = 0; received && k < call->keys; k++) received[k] += part[k];
        if (!distance) continue;
        const int64_t from = chunk * call->chunk_rows;
        const int64_t to = min(from + call->chunk_rows, call->queries);
        for (int64_t n = 0; n < to - from + call->keys - 1; n++)
            distance[call->queries - to + n] += part[call->keys + n];
    }
}

/* Units first to last of a planned call. The first of several calls packs, the last one adds up. */
EXPORT int KERNEL(attend)(AttentionArguments *call) {
    const int threads = (int)call->threads;
    if (call->first == 0)
        regard_parallel(pack, call, call->heads / call->group * ceil_div(call->keys, PAIR), threads);
    regard_parallel(attend_unit, call, call->last - call->first, threads);
    if (call->last == call->units && call->part_size)
        regard_parallel(add_parts, call, call->heads, threads);
    return 0;
}
