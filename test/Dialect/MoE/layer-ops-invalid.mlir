// RUN: moe-opt %s -split-input-file -verify-diagnostics

func.func @route_dynamic_experts(%logits: tensor<4x?xbf16>, %w: tensor<4x2xf32>,
                                 %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op needs a static number of experts (dimension 1 of the logits)}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x?xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_dynamic_top_k(%logits: tensor<4x8xbf16>, %w: tensor<4x?xf32>,
                               %i: tensor<4x2xi32>)
    -> (tensor<4x?xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op needs a static number of experts of a token (dimension 1 of outs)}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x?xf32>, tensor<4x2xi32>)
      -> tensor<4x?xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x?xf32>, tensor<4x2xi32>
}

// -----

func.func @route_tokens_of_weights(%logits: tensor<4x8xbf16>,
                                   %w: tensor<5x2xf32>, %i: tensor<4x2xi32>)
    -> (tensor<5x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op T of the weights is 5, but T of the logits is 4}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<5x2xf32>, tensor<4x2xi32>)
      -> tensor<5x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<5x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_tokens_of_indices(%logits: tensor<4x8xbf16>,
                                   %w: tensor<4x2xf32>, %i: tensor<5x2xi32>)
    -> (tensor<4x2xf32>, tensor<5x2xi32>) {
  // expected-error @below {{'moe.route' op T of the indices is 5, but T of the logits is 4}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<5x2xi32>)
      -> tensor<4x2xf32>, tensor<5x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<5x2xi32>
}

// -----

func.func @route_columns(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                         %i: tensor<4x3xi32>)
    -> (tensor<4x2xf32>, tensor<4x3xi32>) {
  // expected-error @below {{'moe.route' op dimension 1 of the indices is 3, but dimension 1 of the weights is 2}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x3xi32>)
      -> tensor<4x2xf32>, tensor<4x3xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x3xi32>
}

// -----

func.func @route_bias(%logits: tensor<4x8xbf16>, %b: tensor<9xf32>,
                      %w: tensor<4x2xf32>, %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op length of the bias is 9, but E of the logits is 8}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x8xbf16>)
      bias(%b : tensor<9xf32>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_negative_shared_experts(%logits: tensor<4x8xbf16>,
                                         %w: tensor<4x2xf32>,
                                         %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op shared_experts is -1; it must not be negative}}
  %r0, %r1 = moe.route {shared_experts = -1 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_only_shared_experts(%logits: tensor<4x8xbf16>,
                                     %w: tensor<4x2xf32>, %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op outs have 2 columns for 2 shared experts; at least one more is needed for a routed expert}}
  %r0, %r1 = moe.route {shared_experts = 2 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_index_type(%logits: tensor<4x2147483647xbf16>,
                            %w: tensor<4x3xf32>, %i: tensor<4x3xi32>)
    -> (tensor<4x3xf32>, tensor<4x3xi32>) {
  // expected-error @below {{'moe.route' op indices of outs are 'i32', too narrow for 2147483647 routed and 1 shared experts}}
  %r0, %r1 = moe.route {shared_experts = 1 : i64}
      ins(%logits : tensor<4x2147483647xbf16>)
      outs(%w, %i : tensor<4x3xf32>, tensor<4x3xi32>)
      -> tensor<4x3xf32>, tensor<4x3xi32>
  return %r0, %r1 : tensor<4x3xf32>, tensor<4x3xi32>
}

// -----

func.func @route_no_group(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                          %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op n_group is 0; it must be positive and divide the 8 experts}}
  %r0, %r1 = moe.route {n_group = 0 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_groups(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                        %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op n_group is 3; it must be positive and divide the 8 experts}}
  %r0, %r1 = moe.route {n_group = 3 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_no_kept_group(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                               %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op topk_group is 0; it must be from 1 to n_group, which is 4}}
  %r0, %r1 = moe.route {n_group = 4 : i64, topk_group = 0 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_kept_groups(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                             %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op topk_group is 5; it must be from 1 to n_group, which is 4}}
  %r0, %r1 = moe.route {n_group = 4 : i64, topk_group = 5 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_too_few_experts(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                                 %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op cannot choose 2 different experts of a token out of 1}}
  %r0, %r1 = moe.route {n_group = 8 : i64}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_no_experts(%logits: tensor<4x0xbf16>, %w: tensor<4x2xf32>,
                            %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op cannot choose 2 different experts of a token out of 0}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x0xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_weight_type(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf16>,
                             %i: tensor<4x2xi32>)
    -> (tensor<4x2xf16>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op weights of outs is 'f16'; it must be f32 or, like the logits, 'bf16'}}
  %r0, %r1 = moe.route
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf16>, tensor<4x2xi32>)
      -> tensor<4x2xf16>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf16>, tensor<4x2xi32>
}

