// SPDX-License-Identifier: MIT
// The figures of the cost model by their names.
#pragma once

#include <array>
#include <string_view>

#include "hashtable/cost.hpp"

namespace hashtable::cost {

/// A basic operation.
struct Figure {
  std::string_view name;
  double Basics::*value;
};

/// All of them, in the order in which they are printed.
inline constexpr std::array kFigures = {Figure{"write", &Basics::write},
                                        Figure{"read_word", &Basics::read_word},
                                        Figure{"read", &Basics::read},
                                        Figure{"compare_and_swap", &Basics::compare_and_swap},
                                        Figure{"fetch_and_add", &Basics::fetch_and_add},
                                        Figure{"look", &Basics::look},
                                        Figure{"crowded", &Basics::crowded},
                                        Figure{"change", &Basics::change},
                                        Figure{"claim", &Basics::claim},
                                        Figure{"taken", &Basics::taken},
                                        Figure{"kept", &Basics::kept},
                                        Figure{"missed", &Basics::missed},
                                        Figure{"call", &Basics::call},
                                        Figure{"service", &Basics::service},
                                        Figure{"wake", &Basics::wake},
                                        Figure{"awake", &Basics::awake},
                                        Figure{"block", &Basics::block},
                                        Figure{"block_asleep", &Basics::block_asleep},
                                        Figure{"lock", &Basics::lock},
                                        Figure{"hit", &Basics::hit}};
static_assert(kFigures.size() * sizeof(double) == sizeof(Basics), "a figure is left out");

}  // namespace hashtable::cost
