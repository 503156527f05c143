// A predicate over the indexes of one file.
#include <algorithm>
#include <cmath>

#include "kelda/format/file_index/file_index.h"

namespace kelda {

namespace {

/// A question whose keys borrow the literals of the predicate; or the answer, when it does not
/// depend on the rows.
struct Question {
  enum class Answer { kAsk, kNone, kUnknown };
  Answer answer = Answer::kAsk;
  IndexQuery query;
};

Question Answered(Question::Answer answer) {
  Question question;
  question.answer = answer;
  return question;
}

bool IsZero(const KeyForm& form, const IndexKey& key) {
  return form.is_floating() &&
         (key.number == KeyForm::kPositiveZero || key.number == KeyForm::kNegativeZero);
}

arrow::Result<Question> Membership(const KeyForm& form, const Predicate& leaf, bool negated) {
  Question question;
  question.query.op = negated ? IndexOp::kNotIn : IndexOp::kIn;
  for (const auto& literal : leaf.literals) {
    if (literal == nullptr || !literal->is_valid) {
      // x NOT IN (..., NULL) is never true; x IN (..., NULL) as without the NULL.
      if (negated) return Answered(Question::Answer::kNone);
      continue;
    }
    ARROW_ASSIGN_OR_RAISE(IndexKey key, form.KeyOf(literal));
    if (IsZero(form, key)) {
      question.query.keys.push_back({KeyForm::kNegativeZero, {}});
      question.query.keys.push_back({KeyForm::kPositiveZero, {}});
    } else {
      question.query.keys.push_back(key);
    }
  }
  if (!negated && question.query.keys.empty()) return Answered(Question::Answer::kNone);
  // Rows of the same key may have another value.
  if (negated && form.lossy()) question.query.op = IndexOp::kNotNull;
  return question;
}

IndexOp OrderOp(PredicateOp op, bool negated) {
  switch (op) {
    case PredicateOp::kLt:
      return negated ? IndexOp::kGreaterEq : IndexOp::kLess;
    case PredicateOp::kLe:
      return negated ? IndexOp::kGreater : IndexOp::kLessEq;
    case PredicateOp::kGt:
      return negated ? IndexOp::kLessEq : IndexOp::kGreater;
    default:
      return negated ? IndexOp::kLess : IndexOp::kGreaterEq;
  }
}

arrow::Result<Question> Comparison(const KeyForm& form, const Predicate& leaf, bool negated) {
  const auto& literal = leaf.literals.empty() ? nullptr : leaf.literals[0];
  if (literal == nullptr || !literal->is_valid) return Answered(Question::Answer::kNone);
  Question question;
  question.query.op = OrderOp(leaf.op, negated);
  ARROW_ASSIGN_OR_RAISE(IndexKey key, form.KeyOf(literal));
  if (form.lossy()) {
    if (question.query.op == IndexOp::kLess) question.query.op = IndexOp::kLessEq;
    if (question.query.op == IndexOp::kGreater) question.query.op = IndexOp::kGreaterEq;
  }
  if (IsZero(form, key)) {
    const bool from_below =
        question.query.op == IndexOp::kLess || question.query.op == IndexOp::kGreaterEq;
    key.number = from_below ? KeyForm::kNegativeZero : KeyForm::kPositiveZero;
  }
  question.query.keys.push_back(key);
  return question;
}

arrow::Result<Question> QuestionOf(const KeyForm& form, const Predicate& leaf, bool negated) {
  Question question;
  switch (leaf.op) {
    case PredicateOp::kIsNull:
    case PredicateOp::kIsNotNull:
      question.query.op =
          (leaf.op == PredicateOp::kIsNull) != negated ? IndexOp::kIsNull : IndexOp::kNotNull;
      return question;
    case PredicateOp::kEq:
    case PredicateOp::kIn:
      return Membership(form, leaf, negated);
    case PredicateOp::kNe:
      return Membership(form, leaf, !negated);
    case PredicateOp::kLt:
    case PredicateOp::kLe:
    case PredicateOp::kGt:
    case PredicateOp::kGe:
      return Comparison(form, leaf, negated);
    case PredicateOp::kStartsWith: {
      const auto& literal = leaf.literals.empty() ? nullptr : leaf.literals[0];
      if (literal == nullptr || !literal->is_valid) return Answered(Question::Answer::kNone);
      if (!form.is_text()) return Answered(Question::Answer::kUnknown);
      ARROW_ASSIGN_OR_RAISE(IndexKey key, form.KeyOf(literal));
      question.query.op = negated ? IndexOp::kNotNull : IndexOp::kStartsWith;
      question.query.keys.push_back(key);
      return question;
    }
    default:
      return Answered(Question::Answer::kUnknown);
  }
}

class Evaluation {
 public:
  Evaluation(const IndexContainer& container, const IndexedColumnResolver& resolver,
             int64_t row_count)
      : container_(container), resolver_(resolver), rows_(row_count) {}

