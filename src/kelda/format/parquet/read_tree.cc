#include "kelda/format/parquet/read_tree.h"

#include <arrow/array/util.h>
#include <parquet/types.h>

#include "kelda/format/parquet/parquet_schema.h"
#include "kelda/format/parquet/shredded_variant.h"
#include "kelda/format/variant/variant_shredding.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {
namespace {

using parquet::internal::LevelInfo;
using parquet::schema::GroupNode;
using parquet::schema::Node;

class Matcher {
 public:
  Matcher(const parquet::SchemaDescriptor& file, ReadTree* tree) : file_(file), tree_(tree) {}

  arrow::Result<ReadNode> Match(const DataType& type, const Node& node, LevelInfo levels,
                                const std::string& name) {
    if (node.is_repeated()) {
      // A repeated field outside of a LIST group is a list of required elements.
      if (type.root() != TypeRoot::kArray) return Mismatch(type, node, name);
      return MatchList(type, node, node, levels, name);
    }
    levels.Increment(node);
    return MatchPresent(type, node, levels, name);
  }

 private:
  static arrow::Status Mismatch(const DataType& type, const Node& node, const std::string& name) {
    return Corruption("column '{}': the file's {} '{}' is no form of {}", name,
                      node.is_group() ? "group" : "field", node.name(), type.ToString());
  }

  /// `levels` already count `node` itself.
  arrow::Result<ReadNode> MatchPresent(const DataType& type, const Node& node, LevelInfo levels,
                                       const std::string& name) {
    switch (type.root()) {
      case TypeRoot::kArray: {
        const Node* repeated = OnlyRepeatedChild(node);
        if (repeated == nullptr) return Mismatch(type, node, name);
        return MatchList(type, node, *repeated, levels, name);
      }
      case TypeRoot::kMap:
        return MatchMap(type, type.key(), type.value(), node, levels, name);
      case TypeRoot::kMultiset:
        return MatchMap(type, type.element(), DataType(TypeRoot::kInt, false), node, levels, name);
      case TypeRoot::kRow:
        return MatchRow(type, type.fields(), node, levels, name);
      case TypeRoot::kVariant:
        return MatchVariant(type, node, levels, name);
      default:
        return MatchLeaf(type, node, levels, name);
    }
  }

  static const Node* OnlyRepeatedChild(const Node& node) {
    if (!node.is_group()) return nullptr;
    const auto& group = static_cast<const GroupNode&>(node);
    if (group.field_count() != 1 || !group.field(0)->is_repeated()) return nullptr;
    return group.field(0).get();
  }

  arrow::Result<ReadNode> NewNode(ReadNode::Kind kind, const DataType& type, const Node& node,
                                  LevelInfo levels, const std::string& name) {
    ReadNode out;
    out.kind = kind;
    out.name = name;
    out.nullable = node.is_optional();
    out.levels = levels;
    ARROW_ASSIGN_OR_RAISE(out.type, ToArrowType(type));
    return out;
  }

  arrow::Result<ReadNode> MatchLeaf(const DataType& type, const Node& node, LevelInfo levels,
                                    const std::string& name) {
    if (!node.is_primitive()) return Mismatch(type, node, name);
    ARROW_ASSIGN_OR_RAISE(ReadNode out, NewNode(ReadNode::Kind::kLeaf, type, node, levels, name));
    ReadLeaf leaf;
    leaf.ordinal = file_.ColumnIndex(node);
    if (leaf.ordinal < 0) return Mismatch(type, node, name);
    leaf.descriptor = file_.Column(leaf.ordinal);
    leaf.levels = LevelInfo::ComputeLevelInfo(leaf.descriptor);
    ARROW_ASSIGN_OR_RAISE(leaf.conversion, LeafConversion::Make(*leaf.descriptor, out.type, name));
    out.leaf = static_cast<int>(tree_->leaves.size());
    tree_->leaves.push_back(std::move(leaf));
    return out;
  }

  /// `node` is the LIST group, or `repeated` itself when there is no group around it.
  arrow::Result<ReadNode> MatchList(const DataType& type, const Node& node, const Node& repeated,
                                    LevelInfo levels, const std::string& name) {
    const int16_t outer = levels.IncrementRepeated();
    ARROW_ASSIGN_OR_RAISE(ReadNode out, NewNode(ReadNode::Kind::kList, type, node, levels, name));
    out.levels.repeated_ancestor_def_level = outer;
    const std::string element_name = name + ".element";
    ReadNode element;
    if (IsElementItself(type.element(), repeated)) {
      ARROW_ASSIGN_OR_RAISE(element, MatchPresent(type.element(), repeated, levels, element_name));
      element.nullable = false;
    } else {
      const Node& child = *static_cast<const GroupNode&>(repeated).field(0);
      ARROW_ASSIGN_OR_RAISE(element, Match(type.element(), child, levels, element_name));
    }
    out.leaf = element.leaf;
    out.children.push_back(std::move(element));
    return out;
  }

