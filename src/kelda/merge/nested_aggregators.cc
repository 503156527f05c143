#include <algorithm>
#include <optional>

#include <arrow/builder.h>
#include <arrow/scalar.h>

#include "kelda/base/status.h"
#include "kelda/merge/aggregator.h"
#include "kelda/types/arrow_mapping.h"

namespace kelda {

namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;
using Elements = std::vector<ScalarPtr>;

bool Same(const ScalarPtr& a, const ScalarPtr& b) {
  if (!a->is_valid || !b->is_valid) return a->is_valid == b->is_valid;
  return a->Equals(*b, arrow::EqualOptions().nans_equal(true));
}

bool Holds(const Elements& elements, const ScalarPtr& wanted) {
  return std::any_of(elements.begin(), elements.end(),
                     [&](const ScalarPtr& element) { return Same(element, wanted); });
}

/// An accumulator that is a list of elements; NULL is none.
class ListAggregator : public Aggregator {
 public:
  ListAggregator(std::string function, DataField field, std::shared_ptr<arrow::DataType> type)
      : function_(std::move(function)), field_(std::move(field)), type_(std::move(type)) {}

  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    column_ = std::static_pointer_cast<arrow::ListArray>(std::move(column));
    return arrow::MakeBuilder(arrow::default_memory_pool(), type_, &builder_);
  }
  void Reset() override { acc_.reset(); }
  arrow::Status Copy(int64_t row) override { return At(row).Value(&acc_); }
  arrow::Status Aggregate(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    return Fold(std::move(acc_), std::move(in));
  }
  arrow::Status AggregateReversed(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    return Fold(std::move(in), std::move(acc_));
  }
  arrow::Status Retract(int64_t) override { return NoRetraction(function_, field_); }
  arrow::Status Append() override {
    auto* list = static_cast<arrow::ListBuilder*>(builder_.get());
    if (!acc_) return list->AppendNull();
    ARROW_RETURN_NOT_OK(list->Append());
    for (const ScalarPtr& element : *acc_)
      ARROW_RETURN_NOT_OK(list->value_builder()->AppendScalar(*element));
    return arrow::Status::OK();
  }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return builder_->Finish(); }

 protected:
  /// acc := agg(acc, in); either may be NULL.
  virtual arrow::Status Fold(std::optional<Elements> acc, std::optional<Elements> in) = 0;

  arrow::Result<std::optional<Elements>> At(int64_t row) const {
    if (column_->IsNull(row)) return std::nullopt;
    Elements elements;
    for (int64_t i = column_->value_offset(row); i < column_->value_offset(row + 1); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto element, column_->values()->GetScalar(i));
      elements.push_back(std::move(element));
    }
    return elements;
  }
  /// The other one if one is NULL.
  bool TakeOther(std::optional<Elements>* acc, std::optional<Elements>* in) {
    if (*acc && *in) return false;
    acc_ = *acc ? std::move(*acc) : std::move(*in);
    return true;
  }

  const std::string function_;
  const DataField field_;
  std::optional<Elements> acc_;

 private:
  const std::shared_ptr<arrow::DataType> type_;
  std::shared_ptr<arrow::ListArray> column_;
  std::unique_ptr<arrow::ArrayBuilder> builder_;
};

class Collect : public ListAggregator {
 public:
  Collect(DataField field, std::shared_ptr<arrow::DataType> type, bool distinct,
          bool swaps_when_reversed)
      : ListAggregator("collect", std::move(field), std::move(type)),
        distinct_(distinct),
        swaps_(swaps_when_reversed) {}

  arrow::Status AggregateReversed(int64_t row) override {
    return swaps_ ? ListAggregator::AggregateReversed(row) : Aggregate(row);
  }
  arrow::Status Retract(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    if (!acc_ || !in) return arrow::Status::OK();
    Elements open = std::move(*in);
    Elements kept;
    for (ScalarPtr& element : *acc_) {
      const auto taken = std::find_if(open.begin(), open.end(),
                                      [&](const ScalarPtr& other) { return Same(element, other); });
      if (taken == open.end()) {
        kept.push_back(std::move(element));
      } else {
        open.erase(taken);
      }
    }
    acc_ = std::move(kept);
    return arrow::Status::OK();
  }

 protected:
  arrow::Status Fold(std::optional<Elements> acc, std::optional<Elements> in) override {
    if (!acc && !in) {
      acc_.reset();
      return arrow::Status::OK();
    }
    if (!distinct_) {
      if (TakeOther(&acc, &in)) return arrow::Status::OK();
      acc->insert(acc->end(), in->begin(), in->end());
      acc_ = std::move(acc);
      return arrow::Status::OK();
    }
    // Nested elements of the accumulator stay as they are, scalars become a set.
    Elements result;
    if (acc) {
      if (field_.type.element().IsNested()) {
        result = std::move(*acc);
      } else {
        AddDistinct(*acc, &result);
      }
    }
    if (in) AddDistinct(*in, &result);
    acc_ = std::move(result);
    return arrow::Status::OK();
  }

