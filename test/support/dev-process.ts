import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openDevHome } from '../../cli/dev/dev-home.ts'
import { childrenOf } from '../long/processes.ts'
import { type StartedCli, startCli, stateOf, temporaryFolder } from './cli.ts'
import { formWith } from './forms.ts'
import { ONE_SPARE } from './one-spare.ts'
import { PATIENCE } from './patience.ts'

export type DevProcess = StartedCli & {
  readonly folder: string
  /** The URL of the dev host, without a path. */
  readonly url: string
  /** The pid of the host process. The launcher is a different process. */
  readonly pid: number
  readonly save: (file: string, content: string) => void
  /** Resolves when the output since the last call to `mark` matches. */
  readonly printed: (pattern: RegExp) => Promise<RegExpExecArray>
  /** Makes later calls ignore the output so far. */
  readonly mark: () => void
  /** Sends SIGINT, like Ctrl-C. @returns the exit code */
  readonly stop: () => Promise<number | null>
}

/** The files of a solution that needs no sign-in and opens a form with an input, a label and a button. */
export function devSolution(label: string, script = ''): Record<string, string> {
  return {
    'solution.json': JSON.stringify({ name: 'shop', version: '1.0.0', authenticator: 'NONE', firstForm: 'main' }),
    'forms/main.json': devForm(label),
    'forms/main.js': `function greet() { forms.main.elements.answer.label = 'first' }\n${script}`,
  }
}

/**
 * The JSON text of the form in `devSolution`.
 * @param more elements to add to the form
 */
export function devForm(label: string, ...more: readonly unknown[]): string {
  const elements = [
    { type: 'label', name: 'heading', label },
    { type: 'text', name: 'name', label: 'Name' },
    { type: 'button', name: 'greet', label: 'Greet', onAction: 'greet' },
    { type: 'label', name: 'answer', label: '-' },
  ]
  return JSON.stringify({ title: 'Main', ...formWith(...elements, ...more) }, null, 2)
}

/** Returns the folder in which `dev` stores a solution's users and data during tests. */
export function homeOf(folder: string): string {
  return openDevHome(folder, { XDG_STATE_HOME: stateOf(folder) })
}

/** Runs `solhost dev` as a user would, on free ports. By default, it runs in a temporary folder with these files. */
export async function startDev(
  files: Readonly<Record<string, string>>,
  options: {
    readonly words?: readonly string[]
    readonly env?: Record<string, string>
    /** An existing folder to use instead of a temporary one. */
    readonly folder?: string
  } = {},
): Promise<DevProcess & Disposable> {
  const folder =
    options.folder === undefined ? temporaryFolder(files) : { path: options.folder, [Symbol.dispose]: () => {} }
  const env = { PORT: '0', ADMIN_PORT: '0', ...ONE_SPARE, ...options.env }
  const started = startCli(['dev', '.', ...(options.words ?? [])], { cwd: folder.path, env })
  let from = 0
  let hasEnded = false
  const ended = started.ended.finally(() => {
    hasEnded = true
  })

  async function printed(pattern: RegExp): Promise<RegExpExecArray> {
    let isLate = false
    // Time out before the test does. The error then contains the output so far.
    const late = wait(PATIENCE, undefined, { ref: false }).then(() => {
      isLate = true
    })
    for (;;) {
      const found = pattern.exec(started.out().slice(from))
      if (found !== null) return found
      if (hasEnded || isLate) throw new Error(`not printed: ${pattern}\n${started.out()}${started.err()}`)
      await Promise.race([new Promise((resolve) => started.child.stdout?.once('data', resolve)), ended, late])
    }
  }

  function dispose(): void {
    if (!hasEnded) process.kill(-(started.child.pid as number), 'SIGKILL')
    folder[Symbol.dispose]()
  }

  await printed(/Press Ctrl\+C to stop/).catch((error: unknown) => {
    dispose()
    throw error
  })
  const url = /^Host +(\S+)\/$/m.exec(started.out())?.[1] as string
  const [pid] = childrenOf(started.child.pid as number)
  return {
    ...started,
    ended,
    folder: folder.path,
    url,
    pid: pid as number,
    printed,
    mark() {
      from = started.out().length
    },
    save(file, content) {
      mkdirSync(dirname(join(folder.path, file)), { recursive: true })
      writeFileSync(join(folder.path, file), content)
    },
    stop() {
      process.kill(-(started.child.pid as number), 'SIGINT')
      return ended
    },
    [Symbol.dispose]: dispose,
  }
}
