import { expect, test } from 'vitest'
import { workbenchLinks } from '../../../host/pages/workbench-links.ts'

test('links to the workbench open a file at a line; without a workbench, there are none', () => {
  const at = { file: 'scopes/a&b.js', line: 3 }
  for (const mode of ['edit', 'read'] as const) {
    expect(workbenchLinks(mode).to('shop')).toBe('/admin/solutions/shop/workbench')
    expect(workbenchLinks(mode).to('shop', at)).toBe('/admin/solutions/shop/workbench?file=scopes%2Fa%26b.js&line=3')
    expect(workbenchLinks(mode).to('shop', { line: 3 })).toBe('/admin/solutions/shop/workbench?line=3')
  }
  expect(workbenchLinks('off').to('shop', at)).toBeNull()
})

test('pages offer to create a draft only if authors can edit', () => {
  const modes = ['edit', 'read', 'off'] as const
  expect(modes.filter((mode) => workbenchLinks(mode).canCreate)).toEqual(['edit'])
})
