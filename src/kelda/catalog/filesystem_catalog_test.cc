#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "kelda/base/test_matchers.h"
#include "kelda/catalog/catalog.h"
#include "kelda/io/io_test_fixture.h"

namespace kelda {
namespace {

using Names = std::vector<std::string>;

Identifier Id(const std::string& database, const std::string& object) {
  auto id = Identifier::Parse(database, object);
  EXPECT_OK(id);
  return id.ValueOr(Identifier());
}

TableDefinition TwoColumns() {
  TableDefinition definition;
  definition.fields = {{-1, "id", DataType(TypeRoot::kInt), {}, {}},
                       {-1, "name", DataType::String(), {}, {}}};
  return definition;
}

/// The same tests over memory and the local file system.
class FileSystemCatalogTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    env_.io = GetParam() ? MakeMemoryFileIO() : MakeLocalFileIO();
    warehouse_ = GetParam() ? "/wh" : directory_.path() + "/wh";
    ASSERT_OK_AND_ASSIGN(catalog_, OpenFileSystemCatalog(warehouse_, {}, env_));
  }
  arrow::Status Create(const std::string& object, bool ignore = false) {
    return catalog_->CreateTable(Id("default", object), TwoColumns(), ignore);
  }
  bool Exists(const std::string& path) { return env_.io->Exists(path).ValueOr(false); }
  void WriteFile(const std::string& path, const std::string& text) {
    ASSERT_OK(env_.io->WriteReplacing(path, text));
  }

  TestDirectory directory_;
  Environment env_;
  std::string warehouse_;
  std::shared_ptr<Catalog> catalog_;
};

