import { expect, test } from 'vitest'
import { nextVersion, versionIn, withVersion } from '../../../host/drafts/manifest-version.ts'
import { lineAndColumn, offsetOf } from '../../../runtime/bundle/strict-json.ts'

const written = (text: string, version: string) => {
  const content = withVersion(Buffer.from(text), version)
  return content === null ? null : Buffer.from(content).toString()
}

test('a new version is written into the manifest, and everything else stays as the author wrote it', () => {
  expect(written('{ "name":"a",\r\n\t"title": "é €",\r\n "version"  :  "1.0.0" ,"x":{"version":"9"}}\n', '1.0.1')).toBe(
    '{ "name":"a",\r\n\t"title": "é €",\r\n "version"  :  "1.0.1" ,"x":{"version":"9"}}\n',
  )
  expect(written('{"x":{"version":"9"},"version":"1.0.0-\\u0061"}', '2.0.0')).toBe(
    '{"x":{"version":"9"},"version":"2.0.0"}',
  )
})

test('a manifest that can’t be read, or has no version, is not changed', () => {
  for (const text of ['', '{', '[]', 'null', '{"name":"a"}', '{"version":1}', '{"x":{"version":"1.0.0"}}'])
    expect([text, written(text, '1.0.0'), versionIn(Buffer.from(text))]).toEqual([text, null, null])
  expect(withVersion(new Uint8Array([0xff, 0xfe]), '1.0.0')).toBeNull()
})

test('the proposed version has the next patch number', () => {
  expect(['1.4.2', '1.4.9', '2.0.0-beta.1+b', 'odd'].map(nextVersion)).toEqual(['1.4.3', '1.4.10', '2.0.1', 'odd'])
})

test('a position in a text is converted back to its offset, with any kind of line break', () => {
  const text = 'a\nbb\r\n\rc\r\r\nd\n'
  for (let at = 0; at <= text.length; at++) {
    // Skip the offset between \r and \n, because it has no line and column.
    if (text[at - 1] === '\r' && text[at] === '\n') continue
    expect([at, offsetOf(text, lineAndColumn(text, at))]).toEqual([at, at])
  }
})
