#include "kelda/format/orc/column_reader.h"

#include <algorithm>
#include <cstring>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "kelda/format/orc/run_decoder.h"

namespace kelda {
namespace {

/// Elements of lists are read in parts of this, so that a lying length meets the end of the stream
/// before it is allocated.
constexpr int64_t kElementsStep = 1 << 18;
constexpr int64_t kElementsMax = 2147483646;

template <typename T>
void Spread(T* values, int64_t rows, int64_t valid, const uint8_t* bits) {
  int64_t from = valid;
  for (int64_t row = rows - 1; row >= 0; --row) {
    if (row + 1 == from) return;  // the rest stands where it belongs
    if (arrow::bit_util::GetBit(bits, row)) {
      values[row] = values[--from];
    } else {
      values[row] = T{};
    }
  }
}

/// A column that the file lacks.
class MissingReader : public ColumnReader {
 public:
  explicit MissingReader(std::shared_ptr<arrow::DataType> type) : type_(std::move(type)) {}

  arrow::Result<std::shared_ptr<arrow::ArrayData>> Read(int64_t rows, const OrcValidity&) override {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(type_, rows));
    return nulls->data();
  }
  arrow::Status Seek(const OrcRowIndexes&, size_t) override { return arrow::Status::OK(); }

 private:
  const std::shared_ptr<arrow::DataType> type_;
};

class StructReader : public PresentReader {
 public:
  StructReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type,
               uint32_t column, bool nullable, std::vector<std::unique_ptr<ColumnReader>> members)
      : PresentReader(source, std::move(type), column, nullable), members_(std::move(members)) {}

  arrow::Result<std::shared_ptr<arrow::ArrayData>> Read(int64_t rows,
                                                        const OrcValidity& parent) override {
    ARROW_ASSIGN_OR_RAISE(auto own, ReadPresent(rows, parent));
    auto data = MakeData(rows, own, parent, {});
    for (const auto& member : members_) {
      ARROW_ASSIGN_OR_RAISE(auto child, member->Read(rows, own));
      data->child_data.push_back(std::move(child));
    }
    return data;
  }
  arrow::Status Seek(const OrcRowIndexes& indexes, size_t group) override {
    ARROW_RETURN_NOT_OK(PresentReader::Seek(indexes, group));
    for (const auto& member : members_) ARROW_RETURN_NOT_OK(member->Seek(indexes, group));
    return arrow::Status::OK();
  }

 protected:
  arrow::Status SeekStreams(OrcPositions*) override { return arrow::Status::OK(); }

 private:
  std::vector<std::unique_ptr<ColumnReader>> members_;
};

