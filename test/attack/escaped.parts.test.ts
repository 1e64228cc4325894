import {
  closeSync,
  cpSync,
  globSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { builtInPlugins } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import { readTrusted } from '../../base/bundles/trusted.ts'
import { createLimits } from '../../runtime/limits.ts'
import type { FromSandbox, ToSandbox } from '../../runtime/protocol.ts'
import { BINARY, type SandboxProcess, startSandboxProcess } from '../../runtime/sandbox-process.ts'
import { trustedFrames } from '../../runtime/trusted-frames.ts'
import { ESCAPE, withHole } from './escaped/hole.ts'

// Tests what a script can still do if it escapes from its isolate and runs JavaScript in the sandbox process. The
// process is real: the platform's own code starts it with the usual flags, environment and channel. Only one module is
// replaced.

vi.mock('../../runtime/program-file.ts', async (original) => {
  const { programFile } = await original<typeof import('../../runtime/program-file.ts')>()
  return {
    programFile(main: URL) {
      const built = programFile(main)
      const copy = () => join(holed, basename(built))
      if (holed !== '') return copy()
      // Put the copy next to the build, so that Node.js finds the packages.
      holed = mkdtempSync(join(dirname(dirname(built)), 'holed-'))
      cpSync(dirname(built), holed, { recursive: true })
      writeFileSync(copy(), withHole(readFileSync(built, 'utf8')))
      return copy()
    },
  }
})

/** The folder that contains the changed copy of the build. */
let holed = ''

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** The binary of a package that sandbox processes don't use. */
const [ADDON] = globSync(`${ROOT}node_modules/@node-rs/argon2-*/*.node`)
const GUEST = `function onSolutionOpen(arg, queryParams) { console.log(queryParams.code) }`
/** A test folder that replaces the platform's data folder. */
const home = mkdtempSync(join(tmpdir(), 'solhost-escaped-'))
const WRITTEN = join(home, 'written')
const OF_THE_HOST = `of the host ${Math.random()}`
const OF_THE_GUEST = `of the guest ${Math.random()}`
/** The port of a server that the test starts. */
let port = 0

const limits = createLimits()
const plugins = builtInPlugins('none', limits)
const trusted = readTrusted(plugins, createSandboxSolutionMaker(plugins), limits)
const listener = createServer((socket) => socket.end())
let sandbox: SandboxProcess
const told: FromSandbox[] = []
let calls = 0

beforeAll(async () => {
  process.env.SOLHOST_PROBE_SECRET = OF_THE_HOST
  writeFileSync(join(home, 'platform-key'), 'a key of the platform')
  using platform = new DatabaseSync(join(home, 'platform.sqlite'))
  platform.exec("CREATE TABLE users (name TEXT); INSERT INTO users VALUES ('anna')")
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  port = (listener.address() as { port: number }).port
  sandbox = await startHoled()
})
afterAll(() => {
  delete process.env.SOLHOST_PROBE_SECRET
  sandbox.kill()
  listener.close()
  for (const folder of [home, holed]) rmSync(folder, { recursive: true, force: true })
})

/** @param first messages to send before the script */
async function startHoled(first: readonly ToSandbox[] = []): Promise<SandboxProcess> {
  const started = startSandboxProcess({ timeZone: 'Etc/UTC', trusted })
  started.onMessage = (message) => void told.push(message)
  await started.ready
  const { solution } = trusted.rehearsal
  for (const message of first) started.send(message)
  started.send({ kind: 'load', solution: { ...solution, scripts: [{ file: 'globals.js', source: GUEST }] } })
  return started
}

/** Runs code outside the isolate, through the hole. @returns the outcome: `done …`, or the error's code */
async function outcomeOf(code: string, process = sandbox): Promise<string> {
  const id = ++calls
  const { call } = trusted.rehearsal
  process.send({ kind: 'call', id, announce: false, call: { ...call, args: [null, { code: `${ESCAPE}${code}` }] } })
  const answer = () => told.find((message) => message.kind === 'log' && message.id === id)
  await expect.poll(() => answer() !== undefined || process.ended()).toBe(true)
  const message = answer()
  return message?.kind === 'log' ? message.message : 'the process has ended'
}

/** Returns whether the process's writable memory (heaps, stacks, native memory) contains the text. */
function isInMemory(text: string): boolean {
  const maps = readFileSync(`/proc/${sandbox.pid}/maps`, 'utf8').matchAll(/^([0-9a-f]+)-([0-9a-f]+) rw/gm)
  const memory = openSync(`/proc/${sandbox.pid}/mem`, 'r')
  try {
    return [...maps].some(([, from = '', to = '']) => {
      const [start, end] = [Number.parseInt(from, 16), Number.parseInt(to, 16)]
      const piece = Buffer.alloc(Math.min(end - start, 256 * 1024 ** 2))
      try {
        return piece.subarray(0, readSync(memory, piece, 0, piece.length, start)).includes(text)
      } catch {
        // Skips a mapping that was removed in the meantime, or that is not readable.
        return false
      }
    })
  } finally {
    closeSync(memory)
  }
}

const quoted = (text: string) => JSON.stringify(text)
const FS = "const fs = node('fs');"
const NET =
  "const net = node('net'); const told = (socket) => new Promise((resolve, reject) => { socket.on('error', reject); socket.on('connect', resolve); socket.on('listening', resolve) });"
const DENIED = 'ERR_ACCESS_DENIED'

test('the deliberate vulnerability works: the escaped code runs in Node.js, outside of any isolate', async () => {
  expect(await outcomeOf('return typeof process.version + typeof node("fs").readFileSync')).toBe(
    'done "stringfunction"',
  )
})

describe('escaped code can read its own program, but no other file', () => {
  test.each([
    ['its own program', `${FS} return fs.readFileSync(process.argv[1]).length > 0`, 'done true'],
    ['the sources of the platform', `${FS} fs.readFileSync(${quoted(`${ROOT}runtime/errors.ts`)})`, DENIED],
    ['the packages', `${FS} fs.readdirSync(${quoted(`${ROOT}node_modules`)})`, DENIED],
    ['isolated-vm', `${FS} fs.readdirSync(${quoted(`${ROOT}node_modules/isolated-vm`)})`, DENIED],
    [
      'a package that is bundled in its program',
      `${FS} fs.readdirSync(${quoted(`${ROOT}node_modules/acorn`)})`,
      DENIED,
    ],
    ['the host’s code', `${FS} fs.readFileSync(${quoted(`${ROOT}host/main.ts`)})`, DENIED],
    ['files next to the code', `${FS} fs.readdirSync(${quoted(ROOT)})`, DENIED],
    ['a system file', `${FS} fs.readFileSync('/etc/passwd')`, DENIED],
    [
      'a system file, with a path through the code folder',
      `${FS} fs.readFileSync(${quoted(`${ROOT}runtime/${'../'.repeat(20)}etc/passwd`)})`,
      DENIED,
    ],
    ['a system file through /proc', `${FS} fs.readFileSync('/proc/self/root/etc/passwd')`, DENIED],
    ['a system file from another working directory', `${FS} process.chdir('/etc'); fs.readFileSync('passwd')`, DENIED],
    ['a system file, with the path as bytes', `${FS} fs.readFileSync(Buffer.from('/etc/passwd'))`, DENIED],
    ['a system file with the promise API', "await node('fs/promises').readFile('/etc/passwd')", DENIED],
    [
      'a system file as a stream',
      `${FS} await new Promise((_, reject) => fs.createReadStream('/etc/passwd').on('error', reject))`,
      DENIED,
    ],
    ['a system file as a Blob', `${FS} await (await fs.openAsBlob('/etc/passwd')).text()`, DENIED],
    ['a system file as an environment file', "process.loadEnvFile('/etc/passwd')", DENIED],
    ['a system file as a module', "await load('file:///etc/passwd')", DENIED],
    ['whether a file exists', `${FS} fs.statSync('/etc/passwd')`, DENIED],
    ['a link that it creates', `${FS} fs.symlinkSync('/etc/passwd', ${quoted(`${ROOT}node_modules/x`)})`, DENIED],
    ['the platform’s folder', `${FS} fs.readdirSync(${quoted(home)})`, DENIED],
    ['the platform’s key', `${FS} fs.readFileSync(${quoted(join(home, 'platform-key'))})`, DENIED],
    ['the platform’s database as a file', `${FS} fs.readFileSync(${quoted(join(home, 'platform.sqlite'))})`, DENIED],
    ['the platform’s database with SQLite', "return typeof node('node:sqlite')", 'done "undefined"'],
    ['node:sqlite with require', "require('node:sqlite')", 'ERR_UNKNOWN_BUILTIN_MODULE'],
    ['node:sqlite with import', "await load('node:sqlite')", 'ERR_UNKNOWN_BUILTIN_MODULE'],
    ['its environment at the start', `${FS} fs.readFileSync('/proc/self/environ')`, DENIED],
    ['the host’s environment', `${FS} fs.readFileSync('/proc/' + process.ppid + '/environ')`, DENIED],
    ['the host’s memory', `${FS} fs.openSync('/proc/' + process.ppid + '/mem')`, DENIED],
    ['the host’s open files', `${FS} fs.readdirSync('/proc/' + process.ppid + '/fd')`, DENIED],
    ['a home folder', `${FS} fs.readdirSync(${quoted(homedir())})`, DENIED],
    ['files with an internal binding', "process.binding('fs')", DENIED],
    ['files with WASI', "new (node('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })", DENIED],
  ])('%s', async (_what, code, outcome) => {
    expect(await outcomeOf(code)).toBe(outcome)
  })
})

describe('escaped code cannot replace the snapshot from which clients of all solutions start', () => {
  const frames = trustedFrames(trusted)
  const forged = quoted(JSON.stringify({ kind: 'clientSnapshot', snapshot: 'Zm9yZ2Vk' }))
  const forge = `${FS} const text = Buffer.from(${forged}); const length = Buffer.alloc(4)
length.writeUInt32BE(text.length); fs.writeSync(3, Buffer.concat([length, text])); return new Promise(() => {})`

  test.each([
    ['the host did not ask for one', []],
    ['the process has already sent one', [{ kind: 'getReadyToCheck' } as const]],
  ])('if %s', async (_what, first) => {
    const process = await startHoled(first)
    expect(await outcomeOf('return 1', process)).toBe('done 1')
    const [, before] = frames.forClients()
    expect(before === undefined).toBe(first.length === 0)
    expect(await outcomeOf(forge, process)).toBe('the process has ended')
    expect(frames.forClients()[1]).toBe(before)
  })
})

describe('escaped code cannot write', () => {
  test.each([
    ['into the platform’s folder', `${FS} fs.writeFileSync(${quoted(WRITTEN)}, 'x')`],
    ['into /tmp', `${FS} fs.writeFileSync('/tmp/solhost-escaped-file', 'x')`],
    ['into shared memory', `${FS} fs.writeFileSync('/dev/shm/solhost-escaped', 'x')`],
    ['into its own code', `${FS} fs.appendFileSync(${quoted(`${ROOT}runtime/errors.ts`)}, ' ')`],
    ['into the packages', `${FS} fs.writeFileSync(${quoted(`${ROOT}node_modules/solhost-escaped.js`)}, 'x')`],
    ['a folder', `${FS} fs.mkdirSync(${quoted(WRITTEN)})`],
    ['a temporary folder', `${FS} fs.mkdtempSync('/tmp/solhost-escaped-')`],
    ['the times of open files', `${FS} fs.futimesSync(1, 1, 1)`],
    ['the permissions of open files', `${FS} fs.fchmodSync(1, 0o777)`],
    ['a copy', `${FS} fs.cpSync(${quoted(`${ROOT}package.json`)}, ${quoted(WRITTEN)})`],
    ['a report', `process.report.writeReport(${quoted(WRITTEN)})`],
    ['a heap snapshot', `node('v8').writeHeapSnapshot(${quoted(WRITTEN)})`],
    ['trace events', "node('trace_events').createTracing({ categories: ['node'] }).enable()"],
  ])('%s', async (_what, code) => {
    expect(await outcomeOf(code)).toBe(DENIED)
  })

  test('a compile cache', async () => {
    expect(await outcomeOf(`return node('module').enableCompileCache(${quoted(WRITTEN)}).status`)).not.toBe('done 1')
  })

  test('V8 trace files, through V8 flags: setting them terminates the process', async () => {
    const other = await startHoled()
    const flag = (text: string) => `node('v8').setFlagsFromString(${quoted(text)});`
    const traced = `${flag('--trace-turbo')}${flag(`--trace-turbo-path=${home}`)}`
    const hot = 'const hot = (x) => x * 2 + 1; let sum = 0; for (let i = 0; i < 5e6; i++) sum += hot(i); return sum > 0'
    await outcomeOf(traced + hot, other)
    other.kill()
  })

  test('nothing was written', () => {
    expect(readdirSync(home).sort()).toEqual(['platform-key', 'platform.sqlite'])
    const made = [...new Set(['/tmp', dirname(home)])].flatMap((folder) => readdirSync(folder))
    expect(made.filter((name) => name.startsWith('solhost-escaped-'))).toEqual([basename(home)])
    expect(readdirSync('/dev/shm').filter((name) => name.startsWith('solhost-escaped'))).toEqual([])
  })

  test('the process of the escaped code inherits only its channel, no open files', () => {
    const folder = `/proc/${sandbox.pid}/fd`
    const open = readdirSync(folder).map((name) => readlinkSync(join(folder, name)).replace(/:\[?.*$/, ''))
    expect([...new Set(open)].sort()).toEqual(expect.arrayContaining(['/dev/null', 'socket']))
    expect(open.filter((one) => !['/dev/null', 'socket', 'pipe', 'anon_inode'].includes(one))).toEqual([])
  })
})

describe('escaped code cannot start other programs', () => {
  test.each([
    ['a program', "node('child_process').spawnSync('id')"],
    ['a shell', "node('child_process').execSync('id')"],
    ['Node.js', "node('child_process').fork('x.js')"],
    ['a program that replaces the process', "process.execve('/bin/true', ['true'])"],
    ['a program with an internal binding', "process.binding('spawn_sync')"],
    ['a thread', "new (node('worker_threads').Worker)('1', { eval: true })"],
    ['a cluster', "node('cluster').fork()"],
    ['a debugger', "node('inspector').open(0)"],
    ['a debugger for itself', "new (node('inspector').Session)().connect()"],
  ])('%s', async (_what, code) => {
    expect(await outcomeOf(code)).toBe(DENIED)
  })

  test('system libraries: only addons can be loaded, and C functions cannot be called', async () => {
    const library = readdirSync('/usr/lib/x86_64-linux-gnu').find((name) => name.startsWith('libz.so')) ?? 'libz.so.1'
    const path = `/usr/lib/x86_64-linux-gnu/${library}`
    expect(await outcomeOf(`process.dlopen({ exports: {} }, ${quoted(path)})`)).toBe('ERR_DLOPEN_FAILED')
    expect(await outcomeOf("node('node:ffi').dlopen('libc.so.6', {})")).not.toMatch(/^done/)
  })
})

describe('escaped code has no network', () => {
  test.each([
    ['a connection', () => `${NET} await told(net.connect(${port}, '127.0.0.1'))`],
    ['TLS', () => `${NET} await told(node('tls').connect(${port}, '127.0.0.1'))`],
    ['HTTP', () => `${NET} await told(node('http').get('http://127.0.0.1:${port}'))`],
    ['fetch', () => `await fetch('http://127.0.0.1:${port}')`],
    ['a Unix socket', () => `${NET} await told(net.connect({ path: '/run/systemd/notify' }))`],
    ['a port', () => `${NET} await told(net.createServer().listen(0))`],
    [
      'a datagram',
      () =>
        `const s = node('dgram').createSocket('udp4'); await new Promise((resolve, reject) => { s.on('error', reject); s.send('x', ${port}, '127.0.0.1', (error) => (error ? reject(error) : resolve())) })`,
    ],
    ['a host name lookup', () => "await node('dns/promises').lookup('example.org')"],
    ['a DNS query', () => "await node('dns/promises').resolve('example.org')"],
    ['a binding', () => "process.binding('tcp_wrap')"],
    ['a module from another host', () => `await load('http://127.0.0.1:${port}/x.js')`],
  ])('%s', async (_what, code) => {
    expect(await outcomeOf(code())).toMatch(/^(ERR_ACCESS_DENIED|ERR_UNSUPPORTED_ESM_URL_SCHEME)$/)
  })
})

describe('escaped code cannot see other processes’ data', () => {
  test('the environment and command line of its process contain no settings', async () => {
    expect(await outcomeOf('return Object.keys(process.env).sort()')).toBe('done ["TZ","UV_THREADPOOL_SIZE"]')
    expect(await outcomeOf('return process.argv.slice(2)')).toBe(`done ${JSON.stringify([BINARY])}`)
  })

  test('the memory of its process, which the test searches from outside, contains none of the host’s secrets', async () => {
    expect(await outcomeOf(`globalThis.kept = ${quoted(OF_THE_GUEST)}; return 1`)).toBe('done 1')
    expect([isInMemory(OF_THE_GUEST), isInMemory(OF_THE_HOST)]).toEqual([true, false])
  })
})

describe('escaped code can do the things that docs/security/solution.md lists', () => {
  test.each([
    ['send signals to processes of the same user', 'return process.kill(process.ppid, 0)', 'done true'],
    [
      'load the addons of the platform’s own packages',
      `const m = { exports: {} }; process.dlopen(m, ${JSON.stringify(ADDON)}); return typeof m.exports.hash`,
      'done "function"',
    ],
    ['run code from the script', "return (await load('data:text/javascript,export default 5')).default", 'done 5'],
    [
      'read the name, home folder and machine of its user',
      "return typeof node('os').userInfo().homedir",
      'done "string"',
    ],
  ])('%s', async (_what, code, outcome) => {
    expect(await outcomeOf(code)).toBe(outcome)
  })
})
