// Run length encodings: the bytes of the format's specification, and all shapes of numbers there
// and back.

#include <random>

#include <gtest/gtest.h>

#include "kelda/base/bytes.h"
#include "kelda/base/test_matchers.h"
#include "kelda/format/orc/bit_unpack.h"
#include "kelda/format/orc/orc_test_util.h"
#include "kelda/format/orc/run_decoder.h"
#include "kelda/format/orc/run_encoder.h"

namespace kelda {
namespace {

using orc_test::Unwrap;
using Numbers = std::vector<int64_t>;

class Runs : public testing::Test {
 protected:
  std::unique_ptr<InStream> Stream(const std::string& bytes) {
    return std::make_unique<InStream>("test", 0, static_cast<int64_t>(bytes.size()),
                                      std::vector<OrcPiece>{{0, arrow::Buffer::FromString(bytes)}},
                                      codec_.get());
  }
  arrow::Result<Numbers> Decode(const std::string& bytes, bool is_signed, bool version2, size_t n) {
    IntDecoder decoder(Stream(bytes), is_signed, version2);
    Numbers out(n);
    ARROW_RETURN_NOT_OK(decoder.Read(out.data(), static_cast<int64_t>(n)));
    return out;
  }
  std::string Encode(const Numbers& numbers, bool is_signed) {
    OutStream out(codec_.get());
    EXPECT_TRUE(
        EncodeInts(numbers.data(), static_cast<int64_t>(numbers.size()), is_signed, &out).ok());
    return Unwrap(out.Take());
  }
  void ExpectRoundTrip(const Numbers& numbers, bool is_signed, const std::string& what) {
    const std::string bytes = Encode(numbers, is_signed);
    EXPECT_EQ(Unwrap(Decode(bytes, is_signed, true, numbers.size())), numbers) << what;
    // The runs end with the numbers, and parts of any size come out the same.
    EXPECT_FALSE(Decode(bytes, is_signed, true, numbers.size() + 1).ok()) << what;
    IntDecoder decoder(Stream(bytes), is_signed, true);
    Numbers parts(numbers.size());
    for (size_t first = 0, n = 1; first < parts.size(); first += n, n = n * 3 % 101 + 1) {
      n = std::min(n, parts.size() - first);
      ASSERT_TRUE(decoder.Read(parts.data() + first, static_cast<int64_t>(n)).ok());
    }
    EXPECT_EQ(parts, numbers) << what;
  }

