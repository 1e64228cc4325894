import fc from 'fast-check'
import { expect, test } from 'vitest'
import { MAX_BROWSER_FRAME, MAX_VALUE, readBrowserFrame } from '../../../host/web/frames.ts'

const event = { kind: 'event', seq: 1, form: 'order', element: 'customer', type: 'onElementDataChange', value: 'x' }
const hello = { kind: 'hello', client: null, page: '4f1c2a58-6d0e-4a53-9f7b-0d0f6f0b6f1e', width: 320, height: 640 }

test.each<[string, object]>([
  ['a hello', hello],
  ['a hello from a tab that had a client before', { ...hello, client: 'a_Z-'.repeat(10).concat('123') }],
  ['a text', event],
  ['the longest text, with every character escaped', { ...event, value: '\u0001'.repeat(MAX_VALUE) }],
  ['no value', { ...event, value: null }],
  ['a press', { ...event, type: 'onAction', value: null }],
  ['an opened row', { ...event, type: 'onAction', value: 17 }],
  ['a sort', { ...event, type: 'onSort', value: { column: 'total', direction: 'ascending' } }],
  ['a selection', { ...event, type: 'onRecordSelection', value: { rows: [1, 'a'], selected: true } }],
  ['a page', { ...event, type: 'showPage', value: 2 }],
  ['a tab', { ...event, type: 'showTab', value: 'history' }],
  ['a focus', { ...event, type: 'onElementFocusLost', value: null }],
  ['a size', { kind: 'resize', seq: 2, form: 'order', width: 1280, height: 800 }],
  ['an agreement to leave', { kind: 'leave', seq: 3, form: 'order' }],
  ['a confirmation', { kind: 'confirmed', seq: 4, proof: 'abc' }],
  ['a refused confirmation', { kind: 'unconfirmed', seq: 4 }],
])('frames: %s is read as it was sent', (_name, frame) => {
  expect(readBrowserFrame(JSON.stringify(frame))).toEqual(frame)
})

test.each<[string, unknown]>([
  ['a number', 7],
  ['a frame that only the host sends', { kind: 'patch', seq: 1, changes: [] }],
  ['an unknown event', { ...event, type: 'onShow' }],
  ['an event named like an inherited property', { ...event, type: 'constructor' }],
  ['an unknown key', { ...event, uid: 'admin' }],
  ['a sequence number of zero', { ...event, seq: 0 }],
  ['a sequence number with decimals', { ...event, seq: 1.5 }],
  ['a value that is a list', { ...event, value: ['x'] }],
  ['a value that is too long', { ...event, value: 'x'.repeat(MAX_VALUE + 1) }],
  ['a name that is too long', { ...event, element: 'x'.repeat(101) }],
  ['201 rows', { ...event, type: 'onRecordSelection', value: { rows: Array(201).fill(1), selected: true } }],
  ['a sort in an unknown direction', { ...event, type: 'onSort', value: { column: 'a', direction: 'up' } }],
  ['a press with an object', { ...event, type: 'onAction', value: { id: 1 } }],
  ['an invalid client', { ...hello, client: '"><script>' }],
  ['no client', { ...hello, client: undefined }],
  ['a page that is not a UUID', { ...hello, page: '../../etc' }],
])('frames: %s is rejected', (_name, frame) => {
  expect(readBrowserFrame(JSON.stringify(frame))).toBe(null)
})

test('frames: a text that is too long is not parsed', () => {
  expect(readBrowserFrame(JSON.stringify(event) + ' '.repeat(MAX_BROWSER_FRAME))).toBe(null)
})

test('frames: any text is read as a frame or as null', () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void readBrowserFrame(text)))
  fc.assert(
    fc.property(
      fc.record({
        kind: fc.constantFrom('event', 'hello', 'resize', '__proto__'),
        type: fc.anything(),
        value: fc.anything(),
      }),
      (frame) => {
        expect(readBrowserFrame(JSON.stringify(frame))).toBe(null)
      },
    ),
  )
})
