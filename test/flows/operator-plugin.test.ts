import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { startTestHost } from '../support/host.ts'
import { createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'solhost-plugin-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function addPlugin(folder: string, host: string, guest = 'export default function guest() { return {} }'): void {
  mkdirSync(join(home, 'plugins', folder), { recursive: true })
  writeFileSync(join(home, 'plugins', folder, 'host.ts'), host)
  writeFileSync(join(home, 'plugins', folder, 'guest.ts'), guest)
}

/** The setup steps from docs/plugins.md. */
const HOST = `
const written: string[] = []
export default (api: any) => ({
  name: 'directory',
  guest: new URL('./guest.ts', import.meta.url),
  commands: { note: api.command(api.z.tuple([api.z.string().max(100)]), (call: any, [text]: [string]) => { written.push(call.solution.name + ':' + text); (globalThis as any).directoryNotes = written }) },
  requests: { find: api.request(api.z.tuple([api.z.string().max(100)]), async (_call: any, [name]: [string]) => {
    if (name === 'fails') throw new Error('host secret')
    return name === 'anna' ? { uid: 'a-1', groups: ['Users'] } : null
  }, { changes: false }) },
})`
const GUEST = `
export default function directory(api: any) {
  return {
    note: (text: unknown) => api.command('note', [text]),
    find: (name: unknown) => api.request('find', [name]),
  }
}`

const SCRIPT = `async function onSolutionOpen(arg, q) {
  try {
    const user = await directory.find(q.username)
    if (!user) return JSON.stringify({ error: 'nobody' })
    directory.note('signed in ' + q.username)
    security.login(q.username, user.uid, user.groups)
  } catch (error) {
    return JSON.stringify({ error: String(error) })
  }
}`

test('a plugin from a folder outside the source tree adds a global with commands and requests for scripts', async () => {
  addPlugin('directory', HOST, GUEST)
  const host = await startTestHost({}, { home })
  const bundle = await bundleOf(
    { name: 'uses', authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    {
      ...moduleFile('auth', { type: 'authenticator' }),
      'modules/auth/globals.js': SCRIPT,
      'media/login.html':
        '<form name="login_form"><input name="username"><input type="password" name="password"><p id="errorlabel">%%error%%</p></form>',
    },
  )
  expect((await host.upload('uses', bundle)).status).toBe(201)
  const page = '/solution/uses/index.html'
  const visitor = createVisitor(host.url)
  await visitor.get(page)
  expect((await visitor.post(page, { username: 'eve', password: 'x' })).text).toContain('>nobody<')
  const failed = await visitor.post(page, { username: 'fails', password: 'x' })
  expect(failed.text).toContain('Error: directory.find failed')
  expect(failed.text).not.toContain('host secret')
  expect(host.logged()).toContain('host secret')
  expect((await visitor.post(page, { username: 'anna', password: 'x' })).status).toBe(303)
  expect((globalThis as { directoryNotes?: string[] }).directoryNotes).toEqual(['uses:signed in anna'])
  await host.stop()
})

test.each([
  [
    'the name of an existing global',
    "export default () => ({ name: 'security', guest: new URL('./guest.ts', import.meta.url), commands: {} })",
    'which is already in use',
  ],
  ['an invalid definition', 'export default () => ({ name: 5 })', 'Cannot load the plugin'],
  ['code that throws', "throw new Error('broken')", 'broken'],
  [
    'a missing guest part',
    "export default () => ({ name: 'x', guest: new URL('./none.ts', import.meta.url), commands: {} })",
    'none.ts does not exist',
  ],
])('a plugin with %s prevents startup, and the error contains its folder', async (_case, source, reason) => {
  addPlugin('wrong', source)
  const started = startTestHost({}, { home })
  await expect(started).rejects.toMatchObject({ code: 'ERR_PLUGIN_INVALID' })
  await expect(started).rejects.toThrow(join(home, 'plugins', 'wrong'))
  await expect(started).rejects.toThrow(reason)
})

test.each([
  ['cannot be compiled', 'export default function guest() { return {'],
  ['fails while it builds its global', "export default function guest() { throw new Error('guest is broken') }"],
])('a guest part that %s prevents startup', async (_case, guest) => {
  addPlugin(
    'wrong',
    "export default () => ({ name: 'x', guest: new URL('./guest.ts', import.meta.url), commands: {} })",
    guest,
  )
  await expect(startTestHost({}, { home })).rejects.toMatchObject({ code: 'ERR_PLUGIN_INVALID' })
})

test.each([
  ['while it builds its global', "throw new Error('broken in clients')"],
  ['when it receives its settings', "api.onLoad(() => { throw new Error('broken in clients') })"],
])('a guest part that fails only in clients, %s, prevents startup', async (_case, statement) => {
  const plugin = (more: string) =>
    `export default () => ({ name: 'x', guest: new URL('./guest.ts', import.meta.url), commands: {}${more} })`
  const guest = `export default function guest(api: any) { if (api.isClient) { ${statement} } return {} }`
  addPlugin('wrong', plugin(''), guest)
  const started = startTestHost({}, { home })
  await expect(started).rejects.toMatchObject({ code: 'ERR_PLUGIN_INVALID' })
  await expect(started).rejects.toThrow('broken in clients')
  addPlugin('wrong', plugin(', clientsOnly: true'), guest)
  await expect(startTestHost({}, { home })).rejects.toThrow('broken in clients')
})

test('a failed start leaves no sandbox process and no open database behind', async () => {
  // Child processes of the shared hosts in this test worker.
  const others = childProcesses()
  addPlugin(
    'wrong',
    "export default () => ({ name: 'x', guest: new URL('./guest.ts', import.meta.url), commands: {} })",
    'no module',
  )
  await expect(startTestHost({}, { home })).rejects.toMatchObject({ code: 'ERR_PLUGIN_INVALID' })
  await waitUntil(() => expect(childProcesses().filter((pid) => !others.includes(pid))).toEqual([]))
  const open = readdirSync('/proc/self/fd').flatMap((fd) => linkOf(`/proc/self/fd/${fd}`))
  expect(open.filter((file) => file.startsWith(home))).toEqual([])
})

function childProcesses(): string[] {
  return readdirSync('/proc/self/task').flatMap((thread) =>
    readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
  )
}

/** @returns the link's target in an array, which is empty if the descriptor was closed after it was listed */
function linkOf(path: string): string[] {
  try {
    return [readlinkSync(path)]
  } catch {
    return []
  }
}
