// Host functions, written by hand, that a launch file cannot express: errors
// that say what and where.

// RUN: rm -rf %t
// RUN: split-file %s %t
// RUN: %python %S/Inputs/check_refusals.py %t

//--- common
module attributes {gpu.container_module} {
  gpu.module @user {
    llvm.func @k(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
    llvm.func @scalar(%x: f32) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  gpu.module @unlowered {
    gpu.func @k(%x: memref<?xbf16>) kernel {
      gpu.return
    }
  }
  gpu.module @other {
    llvm.func @k(%x: !llvm.ptr<1>) attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func private @external(memref<?xbf16>)
//--- strided
// error: argument 1 of @f is 'memref<?xbf16, strided<[2]>>'; a launch takes contiguous memrefs of i8, i16, i32, i64, f16, bf16, f32, f64, f8E4M3FN or f8E5M2 only
  func.func @f(%x: memref<?xbf16>, %y: memref<?xbf16, strided<[2]>>) {
    return
  }
//--- index argument
// error: argument 0 of @f is 'index'; a launch takes contiguous memrefs of
  func.func @f(%x: index) {
    return
  }
//--- element type
// error: argument 0 of @f is 'memref<?xi1>'; a launch takes contiguous memrefs of
  func.func @f(%x: memref<?xi1>) {
    return
  }
//--- element type of an allocation
// error: 'memref.alloc' op allocates elements of type 'index', which a launch file does not have
  func.func @f() -> memref<4xindex> {
    %m = memref.alloc() : memref<4xindex>
    return %m : memref<4xindex>
  }
//--- blocks
// error: @f has no body of one block; a launch file has no branches between blocks
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    cf.cond_br %c, ^launch, ^end
  ^launch:
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    cf.br ^end
  ^end:
    return
  }
//--- external call
// error: 'func.call' op calls @external, which has no body; a launch file has no calls: keep this one outside of the compiled function, or use --target=cpu
  func.func @f(%x: memref<?xbf16>) {
    call @external(%x) : (memref<?xbf16>) -> ()
    return
  }
//--- recursion
// error: 'func.call' op calls @f, which cannot be inlined: it calls itself or is marked no_inline; a launch file has no calls
  func.func @f(%x: memref<?xbf16>) {
    call @f(%x) : (memref<?xbf16>) -> ()
    return
  }
//--- recursion with a result
// error: 'func.call' op calls @f, which cannot be inlined
  func.func @f(%x: tensor<?xbf16>) -> tensor<?xbf16> {
    %0 = call @f(%x) : (tensor<?xbf16>) -> tensor<?xbf16>
    return %0 : tensor<?xbf16>
  }
//--- not inlined
// error: 'func.call' op calls @g, which cannot be inlined: it calls itself or is marked no_inline
  func.func private @g(%x: memref<?xbf16>) attributes {no_inline} {
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    return
  }
  func.func @f(%x: memref<?xbf16>) {
    call @g(%x) : (memref<?xbf16>) -> ()
    return
  }
//--- other result
// error: 'func.return' op returns what is neither an argument nor allocated in the function; a launch has nowhere to put it
  func.func @f(%x: memref<?xbf16>) -> index {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    return %r : index
  }
//--- other buffer
// error: 'gpu.launch_func' op uses a memref that is neither an argument nor allocated in the function; a launch file has no other buffers
  func.func @f(%x: memref<8xbf16>, %y: memref<8xbf16>, %z: memref<?xbf16>) {
    %r = memref.dim %z, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    %s = arith.select %c, %x, %y : memref<8xbf16>
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%s : memref<8xbf16>)
    return
  }
//--- other op
// error: 'scf.for' op has no GPU form in this project; keep it outside of the compiled function, or use --target=cpu
  func.func @f(%x: memref<?xbf16>) {
    scf.for %i = %c0 to %c9 step %c1 {
      gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    }
    return
  }
//--- loop variable
// error: 'memref.alloc' op depends on a number that is not made of sizes of arguments; a launch file has no others
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    scf.for %i = %c0 to %c9 step %c1 {
      %b = scf.if %c -> memref<?xbf16> {
        %m = memref.alloc(%i) : memref<?xbf16>
        scf.yield %m : memref<?xbf16>
      } else {
        %m = memref.alloc(%r) : memref<?xbf16>
        scf.yield %m : memref<?xbf16>
      }
      gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xbf16>)
    }
    return
  }
