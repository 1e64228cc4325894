import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSaving, type HostText, type OpenText, type SaveAnswer } from '../../../host/web/workbench/saving.ts'

/** Simulates a host with one file, and the browser's storage. */
function played() {
  const stored = { text: 'a', etag: 'etag of a' }
  const kept = new Map<string, string>()
  const conflicts: HostText[] = []
  const sent: string[] = []
  let fails: 'before' | 'after' | 'signed-out' | 'refused' | null = null
  const etagOf = (text: string) => `etag of ${text}`
  const saving = createSaving({
    async put(_path, text, etag): Promise<SaveAnswer> {
      sent.push(text)
      if (fails === 'before') return { ok: false, problem: { status: 0 } }
      if (fails === 'signed-out') return { ok: false, problem: { status: 401 } }
      if (fails === 'refused') return { ok: false, problem: { status: 413, detail: 'too large' } }
      if (etag !== stored.etag && text !== stored.text) {
        return { ok: false, problem: { status: 409, code: 'ERR_CHANGED_MEANWHILE' } }
      }
      stored.text = text
      stored.etag = etagOf(text)
      if (fails === 'after') return { ok: false, problem: { status: 0 } }
      return { ok: true, body: { etag: stored.etag } }
    },
    read: async () => ({ ...stored }),
    keep: ({ path, text }) => void kept.set(path, text),
    forget: ({ path }) => void kept.delete(path),
    changed: () => {},
    conflict: (_one, theirs) => void conflicts.push(theirs),
  })
  function fail(how: typeof fails): void {
    fails = how
  }
  const one: OpenText = saving.open('globals.js', stored.etag, stored.text)
  return { saving, one, stored, kept, conflicts, sent, fail }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('saving: the text is sent 1 s after the last keystroke; until then, it is stored in the browser', async () => {
  const { saving, one, kept, sent } = played()
  saving.edit(one, 'ab')
  await vi.advanceTimersByTimeAsync(900)
  saving.edit(one, 'abc')
  await vi.advanceTimersByTimeAsync(999)
  expect([one.state, kept.get('globals.js'), sent]).toEqual(['unsaved', 'abc', []])
  await vi.advanceTimersByTimeAsync(1)
  expect([one.state, kept.size, sent]).toEqual(['saved', 0, ['abc']])
})

test('saving: while the host is unreachable, the text stays in the browser and is sent again until the host confirms it', async () => {
  const { saving, one, kept, stored, fail } = played()
  fail('before')
  saving.edit(one, 'ab')
  await vi.advanceTimersByTimeAsync(60_000)
  expect([one.state, kept.get('globals.js'), stored.text]).toEqual(['unsaved', 'ab', 'a'])
  fail(null)
  await vi.advanceTimersByTimeAsync(15_000)
  expect([one.state, kept.size, stored.text]).toEqual(['saved', 0, 'ab'])
})

test('saving: if only the response to a save is lost, there is no conflict, even if the author has continued to type', async () => {
  const { saving, one, stored, conflicts, fail } = played()
  fail('after')
  saving.edit(one, 'ab')
  await vi.advanceTimersByTimeAsync(1000)
  fail(null)
  saving.edit(one, 'abc')
  await vi.advanceTimersByTimeAsync(30_000)
  expect([one.state, stored.text, conflicts]).toEqual(['saved', 'abc', []])
})

test('saving: another user’s text is a conflict, which keeps both texts until the author chooses', async () => {
  const { saving, one, stored, kept, conflicts } = played()
  Object.assign(stored, { text: 'theirs', etag: 'etag of theirs' })
  saving.edit(one, 'mine')
  await vi.advanceTimersByTimeAsync(1000)
  expect([one.state, kept.get('globals.js'), stored.text]).toEqual(['conflict', 'mine', 'theirs'])
  expect(conflicts).toEqual([{ text: 'theirs', etag: 'etag of theirs' }])
  saving.edit(one, 'mine too')
  await vi.advanceTimersByTimeAsync(60_000)
  expect([one.state, kept.get('globals.js'), stored.text]).toEqual(['conflict', 'mine too', 'theirs'])
  expect(await saving.settle(one, conflicts[0] ?? null, 'both')).toBe(true)
  expect([one.state, kept.size, stored.text]).toEqual(['saved', 0, 'both'])
})

test('saving: after a sign-out, the text waits for the next sign-in', async () => {
  const { saving, one, kept, stored, fail } = played()
  fail('signed-out')
  saving.edit(one, 'ab')
  await vi.advanceTimersByTimeAsync(1000)
  expect([one.state, kept.get('globals.js')]).toEqual(['signed-out', 'ab'])
  fail(null)
  saving.retry()
  await vi.advanceTimersByTimeAsync(0)
  expect([one.state, stored.text]).toEqual(['saved', 'ab'])
})

test('saving: a refused text is not sent again until it changes, and the reason stays available', async () => {
  const { saving, one, kept, sent, fail } = played()
  fail('refused')
  saving.edit(one, 'ab')
  await vi.advanceTimersByTimeAsync(60_000)
  expect([one.state, one.problem?.detail, sent, kept.get('globals.js')]).toEqual(['unsaved', 'too large', ['ab'], 'ab'])
})

test('saving: a text that an earlier page left behind is saved, unless the file has changed since', async () => {
  const { saving, one, stored, conflicts } = played()
  saving.resume(one, { etag: 'etag of a', text: 'left', sent: [] })
  await vi.advanceTimersByTimeAsync(0)
  expect(stored.text).toBe('left')
  const other = saving.open('globals.js', 'etag of left', 'left')
  saving.resume(other, { etag: 'etag of something', text: 'older', sent: [] })
  await vi.advanceTimersByTimeAsync(0)
  expect([other.state, conflicts]).toEqual(['conflict', [{ etag: 'etag of left', text: 'left' }]])
  expect(stored.text).toBe('left')
})
