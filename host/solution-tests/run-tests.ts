import { usableTrusted } from '../../base/bundles/plugins.ts'
import { createSandboxSolutionMaker } from '../../base/bundles/sandbox-solution.ts'
import type { Fault } from '../../runtime/bundle/faults.ts'
import { createLimits, type Limits } from '../../runtime/limits.ts'
import type { Failed, GuestLogLine, Position } from '../../runtime/outcome.ts'
import { type Call, type Json, ScriptError } from '../../runtime/plugin.ts'
import type { SandboxSolution } from '../../runtime/protocol.ts'
import { createSupervisor, type Loadable, type SandboxClient, type Supervisor } from '../../runtime/supervisor.ts'
import { z } from '../../runtime/zod.ts'
import { createTestPlugin } from './plugin.ts'
import { ScriptFailure } from './script-failure.ts'
import type { Stage } from './stage.ts'
import { endsWithProcess } from './with-process.ts'

export type TestFailure = {
  /** One of the codes in `FAILURES`, or a bundle error's code if the file could not be loaded. */
  readonly code: string
  readonly message: string
  readonly file: string
  readonly line?: number
  readonly column?: number
  /** Where the solution's script failed, if that caused the failure. */
  readonly script?: Position & { readonly message: string }
}

export type TestResult = {
  readonly file: string
  readonly name: string
  readonly milliseconds: number
  /** Null if the test passed. */
  readonly failure: TestFailure | null
  /** The lines that the test wrote with `console`. */
  readonly log: readonly GuestLogLine[]
}

export type FileResult = {
  readonly file: string
  /** Why the file's tests could not run; null if they ran. */
  readonly failure: TestFailure | null
  readonly tests: readonly TestResult[]
}

export type TestFiles = readonly { readonly file: string; readonly source: string }[]

export type TestRunOptions = {
  readonly stage: Stage
  /** Timeout per test, in ms. */
  readonly timeLimit: number
  /** Run only tests whose name or file name contains this text. */
  readonly filter: string
  /** Called when a file starts and when a test ends. */
  readonly onFile: (file: string) => void
  readonly onTest: (result: TestResult) => void
}

/** Maximum tests per file, far more than a readable file contains. */
const MOST_TESTS = 1000

/**
 * Runs test files sequentially, with fresh globals for each test. Chosen here: tests are part of a solution, which may
 * be untrusted. So they run like scripts: in an isolate of a sandbox process, without access to files, the network and
 * Node.js. They can only send requests that act on the solution.
 */
export async function runTests(files: TestFiles, options: TestRunOptions): Promise<readonly FileResult[]> {
  const { stage, timeLimit } = options
  const limits = createLimits({ CALL_TIME: timeLimit, RESULT_SIZE: 1024 ** 2, CALL_REQUESTS: 100_000 })
  let failed: unknown = null
  const plugin = createTestPlugin(stage, (error) => {
    failed = error
  })
  const makeSandboxSolution = createSandboxSolutionMaker([plugin])
  const trusted = usableTrusted([plugin], makeSandboxSolution, limits)
  const supervisor = createSupervisor({ limits, trusted, timeZone: 'Etc/UTC', keepsSpare: false })
  const stop = endsWithProcess(() => supervisor.stop())
  const run = createFileRun({
    ...options,
    supervisor,
    ask: async (method, args) => {
      try {
        const asked = plugin.requests?.[method]
        if (asked === undefined) throw new TypeError(`the test plugin does not support the request "${method}"`)
        return await asked.answer(NO_CALL, asked.check(args))
      } catch (error) {
        throw error instanceof z.ZodError ? new ScriptError(wrongArguments(method, error)) : error
      }
    },
    settings: { solution: plugin.settings() },
    beginTest() {
      failed = null
    },
    failed: () => failed,
    async endTest() {
      plugin.forget()
      await stage.clear()
    },
  })
  try {
    const results: FileResult[] = []
    for (const { source, fault } of await prepare(files, supervisor, limits)) {
      options.onFile(source.file)
      results.push(
        fault === null ? await run(source) : { file: source.file, failure: failureOfFault(fault), tests: [] },
      )
    }
    return results
  } finally {
    stop()
  }
}

/** Requests from tests don't belong to a script call. */
const NO_CALL = {} as Call

type Prepared = { readonly source: TestFiles[number]; readonly fault: Fault | null }

/** Strips types and finds syntax errors, as an upload does for scripts. */
async function prepare(files: TestFiles, supervisor: Supervisor, limits: Limits): Promise<readonly Prepared[]> {
  // Treat each file as a separate module, so that declarations in different files don't conflict.
  const scripts = files.map(({ file, source }, index) => ({ module: String(index), file, source }))
  const none = { formScripts: [], forms: [], i18n: [], loginTemplate: null, media: [], permissions: null }
  const upload = { ...none, scripts, isolateMemory: limits.ISOLATE_MEMORY }
  const nothing: SandboxSolution = { scripts: [], units: {}, settings: {}, tables: {} }
  const { checked, faults } = await supervisor.checkUpload(upload, async () => nothing, [])
  return files.map(({ file }, index) => ({
    source: { file, source: checked?.scripts[index] ?? '' },
    fault: faults.find((one) => one.file === file || checked === null) ?? null,
  }))
}

