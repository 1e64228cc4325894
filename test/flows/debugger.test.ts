import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { findDebugNode } from '../../host/debugger/find-debug-node.ts'
import { openClient } from '../support/client-page.ts'
import { addClientSolution, button, label, linesOf } from '../support/client-solution.ts'
import { type DevTools, openDevTools } from '../support/devtools.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { type Answer, ask, createVisitor } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { bundleOf, moduleFile } from '../support/zip.ts'

const AUTHENTICATOR = `const USERS = { anna: 'a-1', bram: 'b-2' }

function onSolutionOpen(arg, queryParams) {
  const uid = USERS[queryParams.username]
  if (queryParams.username === 'looping') for (;;);
  if (queryParams.username === 'growing') for (const all = []; ; ) all.push(new Array(1e5).fill(all.length))
  security.login(queryParams.username, uid, ['Users'])
}
`
const FILE = 'modules/auth/globals.js'
/** The line number of `const uid`, zero-based as in the debugger protocol. */
const LINE = 3
/** Time limit of a call, in ms. */
const TIME = 1000
/** Longer than all time limits of a call combined, including the host's own timeout. */
const HELD = 4000

let host: TestHost
/** A host that allows long calls but little memory, so that scripts reach the memory limit first. */
let slowHost: TestHost
const opened: DevTools[] = []
beforeAll(async () => {
  host = await startDebugged(TIME)
  slowHost = await startDebugged(60_000, { ISOLATE_MEMORY: '16m' })
})
afterEach(() => {
  for (const tools of opened.splice(0)) tools.close()
})
afterAll(() => Promise.all([host.stop(), slowHost.stop()]))

async function startDebugged(time: number, more: Record<string, string> = {}): Promise<TestHost> {
  const node = await findDebugNode(undefined)
  if ('problem' in node) throw new Error(node.problem)
  const limits = { AUTHENTICATOR_TIME: `${time}ms`, CALL_TIME: `${time}ms`, ...more }
  return startTestHost(limits, { inspect: { port: 0, node } })
}

type Listed = { readonly id: string; readonly url: string; readonly webSocketDebuggerUrl: string }

async function add(name: string, { version = '1.0.0', on = host } = {}): Promise<void> {
  const bundle = await bundleOf(
    { name, version, authenticator: 'AUTHENTICATOR', modules: ['auth'] },
    { ...moduleFile('auth', { type: 'authenticator' }), [FILE]: AUTHENTICATOR },
  )
  expect((await on.upload(name, bundle)).ok).toBe(true)
}

function debuggerUrl(path: string, on = host): string {
  return `http://${on.debugger?.address}${path}`
}

async function targetOf(url: string, on = host): Promise<Listed> {
  const list = (await ask(debuggerUrl('/json/list', on))).json() as readonly Listed[]
  const found = list.find((target) => target.url === url)
  if (found === undefined) throw new Error(`no target ${url}`)
  return found
}

async function attach(url: string, on = host): Promise<DevTools> {
  const tools = await openDevTools((await targetOf(url, on)).webSocketDebuggerUrl)
  opened.push(tools)
  await tools.ask('Debugger.enable')
  return tools
}

function logIn(solution: string, username: string, on = host): Promise<Answer> {
  const visitor = createVisitor(on.url)
  const page = `/solution/${solution}/index.html`
  return visitor.get(page).then(() => visitor.post(page, { username, password: 'any' }))
}

type Paused = {
  readonly reason: string
  readonly callFrames: readonly {
    readonly callFrameId: string
    readonly functionName: string
    readonly location: { readonly scriptId: string; readonly lineNumber: number }
  }[]
}

/**
 * Waits until the debugger pauses.
 * @returns the position, and a function that evaluates expressions in the top frame
 */
async function nextStop(tools: DevTools) {
  const { callFrames, reason } = (await tools.event('Debugger.paused')) as unknown as Paused
  const [frame] = callFrames
  if (frame === undefined) throw new Error('it stopped nowhere')
  const { callFrameId, functionName, location } = frame
  return {
    reason,
    functionName,
    line: location.lineNumber,
    scriptId: location.scriptId,
    async value(expression: string): Promise<unknown> {
      const { result } = await tools.ask('Debugger.evaluateOnCallFrame', { callFrameId, expression })
      return (result as { value?: unknown }).value
    },
  }
}

/** Waits until the paused script's clock has advanced by this much. */
async function holdFor(milliseconds: number, stop: Awaited<ReturnType<typeof nextStop>>): Promise<void> {
  const from = Number(await stop.value('Date.now()'))
  await waitUntil(async () => expect(Number(await stop.value('Date.now()')) - from).toBeGreaterThan(milliseconds), {
    timeout: 10 * milliseconds,
    interval: 100,
  })
}