/// Lists, and maps as lists of keys and values.
class ListReader : public PresentReader {
 public:
  ListReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type, uint32_t column,
             bool nullable, std::vector<std::unique_ptr<ColumnReader>> children)
      : PresentReader(source, std::move(type), column, nullable), children_(std::move(children)) {
    const OrcEncoding encoding = source.footer->encodings[column].kind;
    auto lengths = source.Open(column, OrcStreamKind::kLength);
    if (lengths) {
      lengths_ = std::make_unique<IntDecoder>(std::move(lengths), false,
                                              encoding == OrcEncoding::kDirectV2);
    }
  }

  arrow::Result<std::shared_ptr<arrow::ArrayData>> Read(int64_t rows,
                                                        const OrcValidity& parent) override {
    ARROW_ASSIGN_OR_RAISE(auto own, ReadPresent(rows, parent));
    ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((rows + 1) * 4));
    ARROW_ASSIGN_OR_RAISE(int64_t elements,
                          ReadOffsets(rows, own, offsets->mutable_data_as<int32_t>()));
    auto data = MakeData(rows, own, parent, {std::move(offsets)});
    std::vector<std::shared_ptr<arrow::ArrayData>> children;
    for (const auto& child : children_) {
      ARROW_ASSIGN_OR_RAISE(auto values, ReadElements(child.get(), elements));
      children.push_back(std::move(values));
    }
    if (type_->id() == arrow::Type::LIST) {
      data->child_data = std::move(children);
      return data;
    }
    if (children[0]->GetNullCount() != 0) return Error("a map has a null key");
    auto entries = arrow::ArrayData::Make(type_->field(0)->type(), elements, {nullptr}, 0);
    entries->child_data = std::move(children);
    data->child_data.push_back(std::move(entries));
    return data;
  }
  arrow::Status Seek(const OrcRowIndexes& indexes, size_t group) override {
    ARROW_RETURN_NOT_OK(PresentReader::Seek(indexes, group));
    for (const auto& child : children_) ARROW_RETURN_NOT_OK(child->Seek(indexes, group));
    return arrow::Status::OK();
  }

 protected:
  arrow::Status SeekStreams(OrcPositions* positions) override {
    return lengths_ ? lengths_->Seek(positions) : arrow::Status::OK();
  }

 private:
  arrow::Result<int64_t> ReadOffsets(int64_t rows, const OrcValidity& own, int32_t* out) {
    scratch_.resize(static_cast<size_t>(rows));
    if (own.valid > 0) {
      if (!lengths_) return Error("the LENGTH stream is missing");
      ARROW_RETURN_NOT_OK(lengths_->Read(scratch_.data(), own.valid));
    }
    int64_t total = 0;
    for (int64_t i = 0; i < own.valid; ++i) {
      if (scratch_[static_cast<size_t>(i)] < 0) return Error("a negative length");
      total += std::min(scratch_[static_cast<size_t>(i)], kElementsMax + 1);
      if (total > kElementsMax) {
        return arrow::Status::CapacityError("column ", column_,
                                            ": more elements than one batch can hold");
      }
    }
    if (own.valid < rows) {
      SpreadValues(reinterpret_cast<uint8_t*>(scratch_.data()), 8, rows, own.valid,
                   own.bits->data());
    }
    int64_t at = 0;
    for (int64_t row = 0; row < rows; ++row) {
      out[row] = static_cast<int32_t>(at);
      at += scratch_[static_cast<size_t>(row)];
    }
    out[rows] = static_cast<int32_t>(at);
    return total;
  }

  static arrow::Result<std::shared_ptr<arrow::ArrayData>> ReadElements(ColumnReader* child,
                                                                       int64_t n) {
    if (n <= kElementsStep) return child->Read(n, {nullptr, n});
    arrow::ArrayVector parts;
    for (int64_t first = 0; first < n; first += kElementsStep) {
      const int64_t part = std::min(kElementsStep, n - first);
      ARROW_ASSIGN_OR_RAISE(auto data, child->Read(part, {nullptr, part}));
      parts.push_back(arrow::MakeArray(data));
    }
    ARROW_ASSIGN_OR_RAISE(auto whole, arrow::Concatenate(parts));
    return whole->data();
  }

  std::unique_ptr<IntDecoder> lengths_;
  std::vector<std::unique_ptr<ColumnReader>> children_;
  std::vector<int64_t> scratch_;
};

arrow::Status WrongKind(const OrcStripeSource& source, const DataType& wanted, uint32_t column,
                        const std::string& name) {
  return Corruption("{}: column '{}' of type {} is stored as {}", source.path, name,
                    wanted.ToString(), ToString((*source.types)[column].kind));
}

using Reader = arrow::Result<std::unique_ptr<ColumnReader>>;

Reader MakeStruct(const OrcStripeSource& source, const DataType& wanted,
                  const std::shared_ptr<arrow::DataType>& type, uint32_t column,
                  const std::string& name) {
  std::vector<std::unique_ptr<ColumnReader>> members;
  for (size_t i = 0; i < wanted.fields().size(); ++i) {
    const DataField& field = wanted.fields()[i];
    ARROW_ASSIGN_OR_RAISE(
        auto member,
        MakeColumnReader(source, field.type, type->field(static_cast<int>(i))->type(),
                         FindOrcChild(*source.types, column, field.name), name + "." + field.name));
    members.push_back(std::move(member));
  }
  return std::make_unique<StructReader>(source, type, column, wanted.nullable(),
                                        std::move(members));
}

