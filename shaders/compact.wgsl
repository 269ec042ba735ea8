// compact: keeps the rows that go on, in their order, so that finished rollouts cost nothing: a row moves to the count of
// kept rows before it, and n becomes the count of all.
// header (N, step), next [N] (rollout, position, token, goes on) → dims (n, step), rollouts, positions, tokens [n].
// One workgroup; each of its LANES threads keeps a run of neighbouring rows after those that the threads before it keep.
@group(0) @binding(0) var<storage, read> header: array<u32>;
@group(0) @binding(1) var<storage, read> next: array<vec4u>;
@group(0) @binding(2) var<storage, read_write> dims: array<u32>;
@group(0) @binding(3) var<storage, read_write> rollouts: array<u32>;
@group(0) @binding(4) var<storage, read_write> positions: array<u32>;
@group(0) @binding(5) var<storage, read_write> tokens: array<u32>;

//! if PARALLEL
var<workgroup> kept: array<u32, LANES>;
//! end

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
  let n = header[0];
  let run = (n + LANES - 1) / LANES;
  let begin = min(n, lane * run);
  let end = min(n, begin + run);
  var place = 0u;
  //! if PARALLEL
  var own = 0u;
  for (var row = begin; row < end; row++) { own += next[row].w; }
  kept[lane] = own;
  workgroupBarrier();
  for (var i = 0u; i < lane; i++) { place += kept[i]; }
  //! end
  for (var row = begin; row < end; row++) {
    let held = next[row];
    if (held.w == 1) {
      rollouts[place] = held.x;
      positions[place] = held.y;
      tokens[place] = held.z;
      place++;
    }
  }
  if (lane == LANES - 1) {
    dims[0] = place;
    dims[1] = header[1];
  }
}