  std::unique_ptr<OrcCodec> codec_ = Unwrap(OrcCodec::Make(OrcCompression::kNone, 1 << 18));
};

std::string Hex(const char* hex) { return *FromHex(hex); }

TEST_F(Runs, BytesOfTheSpecification) {
  EXPECT_EQ(Unwrap(Decode(Hex("0a2710"), false, true, 5)), Numbers(5, 10000));
  EXPECT_EQ(Unwrap(Decode(Hex("5e035ca1ab1edeadbeef"), false, true, 4)),
            (Numbers{23713, 43806, 57005, 48879}));
  EXPECT_EQ(Unwrap(Decode(Hex("8e132b2107d01e00147028323c46505a646e78828c96a0aab4befce8"), false,
                          true, 20)),
            (Numbers{2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090,
                     2100, 2110, 2120, 2130,    2140, 2150, 2160, 2170, 2180, 2190}));
  EXPECT_EQ(Unwrap(Decode(Hex("c609020222424246"), false, true, 10)),
            (Numbers{2, 3, 5, 7, 11, 13, 17, 19, 23, 29}));
  EXPECT_EQ(Unwrap(Decode(Hex("610007"), false, false, 100)), Numbers(100, 7));
  Numbers falling;
  for (int64_t i = 100; i > 0; --i) falling.push_back(i);
  EXPECT_EQ(Unwrap(Decode(Hex("61ff64"), false, false, 100)), falling);
  EXPECT_EQ(Unwrap(Decode(Hex("fb020306070b"), false, false, 5)), (Numbers{2, 3, 6, 7, 11}));
}

TEST_F(Runs, EncoderChoosesTheFormsOfTheSpecification) {
  EXPECT_EQ(ToHex(Encode(Numbers(5, 10000), false)), "0a2710");
  EXPECT_EQ(ToHex(Encode({23713, 43806, 57005, 48879}, false)), "5e035ca1ab1edeadbeef");
  EXPECT_EQ(Encode(Numbers(512, 7), false).size(), 4u);
  Numbers steps;
  for (int64_t i = 0; i < 10000; ++i) steps.push_back(i * 37 - 5000);
  EXPECT_LT(Encode(steps, true).size(), 150u);
  // One large number among small ones becomes a patch.
  Numbers patched(500, 0);
  for (size_t i = 0; i < patched.size(); ++i) patched[i] = static_cast<int64_t>(i * i % 199);
  patched[250] = int64_t{1} << 40;
  EXPECT_LT(Encode(patched, false).size(), 600u);
  EXPECT_EQ(static_cast<uint8_t>(Encode(patched, false)[0]) >> 6, 2);
}

TEST_F(Runs, AllShapesThereAndBack) {
  std::mt19937_64 random(7);
  const int64_t kMin = std::numeric_limits<int64_t>::min();
  const int64_t kMax = std::numeric_limits<int64_t>::max();
  ExpectRoundTrip({kMin, kMax, 0, -1, kMin, kMin, kMax, kMax}, true, "extremes");
  ExpectRoundTrip({kMin, 0}, true, "steps beyond 64 bits");
  for (size_t n : {1, 2, 3, 9, 10, 11, 511, 512, 513, 1200, 5000}) {
    for (int width = 1; width <= 64; ++width) {
      Numbers any(n);
      for (auto& number : any) number = static_cast<int64_t>(random() >> (64 - width));
      ExpectRoundTrip(any, true, fmt::format("{} signed of {} bits", n, width));
      if (width < 64) ExpectRoundTrip(any, false, fmt::format("{} of {} bits", n, width));
      Numbers outliers(n);
      for (auto& number : outliers) {
        number = static_cast<int64_t>(random() % 100);
        if (random() % 60 == 0) number = static_cast<int64_t>(random() >> (64 - width));
        if (random() % 300 == 0) number = -number;
      }
      ExpectRoundTrip(outliers, true, fmt::format("{} with outliers of {} bits", n, width));
      Numbers rising = any;
      std::sort(rising.begin(), rising.end());
      ExpectRoundTrip(rising, true, fmt::format("{} rising of {} bits", n, width));
      std::reverse(rising.begin(), rising.end());
      ExpectRoundTrip(rising, true, fmt::format("{} falling of {} bits", n, width));
      Numbers runs;
      while (runs.size() < n) {
        const auto value = static_cast<int64_t>(random() >> (64 - width));
        const auto step = static_cast<int64_t>(random() % 3) - 1;
        for (uint64_t k = random() % 40; k > 0; --k) {
          runs.push_back(
              static_cast<int64_t>(static_cast<uint64_t>(value) + static_cast<uint64_t>(step) * k));
        }
      }
      ExpectRoundTrip(runs, true, fmt::format("{} in runs of {} bits", n, width));
    }
  }
}

TEST_F(Runs, BitsAreUnpackedAsTheyWerePacked) {
  std::mt19937_64 random(11);
  for (int width = 1; width <= 64; ++width) {
    for (int64_t n : {1, 7, 8, 9, 100}) {
      std::vector<uint64_t> numbers(static_cast<size_t>(n));
      for (auto& number : numbers) number = random() >> (64 - width);
      std::vector<uint8_t> bytes(static_cast<size_t>((n * width + 7) / 8 + kUnpackSlack));
      PackBits(numbers.data(), width, n, bytes.data());
      std::vector<uint64_t> back(numbers.size());
      UnpackBits(bytes.data(), width, n, back.data());
      EXPECT_EQ(back, numbers) << width;
    }
  }
}

TEST_F(Runs, BytesAndBits) {
  ByteDecoder zeros(Stream(Hex("6100")));
  std::vector<uint8_t> bytes(100, 1);
  ASSERT_OK(zeros.Read(bytes.data(), 100));
  EXPECT_EQ(bytes, std::vector<uint8_t>(100, 0));
  ByteDecoder literals(Stream(Hex("fe4445")));
  ASSERT_OK(literals.Read(bytes.data(), 2));
  EXPECT_EQ(bytes[0], 0x44);
  EXPECT_EQ(bytes[1], 0x45);
  BitDecoder bit(Stream(Hex("ff80")));
  ASSERT_OK(bit.Read(bytes.data(), 8));
  EXPECT_EQ(bytes[0], 1);  // lowest bit first

  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<bool> bits;
    while (bits.size() < 3000) {
      const bool same = random() % 2 == 0;
      for (uint64_t k = random() % 300; k > 0; --k) bits.push_back(same || random() % 2 == 0);
    }
    BitEncoder encoder(codec_.get());
    for (size_t i = 0; i < bits.size(); ++i) {
      encoder.Add(bits[i]);
      if (random() % 500 == 0) {
        ASSERT_OK(encoder.Flush());
      }
    }
    BitDecoder decoder(Stream(Unwrap(encoder.Take())));
    for (size_t first = 0; first < bits.size();) {
      const size_t n = std::min<size_t>(bits.size() - first, 1 + random() % 40);
      uint8_t out[8];
      ASSERT_OK(decoder.Read(out, static_cast<int64_t>(n)));
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ((out[i / 8] >> (i % 8) & 1) != 0, bits[first + i]) << first + i;
      }
      if (n % 8 != 0) {
        ASSERT_EQ(out[n / 8] >> (n % 8), 0);
      }
      first += n;
    }
  }
}

}  // namespace
}  // namespace kelda