 private:
  static void AddDistinct(const Elements& from, Elements* to) {
    for (const ScalarPtr& element : from) {
      if (!Holds(*to, element)) to->push_back(element);
    }
  }
  const bool distinct_;
  const bool swaps_;
};

ScalarPtr Member(const ScalarPtr& row, size_t i) {
  return static_cast<const arrow::StructScalar&>(*row).value[i];
}

/// Places of the members that are named in option `name` of an ARRAY<ROW> column.
arrow::Result<std::vector<size_t>> MembersOf(const Options& options, const DataField& field,
                                             const DataType& row, std::string_view name) {
  std::vector<size_t> members;
  const auto text = ColumnOption(options, field, name);
  if (!text) return members;
  size_t begin = 0;
  while (begin <= text->size()) {
    const size_t end = std::min(text->find(',', begin), text->size());
    std::string member = text->substr(begin, end - begin);
    member.erase(0, member.find_first_not_of(' '));
    member.erase(member.find_last_not_of(' ') + 1);
    begin = end + 1;
    const auto& fields = row.fields();
    const auto it = std::find_if(fields.begin(), fields.end(),
                                 [&](const DataField& f) { return f.name == member; });
    if (it == fields.end()) {
      return Invalid("option 'fields.{}.{}': {} has no member '{}'", field.name, name,
                     row.ToString(), member);
    }
    members.push_back(static_cast<size_t>(it - fields.begin()));
  }
  return members;
}

class NestedRows : public ListAggregator {
 public:
  NestedRows(bool partial, DataField field, std::shared_ptr<arrow::DataType> type,
             std::vector<size_t> keys, int64_t limit)
      : ListAggregator(partial ? "nested_partial_update" : "nested_update", std::move(field),
                       std::move(type)),
        partial_(partial),
        keys_(std::move(keys)),
        limit_(limit) {}

  arrow::Status Retract(int64_t row) override {
    if (partial_) return NoRetraction(function_, field_);
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    if (!acc_ || !in) return arrow::Status::OK();
    std::erase_if(*acc_, [&](const ScalarPtr& element) {
      if (!element->is_valid) return true;
      return std::any_of(in->begin(), in->end(), [&](const ScalarPtr& gone) {
        if (!gone->is_valid) return false;
        return keys_.empty() ? Same(element, gone) : SameKey(element, gone);
      });
    });
    return arrow::Status::OK();
  }

 protected:
  arrow::Status Fold(std::optional<Elements> acc, std::optional<Elements> in) override {
    if (TakeOther(&acc, &in)) return arrow::Status::OK();
    if (!partial_ && static_cast<int64_t>(acc->size()) >= limit_) {
      acc_ = std::move(acc);
      return arrow::Status::OK();
    }
    int64_t room = limit_ - static_cast<int64_t>(acc->size());
    Elements rows;
    for (const ScalarPtr& row : *acc) {
      if (row->is_valid) ARROW_RETURN_NOT_OK(Put(row, &rows));
    }
    for (const ScalarPtr& row : *in) {
      if (!row->is_valid) continue;
      if (!partial_ && room-- <= 0) break;
      ARROW_RETURN_NOT_OK(Put(row, &rows));
    }
    acc_ = std::move(rows);
    return arrow::Status::OK();
  }

 private:
  bool SameKey(const ScalarPtr& a, const ScalarPtr& b) const {
    return std::all_of(keys_.begin(), keys_.end(),
                       [&](size_t key) { return Same(Member(a, key), Member(b, key)); });
  }
  arrow::Status Put(const ScalarPtr& row, Elements* rows) const {
    if (!keys_.empty()) {
      for (ScalarPtr& present : *rows) {
        if (!SameKey(present, row)) continue;
        if (!partial_) {
          present = row;
          return arrow::Status::OK();
        }
        const auto& old_row = static_cast<const arrow::StructScalar&>(*present);
        const auto& new_row = static_cast<const arrow::StructScalar&>(*row);
        arrow::ScalarVector members = old_row.value;
        for (size_t i = 0; i < members.size(); ++i) {
          if (new_row.value[i]->is_valid) members[i] = new_row.value[i];
        }
        present = std::make_shared<arrow::StructScalar>(std::move(members), present->type);
        return arrow::Status::OK();
      }
    }
    rows->push_back(row);
    return arrow::Status::OK();
  }