// -----

func.func @route_renormalize(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                             %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op renormalize has no meaning with softmax_after_topk, whose weights sum to 1; remove it}}
  %r0, %r1 = moe.route {renormalize, scoring = #moe.scoring<softmax_after_topk>}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_scaling(%logits: tensor<4x8xbf16>, %w: tensor<4x2xf32>,
                         %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op scaling must be finite}}
  %r0, %r1 = moe.route {scaling = 0x7F800000 : f32}
      ins(%logits : tensor<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @route_mixed_semantics(%logits: memref<4x8xbf16>, %w: tensor<4x2xf32>,
                                 %i: tensor<4x2xi32>)
    -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  // expected-error @below {{'moe.route' op mixes tensors and memrefs; bufferize all operands or none}}
  %r0, %r1 = moe.route
      ins(%logits : memref<4x8xbf16>)
      outs(%w, %i : tensor<4x2xf32>, tensor<4x2xi32>)
      -> tensor<4x2xf32>, tensor<4x2xi32>
  return %r0, %r1 : tensor<4x2xf32>, tensor<4x2xi32>
}

// -----

func.func @dispatch_no_offsets(%i: tensor<4x2xi64>, %t: tensor<8xi32>,
                               %r: tensor<4x2xi32>, %o: tensor<0xi32>)
    -> (tensor<8xi32>, tensor<4x2xi32>, tensor<0xi32>) {
  // expected-error @below {{'moe.dispatch' op offsets have no element; E experts need E + 1}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<4x2xi64>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<0xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<0xi32>
  return %r0, %r1, %r2 : tensor<8xi32>, tensor<4x2xi32>, tensor<0xi32>
}

// -----

func.func @dispatch_tokens(%i: tensor<4x2xi64>, %t: tensor<8xi32>,
                           %r: tensor<5x2xi32>, %o: tensor<9xi32>)
    -> (tensor<8xi32>, tensor<5x2xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op T of row_of_pair is 5, but T of the indices is 4}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<4x2xi64>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<5x2xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<5x2xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<8xi32>, tensor<5x2xi32>, tensor<9xi32>
}

// -----

func.func @dispatch_top_k(%i: tensor<4x2xi64>, %t: tensor<8xi32>,
                          %r: tensor<4x3xi32>, %o: tensor<9xi32>)
    -> (tensor<8xi32>, tensor<4x3xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op k of row_of_pair is 3, but k of the indices is 2}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<4x2xi64>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x3xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<4x3xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<8xi32>, tensor<4x3xi32>, tensor<9xi32>
}

// -----

func.func @dispatch_rows(%i: tensor<4x2xi64>, %t: tensor<9xi32>,
                         %r: tensor<4x2xi32>, %o: tensor<9xi32>)
    -> (tensor<9xi32>, tensor<4x2xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op length of token_of_row is 9, but T * k of the indices is 8}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<4x2xi64>)
      outs(%t, %r, %o : tensor<9xi32>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<9xi32>, tensor<4x2xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<9xi32>, tensor<4x2xi32>, tensor<9xi32>
}

// -----

func.func @dispatch_too_many_rows(%i: tensor<1073741824x2xi64>,
                                  %t: tensor<?xi32>, %r: tensor<?x2xi32>,
                                  %o: tensor<9xi32>)
    -> (tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op T * k = 1073741824 * 2 does not fit the i32 row numbers}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<1073741824x2xi64>)
      outs(%t, %r, %o : tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>)
      -> tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<?xi32>, tensor<?x2xi32>, tensor<9xi32>
}

// -----

