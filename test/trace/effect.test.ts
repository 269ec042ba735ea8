import { describe, expect, it } from 'vitest';
import {
  effectOfAnnotations,
  guessEffect,
  IRREVERSIBLE_VERBS,
  READ_VERBS,
  WRITE_VERBS,
  wordsOf,
} from '../../src/trace/effect.ts';

describe('the effect of a tool', () => {
  it.each([
    ['get_order_details', 'read'],
    ['find_user_id_by_name_zip', 'read'],
    ['check_status_bar', 'read'],
    ['can_send_mms', 'read'],
    ['maps/SymptomSearch', 'read'],
    ['WebFetch', 'read'],
    ['weather', 'read'],
    ['modify_pending_order_items', 'write'],
    ['exchange_delivered_order_items', 'write'],
    ['AddMeeting', 'write'],
    ['toggle_airplane_mode', 'write'],
    ['basic-memory/write_note', 'write'],
    ['Bash', 'write'],
    ['book_reservation', 'write'],
    ['cancel_reservation', 'irreversible'],
    ['send_certificate', 'irreversible'],
    ['DeleteAccount', 'irreversible'],
    ['make_payment', 'write'],
    ['order_pizza', 'irreversible'],
    // The server's name does not count.
    ['delete-everything/list_files', 'read'],
  ])('%s: %s', (tool, effect) => {
    expect(guessEffect(tool)).toBe(effect);
  });

  it('a declaration goes before the name', () => {
    expect(guessEffect('delete_cache', { effect: 'read' })).toBe('read');
    expect(guessEffect('get_and_pop', { effect: 'write' })).toBe('write');
  });

  it('MCP annotations', () => {
    expect(effectOfAnnotations({ readOnlyHint: true, destructiveHint: true })).toBe('read');
    expect(effectOfAnnotations({ destructiveHint: true })).toBe('irreversible');
    expect(effectOfAnnotations({ readOnlyHint: false })).toBe('write');
    expect(effectOfAnnotations({ readOnlyHint: false, destructiveHint: false })).toBe('write');
    expect(effectOfAnnotations({ readOnlyHint: false, destructiveHint: true })).toBe('irreversible');
    expect(effectOfAnnotations({ idempotentHint: true, title: 'x' })).toBeUndefined();
  });

  it('names are split at case, digits stay, letters of any script count', () => {
    expect(wordsOf('srv/getHTTPStatus_v2')).toEqual(['get', 'http', 'status', 'v2']);
    expect(wordsOf('读取-文件')).toEqual(['读取', '文件']);
  });

  it('no verb is on two lists', () => {
    const all = [...READ_VERBS, ...WRITE_VERBS, ...IRREVERSIBLE_VERBS];
    expect(new Set(all).size).toBe(all.length);
    expect(all.every((verb) => /^[a-z]+$/.test(verb))).toBe(true);
  });
});
