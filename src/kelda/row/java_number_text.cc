// Java's Double.toString and Float.toString as JDK 17 gives them: not always the shortest text
// (spec 01 §2.8). The digits come from a scaled division value = B / S with a margin M of half a
// unit in the last place; which arithmetic is used (32-bit, 64-bit, unbounded) matters, because the
// stop conditions differ and the narrow ones wrap.
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kelda/row/partition_path.h"

namespace kelda {

namespace {

constexpr int kFractionBits = 52;

/// Non-negative integer of any size, little-endian words.
class BigNumber {
 public:
  explicit BigNumber(uint64_t value)
      : words_{static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)} {
    Trim();
  }

  void Multiply(uint32_t factor) {
    uint64_t carry = 0;
    for (uint32_t& word : words_) {
      carry += static_cast<uint64_t>(word) * factor;
      word = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) words_.push_back(static_cast<uint32_t>(carry));
    Trim();
  }
  void MultiplyPower5(int exponent) {
    for (int i = 0; i < exponent; ++i) Multiply(5);
  }
  void ShiftLeft(int bits) {
    words_.insert(words_.begin(), static_cast<size_t>(bits / 32), 0);
    Multiply(uint32_t{1} << (bits % 32));
  }
  int Compare(const BigNumber& other) const {
    if (words_.size() != other.words_.size()) return words_.size() < other.words_.size() ? -1 : 1;
    for (size_t i = words_.size(); i-- > 0;) {
      if (words_[i] != other.words_[i]) return words_[i] < other.words_[i] ? -1 : 1;
    }
    return 0;
  }
  BigNumber Plus(const BigNumber& other) const {
    BigNumber sum(0);
    uint64_t carry = 0;
    for (size_t i = 0; i < words_.size() || i < other.words_.size(); ++i) {
      carry += (i < words_.size() ? words_[i] : 0ull) +
               (i < other.words_.size() ? other.words_[i] : 0ull);
      sum.words_.push_back(static_cast<uint32_t>(carry));
      carry >>= 32;
    }
    if (carry != 0) sum.words_.push_back(static_cast<uint32_t>(carry));
    return sum;
  }
  /// Leaves the remainder and returns the quotient. REQUIRES: quotient < 10.
  int DivideBy(const BigNumber& divisor) {
    int quotient = 0;
    while (Compare(divisor) >= 0) {
      Subtract(divisor);
      ++quotient;
    }
    return quotient;
  }

 private:
  void Subtract(const BigNumber& other) {
    int64_t borrow = 0;
    for (size_t i = 0; i < words_.size(); ++i) {
      borrow += static_cast<int64_t>(words_[i]) - (i < other.words_.size() ? other.words_[i] : 0);
      words_[i] = static_cast<uint32_t>(borrow);
      borrow >>= 32;
    }
    Trim();
  }
  void Trim() {
    while (!words_.empty() && words_.back() == 0) words_.pop_back();
  }

