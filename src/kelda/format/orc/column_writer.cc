#include "kelda/format/orc/column_writer.h"

#include <utility>

#include <arrow/array.h>
#include <arrow/util/bit_run_reader.h>
#include <arrow/util/bit_util.h>

#include "kelda/format/orc/orc_wire.h"

namespace kelda {
namespace {

using Stream = OrcStripeParts::Stream;

OrcStatistics CountStatistics() { return OrcStatistics(OrcStatistics::Form::kCount, nullptr); }

class StructWriter : public ColumnWriter {
 public:
  StructWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
               std::vector<std::unique_ptr<ColumnWriter>> members)
      : ColumnWriter(settings, codec, column, CountStatistics()) {
    children_ = std::move(members);
  }

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const auto& rows = static_cast<const arrow::StructArray&>(values);
    group_.AddCount(n);
    for (size_t i = 0; i < children_.size(); ++i) {
      ARROW_RETURN_NOT_OK(children_[i]->Append(*rows.field(static_cast<int>(i))->Slice(first, n)));
    }
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>*) override { return arrow::Status::OK(); }
  arrow::Status TakeStreams(std::vector<Stream>*) override { return arrow::Status::OK(); }
  OrcColumnEncoding Encoding() const override { return {OrcEncoding::kDirect, 0}; }
  int64_t StreamBytes() const override { return 0; }
  int64_t MemoryBytes() const override { return 0; }
};

/// Lists, and maps as lists of keys and values.
class ListWriter : public ColumnWriter {
 public:
  ListWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
             std::vector<std::unique_ptr<ColumnWriter>> children)
      : ColumnWriter(settings, codec, column, CountStatistics()), stream_(codec) {
    children_ = std::move(children);
  }

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const auto& lists = static_cast<const arrow::ListArray&>(values);
    group_.AddCount(n);
    for (int64_t i = first; i < first + n; ++i) lengths_.push_back(lists.value_length(i));
    const int64_t start = lists.value_offset(first);
    const int64_t elements = lists.value_offset(first + n) - start;
    if (elements == 0) return arrow::Status::OK();
    if (children_.size() == 1) return children_[0]->Append(*lists.values()->Slice(start, elements));
    const auto& entries = static_cast<const arrow::StructArray&>(*lists.values());
    for (int i = 0; i < 2; ++i) {
      ARROW_RETURN_NOT_OK(
          children_[static_cast<size_t>(i)]->Append(*entries.field(i)->Slice(start, elements)));
    }
    return arrow::Status::OK();
  }
  arrow::Status EncodeRowGroup(std::vector<uint64_t>* positions) override {
    stream_.AddPosition(positions);
    positions->push_back(0);
    ARROW_RETURN_NOT_OK(
        EncodeInts(lengths_.data(), static_cast<int64_t>(lengths_.size()), false, &stream_));
    lengths_.clear();
    return arrow::Status::OK();
  }
  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto bytes, stream_.Take());
    out->push_back({OrcStreamKind::kLength, column_, std::move(bytes)});
    return arrow::Status::OK();
  }
  int64_t StreamBytes() const override {
    return stream_.size() + static_cast<int64_t>(lengths_.size());
  }
  int64_t MemoryBytes() const override {
    return stream_.memory() + static_cast<int64_t>(lengths_.capacity() * 8);
  }

 private:
  OutStream stream_;
  std::vector<int64_t> lengths_;
};

}  // namespace

ColumnWriter::ColumnWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
                           OrcStatistics statistics)
    : settings_(settings),
      codec_(codec),
      column_(column),
      group_(std::move(statistics)),
      present_(codec),
      stripe_statistics_(group_.Fresh()),
      file_statistics_(group_.Fresh()) {}

/// Write down that all rows of the stripe so far had values.
arrow::Status ColumnWriter::StartPresent() {
  has_nulls_ = true;
  for (int64_t rows : group_rows_) {
    present_.AddPosition(&present_positions_.emplace_back());
    present_.AddOnes(rows);
    ARROW_RETURN_NOT_OK(present_.Flush());
  }
  present_.AddPosition(&present_positions_.emplace_back());
  present_.AddOnes(rows_);
  return arrow::Status::OK();
}

arrow::Status ColumnWriter::Append(const arrow::Array& values) {
  const int64_t n = values.length();
  const int64_t nulls = values.null_count();
  if (nulls == 0) {
    if (has_nulls_) present_.AddOnes(n);
    rows_ += n;
    return n == 0 ? arrow::Status::OK() : AppendValues(values, 0, n);
  }
  if (!has_nulls_) ARROW_RETURN_NOT_OK(StartPresent());
  rows_ += n;
  group_.AddNulls(nulls);
  const uint8_t* bits = values.null_bitmap_data();
  for (int64_t i = 0; i < n; ++i) {
    present_.Add(arrow::bit_util::GetBit(bits, values.offset() + i));
  }
  arrow::internal::SetBitRunReader runs(bits, values.offset(), n);
  for (auto run = runs.NextRun(); run.length > 0; run = runs.NextRun()) {
    ARROW_RETURN_NOT_OK(AppendValues(values, run.position, run.length));
  }
  return arrow::Status::OK();
}

arrow::Status ColumnWriter::FinishRowGroup() {
  ARROW_RETURN_NOT_OK(EncodeRowGroup(&positions_.emplace_back()));
  group_rows_.push_back(rows_);
  rows_ = 0;
  if (has_nulls_) {
    ARROW_RETURN_NOT_OK(present_.Flush());
    present_.AddPosition(&present_positions_.emplace_back());  // of the next row group
  }
  group_statistics_.push_back(group_.Serialize(pad()));
  stripe_statistics_.Merge(group_);
  group_ = group_.Fresh();
  for (const auto& child : children_) ARROW_RETURN_NOT_OK(child->FinishRowGroup());
  return arrow::Status::OK();
}