Reader MakeMap(const OrcStripeSource& source, const DataType& wanted, const DataType& key,
               const DataType& value, const std::shared_ptr<arrow::DataType>& type, uint32_t column,
               const std::string& name) {
  const OrcType& file = (*source.types)[column];
  const auto& map = static_cast<const arrow::MapType&>(*type);
  std::vector<std::unique_ptr<ColumnReader>> children(2);
  ARROW_ASSIGN_OR_RAISE(children[0],
                        MakeColumnReader(source, key.WithNullable(false), map.key_type(),
                                         file.children[0], name + ".key"));
  ARROW_ASSIGN_OR_RAISE(children[1], MakeColumnReader(source, value, map.item_type(),
                                                      file.children[1], name + ".value"));
  return std::make_unique<ListReader>(source, type, column, wanted.nullable(), std::move(children));
}

}  // namespace

void SpreadValues(uint8_t* values, int width, int64_t rows, int64_t valid, const uint8_t* bits) {
  switch (width) {
    case 1:
      return Spread(values, rows, valid, bits);
    case 2:
      return Spread(reinterpret_cast<uint16_t*>(values), rows, valid, bits);
    case 4:
      return Spread(reinterpret_cast<uint32_t*>(values), rows, valid, bits);
    case 8:
      return Spread(reinterpret_cast<uint64_t*>(values), rows, valid, bits);
    default:
      return Spread(reinterpret_cast<unsigned __int128*>(values), rows, valid, bits);
  }
}

std::unique_ptr<InStream> OrcStripeSource::Open(uint32_t column, OrcStreamKind kind) const {
  for (size_t i = 0; i < footer->streams.size(); ++i) {
    const OrcStreamInfo& stream = footer->streams[i];
    if (stream.column != column || stream.kind != kind) continue;
    auto found = pieces.find(i);
    return std::make_unique<InStream>(
        fmt::format("{}: column {} stream {}", path, column, ToString(kind)),
        static_cast<int64_t>(stream.offset), static_cast<int64_t>(stream.length),
        found == pieces.end() ? std::vector<OrcPiece>{} : found->second, codec);
  }
  return nullptr;
}

PresentReader::PresentReader(const OrcStripeSource& source, std::shared_ptr<arrow::DataType> type,
                             uint32_t column, bool nullable)
    : type_(std::move(type)),
      column_(column),
      name_(fmt::format("{}: column {}", source.path, column)),
      nullable_(nullable) {
  if (auto stream = source.Open(column, OrcStreamKind::kPresent)) {
    present_ = std::make_unique<BitDecoder>(std::move(stream));
  }
}

PresentReader::~PresentReader() = default;

arrow::Status PresentReader::Error(std::string_view what) const {
  return Corruption("{}: {}", name_, what);
}

arrow::Status PresentReader::Seek(const OrcRowIndexes& indexes, size_t group) {
  auto found = indexes.find(column_);
  if (found == indexes.end() || group >= found->second.size()) {
    return Error("the row index has too few entries");
  }
  OrcPositions positions(found->second[group].positions);
  arrow::Status status;
  if (present_) status = present_->Seek(&positions);
  if (status.ok()) status = SeekStreams(&positions);
  return WithContext(status, name_);
}

arrow::Result<OrcValidity> PresentReader::ReadPresent(int64_t rows, const OrcValidity& parent) {
  if (!present_) return parent;
  OrcValidity own;
  ARROW_ASSIGN_OR_RAISE(auto bits, arrow::AllocateBuffer((rows + 7) / 8));
  uint8_t* out = bits->mutable_data();
  ARROW_RETURN_NOT_OK(present_->Read(out, parent.valid));
  own.valid = arrow::internal::CountSetBits(out, 0, parent.valid);
  if (parent.bits) {
    // A bit for each row that the parent has; from the back, so that none is overwritten.
    int64_t from = parent.valid;
    for (int64_t row = rows - 1; row >= 0; --row) {
      const bool there = arrow::bit_util::GetBit(parent.bits->data(), row);
      const bool set = there && arrow::bit_util::GetBit(out, --from);
      arrow::bit_util::SetBitTo(out, row, set);
    }
  }
  if (own.valid < rows) own.bits = std::move(bits);
  return own;
}