test('debugger: a breakpoint in an authenticator can pause a sign-in past its time limit, and the sign-in still completes', async () => {
  await add('stopping')
  const tools = await attach('solhost://stopping/authenticator')
  await tools.ask('Debugger.setBreakpointByUrl', { url: FILE, lineNumber: LINE })
  let answer: Answer | null = null
  const login = logIn('stopping', 'anna').then((given) => {
    answer = given
    return given
  })
  const stop = await nextStop(tools)
  expect([stop.functionName, stop.line]).toEqual(['onSolutionOpen', LINE])
  const { scriptSource } = await tools.ask('Debugger.getScriptSource', { scriptId: stop.scriptId })
  expect((scriptSource as string).startsWith(AUTHENTICATOR)).toBe(true)
  expect(await stop.value('queryParams.username')).toBe('anna')
  await holdFor(HELD, stop)
  expect(answer).toBeNull()
  await tools.ask('Debugger.resume')
  expect((await login).status).toBe(303)
})

test('debugger: each sign-in pauses at a breakpoint, although each has its own context, and others wait until it resumes', async () => {
  await add('again')
  const tools = await attach('solhost://again/authenticator')
  await tools.ask('Debugger.setBreakpointByUrl', { url: FILE, lineNumber: LINE })
  const logins = [logIn('again', 'anna'), logIn('again', 'bram')]
  const names: unknown[] = []
  for (const _login of logins) {
    const stop = await nextStop(tools)
    names.push(await stop.value('queryParams.username'))
    await holdFor(TIME, stop)
    await tools.ask('Debugger.resume')
  }
  expect(names.sort()).toEqual(['anna', 'bram'])
  expect((await Promise.all(logins)).map(({ status }) => status)).toEqual([303, 303])
  expect(host.processes().filter(({ key }) => key?.startsWith('again@'))).toHaveLength(1)
})

test('debugger: when a debugger disconnects, the sign-in continues', async () => {
  await add('leaving')
  const tools = await attach('solhost://leaving/authenticator')
  await tools.ask('Debugger.setBreakpointByUrl', { url: FILE, lineNumber: LINE })
  const login = logIn('leaving', 'anna')
  await nextStop(tools)
  tools.close()
  expect((await login).status).toBe(303)
})

test('debugger: a breakpoint in a form function can pause a user’s event past its time limit', async () => {
  await addClientSolution(host, 'form', {
    elements: [label('count'), button('up')],
    script: "let count = 0\nfunction up() {\n  count++\n  forms.main.elements.count.label = 'now ' + count\n}\n",
  })
  const tools = await attach('solhost://form/main')
  await tools.ask('Debugger.setBreakpointByUrl', { url: 'forms/main.js', lineNumber: 3 })
  const page = await openClient(host.url, 'form', createVisitor(host.url))
  const pressed = page.press('main', 'up')
  const stop = await nextStop(tools)
  expect([stop.functionName, stop.line, await stop.value('count')]).toEqual(['up', 3, 1])
  await holdFor(HELD, stop)
  expect(page.text('main', 'count')).toBe('0')
  await tools.ask('Debugger.resume')
  await pressed
  expect(page.text('main', 'count')).toBe('now 1')
})

test('debugger: the time limits apply to a script that is not paused', async () => {
  await add('looping')
  await attach('solhost://looping/authenticator')
  expect((await logIn('looping', 'looping')).status).toBe(401)
  const [line] = (await linesOf(host, 'looping')).filter(({ level }) => level === 'error')
  expect(line).toMatchObject({ code: 'script_timeout', message: expect.stringContaining(`longer than ${TIME} ms`) })
  expect((await logIn('looping', 'anna')).status).toBe(303)
})

test('debugger: an authenticator is paused before it runs out of memory; resuming terminates it and the debugging session', async () => {
  await add('growing', { on: slowHost })
  const tools = await attach('solhost://growing/authenticator', slowHost)
  const login = logIn('growing', 'growing', slowHost)
  expect((await nextStop(tools)).reason).toBe('OOM')
  await tools.ask('Debugger.resume')
  expect((await login).status).toBe(401)
  expect(await tools.closed).toBe(1001)
  expect((await linesOf(slowHost, 'growing')).map(({ code }) => code)).toContain('script_memory')
  expect((await logIn('growing', 'anna', slowHost)).status).toBe(303)
})

