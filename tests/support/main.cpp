// Both, because the precompiled header has declared doctest's interface already; then the second alone does nothing.
#define DOCTEST_CONFIG_IMPLEMENT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