//--- dynamic dimension
// error: 'gpu.launch_func' op depends on a dimension that is not known when compiling
  func.func @f(%x: memref<?x?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?x?xbf16>
    %s = memref.dim %x, %r : memref<?x?xbf16>
    gpu.launch_func @user::@k blocks in (%s, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?x?xbf16>)
    return
  }
//--- other number
// error: 'gpu.launch_func' op depends on the result of arith.xori, which a launch file cannot express
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %s = arith.xori %r, %c9 : index
    gpu.launch_func @user::@k blocks in (%s, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    return
  }
//--- kernel argument
// error: 'gpu.launch_func' op has a kernel argument of type 'f32'; a launch file has tensor maps, buffers, i32 and i64
  func.func @f(%x: memref<?xbf16>) {
    %s = arith.constant 1.0 : f32
    gpu.launch_func @user::@scalar blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%s : f32)
    return
  }
//--- unlowered kernel
// error: 'gpu.launch_func' op launches a kernel that is not an llvm.func; lower the kernel before
  func.func @f(%x: memref<?xbf16>) {
    gpu.launch_func @unlowered::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    return
  }
//--- asynchronous
// error: 'gpu.wait' op has no GPU form in this project
  func.func @f(%x: memref<?xbf16>) {
    %t = gpu.wait async
    %u = gpu.launch_func async [%t] @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    return
  }
//--- block size
// error: 'gpu.launch_func' op has a block or shared memory size that is not a constant
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%r, %c1, %c1) args(%x : memref<?xbf16>)
    return
  }
//--- two modules
// error: 'gpu.launch_func' op launches a kernel of @other, other launches one of @user; a program has one image
  func.func @f(%x: memref<?xbf16>) {
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    gpu.launch_func @other::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    return
  }
//--- other condition
// error: 'scf.if' op branches on what a launch file cannot express: it compares numbers with constants only
  func.func @f(%x: memref<?xbf16>, %y: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %s = memref.dim %y, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %s : index
    scf.if %c {
      gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    }
    return
  }
//--- equality
// error: 'scf.if' op branches on an equality, which a launch file cannot express
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi eq, %r, %c9 : index
    scf.if %c {
      gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%x : memref<?xbf16>)
    }
    return
  }
//--- yielded argument
// error: 'scf.if' op yields an argument in one branch and another memref in the other; a launch file has one buffer for a result: give both branches the same destination
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    %b = scf.if %c -> memref<?xbf16> {
      scf.yield %x : memref<?xbf16>
    } else {
      %m = memref.alloc(%r) : memref<?xbf16>
      scf.yield %m : memref<?xbf16>
    }
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xbf16>)
    return
  }
//--- yielded sizes
// error: 'scf.if' op yields memrefs of different sizes; a launch file has one buffer for a result: give both branches the same destination
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    %b = scf.if %c -> memref<?xbf16> {
      %m = memref.alloc(%c9) : memref<?xbf16>
      gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%m : memref<?xbf16>)
      scf.yield %m : memref<?xbf16>
    } else {
      %m = memref.alloc(%r) : memref<?xbf16>
      scf.yield %m : memref<?xbf16>
    }
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xbf16>)
    return
  }
//--- yielded from outside
// error: 'scf.if' op yields different memrefs that are in use at the same time; a launch file has one buffer for a result: give both branches the same destination
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    %o = memref.alloc(%r) : memref<?xbf16>
    %b = scf.if %c -> memref<?xbf16> {
      scf.yield %o : memref<?xbf16>
    } else {
      %m = memref.alloc(%r) : memref<?xbf16>
      gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%o : memref<?xbf16>)
      scf.yield %m : memref<?xbf16>
    }
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xbf16>)
    return
  }
//--- yielded once and twice
// One buffer on one side, two on the other: those two cannot be one.
// error: 'scf.if' op yields different memrefs that are in use at the same time
  func.func @f(%x: memref<?xbf16>) {
    %r = memref.dim %x, %c0 : memref<?xbf16>
    %c = arith.cmpi ult, %r, %c9 : index
    %a, %b = scf.if %c -> (memref<?xbf16>, memref<?xbf16>) {
      %m = memref.alloc(%r) : memref<?xbf16>
      scf.yield %m, %m : memref<?xbf16>, memref<?xbf16>
    } else {
      %m = memref.alloc(%r) : memref<?xbf16>
      %n = memref.alloc(%r) : memref<?xbf16>
      scf.yield %m, %n : memref<?xbf16>, memref<?xbf16>
    }
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : memref<?xbf16>)
    gpu.launch_func @user::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%b : memref<?xbf16>)
    return
  }
