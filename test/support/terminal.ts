import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compileCache } from './run-folder.ts'
import { waitUntil } from './wait-until.ts'

/** The terminal program. If it is undefined, tests that need a terminal are skipped. */
export const tmuxPath = existsSync('/usr/bin/tmux') ? '/usr/bin/tmux' : undefined

export type Typed = { readonly code: number; readonly screen: string }

/** A terminal with a shell, like a user's. */
export interface Terminal extends AsyncDisposable {
  /** Types a line and waits for the next prompt. */
  run(line: string): Promise<Typed>
  /** Types a line without waiting. */
  type(line: string): Promise<void>
  /** The content since the last `run` or `type`. */
  screen(): Promise<string>
  /** Waits until this text appears. */
  until(text: string | RegExp): Promise<string>
  press(key: 'C-c'): Promise<void>
}

/** The prompt shows the exit code of the last command. */
const PROMPT = /(?:^|\n)\[(\d+)\]\$\s*$/
// Set inside the shell, because a shell that only starts another shell removes the prompt from the environment.
const SHELL = "exec env 'PS1=[$?]$ ' bash --norc --noprofile"
const OFTEN = { interval: 50 }

/** @param env variables in addition to PATH and a separate HOME; the tests' own environment is not passed on */
export async function openTerminal(options: {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}): Promise<Terminal> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-terminal-'))
  const socket = `solhost-${randomUUID().slice(0, 8)}`
  const tmux = async (...words: string[]) => {
    // The first call sets the environment of the tmux server.
    const environment = {
      PATH: process.env.PATH ?? '',
      HOME: home,
      LANG: 'C.UTF-8',
      ...compileCache(),
      ...options.env,
    }
    const { stdout } = await promisify(execFile)('/usr/bin/tmux', ['-L', socket, '-f', '/dev/null', ...words], {
      env: environment,
    })
    return stdout
  }
  await tmux('new-session', '-d', '-x', '150', '-y', '60', '-c', options.cwd, SHELL)
  const screen = async () => (await tmux('capture-pane', '-p', '-J', '-S', '-2000')).trimEnd()
  const until = (text: string | RegExp) =>
    waitUntil(async () => {
      const shown = await screen()
      const isThere = typeof text === 'string' ? shown.includes(text) : text.test(shown)
      if (!isThere) throw new Error(`the terminal does not show ${text}, but:\n${shown}`)
      return shown
    }, OFTEN)
  await until(PROMPT)

  async function type(line: string): Promise<void> {
    await tmux('send-keys', '-R')
    await tmux('clear-history')
    await tmux('send-keys', '-l', line)
    await tmux('send-keys', 'Enter')
  }

  return {
    type,
    screen,
    until,
    press: async (key) => void (await tmux('send-keys', key)),
    async run(line) {
      await type(line)
      const shown = await until(PROMPT)
      return { code: Number(PROMPT.exec(shown)?.[1]), screen: shown.replace(PROMPT, '') }
    },
    async [Symbol.asyncDispose]() {
      await tmux('kill-server')
      // Retries, because npm can still write its log there after all other processes have ended.
      rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    },
  }
}
