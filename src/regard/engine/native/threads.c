/* Thread pool: helpers spin for a moment and then sleep until there are units of work.
 *
 * One job at a time: a caller that finds the pool busy does its job alone, with the same result. A
 * helper joins a job while it is open; the caller closes it when no unit is left and waits for the
 * helpers that joined, never for one that is still waking up.
 */
#include "threads.h"

#if defined(__wasm__) /* one thread, so no pool */
void regard_parallel(UnitWork work, void *context, int64_t units, int threads) {
    (void)threads;
    for (int64_t unit = 0; unit < units; unit++) work(context, unit, 0);
}
#else

#include <stdatomic.h>
#include <stdlib.h>

#if defined(_WIN32)
#include <windows.h>
typedef SRWLOCK Lock;
typedef CONDITION_VARIABLE Signal;
#define LOCK_BEGIN SRWLOCK_INIT
#define SIGNAL_BEGIN CONDITION_VARIABLE_INIT
static void lock(Lock *x) { AcquireSRWLockExclusive(x); }
static void unlock(Lock *x) { ReleaseSRWLockExclusive(x); }
static void wait_for(Signal *x, Lock *y) { SleepConditionVariableSRW(x, y, INFINITE, 0); }
static void wake_all(Signal *x) { WakeAllConditionVariable(x); }
#else
#include <pthread.h>
#include <signal.h>
typedef pthread_mutex_t Lock;
typedef pthread_cond_t Signal;
#define LOCK_BEGIN PTHREAD_MUTEX_INITIALIZER
#define SIGNAL_BEGIN PTHREAD_COND_INITIALIZER
static void lock(Lock *x) { pthread_mutex_lock(x); }
static void unlock(Lock *x) { pthread_mutex_unlock(x); }
static void wait_for(Signal *x, Lock *y) { pthread_cond_wait(x, y); }
static void wake_all(Signal *x) { pthread_cond_broadcast(x); }
#endif

#define MAX_HELPERS 255
#define SPIN_COUNT 6000 /* about 150 microseconds, a usual gap between two calls */

typedef struct {
    UnitWork work;
    void *context;
    int64_t units;
} Job;

static Lock mutex = LOCK_BEGIN;
static Signal job_opened = SIGNAL_BEGIN, job_done = SIGNAL_BEGIN;
static Job job;                     /* under the mutex, as are the next four */
static int is_open, wanted_helpers, joined_helpers, started_helpers;
static atomic_int busy;             /* whether a job has the pool */
static atomic_int generation;       /* rises with every job */
static atomic_int active;           /* helpers at work */
static atomic_llong next_unit;           /* the first unit that is not taken */

static void pause_core(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void drain(const Job *current, int worker) {
    for (int64_t unit; (unit = atomic_fetch_add(&next_unit, 1)) < current->units;)
        current->work(current->context, unit, worker);
}

static void run_worker(void) {
    int seen = 0;
    for (;;) {
        for (int i = 0; i < SPIN_COUNT && atomic_load(&generation) == seen; i++) pause_core();
        lock(&mutex);
        while (atomic_load(&generation) == seen) wait_for(&job_opened, &mutex);
        seen = atomic_load(&generation);
        if (!is_open || joined_helpers >= wanted_helpers) {
            unlock(&mutex);
            continue;
        }
        const Job current = job;
        const int worker = ++joined_helpers;
        atomic_fetch_add(&active, 1);
        unlock(&mutex);
        drain(&current, worker);
        lock(&mutex);
        if (atomic_fetch_sub(&active, 1) == 1) wake_all(&job_done);
        unlock(&mutex);
    }
}

#if defined(_WIN32)
static DWORD WINAPI run_helper(void *nothing) {
    (void)nothing;
    run_worker();
    return 0;
}
static int start_helper(void) {
    HANDLE thread = CreateThread(NULL, 0, run_helper, NULL, 0, NULL);
    return thread && CloseHandle(thread);
}
#else
static void *run_helper(void *nothing) {
    run_worker();
    return nothing;
}

/* Threads do not survive a fork: the child starts without any. */
static void reset_after_fork(void) {
    mutex = (Lock)LOCK_BEGIN;
    job_opened = job_done = (Signal)SIGNAL_BEGIN;
    is_open = wanted_helpers = joined_helpers = started_helpers = 0;
    atomic_store(&busy, 0);
    atomic_store(&active, 0);
    atomic_store(&generation, 0);
}

static int start_helper(void) {
    static int registered;
    if (!registered) registered = !pthread_atfork(NULL, NULL, reset_after_fork);
    /* Signals go to the interpreter's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    const int failed = pthread_create(&thread, NULL, run_helper, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) pthread_detach(thread);
    return !failed;
}
#endif

static void open_job(UnitWork work, void *context, int64_t units, int helpers) {
    lock(&mutex);
    while (started_helpers < helpers && start_helper()) started_helpers++;
    job = (Job){work, context, units};
    atomic_store(&next_unit, 0);
    joined_helpers = 0;
    wanted_helpers = helpers;
    is_open = 1;
    atomic_fetch_add(&generation, 1);
    wake_all(&job_opened);
    unlock(&mutex);
}

static void close_job(void) {
    lock(&mutex);
    is_open = 0;
    unlock(&mutex);
    /* The last units are short: a thread that fell asleep now would wake up too late. */
    for (int i = 0; i < 10 * SPIN_COUNT && atomic_load(&active); i++) pause_core();
    lock(&mutex);
    while (atomic_load(&active)) wait_for(&job_done, &mutex);
    unlock(&mutex);
}

void regard_parallel(UnitWork work, void *context, int64_t units, int threads) {
    int64_t helpers = (threads < units ? threads : units) - 1;
    helpers = helpers < MAX_HELPERS ? helpers : MAX_HELPERS;
    int idle = 0;
    if (helpers < 1 || !atomic_compare_exchange_strong(&busy, &idle, 1)) {
        for (int64_t unit = 0; unit < units; unit++) work(context, unit, 0);
        return;
    }
    open_job(work, context, units, (int)helpers);
    const Job current = {work, context, units};
    drain(&current, 0);
    close_job();
    atomic_store(&busy, 0);
}
#endif
