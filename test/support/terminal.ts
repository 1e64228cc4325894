import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { compileCache } from './run-folder.ts'
import { waitUntil } from './wait-until.ts'

/**
 * The path of tmux, which provides the terminal, or undefined if it is not installed. Tests that need a terminal are
 * then skipped.
 */
export const tmuxPath = existsSync('/usr/bin/tmux') ? '/usr/bin/tmux' : undefined

export type Typed = { readonly code: number; readonly screen: string }

/** A terminal with a shell, like those that users have. */
export interface Terminal extends AsyncDisposable {
  /** Types a line and waits for the next prompt. */
  run(line: string): Promise<Typed>
  /** Types a line, and doesn't wait for the command to finish. */
  type(line: string): Promise<void>
  /** Returns what the terminal has shown since the last `run` or `type`. */
  screen(): Promise<string>
  /** Waits until the terminal shows this text. */
  until(text: string | RegExp): Promise<string>
  press(key: 'C-c'): Promise<void>
}

/** Matches the shell's prompt, which contains the last command's exit code. */
const PROMPT = /(?:^|\n)\[(\d+)\]\$\s*$/
// Sets the prompt inside the shell. A non-interactive shell that starts it would remove the prompt from the
// environment.
const SHELL = "exec env 'PS1=[$?]$ ' bash --norc --noprofile"
const OFTEN = { interval: 50 }

/**
 * Opens a terminal with a shell.
 * @param env environment variables, in addition to PATH and a separate HOME; the shell doesn't inherit the tests' own
 * environment
 */
export async function openTerminal(options: {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}): Promise<Terminal> {
  const home = mkdtempSync(join(tmpdir(), 'solhost-terminal-'))
  const socket = `solhost-${randomUUID().slice(0, 8)}`
  const tmux = async (...words: string[]) => {
    // The tmux server inherits the environment of the first call.
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
      // Retries the removal: npm may still be writing its log there after all other processes have exited.
      rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
    },
  }
}
