/* Callgrind counts while this runs without arguments; they then are what it has counted. */
int main(int count, char** arguments) {
    if (count == 3) {
        const unsigned long factor = strtoul(arguments[1], NULL, 10), solve = strtoul(arguments[2], NULL, 10);
        print_report("valgrind --tool=callgrind", factor, solve);
        return factor == 0 || solve == 0;
    }
    make_problem();
    btd_init(&workspace);
    return run_factor() || run_solve();
}
