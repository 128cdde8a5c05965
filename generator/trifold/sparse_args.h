/* Sparse systems: what a launch passes to a kernel. One text for the host library and generated C, so both sides agree; every unit asserts
 * the sizes. Plain 64-bit integers, pointers and doubles only. */
#ifndef TRIFOLD_SPARSE_ARGS_H
#define TRIFOLD_SPARSE_ARGS_H

#include "integer.h"

/* The operands of a call, for every kernel. Component k of row i of member m, right-hand side c, is at
 * ((m rows + i) block + k) columns + c of b and x. */
typedef struct {
    const void* values;       /* [members][blocks of values][block][block] */
    const void* b;            /* input of a call */
    void* x;                  /* output of a call; of a solution also the first guess; of a gradient the solution, which is only read */
    void* gradient;           /* derivatives by the values */
    trifold_int columns;      /* right-hand sides of the caller's arrays */
    trifold_int first_column; /* the first of this call, and how many: at most those of the Spec */
    trifold_int used_columns;
    trifold_int members;
    trifold_int guesses; /* 1: x holds a first guess */
    trifold_int maxiter; /* of a solution */
    trifold_int renew;   /* iterations after which the true residual is computed; 0: only where the iteration seems to have ended */
    double rtol, atol;   /* tolerances of a solution, as trifold::SparseOptions has them */
    double shift;        /* of a factorization: added to the diagonal, times its largest entry in the block */
    void* workspace;
} trifold_sparse_args;

/* Vectors of a solution, by number. A system is a member's right-hand side; its vectors follow one another. */
typedef enum {
    trifold_sparse_b,    /* b, in the order of the subdomains, as all vectors */
    trifold_sparse_x,    /* x */
    trifold_sparse_r,    /* the residual, or what an iteration has for it */
    trifold_sparse_z,    /* M^-1 p; of GMRES and conjugate gradients M^-1 of a vector */
    trifold_sparse_p,    /* directions */
    trifold_sparse_v,    /* A z */
    trifold_sparse_best, /* the x whose residual was least; GMRES's residuals never grow, and it has none */
    trifold_sparse_vectors_of_cg,
    trifold_sparse_y = trifold_sparse_vectors_of_cg, /* M^-1 s */
    trifold_sparse_t,                                /* A y */
    trifold_sparse_shadow,                           /* the first residual */
    trifold_sparse_vectors_of_bicgstab,
    trifold_sparse_basis = trifold_sparse_best /* GMRES: the first of its vectors */
} trifold_sparse_vector;

/* The largest number of sums that a launch leaves for each part of a system. */
enum { trifold_sparse_sums = 40 };

/* A part of the rows: a subdomain. */
typedef struct {
    trifold_int first_row, rows;
    trifold_int shape;        /* a trifold_sparse_shape */
    trifold_int lower, upper; /* first blocks of L, and of D and U, among the factors. GPU: first elements of the factors, and of those
                                 of A' by its own levels */
} trifold_sparse_tile;

/* A pattern that subdomains share: places of 32-bit starts and of columns among those of all shapes, in elements. A row's upper part
 * begins with its diagonal. */
typedef struct {
    trifold_int lower_starts, upper_starts, lower_columns, upper_columns;
} trifold_sparse_shape;

/* GPU: triangles by levels, whose rows do not need one another. The rows of a level are sorted by their number of neighbours, so that
 * slot s holds neighbour s of its first rows. Places count elements. Component (i, j) of the block of the level's row t is at
 * j (block rows) + block t + i behind the place of a slot with `rows` rows, so that neighbouring lanes read neighbouring elements. */
typedef struct {
    int rows, slots;
    int first_row, first_slot; /* among the rows and slots of all shapes */
    int diagonal;              /* place of the rows' D^-1 in the subdomain's factors; of a transposed triangle their first reference */
    /* Through a ring of shared memory: the level's part of the factors, and its record: numbers of 16 bits for each slot its rows, rounded
     * up to 8 of them; then four for each row, itself and its first three columns; then four for each row that has more, and so on. */
    int begin, bytes;
    int record, record_bytes; /* place in bytes among the records of all shapes */
    int ring;                 /* place in the ring, in bytes, of both */
    int needs;                /* levels of the subdomain that must have left the ring before */
    int padding;
} trifold_sparse_level;
typedef struct {
    int rows;
    int place;   /* of the blocks in the subdomain's factors; of a transposed triangle their first reference */
    int columns; /* first among the columns of all shapes */
} trifold_sparse_slot;
/* A block: its place, and the rows of its slot. */
typedef struct {
    int place, rows;
} trifold_sparse_reference;
/* Elimination of a row by another one changes an entry: A_ij -= (A_ik) (U_kj). The block U_kj, and which of its row's entries A_ij is;
 * -1: no entry. */