INSTANTIATE_TEST_SUITE_P(FileSystems, FileSystemCatalogTest, testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Memory" : "Local"; });

// ------------------------------------------------------------------------------------- databases

TEST_P(FileSystemCatalogTest, TheWarehouseIsMadeWithItsDefaultDatabase) {
  EXPECT_EQ(catalog_->warehouse(), warehouse_);
  EXPECT_TRUE(Exists(warehouse_ + "/default.db"));
  ASSERT_OK_AND_ASSIGN(auto databases, catalog_->ListDatabases());
  EXPECT_EQ(databases, Names{"default"});
  // Opening what is there changes nothing.
  ASSERT_OK_AND_ASSIGN(auto again, OpenFileSystemCatalog(warehouse_ + "//", {}, env_));
  EXPECT_EQ(again->warehouse(), warehouse_);
  ASSERT_OK_AND_ASSIGN(databases, again->ListDatabases());
  EXPECT_EQ(databases, Names{"default"});
}

TEST_P(FileSystemCatalogTest, DatabasesComeAndGo) {
  ASSERT_OK(catalog_->CreateDatabase("b", false));
  ASSERT_OK(catalog_->CreateDatabase("a", false));
  EXPECT_THAT(catalog_->CreateDatabase("a", false), HasError(ErrorCode::kAlreadyExists, "'a'"));
  EXPECT_OK(catalog_->CreateDatabase("a", true));
  ASSERT_OK_AND_ASSIGN(auto databases, catalog_->ListDatabases());
  EXPECT_EQ(databases, (Names{"a", "b", "default"}));
  ASSERT_OK_AND_ASSIGN(bool exists, catalog_->DatabaseExists("a"));
  EXPECT_TRUE(exists);
  ASSERT_OK_AND_ASSIGN(exists, catalog_->DatabaseExists("A"));
  EXPECT_FALSE(exists);

  ASSERT_OK(catalog_->DropDatabase("a", false, false));
  EXPECT_FALSE(Exists(warehouse_ + "/a.db"));
  EXPECT_THAT(catalog_->DropDatabase("a", false, false), HasError(ErrorCode::kNotFound, "'a'"));
  EXPECT_OK(catalog_->DropDatabase("a", true, false));
  ASSERT_OK_AND_ASSIGN(exists, catalog_->DatabaseExists("a"));
  EXPECT_FALSE(exists);
}

TEST_P(FileSystemCatalogTest, DatabasesWithTablesGoOnlyByCascade) {
  ASSERT_OK(catalog_->CreateDatabase("d", false));
  for (const char* name : {"t1", "t2", "t3"})
    ASSERT_OK(catalog_->CreateTable(Id("d", name), TwoColumns(), false));
  auto refused = catalog_->DropDatabase("d", false, false);
  ASSERT_TRUE(refused.IsInvalid());
  EXPECT_THAT(refused.message(), testing::HasSubstr("'t1' and 2 more"));
  EXPECT_TRUE(Exists(warehouse_ + "/d.db/t3/schema/schema-0"));
  ASSERT_OK(catalog_->DropDatabase("d", false, true));
  EXPECT_FALSE(Exists(warehouse_ + "/d.db"));
}

TEST_P(FileSystemCatalogTest, OtherDirectoriesAndFilesAreNoDatabases) {
  ASSERT_OK(env_.io->MakeDirs(warehouse_ + "/plain"));
  ASSERT_OK(env_.io->MakeDirs(warehouse_ + "/.db"));
  WriteFile(warehouse_ + "/file.db", "x");
  ASSERT_OK_AND_ASSIGN(auto databases, catalog_->ListDatabases());
  EXPECT_EQ(databases, Names{"default"});
  ASSERT_OK_AND_ASSIGN(bool exists, catalog_->DatabaseExists("file"));
  EXPECT_FALSE(exists);
  ASSERT_OK_AND_ASSIGN(exists, catalog_->DatabaseExists("plain"));
  EXPECT_FALSE(exists);
}

TEST_P(FileSystemCatalogTest, TheSystemDatabaseIsReserved) {
  EXPECT_TRUE(catalog_->CreateDatabase("sys", false).IsInvalid());
  EXPECT_TRUE(catalog_->CreateDatabase("sys", true).IsInvalid());
  EXPECT_TRUE(catalog_->DropDatabase("sys", true, true).IsInvalid());
  EXPECT_TRUE(catalog_->CreateTable(Id("sys", "t"), TwoColumns(), false).IsInvalid());
}

// ----------------------------------------------------------------------------------------- names

TEST_P(FileSystemCatalogTest, NamesDoNotEscapeTheWarehouse) {
  WriteFile(warehouse_ + "/../outside/schema/schema-0", "{}");
  WriteFile(warehouse_ + "/../outside.db/t/schema/schema-0", "{}");
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../outside"),
        std::string("a/b"), std::string("/abs"), std::string(".hidden"),
        std::string("nul\0x", 5)}) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(catalog_->CreateDatabase(name, false).IsInvalid());
    EXPECT_THAT(catalog_->DropDatabase(name, false, true), HasError(ErrorCode::kNotFound, name));
    ASSERT_OK_AND_ASSIGN(bool exists, catalog_->DatabaseExists(name));
    EXPECT_FALSE(exists);

    Identifier id;
    id.database = "default";
    id.table = name;
    EXPECT_TRUE(catalog_->CreateTable(id, TwoColumns(), false).IsInvalid());
    EXPECT_TRUE(catalog_->DropTable(id, true).IsInvalid());
    EXPECT_TRUE(catalog_->RenameTable(id, Id("default", "x")).IsInvalid());
    EXPECT_TRUE(catalog_->RenameTable(Id("default", "x"), id).IsInvalid());
    EXPECT_THAT(catalog_->LoadTable(id), HasError(ErrorCode::kNotFound, ""));
    EXPECT_FALSE(catalog_->AlterTable(id, {UpdateComment{"x"}}).ok());
    ASSERT_OK_AND_ASSIGN(exists, catalog_->TableExists(id));
    EXPECT_FALSE(exists);

    id.table = "t";
    id.database = name;
    EXPECT_FALSE(catalog_->CreateTable(id, TwoColumns(), false).ok());
    EXPECT_TRUE(catalog_->DropTable(id, true).IsInvalid());
    EXPECT_FALSE(catalog_->ListTables(name).ok());
    EXPECT_THAT(catalog_->LoadTable(id), HasError(ErrorCode::kNotFound, ""));
  }
  EXPECT_TRUE(Exists(warehouse_ + "/../outside/schema/schema-0"));
}