std::string ColumnWriter::RowIndex() const {
  WireWriter index;
  for (size_t group = 0; group < positions_.size(); ++group) {
    WireWriter positions;
    if (has_nulls_) {
      for (uint64_t position : present_positions_[group]) positions.Varint(position);
    }
    for (uint64_t position : positions_[group]) positions.Varint(position);
    WireWriter entry;
    entry.Message(1, positions);
    entry.Bytes(2, group_statistics_[group]);
    index.Message(1, entry);
  }
  return index.Take();
}

arrow::Status ColumnWriter::FinishStripe(OrcStripeParts* parts) {
  ARROW_RETURN_NOT_OK(BeforeStripeEnds(&positions_));
  parts->encodings.push_back(Encoding());
  parts->statistics.push_back(stripe_statistics_.Serialize(pad()));
  if (settings_.row_index_stride > 0) {
    Stream index{OrcStreamKind::kRowIndex, column_, {}};
    ARROW_RETURN_NOT_OK(codec_->CompressAll(RowIndex(), &index.bytes));
    parts->indexes.push_back(std::move(index));
  }
  if (has_nulls_) {
    ARROW_ASSIGN_OR_RAISE(auto bytes, present_.Take());
    parts->data.push_back({OrcStreamKind::kPresent, column_, std::move(bytes)});
  }
  ARROW_RETURN_NOT_OK(TakeStreams(&parts->data));
  file_statistics_.Merge(stripe_statistics_);
  stripe_statistics_ = stripe_statistics_.Fresh();
  has_nulls_ = false;
  present_.Clear();
  present_positions_.clear();
  positions_.clear();
  group_rows_.clear();
  group_statistics_.clear();
  for (const auto& child : children_) ARROW_RETURN_NOT_OK(child->FinishStripe(parts));
  return arrow::Status::OK();
}

int64_t ColumnWriter::EstimatedBytes() const {
  int64_t bytes = StreamBytes() + present_.size();
  for (const auto& child : children_) bytes += child->EstimatedBytes();
  return bytes;
}

int64_t ColumnWriter::BufferedBytes() const {
  int64_t bytes = MemoryBytes() + present_.memory();
  for (const auto& child : children_) bytes += child->BufferedBytes();
  return bytes;
}

void ColumnWriter::CollectFileStatistics(std::vector<std::string>* out) const {
  out->push_back(file_statistics_.Serialize(pad()));
  for (const auto& child : children_) child->CollectFileStatistics(out);
}

arrow::Result<std::unique_ptr<ColumnWriter>> MakeColumnWriter(
    const OrcWriteSettings& settings, OrcCodec* codec, const DataType& type,
    const std::shared_ptr<arrow::DataType>& arrow_type, const std::string& name, uint32_t* next) {
  const uint32_t column = (*next)++;
  std::vector<std::unique_ptr<ColumnWriter>> children;
  const auto add = [&](const DataType& child, const std::shared_ptr<arrow::DataType>& child_type,
                       const std::string& child_name) -> arrow::Status {
    ARROW_ASSIGN_OR_RAISE(auto writer, MakeColumnWriter(settings, codec, child, child_type,
                                                        name + "." + child_name, next));
    children.push_back(std::move(writer));
    return arrow::Status::OK();
  };
  switch (type.root()) {
    case TypeRoot::kArray:
      ARROW_RETURN_NOT_OK(add(type.element(), arrow_type->field(0)->type(), "element"));
      return std::make_unique<ListWriter>(settings, codec, column, std::move(children));
    case TypeRoot::kMap:
    case TypeRoot::kMultiset: {
      const auto& map = static_cast<const arrow::MapType&>(*arrow_type);
      const bool is_map = type.root() == TypeRoot::kMap;
      ARROW_RETURN_NOT_OK(add(is_map ? type.key() : type.element(), map.key_type(), "key"));
      ARROW_RETURN_NOT_OK(
          add(is_map ? type.value() : DataType(TypeRoot::kInt), map.item_type(), "value"));
      return std::make_unique<ListWriter>(settings, codec, column, std::move(children));
    }
    case TypeRoot::kRow:
      for (size_t i = 0; i < type.fields().size(); ++i) {
        const DataField& field = type.fields()[i];
        ARROW_RETURN_NOT_OK(
            add(field.type, arrow_type->field(static_cast<int>(i))->type(), field.name));
      }
      return std::make_unique<StructWriter>(settings, codec, column, std::move(children));
    case TypeRoot::kChar:
    case TypeRoot::kVarChar:
    case TypeRoot::kBinary:
    case TypeRoot::kVarBinary:
    case TypeRoot::kBlob:
      return MakeTextWriter(settings, codec, type, arrow_type, name, column);
    default:
      return MakeLeafWriter(settings, codec, type, arrow_type, name, column);
  }
}

arrow::Result<std::unique_ptr<ColumnWriter>> MakeRootWriter(const OrcWriteSettings& settings,
                                                            OrcCodec* codec,
                                                            const std::vector<DataField>& fields,
                                                            const arrow::Schema& schema) {
  uint32_t next = 1;
  std::vector<std::unique_ptr<ColumnWriter>> columns;
  for (size_t i = 0; i < fields.size(); ++i) {
    ARROW_ASSIGN_OR_RAISE(auto writer, MakeColumnWriter(settings, codec, fields[i].type,
                                                        schema.field(static_cast<int>(i))->type(),
                                                        fields[i].name, &next));
    columns.push_back(std::move(writer));
  }
  return std::make_unique<StructWriter>(settings, codec, 0, std::move(columns));
}

}  // namespace kelda