typedef struct {
    trifold_sparse_reference upper;
    int target;
} trifold_sparse_pair;
/* Elimination of A_ik: the block L_ik, D_k^-1, and what changes: the first pair here, others among the pairs of all shapes. */
typedef struct {
    trifold_sparse_reference own, pivot;
    trifold_sparse_pair pair;
    int next, end;
} trifold_sparse_elimination;
/* A row of a shape, for its factorization: its number, its entries and the diagonal one, counted in the shape, and its first elimination
 * among those of all shapes. */
typedef struct {
    int row, first, diagonal, end, elimination;
} trifold_sparse_row;
/* Sweeps of a shape. `levels`: the first of each sweep, and the end of the last. For a factorization: its first row, in the order of L's
 * levels, and its first entry among those of all shapes. */
typedef enum {
    trifold_sparse_l,
    trifold_sparse_u,
    trifold_sparse_u_transposed,
    trifold_sparse_l_transposed,
    trifold_sparse_sweeps
} trifold_sparse_sweep;
typedef struct {
    int levels[trifold_sparse_sweeps + 1];
    int first, first_transposed; /* the first levels of L and of U' that have slots */
    int row, entry;
} trifold_sparse_schedule;

/* Steps of an iteration, for kernels that several launches have in common. */
typedef enum {
    trifold_sparse_plain,  /* of a call other than a solution: the caller's arrays */
    trifold_sparse_renews, /* the true residual */
    trifold_sparse_first,  /* BiCGSTAB: p and v = A M^-1 p; conjugate gradients: z = M^-1 r */
    trifold_sparse_second, /* BiCGSTAB: s and t = A M^-1 s; conjugate gradients: v = A p */
    trifold_sparse_third   /* GMRES: the second time that a vector is made orthogonal */
} trifold_sparse_step;

/* The constants of a launch. Places are in bytes from the workspace's start. */
typedef struct {
    trifold_int rows, entries, values; /* blocks of rows, of A, and of a member's values */
    trifold_int tiles, slices;         /* subdomains, and parts of equal numbers of rows */
    trifold_int slice_rows;
    trifold_int first_part;             /* GPU: the subdomain or the slice of the first thread block */
    trifold_int order;                  /* 32-bit: the caller's row of each row */
    trifold_int starts, column, source; /* A by rows: 64-bit starts, 32-bit columns and blocks of the caller's values */
    trifold_int transposed_starts, transposed_rows, transposed_entries; /* A by columns: 64-bit starts, 32-bit rows and entries */
    trifold_int tile, shape, local_starts, local_columns;
    /* GPU: lists of trifold_sparse_level, _slot, 16-bit rows and columns; references of entries, and of blocks of transposed triangles;
     * trifold_sparse_row, 16-bit columns of entries, trifold_sparse_elimination and _pair; records of levels; 16-bit rows of each
     * subdomain, counted in it, in the order that the caller has them in. */
    trifold_int levels, slots, level_rows, slot_columns, references, transposed_references, row_patterns, entry_columns, eliminations,
        pairs, level_records, outer_order;
    trifold_int ring;                  /* GPU: bytes of the ring; 0: factors do not go through one */
    trifold_int factor_rows, row_room; /* GPU: rows that a thread block factors at once, and numbers of a row's room in shared memory */
    trifold_int matrix, matrix_stride; /* A with its rows scaled, and bytes from member to member */
    /* 32-bit exponents of powers of two that make the largest entry of each row of A about 1, and, found by a transposed solution, of each
     * column; bytes from member to member. Conjugate gradients leave rows as they are, so that A stays symmetric. */
    trifold_int scales, column_scales, scale_stride;
    trifold_int weights; /* place of the exponents that weigh residuals, where rows are not scaled by them; 0: all weigh the same */
    trifold_int factors, factor_stride;
    trifold_int vectors, vector_stride, vector_count; /* bytes from vector to vector; vectors of a system */
    trifold_int sums;                                 /* [member][system][part][sums] */
    trifold_int parts;                                /* the most that a launch has: tiles or slices */
    trifold_int records;                              /* a trifold_sparse_record a part, then one for the member */
    trifold_int states, flag, history;                /* a trifold_sparse_state a system; the Repeat's flag; [system][history_length] */
    trifold_int systems;                              /* right-hand sides of a member, at most */
    trifold_int history_length;
    trifold_int restart;    /* vectors between two restarts of GMRES */
    trifold_int step;       /* a trifold_sparse_step */
    trifold_int transposed; /* 1: A' and M' */
    trifold_int small;      /* place of GMRES's small matrices, of a system each */
    /* GPU: a solution in one launch. Bytes of its shared memory, 0: it takes many launches; bytes of a vector there, whether it holds those
     * that no other thread block reads; places there of the numbers, factors and records of levels; of A the slots of its widest row or
     * column, how many of them are there with their elements, and places of the list and of these elements; and, in the workspace, the
     * place of a counter for each member's meetings. */
    trifold_int near_all, near_bytes, near_vectors, near_stages, near_factors, near_records;
    trifold_int near_slots, near_kept, near_entries, near_matrix;
    trifold_int meetings;
    /* GPU, between ranks: a list of `sent_count` 64-bit places of rows' numbers, and where these lie side by side for a message. */
    trifold_int sent, sent_count, message;
} trifold_sparse_launch;

