find_path(BTD_INCLUDE cuda.h HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include)
find_library(BTD_LIBRARY cuda HINTS $ENV{CUDA_HOME}/lib64/stubs /usr/local/cuda/lib64/stubs)
find_program(BTD_COMPILER nvcc HINTS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin)
set(compile ${BTD_COMPILER} -cubin -std=c++17 -diag-suppress 177 -arch=)