  /// Two-level lists: the repeated node is the element (the backward-compatibility rules of the
  /// Parquet format).
  static bool IsElementItself(const DataType& element, const Node& repeated) {
    if (repeated.is_primitive()) return true;
    const auto& group = static_cast<const GroupNode&>(repeated);
    if (group.field_count() != 1) return true;
    if (element.root() != TypeRoot::kRow || element.fields().size() != 1) return false;
    return (group.name() == "array" || group.name().ends_with("_tuple")) &&
           group.field(0)->name() == element.fields()[0].name;
  }

  arrow::Result<ReadNode> MatchMap(const DataType& type, const DataType& key, const DataType& value,
                                   const Node& node, LevelInfo levels, const std::string& name) {
    const Node* repeated = OnlyRepeatedChild(node);
    if (repeated == nullptr || !repeated->is_group()) return Mismatch(type, node, name);
    const auto& pair = static_cast<const GroupNode&>(*repeated);
    if (pair.field_count() != 2) return Mismatch(type, node, name);
    const int16_t outer = levels.IncrementRepeated();
    ARROW_ASSIGN_OR_RAISE(ReadNode out, NewNode(ReadNode::Kind::kMap, type, node, levels, name));
    out.levels.repeated_ancestor_def_level = outer;
    ARROW_ASSIGN_OR_RAISE(auto key_node, Match(key, *pair.field(0), levels, name + ".key"));
    ARROW_ASSIGN_OR_RAISE(auto value_node, Match(value, *pair.field(1), levels, name + ".value"));
    out.leaf = key_node.leaf;
    out.children.push_back(std::move(key_node));
    out.children.push_back(std::move(value_node));
    return out;
  }

  arrow::Result<ReadNode> MatchRow(const DataType& type, const std::vector<DataField>& members,
                                   const Node& node, LevelInfo levels, const std::string& name) {
    if (!node.is_group()) return Mismatch(type, node, name);
    const auto& group = static_cast<const GroupNode&>(node);
    ARROW_ASSIGN_OR_RAISE(ReadNode out, NewNode(ReadNode::Kind::kRow, type, node, levels, name));
    for (const auto& member : members) {
      const int index = group.FieldIndex(member.name);
      if (index < 0) {
        return Corruption("column '{}': the file has no member '{}'", name, member.name);
      }
      ARROW_ASSIGN_OR_RAISE(
          auto child, Match(member.type, *group.field(index), levels, name + "." + member.name));
      out.children.push_back(std::move(child));
    }
    ARROW_ASSIGN_OR_RAISE(out.leaf, LevelLeaf(out, group, name));
    out.list_below = RepetitionOf(out.leaf) > levels.rep_level;
    return out;
  }

  /// A leaf below a ROW that tells its nulls: best one without a list in between.
  arrow::Result<int> LevelLeaf(const ReadNode& row, const GroupNode& group,
                               const std::string& name) {
    int best = -1;
    for (const auto& child : row.children) {
      if (best < 0 || RepetitionOf(child.leaf) < RepetitionOf(best)) best = child.leaf;
    }
    if (best >= 0) return best;
    // No member is wanted: any leaf of the file will do.
    const Node* node = &group;
    while (node->is_group()) {
      const auto& inner = static_cast<const GroupNode&>(*node);
      if (inner.field_count() == 0) return Corruption("column '{}': a group without fields", name);
      node = inner.field(0).get();
    }
    ReadLeaf leaf;
    leaf.ordinal = file_.ColumnIndex(*node);
    if (leaf.ordinal < 0) return Corruption("column '{}': a leaf is not in the file", name);
    leaf.descriptor = file_.Column(leaf.ordinal);
    leaf.levels = LevelInfo::ComputeLevelInfo(leaf.descriptor);
    leaf.conversion = LeafConversion::LevelsOnly();
    tree_->leaves.push_back(std::move(leaf));
    return static_cast<int>(tree_->leaves.size()) - 1;
  }

  int16_t RepetitionOf(int leaf) const { return tree_->leaves[leaf].levels.rep_level; }

