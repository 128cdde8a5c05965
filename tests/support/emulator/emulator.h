/* What a compiled unit sees of the machine that runs it: platform.cuh calls these, runner.cpp supplies them. */
#ifndef TRIFOLD_EMULATOR_H
#define TRIFOLD_EMULATOR_H

/* `here`: the kernel's place that asks. */
struct Emulator {
    int thread; /* the one that runs; its block's place in the grid and shared memory */
    long long group[2];
    void* shared;
    long long steps;                             /* that the thread may still take: ways between blocks of its code, in watched units */
    void (*barrier)(int kind, const void* here); /* 0: thread block, 1: wave, 2: cluster */
    void (*named)(int id, int threads, int waits, const void* here);        /* without `waits` the thread only arrives */
    const void* (*exchange)(const void* send, int bytes, const void* here); /* what each lane of the wave sent, one after another */
    unsigned long long (*claim)(void* counter, int bytes, int releases, const void* here); /* adds one, returns what was there */
    void (*load_acquire)(const void* flag, void* to, int bytes, const void* here);
    void (*store_release)(void* flag, const void* value, int bytes, const void* here);
    void (*load_relaxed)(const void* word, void* to, int bytes, const void* here); /* atomic, and orders nothing */
    void (*store_relaxed)(void* word, const void* value, int bytes, const void* here);
    void (*spin)(const void* here);
    void (*wait_for_launches)();                                           /* what they did is known */
    void (*copy)(void* to, const void* from, int bytes, const void* here); /* lands at the wait for its group */
    void (*end_copies)();
    void (*wait_copies)(int pending);
    void (*access)(const void* at, long bytes, int writes, const void* here); /* in watched units; null: accesses are not watched */
    void (*endless)(const void* here);                                        /* no steps are left */
    void (*fail)(const char* what, const void* here);
};

#endif