test('debugger: a client is paused before it runs out of memory; resuming terminates it and the debugging session', async () => {
  await addClientSolution(slowHost, 'filling', {
    elements: [label('count'), button('grow'), button('look')],
    script:
      'function look() {\n}\nfunction grow() {\n  for (const all = []; ; ) all.push(new Array(1e5).fill(all.length))\n}\n',
  })
  const tools = await attach('solhost://filling/main', slowHost)
  const first = await openClient(slowHost.url, 'filling', createVisitor(slowHost.url))
  const pressed = first.press('main', 'grow')
  expect((await nextStop(tools)).reason).toBe('OOM')
  await tools.ask('Debugger.resume')
  expect(await tools.closed).toBe(1001)
  await pressed

  // The host reopens the page's client in the isolate that the next debugging session attaches to.
  const again = await attach('solhost://filling/main', slowHost)
  await again.ask('Debugger.setBreakpointByUrl', { url: 'forms/main.js', lineNumber: 1 })
  const second = await openClient(slowHost.url, 'filling', createVisitor(slowHost.url))
  const looked = second.press('main', 'look')
  await nextStop(again)
  await again.ask('Debugger.resume')
  await looked
  // The process that ran out of memory stays in the list until the kernel has removed it.
  const processes = () => slowHost.processes().filter(({ key }) => key?.startsWith('filling@'))
  await expect.poll(() => processes().length).toBe(1)
})

test('debugger: a new version ends the debugging session, and is available at the same address', async () => {
  await add('changing')
  const before = await targetOf('solhost://changing/authenticator')
  const tools = await attach('solhost://changing/authenticator')
  await add('changing', { version: '1.0.1' })
  expect(await tools.closed).toBe(1001)
  const after = await targetOf('solhost://changing/authenticator')
  expect(after).toEqual({ ...before, title: 'changing 1.0.1: sign-in (authenticator)' })
})

test('debugger: the target list contains only the data that Chrome needs', async () => {
  await add('listed')
  const { id, ...target } = await targetOf('solhost://listed/authenticator')
  const address = host.debugger?.address
  expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect(target).toEqual({
    type: 'node',
    title: 'listed 1.0.0: sign-in (authenticator)',
    description: 'a solution’s scripts',
    url: 'solhost://listed/authenticator',
    devtoolsFrontendUrl: `devtools://devtools/bundled/js_app.html?experiments=true&v8only=true&ws=${address}/${id}`,
    webSocketDebuggerUrl: `ws://${address}/${id}`,
  })
  const version = (await ask(debuggerUrl('/json/version'))).json()
  expect(version).toEqual({ Browser: expect.stringMatching(/^node\.js\/v24\.\d+\.\d+$/), 'Protocol-Version': '1.3' })
  expect((await ask(debuggerUrl(`/${id}`))).status).toBe(426)
})

test.each([
  ['another host name', { host: 'example.org' }, 403],
  ['a name that only begins with an allowed one', { host: '127.0.0.1.example.org' }, 403],
  ['the origin of a web page', { origin: 'https://example.org' }, 403],
  ['the origin of a page on this machine', { origin: 'http://127.0.0.1:8080' }, 403],
  ['the origin of an opaque page', { origin: 'null' }, 403],
])('debugger: %s is rejected, for the list and for a session', async (_what, headers, status) => {
  await add('refused')
  const { webSocketDebuggerUrl } = await targetOf('solhost://refused/authenticator')
  expect((await ask(debuggerUrl('/json/list'), { headers })).status).toBe(status)
  await expect(openDevTools(webSocketDebuggerUrl, headers)).rejects.toThrow(`refused with ${status}`)
})

test('debugger: the origin of Chrome DevTools and the name localhost are accepted', async () => {
  await add('welcome')
  const { webSocketDebuggerUrl } = await targetOf('solhost://welcome/authenticator')
  const headers = { origin: 'devtools://devtools', host: `localhost:${new URL(webSocketDebuggerUrl).port}` }
  const tools = await openDevTools(webSocketDebuggerUrl, headers)
  opened.push(tools)
  expect(await tools.ask('Debugger.enable')).toEqual({ debuggerId: expect.any(String) })
})

test('debugger: an unknown id gets 404', async () => {
  const url = `ws://${host.debugger?.address}/00000000-0000-4000-8000-000000000000`
  await expect(openDevTools(url)).rejects.toThrow('refused with 404')
})

test('debugger: listens only on 127.0.0.1', async () => {
  const port = Number(host.debugger?.address.split(':')[1])
  expect(await connects('127.0.0.1', port)).toBe('connected')
  expect(await connects('127.0.0.2', port)).toBe('ECONNREFUSED')
})

test('debugger: it is off by default', async () => {
  const plain = await startTestHost({ NODE_OPTIONS: '--inspect', INSPECT: '0', DEBUG: '*' })
  expect(plain.debugger).toBeNull()
  await plain.stop()
})

function connects(address: string, port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, address)
    socket.on('connect', () => {
      socket.destroy()
      resolve('connected')
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
  })
}
