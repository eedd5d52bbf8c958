// Options and attributes that are no target or number.
//
// RUN: not moe-opt %s --moe-swap-ab=target=h300 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: not moe-opt %s --moe-swap-ab='target=#moe.weight_layout<nk>' 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: not moe-opt %s --moe-swap-ab='target={#moe.target<"h200", sms = 1>}' 2>&1 | FileCheck %s --check-prefix=FIELD
// RUN: not moe-opt %s --moe-swap-ab=expected-tokens=nan 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: not moe-opt %s --moe-select-schedule=target=h300 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: not moe-opt %s --moe-select-schedule=expected-tokens=inf 2>&1 | FileCheck %s --check-prefix=TOKENS
// RUN: moe-opt %s --moe-swap-ab='target={#moe.target<"h200", sm_count = 100>}' -o /dev/null
// RUN: moe-opt %s --moe-swap-ab=target=sm_90a -o /dev/null

// PRESET: error: unknown target 'h300'; give one of h100-sxm, h200, h20, sm_90a, or #moe.target<...>
// OTHER: error: target '#moe.weight_layout<nk>' is not a #moe.target attribute
// FIELD: error: target '#moe.target<"h200", sms = 1>' is not a #moe.target attribute: target has no field 'sms'
// TOKENS: error: option expected-tokens must be a finite number, got
module {}
