import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { expect } from 'vitest'
import { LAUNCHER } from '../cli.ts'
import { ONE_SPARE } from '../one-spare.ts'
import { PATIENCE } from '../patience.ts'
import { compileCache } from '../run-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { type Block, ROOT } from './blocks.ts'
import type { GuideHost } from './claims.ts'

/** Matches commands that run until they are terminated. */
export const GOES_ON = /\b(npm start|solhost (start|dev)\b|logs\b.* (-f|--follow)\b)/

/** One command and its expected output, or null if any output is allowed. */
export type Step = { readonly command: string; readonly expected: string | null }

/** A folder in which the tests run a guide's commands, as a reader would type them. */
export type CommandFolder = {
  readonly path: string
  /** The host that the commands have started, or the given host if they haven't started one. */
  readonly host: () => GuideHost
  /** The folder of the solution that the commands have created, or null. */
  readonly solution: () => string | null
  readonly write: (file: string, content: string) => void
  readonly run: (block: Block) => Promise<void>
  readonly stop: () => Promise<void>
}

export async function createCommandFolder(given: GuideHost & { readonly password: string }): Promise<CommandFolder> {
  const path = mkdtempSync(join(tmpdir(), 'solhost-guide-'))
  const ports = { port: await freePort(), adminPort: await freePort() }
  const running: ChildProcess[] = []
  let isOwn = false
  let started: ChildProcess | null = null
  let made: string | null = null
  let { password } = given
  const write = (file: string, content: string): void => {
    mkdirSync(dirname(join(path, file)), { recursive: true, mode: 0o700 })
    writeFileSync(join(path, file), content, { mode: 0o600 })
  }
  for (const name of ['solhost', 'npx'] as const) addProgram(path, name)
  // Make the folder look like a cloned repository in which a host has already started.
  symlinkSync(join(ROOT, 'solutions'), join(path, 'solutions'))
  symlinkSync(join(ROOT, 'package.json'), join(path, 'package.json'))
  symlinkSync(join(ROOT, 'bin'), join(path, 'bin'))
  write('data/admin-password', given.password)
  const bakedIn = join(path, '.baked-in')
  mkdirSync(bakedIn)
  // With these options, curl fails if the server rejects a request.
  write('.curlrc', 'silent\nshow-error\nfail-with-body\n')

  const replace = (text: string): string => {
    if (isOwn)
      return text
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${ports.port}`)
        .replaceAll('127.0.0.1:8081', `127.0.0.1:${ports.adminPort}`)
    return text.replaceAll('http://127.0.0.1:8080', given.url)
  }
  const environment = () => ({
    PATH: `${join(path, '.bin')}:${dirname(process.execPath)}:${process.env.PATH ?? ''}`,
    HOME: path,
    ...compileCache(),
    PASSWORD: password,
    SOLHOST_PASSWORD: password,
    PORT: String(ports.port),
    ADMIN_PORT: String(ports.adminPort),
    NO_COLOR: '1',
    // Hosts start faster without the examples, and the guides don't use them.
    SOLUTIONS_FOLDER: bakedIn,
    ...ONE_SPARE,
  })

  async function runStep({ command, expected }: Step, where: string): Promise<void> {
    made = /\bsolhost init (\S+)/.exec(command)?.[1] ?? made
    const startsHost = /\b(npm start|solhost (start|dev))\b/.test(command)
    if (startsHost) {
      isOwn = true
      // Stop the previous host, because the next one uses the same ports.
      if (started !== null) await endAndWait(started)
      rmSync(join(path, 'data'), { recursive: true, force: true })
    }
    const child = spawn('bash', ['-e', '-u', '-o', 'pipefail', '-c', replace(command)], {
      cwd: path,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    let printed = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
    }
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    if (GOES_ON.test(command)) {
      if (startsHost) started = child
      else running.push(child)
      if (!startsHost && expected === null) return
      const pattern = expected === null ? /^Solhost is running at|^Host +http/m : patternOf(replace(expected), false)
      const goneFirst = ended.then(() => Promise.reject(new Error(`${where}: "${command}" ended:\n${printed}`)))
      await Promise.race([waitUntil(() => expect(printed).toMatch(pattern), { interval: 50 }), goneFirst])
      goneFirst.catch(() => {})
      const file = /password.* in (\S+?)\)?$/m.exec(printed)?.[1]
      if (startsHost && file !== undefined) password = readFileSync(resolve(path, file), 'utf8').trim()
      return
    }
    const timer = setTimeout(() => end(child), PATIENCE)
    const code = await ended
    clearTimeout(timer)
    if (expected !== null) expect(printed, `${where}: ${command}`).toMatch(patternOf(replace(expected), true))
    if (code !== 0) throw new Error(`${where}: "${command}" ended with ${code}:\n${printed}`)
  }

  return {
    path,
    host: () =>
      isOwn
        ? {
            url: `http://127.0.0.1:${ports.port}`,
            admin: `Basic ${Buffer.from(`admin:${password}`).toString('base64')}`,
          }
        : given,
    solution: () => made,
    write,
    async run(block) {
      for (const step of stepsOf(block)) await runStep(step, `${block.guide}:${block.line}`)
    },
    async stop() {
      const early = running.filter(({ exitCode }) => exitCode !== null)
      await Promise.all([...running, ...(started === null ? [] : [started])].map(endAndWait))
      rmSync(path, { recursive: true, force: true })
      if (early.length > 0) throw new Error(`${early.length} of the commands that go on ended by themselves`)
    },
  }
}

