/* A pool of threads that wait, awake for a moment and then asleep, for units of work.
 *
 * One job at a time: a caller that meets another's job does its own alone, with the same result.
 * A helper joins a job while that is open; the caller closes it when no unit is left and waits for
 * those that joined, never for one that is still waking up.
 */
#include "threads.h"

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

#define MOST_HELPERS 255
#define SPINS 6000 /* some 150 microseconds: calls follow each other that closely */

typedef struct {
    UnitWork work;
    void *context;
    int64_t units;
} Job;

static Lock guard = LOCK_BEGIN;
static Signal begun = SIGNAL_BEGIN, ended = SIGNAL_BEGIN;
static Job job;                     /* under the guard, as are the next four */
static int is_open, sought, joined, started;
static atomic_int busy;             /* a job has the pool */
static atomic_int generation;       /* rises with every job */
static atomic_int active;           /* helpers at work */
static atomic_llong next;           /* the first unit nobody has taken */

static void pause_core(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void drain(const Job *current, int worker) {
    for (int64_t unit; (unit = atomic_fetch_add(&next, 1)) < current->units;)
        current->work(current->context, unit, worker);
}

static void help_for_ever(void) {
    int seen = 0;
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load(&generation) == seen; i++) pause_core();
        lock(&guard);
        while (atomic_load(&generation) == seen) wait_for(&begun, &guard);
        seen = atomic_load(&generation);
        if (!is_open || joined >= sought) {
            unlock(&guard);
            continue;
        }
        const Job current = job;
        const int worker = ++joined;
        atomic_fetch_add(&active, 1);
        unlock(&guard);
        drain(&current, worker);
        lock(&guard);
        if (atomic_fetch_sub(&active, 1) == 1) wake_all(&ended);
        unlock(&guard);
    }
}

#if defined(_WIN32)
static DWORD WINAPI run_helper(void *nothing) {
    (void)nothing;
    help_for_ever();
    return 0;
}
static int start_helper(void) {
    HANDLE thread = CreateThread(NULL, 0, run_helper, NULL, 0, NULL);
    return thread && CloseHandle(thread);
}
#else
static void *run_helper(void *nothing) {
    help_for_ever();
    return nothing;
}

/* Threads do not survive a fork: the child begins with none. */
static void begin_again(void) {
    guard = (Lock)LOCK_BEGIN;
    begun = ended = (Signal)SIGNAL_BEGIN;
    is_open = sought = joined = started = 0;
    atomic_store(&busy, 0);
    atomic_store(&active, 0);
    atomic_store(&generation, 0);
}

static int start_helper(void) {
    static int registered;
    if (!registered) registered = !pthread_atfork(NULL, NULL, begin_again);
    /* Signals are for the interpreter's own threads. */
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
    lock(&guard);
    while (started < helpers && start_helper()) started++;
    job = (Job){work, context, units};
    atomic_store(&next, 0);
    joined = 0;
    sought = helpers;
    is_open = 1;
    atomic_fetch_add(&generation, 1);
    wake_all(&begun);
    unlock(&guard);
}

static void close_job(void) {
    lock(&guard);
    is_open = 0;
    unlock(&guard);
    /* The last units are short: a thread that fell asleep now would wake up too late. */
    for (int i = 0; i < 10 * SPINS && atomic_load(&active); i++) pause_core();
    lock(&guard);
    while (atomic_load(&active)) wait_for(&ended, &guard);
    unlock(&guard);
}

void regard_parallel(UnitWork work, void *context, int64_t units, int threads) {
    int64_t helpers = (threads < units ? threads : units) - 1;
    helpers = helpers < MOST_HELPERS ? helpers : MOST_HELPERS;
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
