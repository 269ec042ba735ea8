export { methods } from '../src/methods/index.ts';
