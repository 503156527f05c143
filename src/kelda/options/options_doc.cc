// kelda_options_doc: prints docs/options.md.
#include <cstdio>

#include "kelda/options/option_docs.h"

int main() {
  std::string page = kelda::RenderOptionDocs();
  return std::fwrite(page.data(), 1, page.size(), stdout) == page.size() ? 0 : 1;
}