TEST_P(FileSystemCatalogTest, BranchNamesDoNotEscapeTheTable) {
  ASSERT_OK(Create("t"));
  ASSERT_OK(Create("victim"));
  // Without a check this would be .../t/branch/branch-x/../../../victim.
  ASSERT_OK(env_.io->MakeDirs(warehouse_ + "/default.db/t/branch/branch-x"));
  Identifier id = Id("default", "t");
  for (const std::string& branch : {std::string("x/../../../victim"), std::string("../../victim"),
                                    std::string("a/b"), std::string(".."), std::string("")}) {
    SCOPED_TRACE(branch);
    id.branch = branch;
    ASSERT_OK_AND_ASSIGN(bool exists, catalog_->TableExists(id));
    EXPECT_FALSE(exists);
    EXPECT_THAT(catalog_->LoadTable(id), HasError(ErrorCode::kNotFound, ""));
    EXPECT_FALSE(catalog_->AlterTable(id, {UpdateComment{"x"}}).ok());
  }
  EXPECT_FALSE(Exists(warehouse_ + "/default.db/victim/schema/schema-1"));
}

TEST_P(FileSystemCatalogTest, UnusualNamesWork) {
  for (const std::string& name :
       {std::string("with blank"), std::string("日本"), std::string("a.b"), std::string("x=1"),
        std::string("UPPER"), std::string("upper"), std::string("a%2Fb"), std::string("-"),
        std::string("quote'\"`"), std::string("back\\slash")}) {
    SCOPED_TRACE(name);
    ASSERT_OK(Create(name));
    ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("default", name)));
    EXPECT_EQ(table->name, "default." + name);
    EXPECT_EQ(table->paths.root(), warehouse_ + "/default.db/" + name);
  }
  ASSERT_OK_AND_ASSIGN(auto tables, catalog_->ListTables("default"));
  EXPECT_EQ(tables.size(), 10U);
}

TEST(Identifiers, AreParsedAndPrinted) {
  struct Case {
    const char* text;
    const char* table;
    const char* branch;
    const char* system_table;
    const char* full;
  };
  for (const Case& c :
       {Case{"t", "t", "main", "", "d.t"}, Case{"t$branch_b", "t", "b", "", "d.t$branch_b"},
        Case{"t$branch_main", "t", "main", "", "d.t"},
        Case{"t$files", "t", "main", "files", "d.t$files"},
        Case{"t$branch_b$files", "t", "b", "files", "d.t$branch_b$files"},
        Case{"t$branch_main$files", "t", "main", "files", "d.t$files"},
        Case{"t.x$files", "t.x", "main", "files", "d.t.x$files"}}) {
    SCOPED_TRACE(c.text);
    ASSERT_OK_AND_ASSIGN(auto id, Identifier::Parse("d", c.text));
    EXPECT_EQ(id.table, c.table);
    EXPECT_EQ(id.branch, c.branch);
    EXPECT_EQ(id.system_table, c.system_table);
    EXPECT_EQ(id.FullName(), c.full);
  }
  for (const char* text : {"", "$files", "t$files$branch_b", "t$a$b", "t$branch_", "t$branch_b$c$d",
                           "t$branch_$files"}) {
    EXPECT_TRUE(Identifier::Parse("d", text).status().IsInvalid()) << text;
  }
}

// ---------------------------------------------------------------------------------------- tables

TEST_P(FileSystemCatalogTest, TablesComeAndGo) {
  ASSERT_OK(Create("b"));
  ASSERT_OK(Create("a"));
  EXPECT_THAT(Create("a"), HasError(ErrorCode::kAlreadyExists, "default.a"));
  EXPECT_OK(Create("a", /*ignore=*/true));
  ASSERT_OK_AND_ASSIGN(auto tables, catalog_->ListTables("default"));
  EXPECT_EQ(tables, (Names{"a", "b"}));
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("default", "a")));
  EXPECT_EQ(table->schema->id, 0);
  EXPECT_EQ(table->fields().size(), 2U);
  EXPECT_EQ(table->fields()[1].id, 1);

  ASSERT_OK(catalog_->DropTable(Id("default", "a"), false));
  EXPECT_FALSE(Exists(warehouse_ + "/default.db/a"));
  EXPECT_THAT(catalog_->DropTable(Id("default", "a"), false),
              HasError(ErrorCode::kNotFound, "default.a"));
  EXPECT_OK(catalog_->DropTable(Id("default", "a"), true));
  EXPECT_THAT(catalog_->LoadTable(Id("default", "a$files")),
              HasError(ErrorCode::kNotFound, "default.a does not exist"));
  EXPECT_THAT(catalog_->ListTables("nope"), HasError(ErrorCode::kNotFound, "'nope'"));
  EXPECT_THAT(catalog_->CreateTable(Id("nope", "t"), TwoColumns(), true),
              HasError(ErrorCode::kNotFound, "'nope'"));
}

