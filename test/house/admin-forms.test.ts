import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const FOLDERS = ['host', 'base'].map((name) => new URL(`../../${name}/web/pages/admin/`, import.meta.url))

/** Opening tags, each on one line. */
const forms = FOLDERS.flatMap((folder) =>
  readdirSync(folder).flatMap((file) =>
    [...readFileSync(new URL(file, folder), 'utf8').matchAll(/<form\b.*/g)].map(([tag]) => ({ file, tag })),
  ),
)

test('a form of the administration says its method; what the script sends is a POST without it, so that no address has a password', () => {
  const isSent = (tag: string) => /\sdata-(api|grants|upload|import|settings)\b/.test(tag)
  const wrong = forms.filter(({ tag }) => !(isSent(tag) ? / method="post"/ : / method="(get|post|dialog)"/).test(tag))
  expect(wrong).toEqual([])
  expect(forms.filter(({ tag }) => isSent(tag)).length).toBeGreaterThan(20)
})
