/** AssemblyScript compiled by tools/wasm-kernels.mjs: the WebAssembly module in base64. */
declare module '*?assembly' {
  const base64: string;
  export default base64;
}