TEST_P(FileSystemCatalogTest, DirectoriesWithoutSchemaAreNoTables) {
  ASSERT_OK(env_.io->MakeDirs(warehouse_ + "/default.db/empty"));
  WriteFile(warehouse_ + "/default.db/data/bucket-0/f", "x");
  WriteFile(warehouse_ + "/default.db/file", "x");
  WriteFile(warehouse_ + "/default.db/.hidden/schema/schema-0", "{}");
  ASSERT_OK_AND_ASSIGN(auto tables, catalog_->ListTables("default"));
  EXPECT_EQ(tables, Names{});
  EXPECT_THAT(catalog_->LoadTable(Id("default", "data")), HasError(ErrorCode::kNotFound, "data"));
  EXPECT_THAT(catalog_->DropTable(Id("default", "data"), false),
              HasError(ErrorCode::kNotFound, "data"));
  EXPECT_TRUE(Exists(warehouse_ + "/default.db/data/bucket-0/f"));
}

TEST_P(FileSystemCatalogTest, TablesWhoseFirstSchemasAreGoneAreTables) {
  ASSERT_OK(Create("t"));
  ASSERT_OK(catalog_->AlterTable(Id("default", "t"), {UpdateComment{"x"}}));
  ASSERT_OK(env_.io->DeleteFile(warehouse_ + "/default.db/t/schema/schema-0"));
  ASSERT_OK_AND_ASSIGN(auto tables, catalog_->ListTables("default"));
  EXPECT_EQ(tables, Names{"t"});
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("default", "t")));
  EXPECT_EQ(table->schema->id, 1);
}

TEST_P(FileSystemCatalogTest, BranchesAndSystemTablesAreNotTables) {
  ASSERT_OK(Create("t"));
  for (const char* object : {"t$files", "t$branch_b", "t$branch_b$files"}) {
    SCOPED_TRACE(object);
    const Identifier id = Id("default", object);
    EXPECT_TRUE(catalog_->CreateTable(id, TwoColumns(), true).IsInvalid());
    EXPECT_TRUE(catalog_->DropTable(id, true).IsInvalid());
    EXPECT_TRUE(catalog_->RenameTable(id, Id("default", "x")).IsInvalid());
    EXPECT_TRUE(catalog_->RenameTable(Id("default", "t"), id).IsInvalid());
  }
  EXPECT_TRUE(catalog_->AlterTable(Id("default", "t$files"), {UpdateComment{"x"}}).IsInvalid());
  Identifier dollar = Id("default", "t");
  dollar.table = "a$b";
  EXPECT_TRUE(catalog_->CreateTable(dollar, TwoColumns(), false).IsInvalid());
}

TEST_P(FileSystemCatalogTest, WrongDefinitionsLeaveNothing) {
  TableDefinition definition = TwoColumns();
  definition.partition_keys = {"nope"};
  auto status = catalog_->CreateTable(Id("default", "t"), definition, false);
  ASSERT_TRUE(status.IsInvalid());
  EXPECT_THAT(status.message(), testing::HasSubstr("default.t"));
  definition = TwoColumns();
  definition.options = {{"path", "/elsewhere"}};
  EXPECT_THAT(catalog_->CreateTable(Id("default", "t"), definition, false),
              HasError(ErrorCode::kUnsupported, "'path'"));
  EXPECT_FALSE(Exists(warehouse_ + "/default.db/t"));
}