  arrow::Result<ReadNode> MatchVariant(const DataType& type, const Node& node, LevelInfo levels,
                                       const std::string& name) {
    if (IsShreddedVariant(node)) {
      auto parts = ShreddedTypeOf(static_cast<const GroupNode&>(node));
      if (!parts.ok()) return WithContext(parts.status(), fmt::format("column '{}'", name));
      ARROW_ASSIGN_OR_RAISE(ReadNode out,
                            NewNode(ReadNode::Kind::kShreddedVariant, type, node, levels, name));
      ARROW_ASSIGN_OR_RAISE(auto row, MatchRow(*parts, parts->fields(), node, levels, name));
      out.leaf = row.leaf;
      out.children.push_back(std::move(row));
      return out;
    }
    std::vector<DataField> members(2);
    members[0].name = "value";
    members[0].type = DataType::Bytes(false);
    members[1].name = "metadata";
    members[1].type = DataType::Bytes(false);
    return MatchRow(type, members, node, levels, name);
  }

  const parquet::SchemaDescriptor& file_;
  ReadTree* tree_;
};

arrow::Status LengthMismatch(const ReadNode& node, int64_t found, int64_t wanted) {
  return Corruption("column '{}': {} values where {} belong", node.name, found, wanted);
}

arrow::Result<std::shared_ptr<arrow::Array>> Assemble(const ReadNode& node,
                                                      const std::vector<LeafData>& leaves);

/// Nulls of a ROW from the levels of a leaf below it.
arrow::Result<std::shared_ptr<arrow::Array>> AssembleRow(const ReadNode& node,
                                                         const std::vector<LeafData>& leaves) {
  const LeafData& source = leaves[node.leaf];
  arrow::ArrayVector children;
  for (const auto& child : node.children) {
    ARROW_ASSIGN_OR_RAISE(auto array, Assemble(child, leaves));
    children.push_back(std::move(array));
  }
  parquet::internal::ValidityBitmapInputOutput io;
  io.values_read_upper_bound = source.level_count;
  int64_t length = children.empty() ? -1 : children[0]->length();
  std::shared_ptr<arrow::Buffer> bitmap;
  if (node.levels.HasNullableValues() || length < 0) {
    ARROW_ASSIGN_OR_RAISE(bitmap, arrow::AllocateEmptyBitmap(source.level_count));
    io.valid_bits = bitmap->mutable_data();
    if (source.definition == nullptr) {
      io.values_read = source.level_count;
    } else if (node.list_below) {
      parquet::internal::DefRepLevelsToBitmap(source.definition, source.repetition,
                                              source.level_count, node.levels, &io);
    } else {
      parquet::internal::DefLevelsToBitmap(source.definition, source.level_count, node.levels, &io);
    }
    if (length < 0) length = io.values_read;
    if (io.values_read != length) return LengthMismatch(node, io.values_read, length);
    if (io.null_count == 0) bitmap = nullptr;
  }
  for (const auto& child : children) {
    if (child->length() != length) return LengthMismatch(node, child->length(), length);
  }
  return std::make_shared<arrow::StructArray>(node.type, length, std::move(children), bitmap,
                                              io.null_count);
}

arrow::Result<std::shared_ptr<arrow::Array>> AssembleList(const ReadNode& node,
                                                          const std::vector<LeafData>& leaves) {
  const LeafData& source = leaves[node.leaf];
  arrow::ArrayVector children;
  for (const auto& child : node.children) {
    ARROW_ASSIGN_OR_RAISE(auto array, Assemble(child, leaves));
    children.push_back(std::move(array));
  }
  ARROW_ASSIGN_OR_RAISE(auto offsets, arrow::AllocateBuffer((source.level_count + 1) *
                                                            static_cast<int64_t>(sizeof(int32_t))));
  ARROW_ASSIGN_OR_RAISE(auto bitmap, arrow::AllocateEmptyBitmap(source.level_count));
  auto* offset_data = reinterpret_cast<int32_t*>(offsets->mutable_data());
  offset_data[0] = 0;
  parquet::internal::ValidityBitmapInputOutput io;
  io.values_read_upper_bound = source.level_count;
  io.valid_bits = bitmap->mutable_data();
  parquet::internal::DefRepLevelsToList(source.definition, source.repetition, source.level_count,
                                        node.levels, &io, offset_data);
  const int64_t length = io.values_read;
  for (const auto& child : children) {
    if (child->length() != offset_data[length]) {
      return LengthMismatch(node, child->length(), offset_data[length]);
    }
  }
  std::shared_ptr<arrow::Buffer> valid;
  if (io.null_count > 0) valid = std::move(bitmap);
  if (node.kind == ReadNode::Kind::kList) {
    return std::make_shared<arrow::ListArray>(node.type, length, std::move(offsets), children[0],
                                              valid, io.null_count);
  }
  if (children[0]->null_count() > 0) {
    return Corruption("column '{}': a map key is NULL", node.name);
  }
  const auto& map_type = static_cast<const arrow::MapType&>(*node.type);
  auto pairs = std::make_shared<arrow::StructArray>(map_type.value_type(), offset_data[length],
                                                    std::move(children));
  return std::make_shared<arrow::MapArray>(node.type, length, std::move(offsets), pairs, valid,
                                           io.null_count);
}

arrow::Result<std::shared_ptr<arrow::Array>> Assemble(const ReadNode& node,
                                                      const std::vector<LeafData>& leaves) {
  switch (node.kind) {
    case ReadNode::Kind::kRow:
      return AssembleRow(node, leaves);
    case ReadNode::Kind::kList:
    case ReadNode::Kind::kMap:
      return AssembleList(node, leaves);
    case ReadNode::Kind::kShreddedVariant: {
      ARROW_ASSIGN_OR_RAISE(auto parts, AssembleRow(node.children[0], leaves));
      auto variants = RebuildVariants(*parts);
      if (variants.ok()) return variants;
      return WithContext(variants.status(), fmt::format("column '{}'", node.name));
    }
    default:
      break;
  }
  const auto& values = leaves[node.leaf].values;
  if (values.size() != 1) {
    return arrow::Status::CapacityError("column '", node.name,
                                        "': more than 2 GB of text in one batch");
  }
  return values[0];
}

/// A column that the file lacks by name must be lacking by id too: otherwise one of the names is
/// damaged. Files that Paimon did not write have no ids.
arrow::Status CheckMissing(const DataField& field, const GroupNode& root) {
  for (int i = 0; i < root.field_count(); ++i) {
    if (root.field(i)->field_id() == field.id) {
      return Corruption("column '{}' (id {}) has the name '{}' in the file", field.name, field.id,
                        root.field(i)->name());
    }
  }
  return arrow::Status::OK();
}

}  // namespace