func.func @dispatch_overflowing_rows(%i: tensor<4611686018427387904x4xi64>,
                                     %t: tensor<?xi32>, %r: tensor<?x4xi32>,
                                     %o: tensor<9xi32>)
    -> (tensor<?xi32>, tensor<?x4xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op T * k = 4611686018427387904 * 4 does not fit the i32 row numbers}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<4611686018427387904x4xi64>)
      outs(%t, %r, %o : tensor<?xi32>, tensor<?x4xi32>, tensor<9xi32>)
      -> tensor<?xi32>, tensor<?x4xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<?xi32>, tensor<?x4xi32>, tensor<9xi32>
}

// -----

func.func @dispatch_i64_rows(%i: tensor<4x2xi64>, %t: tensor<8xi64>,
                             %r: tensor<4x2xi32>, %o: tensor<9xi32>)
    -> (tensor<8xi64>, tensor<4x2xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op operand #1 must be 1-D tensor or memref of i32, but got 'tensor<8xi64>'}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : tensor<4x2xi64>)
      outs(%t, %r, %o : tensor<8xi64>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<8xi64>, tensor<4x2xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<8xi64>, tensor<4x2xi32>, tensor<9xi32>
}

// -----

func.func @dispatch_mixed_semantics(%i: memref<4x2xi64>, %t: tensor<8xi32>,
                                    %r: tensor<4x2xi32>, %o: tensor<9xi32>)
    -> (tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>) {
  // expected-error @below {{'moe.dispatch' op mixes tensors and memrefs; bufferize all operands or none}}
  %r0, %r1, %r2 = moe.dispatch
      ins(%i : memref<4x2xi64>)
      outs(%t, %r, %o : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>)
      -> tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
  return %r0, %r1, %r2 : tensor<8xi32>, tensor<4x2xi32>, tensor<9xi32>
}

// -----

func.func @combine_tokens_of_weights(%rows: tensor<8x64xbf16>,
                                     %r: tensor<4x2xi32>, %w: tensor<5x2xf32>,
                                     %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.combine' op T of the weights is 5, but T of row_of_pair is 4}}
  %r0 = moe.combine
      ins(%rows, %r : tensor<8x64xbf16>, tensor<4x2xi32>)
      weights(%w : tensor<5x2xf32>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @combine_top_k(%rows: tensor<8x64xbf16>, %r: tensor<4x2xi32>,
                         %w: tensor<4x3xf32>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.combine' op k of the weights is 3, but k of row_of_pair is 2}}
  %r0 = moe.combine
      ins(%rows, %r : tensor<8x64xbf16>, tensor<4x2xi32>)
      weights(%w : tensor<4x3xf32>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @combine_tokens(%rows: tensor<8x64xbf16>, %r: tensor<4x2xi32>,
                          %w: tensor<4x2xf32>, %y: tensor<5x64xbf16>)
    -> tensor<5x64xbf16> {
  // expected-error @below {{'moe.combine' op T of outs is 5, but T of row_of_pair is 4}}
  %r0 = moe.combine
      ins(%rows, %r : tensor<8x64xbf16>, tensor<4x2xi32>)
      weights(%w : tensor<4x2xf32>)
      outs(%y : tensor<5x64xbf16>)
      -> tensor<5x64xbf16>
  return %r0 : tensor<5x64xbf16>
}

// -----

func.func @combine_columns(%rows: tensor<8x64xbf16>, %r: tensor<4x2xi32>,
                           %w: tensor<4x2xf32>, %y: tensor<4x65xbf16>)
    -> tensor<4x65xbf16> {
  // expected-error @below {{'moe.combine' op H of outs is 65, but H of the rows is 64}}
  %r0 = moe.combine
      ins(%rows, %r : tensor<8x64xbf16>, tensor<4x2xi32>)
      weights(%w : tensor<4x2xf32>)
      outs(%y : tensor<4x65xbf16>)
      -> tensor<4x65xbf16>
  return %r0 : tensor<4x65xbf16>
}

// -----

func.func @combine_mixed_semantics(%rows: memref<8x64xbf16>,
                                   %r: tensor<4x2xi32>, %w: tensor<4x2xf32>,
                                   %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.combine' op mixes tensors and memrefs; bufferize all operands or none}}
  %r0 = moe.combine
      ins(%rows, %r : memref<8x64xbf16>, tensor<4x2xi32>)
      weights(%w : tensor<4x2xf32>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_gate_up_type(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                                %p: tensor<4x2xf32>, %w1: tensor<8x32x64xf16>,
                                %w2: tensor<8x64x32xbf16>,
                                %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op tokens are 'bf16', gate_up 'f16' and down 'bf16'; all must have one element type}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_down_type(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                             %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                             %w2: tensor<8x64x32xf32>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op tokens are 'bf16', gate_up 'bf16' and down 'f32'; all must have one element type}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xf32>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_result_type(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                               %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                               %w2: tensor<8x64x32xbf16>, %y: tensor<4x64xf16>)
    -> tensor<4x64xf16> {
  // expected-error @below {{'moe.experts' op outs is 'f16'; it must be f32 or, like the tokens, 'bf16'}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xf16>)
      -> tensor<4x64xf16>
  return %r0 : tensor<4x64xf16>
}

// -----

func.func @experts_tokens_of_indices(%x: tensor<4x64xbf16>, %i: tensor<5x2xi32>,
                                     %p: tensor<4x2xf32>,
                                     %w1: tensor<8x32x64xbf16>,
                                     %w2: tensor<8x64x32xbf16>,
                                     %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op T of the indices is 5, but T of the tokens is 4}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<5x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_tokens_of_weights(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                                     %p: tensor<5x2xf32>,
                                     %w1: tensor<8x32x64xbf16>,
                                     %w2: tensor<8x64x32xbf16>,
                                     %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op T of the weights is 5, but T of the tokens is 4}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<5x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_top_k(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                         %p: tensor<4x3xf32>, %w1: tensor<8x32x64xbf16>,
                         %w2: tensor<8x64x32xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op k of the weights is 3, but k of the indices is 2}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x3xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_tokens(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                          %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                          %w2: tensor<8x64x32xbf16>, %y: tensor<5x64xbf16>)
    -> tensor<5x64xbf16> {
  // expected-error @below {{'moe.experts' op T of outs is 5, but T of the tokens is 4}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<5x64xbf16>)
      -> tensor<5x64xbf16>
  return %r0 : tensor<5x64xbf16>
}

// -----

func.func @experts_columns(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                           %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                           %w2: tensor<8x64x32xbf16>, %y: tensor<4x65xbf16>)
    -> tensor<4x65xbf16> {
  // expected-error @below {{'moe.experts' op H of outs is 65, but H of the tokens is 64}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x65xbf16>)
      -> tensor<4x65xbf16>
  return %r0 : tensor<4x65xbf16>
}

// -----

func.func @experts_gate_up_nk(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                              %p: tensor<4x2xf32>, %w1: tensor<8x32x65xbf16>,
                              %w2: tensor<8x64x32xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op H of gate_up (dimension 2, nk) is 65, but H of the tokens is 64}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x65xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_gate_up_kn(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                              %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                              %w2: tensor<8x64x32xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op H of gate_up (dimension 1, kn) is 32, but H of the tokens is 64}}
  %r0 = moe.experts {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_experts_of_down(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                                   %p: tensor<4x2xf32>,
                                   %w1: tensor<8x32x64xbf16>,
                                   %w2: tensor<9x64x32xbf16>,
                                   %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op E of down is 9, but E of gate_up is 8}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<9x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_down_nk(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                           %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                           %w2: tensor<8x65x32xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op H of down (dimension 1, nk) is 65, but H of the tokens is 64}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x65x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_down_kn(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                           %p: tensor<4x2xf32>, %w1: tensor<8x64x32xbf16>,
                           %w2: tensor<8x32x65xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op H of down (dimension 2, kn) is 65, but H of the tokens is 64}}
  %r0 = moe.experts {weight_layout = #moe.weight_layout<kn>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x64x32xbf16>, tensor<8x32x65xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_experts_of_gate_up_bias(%x: tensor<4x64xbf16>,
                                           %i: tensor<4x2xi32>,
                                           %p: tensor<4x2xf32>,
                                           %w1: tensor<8x32x64xbf16>,
                                           %w2: tensor<8x64x32xbf16>,
                                           %b1: tensor<9x32xbf16>,
                                           %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op E of gate_up_bias is 9, but E of gate_up is 8}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      gate_up_bias(%b1 : tensor<9x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_columns_of_gate_up_bias(%x: tensor<4x64xbf16>,
                                           %i: tensor<4x2xi32>,
                                           %p: tensor<4x2xf32>,
                                           %w1: tensor<8x32x64xbf16>,
                                           %w2: tensor<8x64x32xbf16>,
                                           %b1: tensor<8x33xbf16>,
                                           %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op N of gate_up_bias is 33, but N of gate_up is 32}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      gate_up_bias(%b1 : tensor<8x33xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_experts_of_down_bias(%x: tensor<4x64xbf16>,
                                        %i: tensor<4x2xi32>,
                                        %p: tensor<4x2xf32>,
                                        %w1: tensor<8x32x64xbf16>,
                                        %w2: tensor<8x64x32xbf16>,
                                        %b2: tensor<9x64xbf16>,
                                        %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op E of down_bias is 9, but E of gate_up is 8}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      down_bias(%b2 : tensor<9x64xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_columns_of_down_bias(%x: tensor<4x64xbf16>,
                                        %i: tensor<4x2xi32>,
                                        %p: tensor<4x2xf32>,
                                        %w1: tensor<8x32x64xbf16>,
                                        %w2: tensor<8x64x32xbf16>,
                                        %b2: tensor<8x65xbf16>,
                                        %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op H of down_bias is 65, but H of the tokens is 64}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      down_bias(%b2 : tensor<8x65xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_odd_gated(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                             %p: tensor<4x2xf32>, %w1: tensor<8x33x64xbf16>,
                             %w2: tensor<8x64x32xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op a gated epilogue needs an even N of gate_up, got 33}}
  %r0 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x33x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_gated(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                         %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                         %w2: tensor<8x64x32xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op I of down is 32, but N/2 of the gated gate_up is 16}}
  %r0 = moe.experts {epilogue = #moe.epilogue<silu, gate = concat>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_ungated(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                           %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                           %w2: tensor<8x64x16xbf16>, %y: tensor<4x64xbf16>)
    -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op I of down is 16, but N of gate_up is 32}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x16xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_number_of_hints(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                                   %p: tensor<4x2xf32>,
                                   %w1: tensor<8x32x64xbf16>,
                                   %w2: tensor<8x64x32xbf16>,
                                   %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op expected_tokens has 2 entries; it needs one, or one for each of the E experts}}
  %r0 = moe.experts {expected_tokens = array<i64: 1, 2>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_negative_hint(%x: tensor<4x64xbf16>, %i: tensor<4x2xi32>,
                                 %p: tensor<4x2xf32>, %w1: tensor<8x32x64xbf16>,
                                 %w2: tensor<8x64x32xbf16>,
                                 %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op expected_tokens has a negative entry}}
  %r0 = moe.experts {expected_tokens = array<i64: -1>}
      ins(%x, %i, %p, %w1, %w2 : tensor<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @experts_mixed_semantics(%x: memref<4x64xbf16>, %i: tensor<4x2xi32>,
                                   %p: tensor<4x2xf32>,
                                   %w1: tensor<8x32x64xbf16>,
                                   %w2: tensor<8x64x32xbf16>,
                                   %y: tensor<4x64xbf16>) -> tensor<4x64xbf16> {
  // expected-error @below {{'moe.experts' op mixes tensors and memrefs; bufferize all operands or none}}
  %r0 = moe.experts
      ins(%x, %i, %p, %w1, %w2 : memref<4x64xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x32x64xbf16>, tensor<8x64x32xbf16>)
      outs(%y : tensor<4x64xbf16>)
      -> tensor<4x64xbf16>
  return %r0 : tensor<4x64xbf16>
}

// -----

func.func @two_gate_ups(%x: tensor<4x16xbf16>, %i: tensor<4x2xi32>, %p: tensor<4x2xf32>, %w1: tensor<8x64x16xbf16>, %w2: tensor<8x16x64xbf16>, %y: tensor<4x16xbf16>) {
  // expected-error @below {{'moe.experts' op operandSegmentSizes gives operand group 3 2 operands; it takes exactly one}}
  %0 = "moe.experts"(%x, %i, %p, %w1, %w1, %w2, %y) <{operandSegmentSizes = array<i32: 1, 1, 1, 2, 1, 0, 0, 1>}>
      : (tensor<4x16xbf16>, tensor<4x2xi32>, tensor<4x2xf32>, tensor<8x64x16xbf16>, tensor<8x64x16xbf16>, tensor<8x16x64xbf16>, tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return
}
