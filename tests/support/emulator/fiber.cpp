#include "tests/support/emulator/fiber.hpp"

#include <cstdint>
#include <cstring>

namespace trifold::test {

#if defined(__x86_64__)
extern "C" void trifold_switch_stack(void** save, void* load);
__asm__(
    ".text\n.globl trifold_switch_stack\n.type trifold_switch_stack,@function\ntrifold_switch_stack:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n");

void Fiber::start(char* stack, void (*entry)()) {
    auto top = (reinterpret_cast<std::uintptr_t>(stack) + stack_bytes) & ~std::uintptr_t{15};
    auto* frame = reinterpret_cast<void**>(top) - 8;  // six registers, the entry, and a return address never used
    std::memset(frame, 0, 8 * sizeof(void*));
    frame[6] = reinterpret_cast<void*>(entry);
    pointer_ = frame;
}

void Fiber::switch_to(Fiber& other) { trifold_switch_stack(&pointer_, other.pointer_); }
#else
void Fiber::start(char* stack, void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack;
    context_.uc_stack.ss_size = stack_bytes;
    makecontext(&context_, entry, 0);
}

void Fiber::switch_to(Fiber& other) { swapcontext(&context_, &other.context_); }
#endif

}  // namespace trifold::test