type FileRunParts = TestRunOptions & {
  readonly supervisor: Supervisor
  readonly ask: (method: string, args: readonly Json[]) => Promise<Json>
  readonly settings: Readonly<Record<string, Json>>
  readonly beginTest: () => void
  readonly endTest: () => Promise<void>
  /** The error of the last failed request. */
  readonly failed: () => unknown
}

function createFileRun(parts: FileRunParts): (source: TestFiles[number]) => Promise<FileResult> {
  const { supervisor, filter, onTest } = parts

  async function call(client: SandboxClient, entry: string, args: readonly Json[], log: GuestLogLine[]) {
    const unit = 'main' as const
    return client.call(
      { unit, entry, args, state: {}, timeLimit: 'CALL_TIME' },
      {
        log: noteIn(log),
        request: (_plugin, method, given) => ({ changes: true, value: parts.ask(method, given) }),
      },
    )
  }

  async function runTest(loadable: Loadable, file: string, name: string, index: number): Promise<TestResult> {
    const log: GuestLogLine[] = []
    parts.beginTest()
    const began = performance.now()
    const client = await supervisor.openClient(loadable, { log: noteIn(log) })
    const outcome = 'code' in client ? client : await call(client, 'solution.run', [index], log)
    const milliseconds = Math.round(performance.now() - began)
    if (!('code' in client)) client.close()
    await parts.endTest()
    if (outcome.code === 'returned') return { file, name, milliseconds, failure: null, log }
    return { file, name, milliseconds, failure: failureOf(outcome, file, parts.failed()), log }
  }

  return async ({ file, source }) => {
    const solution: SandboxSolution = {
      scripts: [{ file, source }],
      units: { main: [0] },
      settings: parts.settings,
      tables: {},
      clients: { formScripts: [], settings: {}, tables: {} },
    }
    const loadable: Loadable = { key: file, solution: () => solution }
    const log: GuestLogLine[] = []
    const first = await supervisor.openClient(loadable, { log: noteIn(log) })
    if ('code' in first) return { file, failure: failureOf(first, file, null), tests: [] }
    const listed = await call(first, 'solution.names', [], log)
    first.close()
    if (listed.code !== 'returned') return { file, failure: failureOf(listed, file, null), tests: [] }
    const names = readNames(listed.result)
    if (names.length === 0 || names.length > MOST_TESTS) {
      const message =
        names.length === 0
          ? 'the file has no tests; add one with test(name, run)'
          : `the file has more than ${MOST_TESTS} tests; split the file`
      return { file, failure: { code: 'script_load', message, file }, tests: [] }
    }
    const tests: TestResult[] = []
    for (const [index, name] of names.entries()) {
      if (!name.includes(filter) && !file.includes(filter)) continue
      const result = await runTest(loadable, file, name, index)
      tests.push(result)
      onTest(result)
    }
    return { file, failure: null, tests }
  }
}

/** Copies only the public fields of a log line. */
function noteIn(log: GuestLogLine[]): (line: GuestLogLine) => void {
  return ({ level, message, position }) =>
    void log.push({ level, message, ...(position === undefined ? {} : { position }) })
}

function readNames(result: string | null): readonly string[] {
  const names: unknown = JSON.parse(result ?? '[]')
  return Array.isArray(names) ? names.filter((name): name is string => typeof name === 'string') : []
}

type Ended = Pick<Failed, 'message' | 'position'> & { readonly code: string }

/** @param failed the error of the test's last failed request, which contains a position in the solution */
function failureOf({ code, message, position }: Ended, file: string, failed: unknown): TestFailure {
  const text = code === 'script_timeout' ? `${message}, so the test was stopped` : message
  const place = position ?? { file }
  const isWhy = failed instanceof ScriptFailure && message.includes(failed.message)
  if (!isWhy || failed.failure.position === undefined) return { code, message: text, ...place }
  return { code, message: text, ...place, script: { ...failed.failure.position, message: failed.failure.message } }
}

function failureOfFault({ code, file, line, column, message }: Fault): TestFailure {
  return { code, message, file, ...(line === undefined ? {} : { line }), ...(column === undefined ? {} : { column }) }
}

function wrongArguments(method: string, { issues }: z.ZodError): string {
  const [issue] = issues
  const [place, ...path] = issue?.path ?? []
  const where =
    typeof place === 'number' ? `argument ${place + 1}${path.map((part) => `.${String(part)}`).join('')}: ` : ''
  return `solution.${method} was called with invalid arguments (${where}${issue?.message ?? 'wrong'})`
}
