export { gelu, geluBackward, swiglu, swigluBackward } from './activation';
export { ATTENTION_ROWS, attention, attentionBackward } from './attention';
export { crossEntropy } from './crossEntropy';
export { decodeAttention, storeKeyValue } from './decode';
export { rmsNorm, rmsNormBackward } from './norm';
export { adamw, norm } from './optimiser';
export { PRODUCT_SCRATCH, product, setProductScratch } from './product';
export { rotary } from './rotary';
export { addRows, gatherRows, scatterRows } from './rows';
