/* Grids: what a launch passes to a kernel. One text for the host library and generated C, so both sides agree; every unit asserts the
 * sizes. Plain 64-bit integers, pointers and doubles only. */
#ifndef TRIFOLD_GRID_ARGS_H
#define TRIFOLD_GRID_ARGS_H

#include "integer.h"

enum { trifold_grid_levels = 12 }; /* most levels that one launch can treat */

/* The operands of a call, for every kernel. Element c of pixel (x, y) of image b is at ((b H + y) W + x) columns + c of B and X. */
typedef struct {
    const void* stencil;      /* [batch][H][W][9]: entry (dy + 1) 3 + dx + 1 couples pixel (x, y) to (x + dx, y + dy) */
    const void* b;            /* input of a sweep, or lam of a gradient */
    void* x;                  /* output of a sweep, which may be b; or the solution of a gradient, which is only read */
    void* gradient;           /* derivatives by the stencil's entries, [batch][H][W][9] */
    trifold_int columns;      /* right-hand sides of the caller's arrays */
    trifold_int first_column; /* the first of this call, and how many: at most those of the Spec */
    trifold_int used_columns;
    trifold_int members; /* images of this call */
    trifold_int begins;  /* 1: no panel of this call has been solved yet */
    trifold_int
        accepts; /* 1: the call accepts a factorization whose status would say that A is nearly singular, or its elimination unstable */
    trifold_int in_place; /* 1: x takes the place of b, of which the workspace has a copy */
    trifold_int step;     /* 1: x is a step of refinement, and is taken as it is */
    void* workspace;
} trifold_grid_args;

/* Places in the workspace for the boxes of one level, in bytes from its start, and sizes of one box's slot. The slot of box (i, j) of image
 * b is number (b 2^y_halvings + j) 2^x_halvings + i. */
typedef struct {
    trifold_int x_halvings, y_halvings;
    trifold_int eliminated, kept; /* pixels of the largest box, each rounded up to whole vectors */
    trifold_int factor, factor_elements;
    trifold_int update, update_stride; /* D, what a box leaves to its parent: kept by kept; elements from image to image */
    trifold_int vector, vector_stride; /* the same for a right-hand side: kept by columns */
    trifold_int pivots;                /* rows that were exchanged: 32-bit integers, one a column and perhaps more */
    trifold_int pivot_elements;        /* elements of one box */
    trifold_int inverses;              /* inverses of the diagonal, or of whole tiles on it */
    trifold_int inverse_elements;      /* elements of one box */
    /* CPU: U', if several tasks share a front of the level: eliminated by eliminated. */
    trifold_int transposed_pivots, transposed_pivots_stride;
    trifold_int records; /* a trifold_grid_record a box */
} trifold_grid_level;

/* Constants that only some kernels read: a structure for each kind of kernel. `trifold_grid_launch::kind` says which of them a launch has.
 * Kernels that read another one are caught in the emulator, and launches that bring another one in the generator. */
typedef enum {
    trifold_grid_whole,     /* none: a front has one thread block or less, or a sum is taken */
    trifold_grid_shared,    /* trifold_grid_share */
    trifold_grid_stepping,  /* trifold_grid_step */
    trifold_grid_solving,   /* trifold_grid_triangle */
    trifold_grid_sweeping,  /* trifold_grid_factor */
    trifold_grid_pixelwise, /* trifold_grid_pixels */
    trifold_grid_tasks      /* trifold_grid_task */
} trifold_grid_kind;

/* GPU: several thread blocks share a front. */
typedef struct {
    trifold_int parts; /* thread blocks of a front */
} trifold_grid_share;

/* GPU: a step through the panels of a pivot block. It applies one panel to the columns behind it, and factors the next one. */
typedef struct {
    trifold_int parts;                /* thread blocks of a front */
    trifold_int applied;              /* first column of the panel that it applies; -1: none, the first panel is still to come */
    trifold_int factored;             /* first column of the panel that it factors; the applied one ends there */
    trifold_int panel;                /* number of the panel that it factors */
    trifold_int inverse, inverse_end; /* tiles on the diagonal that it inverts */
} trifold_grid_step;

/* GPU: a sweep solves with the triangle in columns `first` to before `end` of W. */
typedef struct {
    trifold_int first, end;
} trifold_grid_triangle;

/* GPU: a sweep multiplies by a part of a front's factor: a panel (Y or Z), or rows of W next to a triangle. */
typedef enum { trifold_grid_panel, trifold_grid_rows_behind, trifold_grid_rows_before } trifold_grid_rows;
typedef struct {
    trifold_int parts;      /* thread blocks of a front */
    trifold_int rows;       /* a trifold_grid_rows */
    trifold_int first, end; /* columns of W; none with a panel */
} trifold_grid_factor;