TEST_P(FileSystemCatalogTest, TableDefaultsOfTheCatalogFillGaps) {
  ASSERT_OK_AND_ASSIGN(auto catalog,
                       OpenFileSystemCatalog(warehouse_,
                                             {{"table-default.target-file-size", "1 mb"},
                                              {"table-default.file.compression", "lz4"}},
                                             env_));
  TableDefinition definition = TwoColumns();
  definition.options = {{"file.compression", "snappy"}};
  ASSERT_OK(catalog->CreateTable(Id("default", "t"), definition, false));
  ASSERT_OK_AND_ASSIGN(auto table, catalog->LoadTable(Id("default", "t")));
  EXPECT_EQ(table->schema->options,
            (std::map<std::string, std::string>{{"file.compression", "snappy"},
                                                {"target-file-size", "1 mb"}}));
}

TEST_P(FileSystemCatalogTest, UnknownKeysAreWarnedAbout) {
  TableDefinition definition = TwoColumns();
  definition.options = {{"target-file-sise", "1 mb"}};
  Names warnings;
  ASSERT_OK(catalog_->CreateTable(Id("default", "t"), definition, false, &warnings));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_THAT(warnings[0], testing::HasSubstr("target-file-size"));
}

TEST_P(FileSystemCatalogTest, DynamicOptionsLieOnTop) {
  TableDefinition definition = TwoColumns();
  definition.options = {{"target-file-size", "1 mb"}};
  ASSERT_OK(catalog_->CreateTable(Id("default", "t"), definition, false));
  ASSERT_OK_AND_ASSIGN(auto table,
                       catalog_->LoadTable(Id("default", "t"), {{"target-file-size", "2 mb"}}));
  EXPECT_EQ(table->options.values().at("target-file-size"), "2 mb");
  EXPECT_EQ(table->schema->options.at("target-file-size"), "1 mb");
}

// ---------------------------------------------------------------------------------------- rename

TEST_P(FileSystemCatalogTest, RenamedTablesKeepTheirFiles) {
  ASSERT_OK(Create("t"));
  WriteFile(warehouse_ + "/default.db/t/bucket-0/f", "x");
  ASSERT_OK(catalog_->CreateDatabase("other", false));
  ASSERT_OK(catalog_->RenameTable(Id("default", "t"), Id("other", "u")));
  EXPECT_TRUE(Exists(warehouse_ + "/other.db/u/bucket-0/f"));
  EXPECT_FALSE(Exists(warehouse_ + "/default.db/t"));
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("other", "u")));
  EXPECT_EQ(table->name, "other.u");
}

TEST_P(FileSystemCatalogTest, WrongRenamesAreRefused) {
  ASSERT_OK(Create("t"));
  ASSERT_OK(Create("u"));
  EXPECT_THAT(catalog_->RenameTable(Id("default", "t"), Id("default", "u")),
              HasError(ErrorCode::kAlreadyExists, "default.u"));
  EXPECT_THAT(catalog_->RenameTable(Id("default", "t"), Id("default", "t")),
              HasError(ErrorCode::kAlreadyExists, "default.t"));
  EXPECT_THAT(catalog_->RenameTable(Id("default", "x"), Id("default", "y")),
              HasError(ErrorCode::kNotFound, "default.x"));
  EXPECT_THAT(catalog_->RenameTable(Id("default", "t"), Id("nope", "t")),
              HasError(ErrorCode::kNotFound, "'nope'"));
  // A directory that is no table is in the way, too.
  WriteFile(warehouse_ + "/default.db/data/f", "x");
  EXPECT_THAT(catalog_->RenameTable(Id("default", "t"), Id("default", "data")),
              HasError(ErrorCode::kAlreadyExists, "data"));
  EXPECT_TRUE(Exists(warehouse_ + "/default.db/t/schema/schema-0"));
}

// ----------------------------------------------------------------------------------------- alter

