#include "kelda/format/parquet/leaf_levels.h"

#include <arrow/array/concatenate.h>
#include <arrow/util/bit_util.h>

namespace kelda {
namespace {

void Walk(const DataType& type, bool optional, LeafPath path, std::vector<LeafPath>* out);

void WalkChild(const DataType& child, bool child_optional, LeafStep::Kind kind, bool optional,
               LeafPath path, std::vector<LeafPath>* out) {
  path.steps.push_back({kind, optional, 0});
  path.definition_max++;
  path.repetition_max++;
  Walk(child, child_optional, std::move(path), out);
}

void Walk(const DataType& type, bool optional, LeafPath path, std::vector<LeafPath>* out) {
  using Kind = LeafStep::Kind;
  if (optional) path.definition_max++;
  switch (type.root()) {
    case TypeRoot::kArray:
      WalkChild(type.element(), type.element().nullable(), Kind::kElement, optional, path, out);
      return;
    case TypeRoot::kMap:
      WalkChild(type.key(), false, Kind::kKey, optional, path, out);
      WalkChild(type.value(), type.value().nullable(), Kind::kValue, optional, path, out);
      return;
    case TypeRoot::kMultiset:
      WalkChild(type.element(), false, Kind::kKey, optional, path, out);
      WalkChild(DataType(TypeRoot::kInt, false), false, Kind::kValue, optional, path, out);
      return;
    case TypeRoot::kRow:
      for (size_t i = 0; i < type.fields().size(); ++i) {
        LeafPath child = path;
        child.steps.push_back({Kind::kMember, optional, static_cast<int>(i)});
        const DataField& field = type.fields()[i];
        child.name += "." + field.name;
        Walk(field.type, field.type.nullable(), std::move(child), out);
      }
      return;
    case TypeRoot::kVariant:
      for (int i = 0; i < 2; ++i) {
        LeafPath child = path;
        child.steps.push_back({Kind::kMember, optional, i});
        Walk(DataType::Bytes(false), false, std::move(child), out);
      }
      return;
    default:
      path.steps.push_back({Kind::kLeaf, optional, 0});
      path.type = type;
      out->push_back(std::move(path));
  }
}

arrow::Status NullNotAllowed(const LeafPath& path) {
  return Invalid("column '{}': NULL where the type says NOT NULL", path.name);
}

/// Levels under construction, entry by entry. `index` points into the current array, -1 when the
/// innermost list of the entry is null or empty; `live` ends at the first null on the way down.
struct Entries {
  std::vector<int16_t> definition;
  std::vector<int16_t> repetition;
  std::vector<int64_t> index;
  std::vector<uint8_t> live;

