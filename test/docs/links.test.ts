import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDERS = ['docs', 'base', 'cli', 'control-center', 'host', 'plugins', 'runtime', 'solutions']
const PAGES = globSync(['*.md', ...FOLDERS.map((folder) => `${folder}/**/*.md`)], { cwd: ROOT }).sort()

function contentOf(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** Derives anchors from headings as GitHub does. */
function anchorsOf(file: string): string[] {
  return [...contentOf(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

test.each(PAGES)('%s: each link within the repository points to an existing file and heading', (page) => {
  const links = [...contentOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, address = '']) => address)
  const broken = links
    .filter((address) => !/^[a-z]+:/.test(address))
    .filter((address) => {
      const [path = '', anchor] = address.split('#')
      const file = path === '' ? page : join(dirname(page), path)
      if (!existsSync(join(ROOT, file))) return true
      return anchor !== undefined && !anchorsOf(file).includes(anchor)
    })
  expect(broken).toEqual([])
})

test('the check finds links', () => {
  expect(PAGES).toEqual(expect.arrayContaining(['README.md', 'docs/forms.md', 'host/clients/README.md']))
  expect(anchorsOf('docs/forms.md')).toContain('the-client')
})
