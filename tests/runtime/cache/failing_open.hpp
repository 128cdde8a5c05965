#pragma once

namespace trifold::test {

/// From now on files of this name in an open directory fail to open, with this error number. An empty name: none.
void fail_to_open(const char* name, int error);

}  // namespace trifold::test
