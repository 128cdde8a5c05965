/* Prints what has been counted, as JSON. */
static void print_report(const char* counted_by, const unsigned long* instructions) {
    int k;
    printf("{\n  \"target\": \"%s\",\n  \"compiler\": \"%s\",\n", TARGET, __VERSION__);
    printf("  \"flags\": \"%s\",\n  \"counted_by\": \"%s\"", FLAGS, counted_by);
    for (k = 0; k < CALLS; ++k) {
        printf(",\n  \"%s\": {\"instructions\": %lu, \"flops\": %lu, ", names[k], instructions[k], flops[k]);
        printf("\"instructions_per_flop\": %.3f}", (double)instructions[k] / (double)(flops[k] > 0 ? flops[k] : 1));
    }
    printf("\n}\n");
}
