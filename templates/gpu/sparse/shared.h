/* Sizes that host and kernels must agree on. The generator includes this text too. */

enum {
    sparse_threads = 256,      /* threads of a thread block that has some chunks of rows */
    sparse_max_sweepers = 352, /* the most of one that has a subdomain, without those that fetch if factors go through a ring */
    sparse_fetch_threads = 32,
    sparse_gates = 16,        /* levels that are in flight at a time */
    sparse_group = 4,         /* numbers of a row that lie side by side in the record of a level */
    sparse_desk_bytes = 1536, /* room of a thread block that makes a whole solution, without its vectors and factors */
    sparse_chunk = 32,        /* rows of A whose blocks lie side by side */
    sparse_slice_chunks = 8   /* such chunks of a thread block where rows do not depend on one another */
};

/* Rows of a level that `threads` threads take at once: all lanes of a row are in one warp. */
TRIFOLD_SIZE long long sparse_rows_at_once(long long threads, long long block) { return threads / 32 * (32 / block); }
TRIFOLD_SIZE long long sparse_gate_bytes(void) { return 2 * sparse_gates * 8 + 16; }

/* Bytes of shared memory for a subdomain's vector. Sums of a thread block take less. */
TRIFOLD_SIZE long long sparse_vector_bytes(long long rows, long long block, long long real) { return (rows * block * real + 15) / 16 * 16; }
