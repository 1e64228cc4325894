import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { readBlocks } from '../support/guides/blocks.ts'
import { startTestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

// Runs the plugin in docs/plugins.md unchanged; test/flows/operator-plugin.test.ts covers everything else about such
// plugins.

/** Finds the only code block in that language that contains the text. */
function example(language: string, text: string): string {
  const found = readBlocks('docs/plugins.md').filter(
    (block) => block.language === language && block.code.includes(text),
  )
  if (found.length !== 1) throw new Error(`docs/plugins.md has ${found.length} blocks of ${language} with ${text}`)
  return found[0]?.code ?? ''
}

const SCRIPT = `async function onSolutionOpen(arg, { username }) {
  const { greeting } = await directory.find(username)
  directory.note(greeting)
  security.login(username, greeting, ['Users'])
}`

test('docs/plugins.md: the plugin responds to a script, and acts once the sign-in is complete', async () => {
  const home = mkdtempSync(join(tmpdir(), 'solhost-plugin-'))
  const folder = join(home, 'plugins', 'directory')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'host.ts'), example('ts', "name: 'directory'"))
  writeFileSync(join(folder, 'guest.ts'), example('ts', "api.request('find', [name])"))
  const host = await startTestHost({}, { home })
  try {
    const bundle = await bundleOf(
      { authenticator: 'AUTHENTICATOR', modules: ['auth'] },
      { ...moduleFile('auth', { type: 'authenticator' }), 'modules/auth/globals.js': SCRIPT },
    )
    expect((await host.upload('crm', bundle)).status).toBe(201)
    const written = vi.spyOn(console, 'log').mockImplementation(() => {})
    const visitor = createVisitor(host.url)
    await visitor.get('/solution/crm/index.html')
    await visitor.post('/solution/crm/index.html', { username: 'anna', password: 'x' })
    expect((await visitor.get('/solution/crm/session')).json()).toMatchObject({ username: 'anna', uid: 'Hello anna' })
    expect(written.mock.calls).toEqual([['crm', 'Hello anna']])
  } finally {
    vi.restoreAllMocks()
    await host.stop()
    rmSync(home, { recursive: true, force: true })
  }
})
