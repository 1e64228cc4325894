import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const PAGES = ['base/web/pages', 'host/web/pages', 'control-center/web/pages'].map((path) => `../../${path}/`)

const templates = PAGES.flatMap((path) => {
  const folder = new URL(path, import.meta.url)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.eta'))
  return files.map((file) => ({ file, text: readFileSync(new URL(file, folder), 'utf8') }))
})

/** The opening tags of all forms. In our templates, each tag is on one line. */
const forms = templates.flatMap(({ file, text }) => [...text.matchAll(/<form\b.*/g)].map(([tag]) => ({ file, tag })))

test('each form on the admin pages declares its method; forms handled by the script use POST, so no URL contains a password', () => {
  const isSent = (tag: string) => /\sdata-(api|grants|upload|import|settings)\b/.test(tag)
  const wrong = forms.filter(({ tag }) => !(isSent(tag) ? / method="post"/ : / method="(get|post|dialog)"/).test(tag))
  expect(wrong).toEqual([])
  const shared = templates.flatMap(({ text }) => text.match(/\bit\.form\(/g) ?? [])
  expect([...forms.filter(({ tag }) => isSent(tag)), ...shared].length).toBeGreaterThan(20)
  // This template has the form's attributes in a variable.
  expect(forms.filter(({ file }) => file === 'form.eta').map(({ tag }) => tag.slice(0, 20))).toEqual([
    '<form method="post"<',
  ])
})

test('only one template contains table markup', () => {
  expect(templates.filter(({ text }) => text.includes('<table')).map(({ file }) => file)).toEqual(['table.eta'])
})
