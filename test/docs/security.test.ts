import { globSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGES = globSync('docs/security/*.md', { cwd: ROOT }).sort()
const TESTS = (readdirSync(`${ROOT}test`, { recursive: true }) as string[]).map((path) => `/${path}`)

type Row = { readonly claim: string; readonly shown: string }

/** Reads the rows of the page's tables, without the header rows. */
function rowsOf(page: string): Row[] {
  const lines = readFileSync(`${ROOT}${page}`, 'utf8').split('\n')
  return lines
    .map((line) => /^\| (.+) \| (.+) \|$/.exec(line))
    .map((match) => ({ claim: match?.[1] ?? '', shown: match?.[2] ?? 'test' }))
    .filter(({ shown }) => shown !== 'test')
}

/**
 * @returns a row's references that match nothing. A reference is a file, which a quoted part of a test name may follow.
 */
function missingOf({ shown }: Row): string[] {
  if (shown.startsWith('–')) return []
  const named = [...shown.matchAll(/`([^`]+)`(?: \(("[^)]*)\))?/g)]
  if (named.length === 0) return [shown]
  return named
    .filter(([, path = '']) => !path.startsWith('npm '))
    .flatMap(([, path = '', names = '']) => {
      const pattern = new RegExp(`/${RegExp.escape(path.replace(/\/$/, '')).replaceAll('\\*', '[^/]*')}$`)
      const files = TESTS.filter((file) => pattern.test(file))
      const parts = [...names.matchAll(/"([^"]+)"/g)].map(([, name = '']) => name.replaceAll('…', '').trim())
      const missing = parts.filter((part) => !files.some((file) => contentOf(file).includes(part)))
      return files.length === 0 ? [path] : missing.map((part) => `${path}: ${part}`)
    })
}

function contentOf(file: string): string {
  return readFileSync(`${ROOT}test${file}`, 'utf8')
}

test.each(PAGES)('%s: each row refers to an existing test', (page) => {
  expect(rowsOf(page).flatMap(missingOf)).toEqual([])
})

test('the check finds rows, and reports missing test names and files', () => {
  expect(PAGES.flatMap(rowsOf).length).toBeGreaterThan(190)
  const row = { claim: '', shown: '`docs/links.test.ts` ("the check finds …", "no such name"), `docs/none.test.ts`' }
  expect(missingOf(row)).toEqual(['docs/links.test.ts: no such name', 'docs/none.test.ts'])
})