  /// Rows where `predicate`, or its negation, may be true.
  arrow::Result<RowSelection> Evaluate(const Predicate& predicate, bool negated) const {
    switch (predicate.op) {
      case PredicateOp::kAnd:
      case PredicateOp::kOr:
        return Combine(predicate, (predicate.op == PredicateOp::kAnd) != negated, negated);
      case PredicateOp::kNot:
        if (predicate.children.size() != 1) return RowSelection::All(rows_);
        return Evaluate(*predicate.children[0], !negated);
      default:
        return Leaf(predicate, negated);
    }
  }

 private:
  arrow::Result<RowSelection> Combine(const Predicate& predicate, bool conjunction,
                                      bool negated) const {
    RowSelection rows = conjunction ? RowSelection::All(rows_) : RowSelection::None(rows_);
    for (const auto& child : predicate.children) {
      if (conjunction ? rows.none() : rows.all()) break;
      ARROW_ASSIGN_OR_RAISE(RowSelection more, Evaluate(*child, negated));
      if (conjunction) {
        rows.And(std::move(more));
      } else {
        rows.Or(std::move(more));
      }
    }
    return rows;
  }

  arrow::Result<RowSelection> Leaf(const Predicate& leaf, bool negated) const {
    RowSelection rows = RowSelection::All(rows_);
    auto column = resolver_(leaf.column);
    if (!column) return rows;
    auto form = KeyForm::Make(column->type);
    if (!form.ok()) return rows;
    ARROW_ASSIGN_OR_RAISE(Question question, QuestionOf(*form, leaf, negated));
    if (question.answer == Question::Answer::kNone) return RowSelection::None(rows_);
    if (question.answer == Question::Answer::kUnknown) return rows;
    for (const ColumnIndexType* type : ColumnIndexTypes()) {
      if (!type->Supports(column->type)) continue;
      for (const IndexContainer::Place& place : container_.places()) {
        if (place.column != column->name || place.type != type->name()) continue;
        ARROW_ASSIGN_OR_RAISE(RowSelection more, Ask(*type, *form, place, question.query));
        rows.And(std::move(more));
        if (rows.none()) return rows;
      }
      // An index that told the rows needs no second one.
      if (!rows.all()) return rows;
    }
    return rows;
  }

  arrow::Result<RowSelection> Ask(const ColumnIndexType& type, const KeyForm& form,
                                  const IndexContainer::Place& place,
                                  const IndexQuery& query) const {
    if (!place.fed) {
      // Never fed a row: all values are null (spec 01 §7.4).
      return query.op == IndexOp::kIsNull ? RowSelection::All(rows_) : RowSelection::None(rows_);
    }
    ARROW_ASSIGN_OR_RAISE(auto reader, type.Open(form, container_.Blob(place), rows_));
    return reader->Evaluate(query);
  }

  const IndexContainer& container_;
  const IndexedColumnResolver& resolver_;
  int64_t rows_;
};

}  // namespace

arrow::Result<RowSelection> SelectIndexedRows(const IndexContainer& container,
                                              const Predicate& predicate,
                                              const IndexedColumnResolver& resolver,
                                              int64_t row_count) {
  return Evaluation(container, resolver, row_count).Evaluate(predicate, false);
}

}  // namespace kelda
