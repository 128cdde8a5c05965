/* From now on chains run through `parallel_for`, which is called with `user`: BTD_CHAINS tasks, once in a factorization and twice in a
 * solve. Null: one after another, as after btd_init. The bits of X are the same. */
void btd_set_parallel_for(btd_workspace* workspace, btd_parallel_for parallel_for, void* user);
