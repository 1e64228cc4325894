import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runCommandLine } from '../../cli/main.ts'
import { compileCache, INSTALLED } from './run-folder.ts'

export const LAUNCHER = fileURLToPath(new URL('../../bin/solhost.js', import.meta.url))

export type CliRun = { readonly code: number | null; readonly out: string; readonly err: string }

export type CliOptions = { readonly cwd: string; readonly env?: Record<string, string> }

let before: Promise<unknown> = Promise.resolve()

/**
 * Runs a command of the CLI in this process, which is faster than `runCliProcess`. Runs are sequential, because a
 * process has only one working directory. Commands don't get the tests' environment variables.
 */
export function runCli(words: readonly string[], options: CliOptions): Promise<CliRun> {
  const run = before.then(() => runHere(words, options))
  before = run.catch(() => {})
  return run
}

async function runHere(words: readonly string[], { cwd, env = {} }: CliOptions): Promise<CliRun> {
  const out: string[] = []
  const err: string[] = []
  const own = process.cwd()
  process.chdir(cwd)
  try {
    const code = await runCommandLine(words, {
      out: (text) => void out.push(text),
      err: (text) => void err.push(text),
      styled: (_style, text) => text,
      styledError: (_style, text) => text,
      isInteractive: false,
      environment: { XDG_STATE_HOME: stateOf(cwd), ...env },
    })
    return { code, out: out.join(''), err: err.join('') }
  } finally {
    process.chdir(own)
  }
}

/** Runs a command of the CLI like a user: in a separate process, with the launcher. */
export async function runCliProcess(words: readonly string[], options: CliOptions): Promise<CliRun> {
  const started = startCli(words, options)
  return { code: await started.ended, out: started.out(), err: started.err() }
}

export type StartedCli = {
  readonly child: ChildProcess
  readonly out: () => string
  readonly err: () => string
  /** The exit code, or null if a signal ended the process. */
  readonly ended: Promise<number | null>
}

/**
 * Starts a command of the CLI in a separate process group, like a shell. Tests can then simulate Ctrl-C, which sends
 * SIGINT to the whole group.
 */
export function startCli(words: readonly string[], { cwd, env = {} }: CliOptions): StartedCli {
  const child = spawn(process.execPath, [LAUNCHER, ...words], {
    cwd,
    env: { PATH: `${INSTALLED}:${process.env.PATH ?? ''}`, XDG_STATE_HOME: stateOf(cwd), ...compileCache(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { child, out: () => out, err: () => err, ended }
}

/** Returns the folder in which `dev` stores its state when it runs in `cwd`. */
export function stateOf(cwd: string): string {
  return join(cwd, '.state')
}

/** Creates a temporary folder with these files. It is removed when the variable's scope ends (`using`). */
export function temporaryFolder(files: Readonly<Record<string, string>> = {}): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'solhost-cli-'))
  writeFiles(path, files)
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), content)
  }
}
