/* The one place that states the version; CMake reads it from here. See docs/users/abi.md for what a change means. */
#ifndef TRIFOLD_VERSION_H
#define TRIFOLD_VERSION_H

#define TRIFOLD_VERSION_MAJOR 0
#define TRIFOLD_VERSION_MINOR 2
#define TRIFOLD_VERSION_PATCH 0
#define TRIFOLD_VERSION_NUMBER (TRIFOLD_VERSION_MAJOR * 10000 + TRIFOLD_VERSION_MINOR * 100 + TRIFOLD_VERSION_PATCH)

#endif
