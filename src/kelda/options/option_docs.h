#pragma once

#include <string>

namespace kelda {

/// docs/options.md, made from the table of options.
std::string RenderOptionDocs();

}  // namespace kelda
