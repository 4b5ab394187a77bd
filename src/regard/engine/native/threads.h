/* Threads that share out units of work. */
#ifndef REGARD_THREADS_H
#define REGARD_THREADS_H

#include <stdint.h>

/* One unit, by the worker with this number: below the number of threads, and one unit at a time,
 * so that each worker can have memory of its own. */
typedef void (*UnitWork)(void *context, int64_t unit, int worker);

/* Calls work for units 0 to units - 1, on this thread and on helpers, and returns when all are
 * done. Which worker takes which unit varies: a result must not depend on it. */
void regard_parallel(UnitWork work, void *context, int64_t units, int threads);

#endif
