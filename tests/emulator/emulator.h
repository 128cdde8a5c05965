/* What a compiled unit sees of the machine that runs it: platform.cuh calls these, runner.cpp supplies them. */
#ifndef TRIFOLD_EMULATOR_H
#define TRIFOLD_EMULATOR_H

struct Emulator {
    int thread;                                                /* the one that runs; it and the rest of its block: */
    long long group[2];
    void* shared;
    void (*barrier)(int kind);                                 /* 0: thread block, 1: wave, 2: cluster */
    void (*named)(int id, int threads, int waits);             /* barrier `id` of so many threads; without `waits` the thread goes on */
    const void* (*exchange)(const void* send, int bytes);      /* what each lane of the wave sent, one after another */
    unsigned long long (*claim)(void* counter, int bytes);     /* adds one, returns what was there */
    void (*load_acquire)(const void* flag, void* to, int bytes);
    void (*store_release)(void* flag, const void* value, int bytes);
    void (*spin)();
    void (*copy)(void* to, const void* from, int bytes);       /* lands at the wait for its group */
    void (*end_copies)();
    void (*wait_copies)(int pending);
    void (*access)(const void* at, long bytes, int writes, const void* from); /* in instrumented units; null: nobody looks */
    void (*fail)(const char* what);
};

#endif