TEST_P(FileSystemCatalogTest, ChangesMakeOneNewSchema) {
  ASSERT_OK(Create("t"));
  ASSERT_OK(catalog_->AlterTable(
      Id("default", "t"),
      {AddColumn{{-1, "x", DataType(TypeRoot::kDouble), {}, {}}, ""}, RenameColumn{"name", "title"},
       SetOption{"target-file-size", "1 mb"}, UpdateComment{"a table"}}));
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("default", "t")));
  EXPECT_EQ(table->schema->id, 1);
  EXPECT_EQ(table->schema->highest_field_id, 2);
  EXPECT_EQ(table->fields()[0].name, "x");
  EXPECT_EQ(table->fields()[0].id, 2);
  EXPECT_EQ(table->fields()[2].name, "title");
  EXPECT_EQ(table->fields()[2].id, 1);
  EXPECT_EQ(table->schema->comment, "a table");
  ASSERT_OK_AND_ASSIGN(auto first, table->schemas->Read(0));
  EXPECT_EQ(first->fields[1].name, "name");
}

TEST_P(FileSystemCatalogTest, FailedChangesLeaveTheSchema) {
  ASSERT_OK(Create("t"));
  auto status = catalog_->AlterTable(Id("default", "t"), {UpdateComment{"x"}, DropColumn{"nope"}});
  EXPECT_THAT(status, HasError(ErrorCode::kNotFound, "default.t"));
  EXPECT_TRUE(catalog_->AlterTable(Id("default", "t"), {SetOption{"bucket", "0"}}).IsInvalid());
  EXPECT_TRUE(catalog_->AlterTable(Id("default", "t"), {UpdateColumnDefault{"id", "seven"}}).ok() ==
              false);
  EXPECT_TRUE(
      catalog_->AlterTable(Id("default", "t"), {RenameColumn{"name", "_ROW_ID"}}).IsInvalid());
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("default", "t")));
  EXPECT_EQ(table->schema->id, 0);
  EXPECT_THAT(catalog_->AlterTable(Id("default", "nope"), {UpdateComment{"x"}}),
              HasError(ErrorCode::kNotFound, "default.nope"));
}

TEST_P(FileSystemCatalogTest, BranchesHaveTheirOwnSchemas) {
  ASSERT_OK(Create("t"));
  const std::string root = warehouse_ + "/default.db/t";
  ASSERT_OK_AND_ASSIGN(auto text, env_.io->ReadAll(root + "/schema/schema-0"));
  WriteFile(root + "/branch/branch-b/schema/schema-0", text);
  ASSERT_OK(catalog_->AlterTable(Id("default", "t$branch_b"),
                                 {AddColumn{{-1, "x", DataType(TypeRoot::kInt), {}, {}}, {}}}));
  ASSERT_OK_AND_ASSIGN(auto branch, catalog_->LoadTable(Id("default", "t$branch_b")));
  EXPECT_EQ(branch->name, "default.t$branch_b");
  EXPECT_EQ(branch->fields().size(), 3U);
  ASSERT_OK_AND_ASSIGN(auto main, catalog_->LoadTable(Id("default", "t$branch_main")));
  EXPECT_EQ(main->fields().size(), 2U);
  EXPECT_THAT(catalog_->LoadTable(Id("default", "t$branch_c")),
              HasError(ErrorCode::kNotFound, "t$branch_c"));
}

// --------------------------------------------------------------------------------- competition

template <typename Body>
void InThreads(int count, const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back([&, i] { body(i); });
  for (std::thread& thread : threads) thread.join();
}

TEST_P(FileSystemCatalogTest, OneOfManyCreatorsWins) {
  for (int round = 0; round < 20; ++round) {
    const Identifier id = Id("default", fmt::format("t{}", round));
    std::atomic<int> created{0};
    InThreads(8, [&](int i) {
      TableDefinition definition = TwoColumns();
      definition.comment = std::to_string(i);
      const auto status = catalog_->CreateTable(id, definition, false);
      if (status.ok()) {
        ++created;
      } else {
        EXPECT_THAT(status, HasError(ErrorCode::kAlreadyExists, id.FullName()));
      }
    });
    EXPECT_EQ(created, 1);
    ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(id));
    ASSERT_OK_AND_ASSIGN(auto ids, table->schemas->ListIds());
    EXPECT_EQ(ids, std::vector<int64_t>{0});
  }
}

