#include "kelda/format/orc/orc_metadata.h"

#include <array>

#include "kelda/format/orc/orc_wire.h"

namespace kelda {
namespace {

constexpr std::string_view kMagic = "ORC";
/// A chunk's length has 23 bits.
constexpr uint64_t kBlockSizeMax = uint64_t{1} << 23;
constexpr int kDepthMax = 200;
constexpr size_t kTypesMax = 1 << 20;
/// Rows of a stripe per byte of data: more cannot come even from long runs of nulls that are
/// compressed well. Keeps a lying row count from being taken for rows without data.
constexpr uint64_t kRowsPerByteMax = uint64_t{1} << 23;

constexpr std::array<std::string_view, 7> kCompressionNames = {"none", "zlib", "snappy", "lzo",
                                                               "lz4",  "zstd", "brotli"};
constexpr std::array<std::string_view, 19> kKindNames = {"boolean",
                                                         "tinyint",
                                                         "smallint",
                                                         "int",
                                                         "bigint",
                                                         "float",
                                                         "double",
                                                         "string",
                                                         "binary",
                                                         "timestamp",
                                                         "list",
                                                         "map",
                                                         "struct",
                                                         "uniontype",
                                                         "decimal",
                                                         "date",
                                                         "varchar",
                                                         "char",
                                                         "timestamp with local time zone"};

arrow::Status Take(const WireReader& reader, const WireField& field, uint64_t* out) {
  *out = field.value;
  return reader.Expect(field, WireField::kVarint);
}

arrow::Status Take32(const WireReader& reader, const WireField& field, uint32_t* out) {
  ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kVarint));
  if (field.value >> 32 != 0) return Corruption("field {} is out of range", field.number);
  *out = static_cast<uint32_t>(field.value);
  return arrow::Status::OK();
}

arrow::Status TakeText(const WireReader& reader, const WireField& field, std::string* out) {
  *out = field.bytes;
  return reader.Expect(field, WireField::kBytes);
}

arrow::Status ParseAttribute(std::string_view bytes, std::map<std::string, std::string>* out) {
  std::string key;
  std::string value;
  ARROW_RETURN_NOT_OK(
      ForEachField(bytes, "type attribute", [&](const auto& reader, const WireField& field) {
        if (field.number == 1) return TakeText(reader, field, &key);
        if (field.number == 2) return TakeText(reader, field, &value);
        return arrow::Status::OK();
      }));
  (*out)[key] = value;
  return arrow::Status::OK();
}

arrow::Result<OrcType> ParseType(std::string_view bytes) {
  OrcType type;
  uint32_t kind = 0;
  ARROW_RETURN_NOT_OK(
      ForEachField(bytes, "type", [&](const auto& reader, const WireField& field) -> arrow::Status {
        switch (field.number) {
          case 1:
            return Take32(reader, field, &kind);
          case 2:
            return ForEachNumber(reader, field, [&](uint64_t child) -> arrow::Status {
              if (child >= kTypesMax) return Corruption("type {} is out of range", child);
              type.children.push_back(static_cast<uint32_t>(child));
              return arrow::Status::OK();
            });
          case 3:
            type.names.emplace_back();
            return TakeText(reader, field, &type.names.back());
          case 4:
            return Take32(reader, field, &type.maximum_length);
          case 5:
            return Take32(reader, field, &type.precision);
          case 6:
            return Take32(reader, field, &type.scale);
          case 7:
            ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
            return ParseAttribute(field.bytes, &type.attributes);
          default:
            return arrow::Status::OK();
        }
      }));
  if (kind >= kKindNames.size()) return Unsupported("type kind {} in ORC files", kind);
  type.kind = static_cast<OrcKind>(kind);
  return type;
}

arrow::Result<OrcStripe> ParseStripe(std::string_view bytes) {
  OrcStripe stripe;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "stripe", [&](const auto& reader, const WireField& field) -> arrow::Status {
        switch (field.number) {
          case 1:
            return Take(reader, field, &stripe.offset);
          case 2:
            return Take(reader, field, &stripe.index_length);
          case 3:
            return Take(reader, field, &stripe.data_length);
          case 4:
            return Take(reader, field, &stripe.footer_length);
          case 5:
            return Take(reader, field, &stripe.rows);
          case 6:
          case 7:
            return Unsupported("encrypted ORC files");
          default:
            return arrow::Status::OK();
        }
      }));
  return stripe;
}

