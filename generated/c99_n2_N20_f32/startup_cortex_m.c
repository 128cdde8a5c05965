/* For the example under QEMU: the vector table, the FPU switched on, and an end with failure, not a hang, where a fault comes. Your
 * board's own start-up code takes its place. */
#include <stdint.h>

extern void stack_top(void);
extern void _start(void);
void reset_handler(void);
void fault_handler(void);

void reset_handler(void) {
    volatile uint32_t* const coprocessor_access = (volatile uint32_t*)0xE000ED88U;
    *coprocessor_access |= 0xFU << 20;
    __asm volatile("dsb\n isb");
    _start();
}

/* SYS_EXIT of semihosting, for a run-time error. */
void fault_handler(void) { __asm volatile("movs r0, #0x18\n ldr r1, =0x20023\n bkpt 0xab\n b ."); }

/* The first entry is the address that the linker script gives the stack. */
__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    stack_top,     reset_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler,
    fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler, fault_handler};