  const bool partial_;
  const std::vector<size_t> keys_;
  const int64_t limit_;
};

/// Order of Java's String.compareTo: by UTF-16 units. Supplementary characters (4 bytes of UTF-8)
/// are surrogates there and come before U+E000..U+FFFF.
int CompareUtf16(std::string_view a, std::string_view b) {
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    const auto x = static_cast<unsigned char>(a[i]);
    const auto y = static_cast<unsigned char>(b[i]);
    if (x == y) continue;
    const auto rank = [](unsigned char lead) { return lead >= 0xf0 ? 0xed80 : lead * 0x100; };
    // Only lead bytes can differ in this way: within a character both have the same kind.
    const int rx = x >= 0xee || y >= 0xee ? rank(x) : x;
    const int ry = x >= 0xee || y >= 0xee ? rank(y) : y;
    return rx < ry ? -1 : (rx > ry ? 1 : (x < y ? -1 : 1));
  }
  return a.size() < b.size() ? -1 : (a.size() > b.size() ? 1 : 0);
}

/// merge_map and merge_map_with_keytime.
class MapAggregator : public Aggregator {
 public:
  MapAggregator(DataField field, std::shared_ptr<arrow::DataType> type,
                std::optional<size_t> time_member)
      : field_(std::move(field)), type_(std::move(type)), time_member_(time_member) {}

  arrow::Status Start(std::shared_ptr<arrow::Array> column) override {
    column_ = std::static_pointer_cast<arrow::MapArray>(std::move(column));
    return arrow::MakeBuilder(arrow::default_memory_pool(), type_, &builder_);
  }
  void Reset() override { acc_.reset(); }
  arrow::Status Copy(int64_t row) override { return At(row).Value(&acc_); }
  arrow::Status Aggregate(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    Fold(std::move(acc_), std::move(in));
    return arrow::Status::OK();
  }
  arrow::Status AggregateReversed(int64_t row) override {
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    Fold(std::move(in), std::move(acc_));
    return arrow::Status::OK();
  }
  arrow::Status Retract(int64_t row) override {
    if (time_member_) return NoRetraction("merge_map_with_keytime", field_);
    ARROW_ASSIGN_OR_RAISE(auto in, At(row));
    if (!acc_ || !in) return arrow::Status::OK();
    for (const Entry& gone : *in) {
      std::erase_if(*acc_, [&](const Entry& entry) { return Same(entry.key, gone.key); });
    }
    return arrow::Status::OK();
  }
  arrow::Status Append() override {
    auto* map = static_cast<arrow::MapBuilder*>(builder_.get());
    if (!acc_) return map->AppendNull();
    ARROW_RETURN_NOT_OK(map->Append());
    for (const Entry& entry : *acc_) {
      ARROW_RETURN_NOT_OK(map->key_builder()->AppendScalar(*entry.key));
      ARROW_RETURN_NOT_OK(map->item_builder()->AppendScalar(*entry.value));
    }
    return arrow::Status::OK();
  }
  arrow::Result<std::shared_ptr<arrow::Array>> Finish() override { return builder_->Finish(); }

 private:
  struct Entry {
    ScalarPtr key;
    ScalarPtr value;
  };
  using Entries = std::vector<Entry>;

  arrow::Result<std::optional<Entries>> At(int64_t row) const {
    if (column_->IsNull(row)) return std::nullopt;
    Entries entries;
    for (int64_t i = column_->value_offset(row); i < column_->value_offset(row + 1); ++i) {
      ARROW_ASSIGN_OR_RAISE(auto key, column_->keys()->GetScalar(i));
      ARROW_ASSIGN_OR_RAISE(auto value, column_->items()->GetScalar(i));
      entries.push_back({std::move(key), std::move(value)});
    }
    return entries;
  }