  void Reserve(size_t n) {
    definition.reserve(n);
    repetition.reserve(n);
    index.reserve(n);
    live.reserve(n);
  }
  void Add(int16_t d, int16_t r, int64_t i, bool l) {
    definition.push_back(d);
    repetition.push_back(r);
    index.push_back(i);
    live.push_back(l);
  }
  size_t size() const { return index.size(); }
};

/// Nulls of a ROW or leaf: the entry keeps its slot, its definition level stays.
arrow::Status DescendNulls(const LeafPath& path, bool optional, const arrow::Array& array,
                           Entries* entries) {
  const bool any_null = array.null_count() > 0;
  for (size_t i = 0; i < entries->size(); ++i) {
    if (!entries->live[i]) continue;
    if (any_null && array.IsNull(entries->index[i])) {
      if (!optional) return NullNotAllowed(path);
      entries->live[i] = 0;
    } else if (optional) {
      entries->definition[i]++;
    }
  }
  return arrow::Status::OK();
}

/// Elements of a list or map: one entry each, or one without a slot for null and empty ones.
arrow::Status DescendList(const LeafPath& path, bool optional, int16_t repetition,
                          const arrow::ListArray& list, Entries* entries) {
  const bool any_null = list.null_count() > 0;
  Entries out;
  out.Reserve(entries->size());
  for (size_t i = 0; i < entries->size(); ++i) {
    int16_t d = entries->definition[i];
    int16_t r = entries->repetition[i];
    int64_t row = entries->index[i];
    if (!entries->live[i]) {
      out.Add(d, r, -1, false);
      continue;
    }
    if (any_null && list.IsNull(row)) {
      if (!optional) return NullNotAllowed(path);
      out.Add(d, r, -1, false);
      continue;
    }
    if (optional) ++d;
    int64_t first = list.value_offset(row);
    int64_t count = list.value_length(row);
    if (count == 0) out.Add(d, r, -1, false);
    for (int64_t j = 0; j < count; ++j) {
      out.Add(static_cast<int16_t>(d + 1), j == 0 ? r : repetition, first + j, true);
    }
  }
  *entries = std::move(out);
  return arrow::Status::OK();
}

arrow::Result<std::shared_ptr<arrow::Array>> GatherSlots(const arrow::Array& array,
                                                         const std::vector<int64_t>& index) {
  arrow::ArrayVector pieces;
  int64_t first = 0;
  int64_t length = 0;
  for (int64_t i : index) {
    if (i < 0) continue;
    if (length > 0 && i == first + length) {
      ++length;
      continue;
    }
    if (length > 0) pieces.push_back(array.Slice(first, length));
    first = i;
    length = 1;
  }
  pieces.push_back(array.Slice(first, length));
  if (pieces.size() == 1) return pieces[0];
  return arrow::Concatenate(pieces);
}

std::shared_ptr<arrow::Array> WithoutBitmap(const arrow::Array& array) {
  auto data = array.data()->Copy();
  data->buffers[0] = nullptr;
  data->SetNullCount(0);
  return arrow::MakeArray(data);
}

arrow::Result<LeafBatch> ShredFlat(const LeafPath& path,
                                   const std::shared_ptr<arrow::Array>& column) {
  LeafBatch out;
  out.level_count = column->length();
  out.values = column;
  if (!path.leaf_optional()) {
    if (column->null_count() > 0) return NullNotAllowed(path);
    return out;
  }
  if (column->null_count() == 0) {
    static const std::vector<int16_t> ones(65536, 1);
    if (column->length() <= static_cast<int64_t>(ones.size())) {
      out.definition = ones.data();
      return out;
    }
  }
  auto n = static_cast<size_t>(column->length());
  out.definition_storage.assign(n, 1);
  if (const uint8_t* bits = column->null_bitmap_data(); bits && column->null_count() > 0) {
    const int64_t offset = column->offset();
    for (size_t i = 0; i < n; ++i) {
      out.definition_storage[i] = arrow::bit_util::GetBit(bits, offset + static_cast<int64_t>(i));
    }
  }
  out.definition = out.definition_storage.data();
  return out;
}

}  // namespace

std::vector<LeafPath> LeafPaths(const std::vector<DataField>& fields) {
  std::vector<LeafPath> out;
  for (size_t i = 0; i < fields.size(); ++i) {
    LeafPath path;
    path.column = static_cast<int>(i);
    path.name = fields[i].name;
    Walk(fields[i].type, fields[i].type.nullable(), std::move(path), &out);
  }
  return out;
}

arrow::Result<LeafBatch> ShredLeaf(const LeafPath& path,
                                   const std::shared_ptr<arrow::Array>& column) {
  if (path.flat()) return ShredFlat(path, column);
  Entries entries;
  entries.Reserve(static_cast<size_t>(column->length()));
  for (int64_t i = 0; i < column->length(); ++i) entries.Add(0, 0, i, true);
  std::shared_ptr<arrow::Array> array = column;
  int16_t repetition = 0;
  for (const LeafStep& step : path.steps) {
    switch (step.kind) {
      case LeafStep::Kind::kLeaf:
        ARROW_RETURN_NOT_OK(DescendNulls(path, step.optional, *array, &entries));
        break;
      case LeafStep::Kind::kMember:
        ARROW_RETURN_NOT_OK(DescendNulls(path, step.optional, *array, &entries));
        array = static_cast<const arrow::StructArray&>(*array).field(step.member);
        break;
      default: {
        const auto& list = static_cast<const arrow::ListArray&>(*array);
        ARROW_RETURN_NOT_OK(DescendList(path, step.optional, ++repetition, list, &entries));
        auto values = list.values();
        if (step.kind != LeafStep::Kind::kElement) {
          const auto& pairs = static_cast<const arrow::StructArray&>(*values);
          values = pairs.field(step.kind == LeafStep::Kind::kKey ? 0 : 1);
        }
        array = std::move(values);
      }
    }
  }
  LeafBatch out;
  out.level_count = static_cast<int64_t>(entries.size());
  ARROW_ASSIGN_OR_RAISE(out.values, GatherSlots(*array, entries.index));
  // Slots of null parents may hold nulls; the column itself has none.
  if (!path.leaf_optional() && out.values->null_count() > 0)
    out.values = WithoutBitmap(*out.values);
  out.definition_storage = std::move(entries.definition);
  out.repetition_storage = std::move(entries.repetition);
  if (path.definition_max > 0) out.definition = out.definition_storage.data();
  if (path.repetition_max > 0) out.repetition = out.repetition_storage.data();
  return out;
}

}  // namespace kelda