arrow::Result<ReadTree> MatchColumns(const std::vector<DataField>& wanted,
                                     const parquet::SchemaDescriptor& file) {
  ReadTree tree;
  Matcher matcher(file, &tree);
  const GroupNode& root = *file.group_node();
  for (const auto& field : wanted) {
    const int index = root.FieldIndex(field.name);
    if (index < 0) {
      ARROW_RETURN_NOT_OK(CheckMissing(field, root));
      ReadNode missing;
      missing.kind = ReadNode::Kind::kMissing;
      missing.name = field.name;
      ARROW_ASSIGN_OR_RAISE(missing.type, ToArrowType(field.type));
      tree.columns.push_back(std::move(missing));
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(auto node,
                          matcher.Match(field.type, *root.field(index), LevelInfo(), field.name));
    tree.columns.push_back(std::move(node));
  }
  return tree;
}

bool HasColumn(const parquet::SchemaDescriptor& file, const std::string& name) {
  return file.group_node()->FieldIndex(name) >= 0;
}

const parquet::ColumnDescriptor* FindFlatLeaf(const parquet::SchemaDescriptor& file,
                                              const std::vector<std::string>& path, int* ordinal) {
  const Node* node = file.group_node();
  for (const auto& name : path) {
    if (!node->is_group()) return nullptr;
    const auto& group = static_cast<const GroupNode&>(*node);
    const int index = group.FieldIndex(name);
    if (index < 0) return nullptr;
    node = group.field(index).get();
    if (node->is_repeated()) return nullptr;
  }
  if (!node->is_primitive()) return nullptr;
  *ordinal = file.ColumnIndex(*node);
  return *ordinal < 0 ? nullptr : file.Column(*ordinal);
}

arrow::Result<arrow::ArrayVector> AssembleColumn(const ReadNode& column,
                                                 const std::vector<LeafData>& leaves,
                                                 int64_t rows) {
  arrow::ArrayVector out;
  if (column.kind == ReadNode::Kind::kMissing) {
    ARROW_ASSIGN_OR_RAISE(auto nulls, arrow::MakeArrayOfNull(column.type, rows));
    out.push_back(std::move(nulls));
    return out;
  }
  if (column.kind == ReadNode::Kind::kLeaf) {
    out = leaves[column.leaf].values;
  } else {
    ARROW_ASSIGN_OR_RAISE(auto array, Assemble(column, leaves));
    out.push_back(std::move(array));
  }
  int64_t length = 0;
  for (const auto& array : out) length += array->length();
  if (length != rows) return LengthMismatch(column, length, rows);
  return out;
}

}  // namespace kelda