/**
 * Splits a block into steps. In a `console` block, each command follows `$ `, and its expected output is below it. A
 * `sh` block is one script that must exit with code 0; its output doesn't matter.
 */
export function stepsOf({ language, code }: Block): Step[] {
  if (language === 'sh') {
    // A script that starts a host would never exit. Run each of its lines as a separate step.
    if (!GOES_ON.test(code)) return [{ command: code, expected: null }]
    const commands = code
      .replace(/\\\n/g, ' ')
      .split('\n')
      .filter((line) => line.trim() !== '')
    return commands.map((command) => ({ command, expected: null }))
  }
  return code
    .replace(/\\\n/g, ' ')
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command = '', ...printed] = step.split('\n')
      const expected = printed.join('\n').trim()
      return { command, expected: expected === '' ? null : expected }
    })
}

/**
 * Converts expected output to a pattern. `…` on its own line matches any number of lines. Within a line, it matches any
 * text.
 */
export function patternOf(expected: string, whole: boolean): RegExp {
  const lines = expected.split('\n').map((line) => {
    if (line.trim() === '…') return '(?:.*\\n)*?'
    return `${line.trimEnd().split('…').map(escapePattern).join('.*?')}[ ]*\\n`
  })
  return new RegExp(whole ? `^\\s*${lines.join('')}\\s*$` : lines.join(''))
}

export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/**
 * Adds a program to the folder's `.bin`. The `npx` there runs only this package's program, so no test contacts a
 * registry.
 */
export function addProgram(folder: string, name: 'solhost' | 'npx'): void {
  const file = join(folder, '.bin', name)
  mkdirSync(dirname(file), { recursive: true })
  const check =
    name === 'npx'
      ? '[ "$1" = solhost ] || { echo "npx $1 is not run here" >&2; exit 1; }\nshift\nexport npm_command=exec\n'
      : ''
  writeFileSync(file, `#!/bin/sh\n${check}exec "${process.execPath}" "${LAUNCHER}" "$@"\n`)
  chmodSync(file, 0o755)
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function endAndWait(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('close', resolve))
  end(child)
  await gone
}

/** Kills the process group, because a shell started the actual process. */
function end(child: ChildProcess): void {
  if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM')
}
