CUDA_HOME ?= /usr/local/cuda
NVCC ?= $(CUDA_HOME)/bin/nvcc
INCLUDE = -isystem $(CUDA_HOME)/include
LIBRARY = -L$(CUDA_HOME)/lib64/stubs -lcuda
COMPILE = $(NVCC) -cubin -std=c++17 -diag-suppress 177 -arch=