/// Checks that the types below `id` are numbered depth first and leaves the number behind them in
/// `next`.
arrow::Status CheckTree(const std::vector<OrcType>& types, uint32_t id, int depth, uint32_t* next) {
  if (depth > kDepthMax) return Corruption("types are nested more than {} levels deep", kDepthMax);
  if (id != *next || id >= types.size()) return Corruption("type {} is out of order", id);
  *next = id + 1;
  const OrcType& type = types[id];
  size_t expected = 0;
  switch (type.kind) {
    case OrcKind::kList:
      expected = 1;
      break;
    case OrcKind::kMap:
      expected = 2;
      break;
    case OrcKind::kStruct:
      expected = type.names.size();
      break;
    case OrcKind::kUnion:
      expected = type.children.size();
      break;
    default:
      break;
  }
  if (type.children.size() != expected) {
    return Corruption("type {} ({}) has {} children", id, ToString(type.kind),
                      type.children.size());
  }
  for (uint32_t child : type.children) {
    ARROW_RETURN_NOT_OK(CheckTree(types, child, depth + 1, next));
  }
  return arrow::Status::OK();
}

arrow::Status CheckFooter(const OrcFooter& footer, uint64_t body_length) {
  uint32_t next = 0;
  ARROW_RETURN_NOT_OK(CheckTree(footer.types, 0, 0, &next));
  if (next != footer.types.size()) return Corruption("type {} belongs to no other", next);
  if (footer.types[0].kind != OrcKind::kStruct) return Corruption("the root is no struct");
  if (!footer.statistics.empty() && footer.statistics.size() != footer.types.size()) {
    return Corruption("{} columns have {} statistics", footer.types.size(),
                      footer.statistics.size());
  }
  uint64_t end = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < footer.stripes.size(); ++i) {
    const OrcStripe& stripe = footer.stripes[i];
    uint64_t left = body_length;
    for (uint64_t part :
         {stripe.offset, stripe.index_length, stripe.data_length, stripe.footer_length}) {
      if (part > left) return Corruption("stripe {} does not lie within the file", i);
      left -= part;
    }
    if (stripe.offset < end) return Corruption("stripe {} lies in the one before", i);
    end = body_length - left;
    if (stripe.rows / kRowsPerByteMax > stripe.data_length || stripe.rows > (uint64_t{1} << 48)) {
      return Corruption("stripe {} has {} rows in {} bytes", i, stripe.rows, stripe.data_length);
    }
    rows += stripe.rows;
    if (rows > footer.rows) break;
  }
  if (rows != footer.rows) {
    return Corruption("the stripes have {} rows together, the file {}", rows, footer.rows);
  }
  return arrow::Status::OK();
}

OrcStreamKind StreamKindOf(uint64_t kind) {
  return kind <= 8 ? static_cast<OrcStreamKind>(kind) : OrcStreamKind::kOther;
}

arrow::Result<OrcStreamInfo> ParseStream(std::string_view bytes) {
  OrcStreamInfo stream;
  uint64_t kind = 0;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "stream", [&](const auto& reader, const WireField& field) -> arrow::Status {
        switch (field.number) {
          case 1:
            return Take(reader, field, &kind);
          case 2:
            return Take32(reader, field, &stream.column);
          case 3:
            return Take(reader, field, &stream.length);
          default:
            return arrow::Status::OK();
        }
      }));
  stream.kind = StreamKindOf(kind);
  return stream;
}

arrow::Result<OrcColumnEncoding> ParseEncoding(std::string_view bytes) {
  OrcColumnEncoding encoding;
  uint64_t kind = 0;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "column encoding", [&](const auto& reader, const WireField& field) -> arrow::Status {
        if (field.number == 1) return Take(reader, field, &kind);
        if (field.number == 2) return Take(reader, field, &encoding.dictionary_size);
        return arrow::Status::OK();
      }));
  if (kind > 3) return Unsupported("column encoding {} in ORC files", kind);
  encoding.kind = static_cast<OrcEncoding>(kind);
  return encoding;
}

arrow::Result<OrcIndexEntry> ParseIndexEntry(std::string_view bytes) {
  OrcIndexEntry entry;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "row index entry", [&](const auto& reader, const WireField& field) -> arrow::Status {
        if (field.number == 1) {
          return ForEachNumber(reader, field, [&](uint64_t position) {
            entry.positions.push_back(position);
            return arrow::Status::OK();
          });
        }
        if (field.number == 2) {
          entry.statistics = field.bytes;
          return reader.Expect(field, WireField::kBytes);
        }
        return arrow::Status::OK();
      }));
  return entry;
}

}  // namespace