std::shared_ptr<arrow::Buffer> PresentReader::BitsOf(const OrcValidity& own,
                                                     const OrcValidity& parent) const {
  return !nullable_ && own.valid == parent.valid ? nullptr : own.bits;
}

std::shared_ptr<arrow::ArrayData> PresentReader::MakeData(
    int64_t rows, const OrcValidity& own, const OrcValidity& parent,
    std::vector<std::shared_ptr<arrow::Buffer>> buffers) const {
  auto bits = BitsOf(own, parent);
  const int64_t nulls = bits ? rows - own.valid : 0;
  buffers.insert(buffers.begin(), std::move(bits));
  return arrow::ArrayData::Make(type_, rows, std::move(buffers), nulls);
}

int64_t FindOrcChild(const std::vector<OrcType>& types, uint32_t parent, const std::string& name) {
  const OrcType& type = types[parent];
  const auto found = std::find(type.names.begin(), type.names.end(), name);
  if (found == type.names.end()) return -1;
  return int64_t{type.children[static_cast<size_t>(found - type.names.begin())]};
}

void CollectOrcColumns(const std::vector<OrcType>& types, const DataType& wanted, uint32_t column,
                       std::vector<uint32_t>* out) {
  out->push_back(column);
  const OrcType& type = types[column];
  switch (wanted.root()) {
    case TypeRoot::kArray:
      if (type.kind == OrcKind::kList) {
        CollectOrcColumns(types, wanted.element(), type.children[0], out);
      }
      return;
    case TypeRoot::kMultiset:
    case TypeRoot::kMap: {
      if (type.kind != OrcKind::kMap) return;
      const bool map = wanted.root() == TypeRoot::kMap;
      CollectOrcColumns(types, map ? wanted.key() : wanted.element(), type.children[0], out);
      CollectOrcColumns(types, map ? wanted.value() : DataType(TypeRoot::kInt), type.children[1],
                        out);
      return;
    }
    case TypeRoot::kRow:
      if (type.kind != OrcKind::kStruct) return;
      for (const DataField& field : wanted.fields()) {
        const int64_t child = FindOrcChild(types, column, field.name);
        if (child >= 0) {
          CollectOrcColumns(types, field.type, static_cast<uint32_t>(child), out);
        }
      }
      return;
    default:
      return;
  }
}

arrow::Result<std::unique_ptr<ColumnReader>> MakeColumnReader(
    const OrcStripeSource& source, const DataType& wanted,
    const std::shared_ptr<arrow::DataType>& type, int64_t column, const std::string& name) {
  if (column < 0) return std::make_unique<MissingReader>(type);
  const auto id = static_cast<uint32_t>(column);
  const OrcType& file = (*source.types)[id];
  switch (wanted.root()) {
    case TypeRoot::kArray: {
      if (file.kind != OrcKind::kList) return WrongKind(source, wanted, id, name);
      std::vector<std::unique_ptr<ColumnReader>> children(1);
      ARROW_ASSIGN_OR_RAISE(children[0],
                            MakeColumnReader(source, wanted.element(), type->field(0)->type(),
                                             file.children[0], name + ".element"));
      return std::make_unique<ListReader>(source, type, id, wanted.nullable(), std::move(children));
    }
    case TypeRoot::kMap:
      if (file.kind != OrcKind::kMap) return WrongKind(source, wanted, id, name);
      return MakeMap(source, wanted, wanted.key(), wanted.value(), type, id, name);
    case TypeRoot::kMultiset:
      if (file.kind != OrcKind::kMap) return WrongKind(source, wanted, id, name);
      return MakeMap(source, wanted, wanted.element(), DataType(TypeRoot::kInt, false), type, id,
                     name);
    case TypeRoot::kRow:
      if (file.kind != OrcKind::kStruct) return WrongKind(source, wanted, id, name);
      return MakeStruct(source, wanted, type, id, name);
    default:
      return MakeLeafReader(source, wanted, type, id, name);
  }
}

}  // namespace kelda