/* GPU: each thread has a pixel. */
typedef enum { trifold_grid_ring, trifold_grid_keep, trifold_grid_residual, trifold_grid_correct, trifold_grid_gradient } trifold_grid_work;
typedef struct {
    trifold_int work; /* a trifold_grid_work */
} trifold_grid_pixels;

/* CPU: all kernels. */
typedef struct {
    trifold_int odd_scratch;   /* start of the second of two generations of D in a worker's scratch, in elements */
    trifold_int spare_scratch; /* start of the free part behind both */
    trifold_int tile;          /* rows or columns of a task, where tasks share a front */
    trifold_int columns;       /* right-hand sides that the vectors of sweeps have room for */
} trifold_grid_task;

/* The constants of a launch. `level` has the levels that it treats; in a merge the level below comes first. */
typedef struct {
    trifold_int width, height; /* pixels that are unknowns */
    trifold_int origin;        /* the first of them in the caller's image */
    trifold_int pitch, pixels; /* pixels of the caller's image: from row to row, and in all */
    trifold_int edge;          /* place of the copies of the stencils next to a ring of data; -1 without one */
    trifold_int status;        /* a trifold_grid_status a member */
    trifold_int scale;         /* A not symmetric: exponents of the unknowns' rows, 32-bit integers; see templates/grid/scale.h */
    trifold_int residual;      /* place of b - A x in the workspace: [batch][H][W] by the columns of this call */
    trifold_int kept_b;        /* place of the copy of b, likewise */
    trifold_int stencil;       /* place of the stencils of images that are rough, [batch][H][W][9]; -1: none can be */
    trifold_int all_levels;    /* place of a trifold_grid_level a level, and how many there are */
    trifold_int level_count;
    trifold_int transposed; /* 1: the system is A' x = b */
    trifold_int leaves;     /* 1: the first level is that of the leaf tiles */
    trifold_int number;     /* number of the last level, counted from the leaf tiles */
    trifold_int kind;       /* a trifold_grid_kind */
    union {
        trifold_grid_share share;
        trifold_grid_step step;
        trifold_grid_triangle triangle;
        trifold_grid_factor factor;
        trifold_grid_pixels pixelwise;
        trifold_grid_task task;
    };
    double least, negligible, growth, row_sum, rough; /* limits of a record's pivots and sums; see templates/grid/outcome.h */
    double bound;                                     /* of a solution's backward error */
    trifold_int levels;
    trifold_grid_level level[trifold_grid_levels];
} trifold_grid_launch;

/* The record of one front; on a GPU it includes all fronts below. */
typedef struct {
    double log_determinant; /* logarithm of the determinant's absolute value */
    /* The least pivot, over the diagonal entry of A that it began with. In a general matrix, whose rows are scaled, it is the pivot itself.
     * 0 if one fails. */
    double least;
    double largest;           /* the largest pivot */
    double entry;             /* the largest entry of the stencils that a leaf tile reads; 1 in a general matrix */
    double row_sum;           /* the largest sum of the entries of one row, relative to that of their absolute values */
    trifold_int sign;         /* sign of the determinant, 1 or -1 */
    trifold_int problem;      /* a trifold_grid_problem */
    trifold_int pixel;        /* the pixel of the problem, counted from the first unknown row by row */
    trifold_int level, place; /* GPU: the front with the problem, and its number among the boxes of the level */
} trifold_grid_record;

typedef enum {
    trifold_grid_sound,
    trifold_grid_beyond,    /* a stencil reaches beyond the image */
    trifold_grid_no_number, /* a stencil holds an infinity or NaN */
    trifold_grid_pivot,     /* a pivot is zero or no number, or not positive in a symmetric matrix */
    trifold_grid_nearly,    /* the matrix is singular to the precision */
    trifold_grid_unstable   /* pivots grew so much that few digits are left */
} trifold_grid_problem;

/* What is left of the solution of the last call. */
typedef enum {
    trifold_grid_all,
    trifold_grid_beyond_range, /* it has an infinity or NaN */
    trifold_grid_inaccurate    /* its backward error stayed above the bound, so it is NaN now */
} trifold_grid_left;

/* The status of a member's factorization. */
typedef struct {
    trifold_grid_record record; /* record of the first front with a problem; if there is none, sums and extremes of all fronts */
    trifold_int level, place;   /* that front, and its number among the boxes of the level */
    trifold_int left;           /* a trifold_grid_left */
    trifold_int rough;          /* 1: its solutions are looked at, and refined; 2: and taken as they come */
} trifold_grid_status;

#endif
