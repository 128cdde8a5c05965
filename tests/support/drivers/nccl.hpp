#pragma once

namespace trifold::test {

/// Orders to the fake NCCL, and its counts. It stands in for libnccl.so.2.
struct FakeNccl {
    int version = 22803;
    int communicators = 0;          ///< alive
    int sent = 0, aborted = 0;      ///< counted
    const char* failing_call = "";  ///< this call fails, on all ranks
};
FakeNccl& fake_nccl();

}  // namespace trifold::test
