#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "kelda/base/status.h"

namespace kelda {

enum class OrcCompression : uint8_t { kNone, kZlib, kSnappy, kLzo, kLz4, kZstd, kBrotli };
std::string_view ToString(OrcCompression compression);

struct OrcPostScript {
  uint64_t footer_length = 0;
  uint64_t metadata_length = 0;
  OrcCompression compression = OrcCompression::kNone;
  uint64_t block_size = 256 << 10;  ///< most bytes of a decompressed chunk
  uint32_t writer_version = 0;
};

enum class OrcKind : uint8_t {
  kBoolean,
  kByte,
  kShort,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kString,
  kBinary,
  kTimestamp,
  kList,
  kMap,
  kStruct,
  kUnion,
  kDecimal,
  kDate,
  kVarchar,
  kChar,
  kTimestampInstant,
};
std::string_view ToString(OrcKind kind);

/// A column of the file: columns are numbered depth first, the root is 0.
struct OrcType {
  OrcKind kind = OrcKind::kStruct;
  std::vector<uint32_t> children;
  std::vector<std::string> names;  ///< of a struct's children
  uint32_t maximum_length = 0;     ///< char, varchar
  uint32_t precision = 0;
  uint32_t scale = 0;
  std::map<std::string, std::string> attributes;
};

struct OrcStripe {
  uint64_t offset = 0;
  uint64_t index_length = 0;
  uint64_t data_length = 0;
  uint64_t footer_length = 0;
  uint64_t rows = 0;
};

enum class OrcStreamKind : uint8_t {
  kPresent = 0,
  kData = 1,
  kLength = 2,
  kDictionaryData = 3,
  kDictionaryCount = 4,
  kSecondary = 5,
  kRowIndex = 6,
  kBloomFilter = 7,
  kBloomFilterUtf8 = 8,
  kOther = 255,
};
std::string_view ToString(OrcStreamKind kind);

struct OrcStreamInfo {
  OrcStreamKind kind = OrcStreamKind::kOther;
  uint32_t column = 0;
  uint64_t offset = 0;  ///< in the file
  uint64_t length = 0;
};

enum class OrcEncoding : uint8_t { kDirect, kDictionary, kDirectV2, kDictionaryV2 };

struct OrcColumnEncoding {
  OrcEncoding kind = OrcEncoding::kDirect;
  uint64_t dictionary_size = 0;
};

struct OrcStripeFooter {
  std::vector<OrcStreamInfo> streams;
  std::vector<OrcColumnEncoding> encodings;  ///< per column
  std::string writer_zone;
};

/// The footer; `statistics` are left as bytes of it and parsed when they are asked for.
struct OrcFooter {
  std::vector<OrcStripe> stripes;
  std::vector<OrcType> types;
  uint64_t rows = 0;
  uint32_t row_index_stride = 0;
  std::vector<std::string_view> statistics;  ///< per column, or empty
};

/// An entry of a column's row index.
struct OrcIndexEntry {
  std::vector<uint64_t> positions;
  std::string_view statistics;
};

// Parsers of messages whose bytes may be hostile; views in the results borrow `bytes`.

arrow::Result<OrcPostScript> ParsePostScript(std::string_view bytes);
/// Types form one tree, numbered depth first and not too deep; stripes do not overlap and lie
/// within `body_length` bytes; row counts add up.
arrow::Result<OrcFooter> ParseFooter(std::string_view bytes, uint64_t body_length);
/// Streams lie within the stripe and there is an encoding for each of `columns`.
arrow::Result<OrcStripeFooter> ParseStripeFooter(std::string_view bytes, const OrcStripe& stripe,
                                                 size_t columns);
arrow::Result<std::vector<OrcIndexEntry>> ParseRowIndex(std::string_view bytes);
/// Statistics of the columns per stripe: result[stripe][column]; a stripe without is empty.
arrow::Result<std::vector<std::vector<std::string_view>>> ParseStripeStatistics(
    std::string_view bytes, size_t columns);

// What a writer puts into a file.

std::string SerializeType(const OrcType& type);
std::string SerializeStripe(const OrcStripe& stripe);
std::string SerializeStripeFooter(const OrcStripeFooter& footer);
std::string SerializePostScript(const OrcPostScript& post_script);

}  // namespace kelda
