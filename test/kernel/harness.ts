// What tests of whole policies take of the kernel proofs.
export { FORWARD, GRADIENT } from './cases/case.ts';
export { relativeError } from './numbers.ts';
