export { FORWARD, GRADIENT } from './cases/case.ts';
export { relativeError } from './numbers.ts';
