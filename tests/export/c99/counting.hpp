// A number that counts what is done with it: compiled with an exported solver, which is C++ too, in place of its type of numbers.
#pragma once
#include <cmath>

struct Counts {
    long subtract, multiply, divide, square_root, add;
};
inline Counts counts{};

struct Counting {
    Counting() = default;
    Counting(double number) : value(number) {}
    double value;
    Counting& operator-=(const Counting& other) { return ++counts.subtract, value -= other.value, *this; }
    Counting& operator+=(const Counting& other) { return ++counts.add, value += other.value, *this; }
    Counting& operator*=(const Counting& other) { return ++counts.multiply, value *= other.value, *this; }
    Counting operator-() const { return {-value}; }
};
inline Counting operator+(const Counting& left, const Counting& right) { return ++counts.add, Counting(left.value + right.value); }
inline Counting operator-(Counting left, const Counting& right) { return left -= right; }
inline Counting operator*(Counting left, const Counting& right) { return left *= right; }
inline Counting operator/(const Counting& left, const Counting& right) { return ++counts.divide, Counting(left.value / right.value); }
inline bool operator>(const Counting& left, const Counting& right) { return left.value > right.value; }
inline bool operator<(const Counting& left, const Counting& right) { return left.value < right.value; }
inline bool operator>=(const Counting& left, const Counting& right) { return left.value >= right.value; }
inline bool operator<=(const Counting& left, const Counting& right) { return left.value <= right.value; }
inline Counting counting_root(const Counting& x) { return ++counts.square_root, Counting(std::sqrt(x.value)); }
