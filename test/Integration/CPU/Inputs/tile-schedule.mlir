// Tiles ops with the attribute `both` in both loops, and those with `columns` in
// that of the columns. No tile size divides the sizes of tiling.mlir.
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(
      %root: !transform.any_op {transform.readonly}) {
    %both = transform.structured.match attributes {both} in %root
      : (!transform.any_op) -> !transform.any_op
    %0, %l0:2 = transform.structured.tile_using_for %both tile_sizes [7, 12]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op)
    %columns = transform.structured.match attributes {columns} in %root
      : (!transform.any_op) -> !transform.any_op
    %1, %l1 = transform.structured.tile_using_for %columns tile_sizes [0, 12]
      : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