  void Fold(std::optional<Entries> acc, std::optional<Entries> in) {
    if (!acc || !in) {
      acc_ = acc ? std::move(acc) : std::move(in);
      return;
    }
    for (Entry& entry : *in) {
      if (time_member_) {
        PutNewer(std::move(entry), &*acc);
      } else {
        Put(std::move(entry), &*acc);
      }
    }
    acc_ = std::move(acc);
  }
  static Entries::iterator Find(Entries* entries, const ScalarPtr& key) {
    return std::find_if(entries->begin(), entries->end(),
                        [&](const Entry& entry) { return Same(entry.key, key); });
  }
  static void Put(Entry entry, Entries* entries) {
    const auto it = Find(entries, entry.key);
    if (it == entries->end()) {
      entries->push_back(std::move(entry));
    } else {
      it->value = std::move(entry.value);
    }
  }
  void PutNewer(Entry entry, Entries* entries) const {
    const auto it = Find(entries, entry.key);
    if (!entry.value->is_valid) {
      if (it != entries->end()) entries->erase(it);
      return;
    }
    const ScalarPtr time = Member(entry.value, *time_member_);
    if (!time->is_valid) return;
    if (it == entries->end()) {
      entries->push_back(std::move(entry));
      return;
    }
    const ScalarPtr stored = it->value->is_valid ? Member(it->value, *time_member_) : ScalarPtr();
    if (stored == nullptr || !stored->is_valid || CompareUtf16(Text(time), Text(stored)) > 0)
      it->value = std::move(entry.value);
  }
  static std::string_view Text(const ScalarPtr& scalar) {
    return static_cast<const arrow::BaseBinaryScalar&>(*scalar).view();
  }

  const DataField field_;
  const std::shared_ptr<arrow::DataType> type_;
  const std::optional<size_t> time_member_;
  std::shared_ptr<arrow::MapArray> column_;
  std::optional<Entries> acc_;
  std::unique_ptr<arrow::ArrayBuilder> builder_;
};

arrow::Result<std::unique_ptr<Aggregator>> MakeNestedRows(bool partial, const std::string& function,
                                                          const DataField& field,
                                                          std::shared_ptr<arrow::DataType> type,
                                                          const Options& options) {
  if (field.type.root() != TypeRoot::kArray || field.type.element().root() != TypeRoot::kRow) {
    return WrongType(function, field);
  }
  ARROW_ASSIGN_OR_RAISE(auto keys, MembersOf(options, field, field.type.element(), "nested-key"));
  if (partial && keys.empty()) {
    return Invalid("column '{}': nested_partial_update needs 'fields.{}.nested-key'", field.name,
                   field.name);
  }
  int64_t limit = INT32_MAX;
  if (const auto text = ColumnOption(options, field, "count-limit")) {
    char* end = nullptr;
    limit = std::strtoll(text->c_str(), &end, 10);
    if (text->empty() || *end != '\0' || limit < 0) {
      return Invalid("option 'fields.{}.count-limit' = '{}' is not a number", field.name, *text);
    }
  }
  return std::make_unique<NestedRows>(partial, field, std::move(type), std::move(keys), limit);
}

arrow::Result<std::unique_ptr<Aggregator>> MakeMap(bool with_time, const std::string& function,
                                                   const DataField& field,
                                                   std::shared_ptr<arrow::DataType> type,
                                                   const Options& options) {
  if (field.type.root() != TypeRoot::kMap) return WrongType(function, field);
  if (!with_time) return std::make_unique<MapAggregator>(field, std::move(type), std::nullopt);
  const DataType& value = field.type.value();
  if (value.root() != TypeRoot::kRow || value.fields().size() < 2)
    return WrongType(function, field);
  ARROW_ASSIGN_OR_RAISE(auto members, MembersOf(options, field, value, "ts-field"));
  const size_t time = members.empty() ? value.fields().size() - 1 : members[0];
  const TypeRoot root = value.fields()[time].type.root();
  if (root != TypeRoot::kVarChar && root != TypeRoot::kChar) {
    return Invalid("column '{}': the time member '{}' of merge_map_with_keytime must be a string",
                   field.name, value.fields()[time].name);
  }
  return std::make_unique<MapAggregator>(field, std::move(type), time);
}

}  // namespace

arrow::Result<std::unique_ptr<Aggregator>> MakeNestedAggregator(const std::string& function,
                                                                const DataField& field,
                                                                const Options& options) {
  ARROW_ASSIGN_OR_RAISE(auto type, ToArrowType(field.type));
  if (function == "collect") {
    if (field.type.root() != TypeRoot::kArray) return WrongType(function, field);
    ARROW_ASSIGN_OR_RAISE(bool distinct, ColumnFlag(options, field, "distinct"));
    // The wrapper of ignore-retract turns the sides around, collect itself does not.
    ARROW_ASSIGN_OR_RAISE(bool wrapped, ColumnFlag(options, field, "ignore-retract"));
    return std::make_unique<Collect>(field, std::move(type), distinct, wrapped);
  }
  if (function == "nested_update" || function == "nested_partial_update") {
    return MakeNestedRows(function == "nested_partial_update", function, field, std::move(type),
                          options);
  }
  if (function == "merge_map" || function == "merge_map_with_keytime") {
    return MakeMap(function == "merge_map_with_keytime", function, field, std::move(type), options);
  }
  return std::unique_ptr<Aggregator>();
}

}  // namespace kelda
