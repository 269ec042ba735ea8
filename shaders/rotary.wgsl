// rotary: in each head of width Dh the pair (i, i + Dh/2) of q and k turns by p·10000^(−2i/Dh), in place:
// a' = a·cos − b·sin, b' = a·sin + b·cos, p the position of the row. BACKWARD turns by −p, which is the gradient.
// turns [context, Dh/2] holds (cos, sin), made on the host in float64: WGSL's own sin is too coarse at large angles.
// qkv [N, 3D], positions [N]. With CACHE, k and v go to keys and values [R, context, D] at (rollouts[n], positions[n])
// and only q is turned in place. Source: Su et al. 2021, "RoFormer", equation 34, with halves paired.
// One thread a row and head.
struct Dims { n: u32, chunk: u32 }
@group(0) @binding(0) var<uniform> dims: Dims;
@group(0) @binding(1) var<storage, read> positions: array<u32>;
@group(0) @binding(2) var<storage, read> turns: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> qkv: array<f32>;
//! if CACHE
@group(0) @binding(4) var<storage, read> rollouts: array<u32>;
@group(0) @binding(5) var<storage, read_write> keys: array<f32>;
@group(0) @binding(6) var<storage, read_write> values: array<f32>;
//! end

fn rotate(pair: vec2f, turn: vec2f) -> vec2f {
  return vec2f(pair.x * turn.x - pair.y * turn.y, pair.x * turn.y + pair.y * turn.x);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let t = id.y * groups.x * 64 + id.x;
  let row = t / HEADS;
  if (row >= dims.n) { return; }
  let head = t % HEADS * 2 * HALF;
  let position = positions[row];
  let q_head = row * 3 * WIDTH + head;
  //! if CACHE
  let cache_head = (rollouts[row] * CONTEXT + position) * WIDTH + head;
  //! end
  for (var i = 0u; i < HALF; i++) {
    var turn = turns[position * HALF + i];
    //! if BACKWARD
    turn.y = -turn.y;
    //! end
    let q = q_head + i;
    let k = q + WIDTH;
    let turned_q = rotate(vec2f(qkv[q], qkv[q + HALF]), turn);
    let turned_k = rotate(vec2f(qkv[k], qkv[k + HALF]), turn);
    qkv[q] = turned_q.x;
    qkv[q + HALF] = turned_q.y;
    //! if CACHE
    let place = cache_head + i;
    keys[place] = turned_k.x;
    keys[place + HALF] = turned_k.y;
    values[place] = qkv[k + WIDTH];
    values[place + HALF] = qkv[k + WIDTH + HALF];
    //! end
    //! if !CACHE
    qkv[k] = turned_k.x;
    qkv[k + HALF] = turned_k.y;
    //! end
  }
}
