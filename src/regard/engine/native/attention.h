/* Arguments of one call of attention. The order is that of AttentionArguments in attend.py. */
#ifndef REGARD_ATTENTION_H
#define REGARD_ATTENTION_H

#include <stdint.h>

typedef struct {
    /* query (h, q, d), key (g, k, d), value (g, k, v): rows are contiguous. A head's number is
     * entry * inner + head of the entry; group query heads share one of keys and values. */
    const float *query, *key, *value;
    int64_t heads, inner, group, queries, keys, width, value_width;
    int64_t query_entry, query_head, query_row; /* steps, counted in numbers */
    int64_t key_entry, key_head, key_row;
    int64_t value_entry, value_head, value_row;
    /* Base-2 scores are factor * query . key, or cap * tanh(factor * query . key). Bounded ones need
     * no shift: 2^t can be summed as it stands. */
    double factor, cap, bias_factor; /* the last from the float mask to base 2 */
    int64_t bounded;
    /* Key j is in the band of query i when i + offset - left <= j <= i + offset + right. */
    int64_t offset, left, right;
    const int64_t *lengths;      /* of each head, or null */
    const uint8_t *mask;         /* nonzero where a query may look at a key, or null */
    const float *bias;           /* added to the scores, -inf where it forbids, or null */
    const int64_t *mask_head;    /* where the mask, or the bias, of each head begins */
    int64_t mask_row, mask_key;
    const double *log2_totals;   /* (h, q) of the caller, over these keys and perhaps more, or null */
    /* Results; null where they are not requested. All are contiguous. */
    float *output;               /* h q v */
    double *logsumexp;           /* h q */
    double *shares;              /* h q: the sum of the weights, where the caller gave the totals */
    float *entropy;              /* h q; needs logsumexp */
    float *weights;              /* h q k */
    float *map;                  /* h r c, zeros before */
    double *received;            /* h k */
    double *distance;            /* h (q + k - 1), key - query from the most negative up */
    float *top_weights;          /* h q n */
    int64_t *top_keys;
    int64_t top, map_rows, map_keys; /* the number of best keys; queries and keys of a block */
    /* The plan, which depends on the shape alone, and the memory that it needs. */
    int64_t block_rows, block_keys, chunk_rows, chunks, units;
    int64_t packed_size, memory_size, part_size; /* floats; floats of a worker; doubles of a unit */
    float *packed, *memory;
    double *parts;
    int64_t threads, first, last; /* units from first up to last are computed by this call */
} AttentionArguments;

#endif
