// jax.lax.ragged_dot at the dimensions of Qwen3-30B-A3B's gate and up projection,
// in the generic form in which JAX's StableHLO prints without that dialect. The
// decomposition function holds one masked dense matmul an expert; only the last of
// its 128 is kept here.
//
//   moe-opt examples/jax-ragged-dot.mlir --allow-unregistered-dialect
//     --moe-raise-ragged-dot --remarks-filter='moe.*'
"builtin.module"() <{sym_name = "jit_one"}> ({
  "func.func"() <{function_type = (tensor<64x2048xbf16>, tensor<128x2048x1536xbf16>, tensor<128xi32>) -> tensor<64x1536xbf16>, res_attrs = [{jax.result_info = "result"}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg3: tensor<64x2048xbf16>, %arg4: tensor<128x2048x1536xbf16>, %arg5: tensor<128xi32>):
    %17 = "stablehlo.composite"(%arg3, %arg4, %arg5) <{composite_attributes = {precision_config = ["DEFAULT", "DEFAULT"], ragged_dot_dimension_numbers = [dense<> : tensor<0xi64>, dense<> : tensor<0xi64>, dense<1> : tensor<1xi64>, dense<1> : tensor<1xi64>, dense<0> : tensor<1xi64>, dense<0> : tensor<1xi64>]}, decomposition = @chlo.ragged_dot.impl, name = "chlo.ragged_dot", version = 1 : i32}> : (tensor<64x2048xbf16>, tensor<128x2048x1536xbf16>, tensor<128xi32>) -> tensor<64x1536xbf16>
    "func.return"(%17) : (tensor<64x1536xbf16>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<64x2048xbf16>, tensor<128x2048x1536xbf16>, tensor<128xi32>) -> tensor<64x1536xbf16>, sym_name = "chlo.ragged_dot.impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<64x2048xbf16>, %arg1: tensor<128x2048x1536xbf16>, %arg2: tensor<128xi32>):
    %0 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<64x2048xbf16>}> : () -> tensor<64x2048xbf16>
    %1 = "stablehlo.constant"() <{value = dense<64> : tensor<i64>}> : () -> tensor<i64>
    %2 = "stablehlo.iota"() <{iota_dimension = 0 : i64}> : () -> tensor<64x1xi64>
    %3 = "stablehlo.slice"(%arg2) <{limit_indices = array<i64: 128>, start_indices = array<i64: 127>, strides = array<i64: 1>}> : (tensor<128xi32>) -> tensor<1xi32>
    %4 = "stablehlo.reshape"(%3) : (tensor<1xi32>) -> tensor<i32>
    %5 = "stablehlo.convert"(%4) : (tensor<i32>) -> tensor<i64>
    %6 = "stablehlo.subtract"(%1, %5) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %7 = "stablehlo.broadcast_in_dim"(%6) <{broadcast_dimensions = array<i64>}> : (tensor<i64>) -> tensor<64x2048xi64>
    %8 = "stablehlo.broadcast_in_dim"(%2) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<64x1xi64>) -> tensor<64x2048xi64>
    %9 = "stablehlo.compare"(%8, %7) <{comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<64x2048xi64>, tensor<64x2048xi64>) -> tensor<64x2048xi1>
    %10 = "stablehlo.select"(%9, %arg0, %0) : (tensor<64x2048xi1>, tensor<64x2048xbf16>, tensor<64x2048xbf16>) -> tensor<64x2048xbf16>
    %11 = "stablehlo.slice"(%arg1) <{limit_indices = array<i64: 128, 2048, 1536>, start_indices = array<i64: 127, 0, 0>, strides = array<i64: 1, 1, 1>}> : (tensor<128x2048x1536xbf16>) -> tensor<1x2048x1536xbf16>
    %12 = "stablehlo.reshape"(%11) : (tensor<1x2048x1536xbf16>) -> tensor<2048x1536xbf16>
    %13 = "stablehlo.dot_general"(%10, %12) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<64x2048xbf16>, tensor<2048x1536xbf16>) -> tensor<64x1536xbf16>
    "func.return"(%13) : (tensor<64x1536xbf16>) -> ()
  }) : () -> ()
}) {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
