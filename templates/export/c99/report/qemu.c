/* Runs as many calls as its argument says, while QEMU counts; or prints what it has counted for none, one and all of them. */
int main(int count, char** arguments) {
    unsigned long instructions[CALLS];
    int k, good = 1;
    if (count == CALLS + 2) {
        for (k = 0; k < CALLS; ++k) {
            instructions[k] = strtoul(arguments[k + 2], NULL, 10) - strtoul(arguments[k + 1], NULL, 10);
        }
        print_report("qemu -singlestep -d exec", instructions);
        return 0;
    }
    prepare();
    for (k = 0; k < CALLS && count == 2 && k < (int)strtol(arguments[1], NULL, 10); ++k) {
        good &= !run_call(k);
    }
    return good ? 0 : 1;
}