std::string_view ToString(OrcCompression compression) {
  return kCompressionNames[static_cast<size_t>(compression)];
}

std::string_view ToString(OrcKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

std::string_view ToString(OrcStreamKind kind) {
  constexpr std::array<std::string_view, 9> kNames = {
      "PRESENT",   "DATA",      "LENGTH",       "DICTIONARY_DATA",  "DICTIONARY_COUNT",
      "SECONDARY", "ROW_INDEX", "BLOOM_FILTER", "BLOOM_FILTER_UTF8"};
  const auto index = static_cast<size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

arrow::Result<OrcPostScript> ParsePostScript(std::string_view bytes) {
  OrcPostScript post;
  uint64_t compression = 0;
  std::string magic;
  std::vector<uint64_t> version;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "postscript", [&](const auto& reader, const WireField& field) -> arrow::Status {
        switch (field.number) {
          case 1:
            return Take(reader, field, &post.footer_length);
          case 2:
            return Take(reader, field, &compression);
          case 3:
            return Take(reader, field, &post.block_size);
          case 4:
            return ForEachNumber(reader, field, [&](uint64_t part) {
              version.push_back(part);
              return arrow::Status::OK();
            });
          case 5:
            return Take(reader, field, &post.metadata_length);
          case 6:
            return Take32(reader, field, &post.writer_version);
          case 8000:
            return TakeText(reader, field, &magic);
          default:
            return arrow::Status::OK();
        }
      }));
  if (magic != kMagic) return Corruption("the postscript does not say that it is an ORC file");
  if (!version.empty() && (version[0] > 0 || (version.size() > 1 && version[1] > 12))) {
    return Unsupported("ORC files of version {}", fmt::join(version, "."));
  }
  if (compression >= kCompressionNames.size()) {
    return Unsupported("compression {} in ORC files", compression);
  }
  post.compression = static_cast<OrcCompression>(compression);
  if (post.compression == OrcCompression::kLzo || post.compression == OrcCompression::kBrotli) {
    return Unsupported("compression {} in ORC files", ToString(post.compression));
  }
  if (post.compression != OrcCompression::kNone &&
      (post.block_size == 0 || post.block_size > kBlockSizeMax)) {
    return Corruption("the compression block size is {}", post.block_size);
  }
  return post;
}

arrow::Result<OrcFooter> ParseFooter(std::string_view bytes, uint64_t body_length) {
  OrcFooter footer;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "footer", [&](const auto& reader, const WireField& field) -> arrow::Status {
        switch (field.number) {
          case 3: {
            ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
            ARROW_ASSIGN_OR_RAISE(auto stripe, ParseStripe(field.bytes));
            footer.stripes.push_back(stripe);
            return arrow::Status::OK();
          }
          case 4: {
            ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
            if (footer.types.size() == kTypesMax) return Corruption("too many columns");
            ARROW_ASSIGN_OR_RAISE(auto type, ParseType(field.bytes));
            footer.types.push_back(std::move(type));
            return arrow::Status::OK();
          }
          case 6:
            return Take(reader, field, &footer.rows);
          case 7:
            footer.statistics.push_back(field.bytes);
            return reader.Expect(field, WireField::kBytes);
          case 8:
            return Take32(reader, field, &footer.row_index_stride);
          case 10:
            return Unsupported("encrypted ORC files");
          default:
            return arrow::Status::OK();
        }
      }));
  ARROW_RETURN_NOT_OK(CheckFooter(footer, body_length));
  return footer;
}

arrow::Result<OrcStripeFooter> ParseStripeFooter(std::string_view bytes, const OrcStripe& stripe,
                                                 size_t columns) {
  OrcStripeFooter footer;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "stripe footer", [&](const auto& reader, const WireField& field) -> arrow::Status {
        switch (field.number) {
          case 1: {
            ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
            ARROW_ASSIGN_OR_RAISE(auto stream, ParseStream(field.bytes));
            footer.streams.push_back(stream);
            return arrow::Status::OK();
          }
          case 2: {
            ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
            ARROW_ASSIGN_OR_RAISE(auto encoding, ParseEncoding(field.bytes));
            footer.encodings.push_back(encoding);
            return arrow::Status::OK();
          }
          case 3:
            return TakeText(reader, field, &footer.writer_zone);
          case 4:
            return Unsupported("encrypted ORC files");
          default:
            return arrow::Status::OK();
        }
      }));
  if (footer.encodings.size() != columns) {
    return Corruption("{} columns have {} encodings", columns, footer.encodings.size());
  }
  uint64_t offset = stripe.offset;
  uint64_t left = stripe.index_length + stripe.data_length;
  for (OrcStreamInfo& stream : footer.streams) {
    if (stream.length > left) {
      return Corruption("stream {} of column {} does not lie within the stripe",
                        ToString(stream.kind), stream.column);
    }
    stream.offset = offset;
    offset += stream.length;
    left -= stream.length;
  }
  return footer;
}