TEST_P(FileSystemCatalogTest, CreatorsThatIgnoreAllSucceed) {
  InThreads(8, [&](int) { EXPECT_OK(Create("t", /*ignore=*/true)); });
  InThreads(8, [&](int) { EXPECT_OK(catalog_->CreateDatabase("d", /*ignore_if_exists=*/true)); });
}

TEST_P(FileSystemCatalogTest, NoChangeOfManyAlterersIsLost) {
  constexpr int kThreads = 8;
  constexpr int kChanges = 5;
  ASSERT_OK(Create("t"));
  InThreads(kThreads, [&](int thread) {
    // Another process has a catalog of its own.
    auto catalog = OpenFileSystemCatalog(warehouse_, {}, env_);
    ASSERT_OK(catalog);
    for (int i = 0; i < kChanges; ++i) {
      ASSERT_OK((*catalog)->AlterTable(
          Id("default", "t"),
          {AddColumn{{-1, fmt::format("c{}_{}", thread, i), DataType(TypeRoot::kInt), {}, {}},
                     {}}}));
    }
  });
  ASSERT_OK_AND_ASSIGN(auto table, catalog_->LoadTable(Id("default", "t")));
  EXPECT_EQ(table->schema->id, kThreads * kChanges);
  EXPECT_EQ(table->fields().size(), 2U + kThreads * kChanges);
  std::set<int32_t> ids;
  for (const DataField& field : table->fields()) ids.insert(field.id);
  EXPECT_EQ(ids.size(), table->fields().size());
  EXPECT_EQ(*ids.rbegin(), table->schema->highest_field_id);
}

TEST_P(FileSystemCatalogTest, TheSameColumnIsAddedOnce) {
  ASSERT_OK(Create("t"));
  std::atomic<int> added{0};
  InThreads(8, [&](int) {
    const auto status = catalog_->AlterTable(
        Id("default", "t"), {AddColumn{{-1, "x", DataType(TypeRoot::kInt), {}, {}}, {}}});
    if (status.ok()) {
      ++added;
    } else {
      EXPECT_THAT(status, HasError(ErrorCode::kAlreadyExists, "'x'"));
    }
  });
  EXPECT_EQ(added, 1);
}

// ---------------------------------------------------------------------------------------- opening

TEST(OpeningACatalog, ReadsFormsOfThePath) {
  TestDirectory directory;
  for (const char* prefix : {"", "file:", "file://"}) {
    ASSERT_OK_AND_ASSIGN(auto catalog,
                         OpenFileSystemCatalog(prefix + directory.path() + "/wh/", {}, {}));
    EXPECT_EQ(catalog->warehouse(), directory.path() + "/wh");
  }
  EXPECT_TRUE(OpenFileSystemCatalog("", {}, {}).status().IsInvalid());
  EXPECT_TRUE(OpenFileSystemCatalog("file:", {}, {}).status().IsInvalid());
  for (const char* path : {"s3://bucket/wh", "hdfs://host/wh", "oss://b/wh"}) {
    EXPECT_THAT(OpenFileSystemCatalog(path, {}, {}), HasError(ErrorCode::kUnsupported, path));
  }
}

TEST(OpeningACatalog, OptionsThatAreNotBuiltAreRefused) {
  Environment env;
  env.io = MakeMemoryFileIO();
  EXPECT_THAT(OpenFileSystemCatalog("/wh", {{"metastore", "hive"}}, env),
              HasError(ErrorCode::kUnsupported, "metastore"));
  EXPECT_OK(OpenFileSystemCatalog("/wh", {{"metastore", "filesystem"}}, env));
}

TEST(OpeningACatalog, AFileInPlaceOfTheWarehouseIsAnError) {
  TestDirectory directory;
  std::ofstream(directory.path() + "/wh") << "x";
  auto catalog = OpenFileSystemCatalog(directory.path() + "/wh", {}, {});
  ASSERT_FALSE(catalog.ok());
  EXPECT_THAT(catalog.status().message(), testing::HasSubstr(directory.path() + "/wh"));
}

}  // namespace
}  // namespace kelda