/* What came of a part of a member's factorization, and of all of it. Rows are the caller's. */
typedef struct {
    trifold_int zero_pivots, zero_row;                /* blocks that could not be inverted, and the first row of one; -1: none */
    trifold_int not_finite, bad_row, bad_column;      /* entries that are infinite or NaN, and the first of them */
    trifold_int unequal, unequal_row, unequal_column; /* entries that differ from their transposed ones, where that was looked for */
    double largest;                                   /* absolute value of the largest entry */
    double scale; /* the largest scaled entry; of a member a power of two by which the scaled A is multiplied before it is factored */
} trifold_sparse_record;

typedef enum {
    trifold_sparse_running,
    trifold_sparse_converged,
    trifold_sparse_stagnated, /* the true residual has not become smaller between two looks at it */
    trifold_sparse_breakdown, /* the method divided by zero twice */
    trifold_sparse_not_a_number,
    trifold_sparse_limit,       /* the most iterations have been made */
    trifold_sparse_singular,    /* the factorization failed */
    trifold_sparse_out_of_range /* x leaves the range of its type */
} trifold_sparse_outcome;

/* The state of a solution. Its vectors are those of the scaled rows of b, times 2^scale: so no square of a number overflows. */
typedef struct {
    double rho, alpha, omega, beta;
    double norm_b, plain_b; /* |b|, and times 2^plain_scale */
    double measure;         /* norm of b as the iteration weighs it */
    double norm, target;    /* of the last residual, weighed alike; below which the iteration seems to have ended */
    double plain;           /* |b - A x| 2^plain_scale, when the true residual was last computed */
    double unit;            /* |b - A x| over the norm then */
    double least, saved;    /* the least true residual; that of the x that was saved */
    trifold_int scale, plain_scale;
    trifold_int iterations, outcome;
    trifold_int renews;     /* 1: the next turn computes the true residual */
    trifold_int since;      /* iterations since the true residual was computed */
    trifold_int begun;      /* 0: no true residual yet */
    trifold_int breakdowns; /* times that the method divided by zero */
    trifold_int pending;    /* 1: x still lacks the last steps */
    trifold_int directed;   /* conjugate gradients: 1 where there is a direction to go on from */
    trifold_int saves;      /* 1: x is saved when it has got its steps */
    trifold_int restores;   /* what x becomes before the true residual is computed, as templates/sparse/steps.h has it */
    trifold_int ending;     /* the outcome that waits for the true residual of a restored x; 0: none */
    trifold_int inner;      /* GMRES: vectors of this cycle */
    trifold_int reason;     /* of renews, as templates/sparse/steps.h has them */
    trifold_int stalls;     /* true residuals, one after another, that were not much smaller */
    trifold_int idle;       /* iterations since an x was saved, or the iteration began again */
} trifold_sparse_state;

#endif