arrow::Result<std::vector<OrcIndexEntry>> ParseRowIndex(std::string_view bytes) {
  std::vector<OrcIndexEntry> entries;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "row index", [&](const auto& reader, const WireField& field) -> arrow::Status {
        if (field.number != 1) return arrow::Status::OK();
        ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
        ARROW_ASSIGN_OR_RAISE(auto entry, ParseIndexEntry(field.bytes));
        entries.push_back(std::move(entry));
        return arrow::Status::OK();
      }));
  return entries;
}

arrow::Result<std::vector<std::vector<std::string_view>>> ParseStripeStatistics(
    std::string_view bytes, size_t columns) {
  std::vector<std::vector<std::string_view>> stripes;
  ARROW_RETURN_NOT_OK(ForEachField(
      bytes, "stripe statistics", [&](const auto& reader, const WireField& field) -> arrow::Status {
        if (field.number != 1) return arrow::Status::OK();
        ARROW_RETURN_NOT_OK(reader.Expect(field, WireField::kBytes));
        std::vector<std::string_view> statistics;
        ARROW_RETURN_NOT_OK(
            ForEachField(field.bytes, "stripe statistics",
                         [&](const auto& inner, const WireField& column) -> arrow::Status {
                           if (column.number != 1) return arrow::Status::OK();
                           statistics.push_back(column.bytes);
                           return inner.Expect(column, WireField::kBytes);
                         }));
        if (!statistics.empty() && statistics.size() != columns) {
          return Corruption("{} columns have {} statistics in a stripe", columns,
                            statistics.size());
        }
        stripes.push_back(std::move(statistics));
        return arrow::Status::OK();
      }));
  return stripes;
}

std::string SerializeType(const OrcType& type) {
  WireWriter out;
  out.Number(1, static_cast<uint64_t>(type.kind));
  if (!type.children.empty()) {
    WireWriter children;
    for (uint32_t child : type.children) children.Varint(child);
    out.Message(2, children);
  }
  for (const auto& name : type.names) out.Bytes(3, name);
  if (type.kind == OrcKind::kChar || type.kind == OrcKind::kVarchar) {
    out.Number(4, type.maximum_length);
  }
  if (type.kind == OrcKind::kDecimal) {
    out.Number(5, type.precision);
    out.Number(6, type.scale);
  }
  for (const auto& [key, value] : type.attributes) {
    WireWriter pair;
    pair.Bytes(1, key);
    pair.Bytes(2, value);
    out.Message(7, pair);
  }
  return out.Take();
}

std::string SerializeStripe(const OrcStripe& stripe) {
  WireWriter out;
  out.Number(1, stripe.offset);
  out.Number(2, stripe.index_length);
  out.Number(3, stripe.data_length);
  out.Number(4, stripe.footer_length);
  out.Number(5, stripe.rows);
  return out.Take();
}

std::string SerializeStripeFooter(const OrcStripeFooter& footer) {
  WireWriter out;
  for (const auto& stream : footer.streams) {
    WireWriter message;
    message.Number(1, static_cast<uint64_t>(stream.kind));
    message.Number(2, stream.column);
    message.Number(3, stream.length);
    out.Message(1, message);
  }
  for (const auto& encoding : footer.encodings) {
    WireWriter message;
    message.Number(1, static_cast<uint64_t>(encoding.kind));
    if (encoding.kind == OrcEncoding::kDictionary || encoding.kind == OrcEncoding::kDictionaryV2) {
      message.Number(2, encoding.dictionary_size);
    }
    out.Message(2, message);
  }
  out.Bytes(3, footer.writer_zone);
  return out.Take();
}

std::string SerializePostScript(const OrcPostScript& post) {
  WireWriter out;
  out.Number(1, post.footer_length);
  out.Number(2, static_cast<uint64_t>(post.compression));
  out.Number(3, post.block_size);
  WireWriter version;
  version.Varint(0);
  version.Varint(12);
  out.Message(4, version);
  out.Number(5, post.metadata_length);
  out.Number(6, post.writer_version);
  out.Bytes(8000, kMagic);
  return out.Take();
}

}  // namespace kelda
