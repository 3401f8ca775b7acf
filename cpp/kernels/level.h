// The table of a kernel level, made of the loops as the including file's instruction set compiles them.
#pragma once

#include "batch_loops.h"
#include "kernels.h"
#include "lane_loops.h"
#include "loops.h"
#include "sum_loops.h"

namespace tagwright {
namespace {

constexpr Kernels table(const char* name) {
  return {
      .name = name,
      .dense_step_ff = dense_step<float, float>,
      .dense_step_df = dense_step<double, float>,
      .dense_step_dd = dense_step<double, double>,
      .max_lanes_f = max_lanes<float>,
      .max_lanes_d = max_lanes<double>,
      .add_to_lanes = add_to_lanes,
      .best_of_lanes = best_of_lanes,
      .raise_f = raise<float>,
      .raise_d = raise<double>,
      .raise_all_d = raise_all,
      .scatter_d = scatter<double>,
      .bound_column_f = bound_column<float>,
      .bound_column_d = bound_column<double>,
      .follow_rows_f = follow_rows<float>,
      .follow_rows_d = follow_rows<double>,
      .scatter_f = scatter<float>,
      .open_blocks = open_blocks,
      .reached_by_16 = reached_by_16,
      .extend_ff = extend<float>,
      .extend_dd = extend<double>,
      .add_blocks_f = add_blocks,
      .add_scaled_f = add_scaled<float, float>,
      .add_scaled_d = add_scaled<float, double>,
      .add_scaled_dd = add_scaled<double, double>,
      .multiply_panels_f = multiply_panels,
      .exp_f = exp_less<float>,
      .exp_d = exp_less<double>,
      .exp_below = exp_below,
      .multiply_d = multiply,
      .sum_d = sum,
      .spread_rows = spread_rows,
      .count_row = count_one_row,
      .scan_f = scan<float>,
      .scan_d = scan<double>,
      .max_f = largest<float>,
      .max_d = largest<double>,
      .argmax_d = argmax,
      .argmax_sum_ff = argmax_sum<float>,
      .argmax_sum_dd = argmax_sum<double>,
      .at_least_f = at_least<float>,
      .at_least_d = at_least<double>,
      .batch_f = batch_table<float>(),
      .batch_d = batch_table<double>(),
  };
}

}  // namespace
}  // namespace tagwright