  std::vector<uint32_t> words_;
};

/// Digits d1 d2 ... of 0.d1d2... x 10^exponent.
struct Digits {
  std::string digits;
  int exponent = 0;
};

/// Bits of 5^n as the choice of arithmetic counts them.
int Power5Bits(int n) {
  constexpr int kExact[] = {0,  3,  5,  7,  10, 12, 14, 17, 19, 21, 24, 26, 28, 31,
                            33, 35, 38, 40, 42, 45, 47, 49, 52, 54, 56, 59, 61};
  return n < static_cast<int>(std::size(kExact)) ? kExact[n] : n * 3;
}

uint64_t Power(uint64_t base, int exponent) {
  uint64_t power = 1;
  for (int i = 0; i < exponent; ++i) power *= base;
  return power;
}

/// A whole number; digits beyond the precision of the type are rounded away first.
Digits WholeDigits(uint64_t value, int insignificant) {
  int exponent = 0;
  if (insignificant > 0) {
    const uint64_t unit = Power(10, insignificant);
    const uint64_t rest = value % unit;
    value /= unit;
    if (rest >= unit / 2) ++value;
    exponent = insignificant;
  }
  std::string digits = std::to_string(value);
  exponent += static_cast<int>(digits.size());
  digits.erase(digits.find_last_not_of('0') + 1);
  return {digits, exponent};
}

void RoundUp(Digits* result) {
  size_t i = result->digits.size();
  while (i > 0 && result->digits[i - 1] == '9') result->digits[--i] = '0';
  if (i == 0) {
    ++result->exponent;
    result->digits[0] = '1';
  } else {
    ++result->digits[i - 1];
  }
}

/// After the last digit: `low` and `high` say which neighbours are close enough, `difference` on
/// which side of the middle the rest is.
void RoundLast(bool low, bool high, int difference, Digits* result) {
  if (!high) return;
  if (!low || difference > 0 || (difference == 0 && (result->digits.back() & 1) != 0))
    RoundUp(result);
}

/// Fixed-width arithmetic of width `Word`, wrapping as Java's int and long.
template <typename Word>
void DigitsFixed(uint64_t b_start, uint64_t s_start, uint64_t m_start, int exponent,
                 Digits* result) {
  using Unsigned = std::make_unsigned_t<Word>;
  auto b = static_cast<Word>(b_start);
  const auto s = static_cast<Word>(s_start);
  auto m = static_cast<Word>(m_start);
  const auto tens = static_cast<Word>(static_cast<Unsigned>(s) * 10);
  const auto add = [](Word x, Word y) {
    return static_cast<Word>(static_cast<Unsigned>(x) + static_cast<Unsigned>(y));
  };
  const auto times10 = [](Word x) { return static_cast<Word>(static_cast<Unsigned>(x) * 10); };
  auto quotient = b / s;
  b = times10(b % s);
  m = times10(m);
  bool low = b < m;
  bool high = add(b, m) > tens;
  if (quotient == 0 && !high) {
    --exponent;
  } else {
    result->digits += static_cast<char>('0' + quotient);
  }
  if (exponent < -3 || exponent >= 8) low = high = false;
  while (!low && !high) {
    quotient = b / s;
    b = times10(b % s);
    m = times10(m);
    if (m > 0) {
      low = b < m;
      high = add(b, m) > tens;
    } else {
      low = high = true;
    }
    result->digits += static_cast<char>('0' + quotient);
  }
  result->exponent = exponent + 1;
  const Word difference =
      static_cast<Word>(static_cast<Unsigned>(b) * 2 - static_cast<Unsigned>(tens));
  RoundLast(low, high, difference < 0 ? -1 : (difference > 0 ? 1 : 0), result);
}

struct Scales {
  int b2, b5, s2, s5, m2, m5;
};

void DigitsBig(uint64_t fraction, const Scales& scales, int exponent, Digits* result) {
  BigNumber b(fraction);
  b.MultiplyPower5(scales.b5);
  b.ShiftLeft(scales.b2);
  BigNumber s(1);
  s.MultiplyPower5(scales.s5);
  s.ShiftLeft(scales.s2);
  BigNumber m(10);
  m.MultiplyPower5(scales.m5);
  m.ShiftLeft(scales.m2);
  BigNumber tens = s;
  tens.Multiply(10);
  int quotient = b.DivideBy(s);
  b.Multiply(10);
  bool low = b.Compare(m) < 0;
  bool high = tens.Compare(b.Plus(m)) <= 0;
  if (quotient == 0 && !high) {
    --exponent;
  } else {
    result->digits += static_cast<char>('0' + quotient);
  }
  if (exponent < -3 || exponent >= 8) low = high = false;
  while (!low && !high) {
    quotient = b.DivideBy(s);
    b.Multiply(10);
    m.Multiply(10);
    low = b.Compare(m) < 0;
    high = tens.Compare(b.Plus(m)) <= 0;
    result->digits += static_cast<char>('0' + quotient);
  }
  result->exponent = exponent + 1;
  int difference = 0;
  if (low && high) {
    b.Multiply(2);
    difference = b.Compare(tens);
  }
  RoundLast(low, high, difference, result);
}

/// `fraction` has its highest bit at kFractionBits; the value is fraction * 2^(exponent -
/// kFractionBits).
Digits ToDigits(uint64_t fraction, int binary_exponent, int significant_bits) {
  const int tail_zeros = std::countr_zero(fraction);
  const int fraction_bits = kFractionBits + 1 - tail_zeros;
  const int tiny_bits = std::max(0, fraction_bits - binary_exponent - 1);
  if (tiny_bits == 0 && binary_exponent <= 62) {
    const int excess = binary_exponent - significant_bits - 1;
    const int insignificant = binary_exponent > significant_bits && excess > 1
                                  ? static_cast<int>(std::floor(excess * 0.30102999566398120))
                                  : 0;
    const uint64_t whole = binary_exponent >= kFractionBits
                               ? fraction << (binary_exponent - kFractionBits)
                               : fraction >> (kFractionBits - binary_exponent);
    return WholeDigits(whole, insignificant);
  }
  // First guess of floor(log10(value)): never too small, at most one too large.
  const double mantissa = std::bit_cast<double>((uint64_t{1023} << kFractionBits) |
                                                (fraction & ((uint64_t{1} << kFractionBits) - 1)));
  const int exponent = static_cast<int>(std::floor((mantissa - 1.5) * 0.289529654 + 0.176091259 +
                                                   binary_exponent * 0.301029995663981));
  Scales scales{};
  scales.b5 = std::max(0, -exponent);
  scales.b2 = scales.b5 + tiny_bits + binary_exponent;
  scales.s5 = std::max(0, exponent);
  scales.s2 = scales.s5 + tiny_bits;
  scales.m5 = scales.b5;
  scales.m2 = scales.b2 - significant_bits;
  fraction >>= tail_zeros;
  scales.b2 -= fraction_bits - 1;
  const int common = std::min(scales.b2, scales.s2);
  scales.b2 -= common;
  scales.s2 -= common;
  scales.m2 -= common;
  // The lower neighbour of a power of two is only half as far away.
  if (fraction_bits == 1) --scales.m2;
  if (scales.m2 < 0) {
    scales.b2 -= scales.m2;
    scales.s2 -= scales.m2;
    scales.m2 = 0;
  }
  Digits result;
  const int b_bits = fraction_bits + scales.b2 + Power5Bits(scales.b5);
  const int tens_bits = scales.s2 + 1 + Power5Bits(scales.s5 + 1);
  if (b_bits < 64 && tens_bits < 64) {
    const uint64_t b = fraction * Power(5, scales.b5) << scales.b2;
    const uint64_t s = Power(5, scales.s5) << scales.s2;
    const uint64_t m = Power(5, scales.m5) << scales.m2;
    if (b_bits < 32 && tens_bits < 32) {
      DigitsFixed<int32_t>(b, s, m, exponent, &result);
    } else {
      DigitsFixed<int64_t>(b, s, m, exponent, &result);
    }
  } else {
    DigitsBig(fraction, scales, exponent, &result);
  }
  return result;
}

std::string Layout(bool negative, const Digits& number) {
  const std::string& digits = number.digits;
  const int exponent = number.exponent;
  const auto rest = [&](size_t from) {
    return from < digits.size() ? digits.substr(from) : std::string("0");
  };
  std::string text = negative ? "-" : "";
  if (exponent > 0 && exponent < 8) {
    const auto whole = static_cast<size_t>(exponent);
    text += digits.substr(0, whole);
    if (digits.size() < whole) text.append(whole - digits.size(), '0');
    return text + "." + rest(whole);
  }
  if (exponent <= 0 && exponent > -3)
    return text + "0." + std::string(static_cast<size_t>(-exponent), '0') + digits;
  return text + digits[0] + "." + rest(1) + "E" + std::to_string(exponent - 1);
}

std::string Special(bool negative, bool infinite) {
  if (!infinite) return "NaN";
  return negative ? "-Infinity" : "Infinity";
}

}  // namespace

