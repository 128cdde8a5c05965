/* Sizes that host and kernels must agree on. The generator includes this text too. */

enum {
    sparse_threads = 256,   /* of a thread block of each kernel */
    sparse_chunk = 32,      /* rows of A whose blocks lie side by side */
    sparse_slice_chunks = 8 /* such chunks of a thread block where rows do not depend on one another */
};

/* Bytes of shared memory: a subdomain's vector; and blocks of D that are inverted at a time. Sums of a thread block take less. */
TRIFOLD_SIZE long long sparse_vector_bytes(long long rows, long long block, long long real) { return (rows * block * real + 15) / 16 * 16; }
TRIFOLD_SIZE long long sparse_pivot_bytes(long long block, long long real) { return sparse_threads * block * real; }
