ROCM_PATH ?= /opt/rocm
CLANG ?= $(ROCM_PATH)/llvm/bin/clang++
INCLUDE = -D__HIP_PLATFORM_AMD__ -isystem $(ROCM_PATH)/include
LIBRARY = -L$(ROCM_PATH)/lib -lamdhip64
COMPILE = $(CLANG) -x hip --cuda-device-only --no-gpu-bundle-output -nogpulib -nogpuinc -std=c++20 -O3 --offload-arch=