std::string JavaDoubleText(double value) {
  const bool negative = std::signbit(value);
  if (!std::isfinite(value)) return Special(negative, std::isinf(value));
  if (value == 0) return negative ? "-0.0" : "0.0";
  const auto bits = std::bit_cast<uint64_t>(value);
  uint64_t fraction = bits & ((uint64_t{1} << kFractionBits) - 1);
  int exponent = static_cast<int>(bits >> kFractionBits & 0x7ff);
  int significant_bits = kFractionBits + 1;
  if (exponent == 0) {
    const int leading = std::countl_zero(fraction);
    const int shift = leading - (63 - kFractionBits);
    fraction <<= shift;
    exponent = 1 - shift;
    significant_bits = 64 - leading;
  } else {
    fraction |= uint64_t{1} << kFractionBits;
  }
  return Layout(negative, ToDigits(fraction, exponent - 1023, significant_bits));
}

std::string JavaFloatText(float value) {
  constexpr int kFloatFractionBits = 23;
  const bool negative = std::signbit(value);
  if (!std::isfinite(value)) return Special(negative, std::isinf(value));
  if (value == 0) return negative ? "-0.0" : "0.0";
  const auto bits = std::bit_cast<uint32_t>(value);
  uint32_t fraction = bits & ((uint32_t{1} << kFloatFractionBits) - 1);
  int exponent = static_cast<int>(bits >> kFloatFractionBits & 0xff);
  int significant_bits = kFloatFractionBits + 1;
  if (exponent == 0) {
    const int leading = std::countl_zero(fraction);
    const int shift = leading - (31 - kFloatFractionBits);
    fraction <<= shift;
    exponent = 1 - shift;
    significant_bits = 32 - leading;
  } else {
    fraction |= uint32_t{1} << kFloatFractionBits;
  }
  const uint64_t wide = static_cast<uint64_t>(fraction) << (kFractionBits - kFloatFractionBits);
  return Layout(negative, ToDigits(wide, exponent - 127, significant_bits));
}

}  // namespace kelda
