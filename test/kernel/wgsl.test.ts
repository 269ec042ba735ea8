import { describe, expect, it } from 'vitest';
import { wgsl } from '../../src/gpu/wgsl.ts';

describe('the shader template', () => {
  it('replaces whole names by literals and drops comments', () => {
    const text = wgsl('// WIDTH in prose\nlet a = WIDTH + WIDTH4 * x;\nvar b: VEC;', {
      WIDTH: 64,
      WIDTH4: 16,
      VEC: 'vec4f',
    });
    expect(text).toBe('let a = 64 + 16 * x;\nvar b: vec4f;');
  });

  it('unrolls nested repeats by a constant or a number', () => {
    const source = [
      '//! repeat i ROWS',
      '//! repeat j 2',
      'c$i_$j = a$i * b$j;',
      '//! end',
      '//! end',
      'z();',
    ];
    expect(wgsl(source.join('\n'), { ROWS: 2 }).split('\n')).toEqual([
      'c0_0 = a0 * b0;',
      'c0_1 = a0 * b1;',
      'c1_0 = a1 * b0;',
      'c1_1 = a1 * b1;',
      'z();',
    ]);
  });

  it('keeps a conditional block where its constant holds', () => {
    const source = '//! if FAST\nfast();\n//! end\n//! if !FAST\nslow();\n//! end';
    expect(wgsl(source, { FAST: true })).toBe('fast();');
    expect(wgsl(source, { FAST: 0 })).toBe('slow();');
  });

  it('repeats nothing zero times', () => {
    expect(wgsl('//! repeat i NONE\nx$i();\n//! end\ny();', { NONE: 0 })).toBe('y();');
  });

  it('refuses a name without a value, a directive it does not know and one without an end', () => {
    expect(() => wgsl('let a = WIDTH;', {})).toThrow(/WIDTH/);
    expect(() => wgsl('//! if WIDTH\n//! end', {})).toThrow(/WIDTH/);
    expect(() => wgsl('//! loop i 3\n//! end', {})).toThrow(/loop/);
    expect(() => wgsl('//! repeat i 3\nx();', {})).toThrow(/no end/);
  });
});
