/* Callgrind counts while this runs without arguments; they then are what it has counted. */
int main(int count, char** arguments) {
    unsigned long instructions[CALLS];
    int k, good = 1;
    if (count == CALLS + 1) {
        for (k = 0; k < CALLS; ++k) {
            instructions[k] = strtoul(arguments[k + 1], NULL, 10);
            good &= instructions[k] > 0;
        }
        print_report("valgrind --tool=callgrind", instructions);
        return good ? 0 : 1;
    }
    prepare();
    for (k = 0; k < CALLS; ++k) {
        good &= !run_call(k);
    }
    return good ? 0 : 1;
}
