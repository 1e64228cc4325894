import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { explainUpload } from '../../base/bundles/explain-findings.ts'
import { PlatformError } from '../../runtime/errors.ts'
import { createGate } from '../../runtime/gate.ts'
import type { Limits } from '../../runtime/limits.ts'
import type { Position } from '../../runtime/outcome.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import { memoryOf } from '../../runtime/process-memory.ts'
import { createSupervisor, type Supervisor } from '../../runtime/supervisor.ts'
import { jobDataText } from '../jobs/job-data.ts'
import type { SeenRequest } from '../solution-tests/http-answers.ts'
import type { OpenClient } from '../solution-tests/open-client.ts'
import { declaredAnswer } from '../solution-tests/plugin.ts'
import type { Recorded } from '../solution-tests/recorder.ts'
import { ScriptFailure } from '../solution-tests/script-failure.ts'
import { createStage, type Stage } from '../solution-tests/stage.ts'
import type { Drafts } from './drafts.ts'
import type { DraftOf } from './edit-draft.ts'
import type { OUTCOMES, TryForm } from './try-schemas.ts'
import { type Would, wouldLines } from './would-lines.ts'

export type Tried = {
  readonly revision: number
  readonly outcome: (typeof OUTCOMES)[number]
  readonly message: string | null
  readonly position: Position | null
  readonly would: readonly Would[]
  readonly result: Json
  readonly requests: readonly SeenRequest[]
  readonly log: Recorded['log']
  readonly milliseconds: number
  readonly memoryBytes: number | null
}

/**
 * Runs a draft's scripts as `solhost test` does: on a separate host in a temporary folder, without grants, secrets,
 * users or a network. The host is stopped after the run.
 * @throws ERR_SANDBOX_BUSY, ERR_MEMORY_FULL, ERR_BUNDLE_REFUSED if the draft has errors, ERR_DRAFT_NOT_FOUND,
 *   ERR_BODY_TOO_LARGE if a job's data exceeds JOB_DATA
 */
export type TryDraft = (of: DraftOf, form: TryForm) => Promise<Tried>

export type TryParts = {
  readonly drafts: Pick<Drafts, 'bundle'>
  /** The host's own supervisor. It is used only to check whether there is enough free memory. */
  readonly supervisor: Pick<Supervisor, 'needRoom'>
  readonly limits: Limits
  /** PLATFORM_HOME, where temporary folders are created. The system's temporary folder may not be writable. */
  readonly home: string
}

/** How long a run waits for other runs to finish, in ms. */
const PATIENCE = 5000
/** Interval between two memory measurements, in ms. */
const MEASURE = 50

export function createTryDraft({ drafts, supervisor, limits, home }: TryParts): TryDraft {
  const turns = createGate(limits.TRIES_AT_ONCE)
  const folders = join(home, 'tries')
  let cleared: Promise<void> | undefined

  async function createFolder(): Promise<string> {
    // Remove folders that a killed host left behind.
    cleared ??= rm(folders, { recursive: true, force: true })
    await cleared.catch((error: unknown) => {
      // The next run tries again.
      cleared = undefined
      throw error
    })
    await mkdir(folders, { recursive: true, mode: 0o700 })
    return mkdtemp(join(folders, 'try-'))
  }

  return async (of, form) => {
    if (form.run === 'job') jobDataText(form.data, limits)
    if (!(await turns.enter(PATIENCE))) {
      const message = `This host is already running scripts for ${limits.TRIES_AT_ONCE} drafts, which is the maximum. Try again in a moment.`
      throw new PlatformError('ERR_SANDBOX_BUSY', message, { retryAfter: 5 })
    }
    let folder: string | null = null
    try {
      folder = await createFolder()
      const { packed, draft } = await drafts.bundle(of)
      supervisor.needRoom(limits.ISOLATE_MEMORY)
      return { ...(await tryPacked(packed, of.solution, form, folder, limits)), revision: draft.revision }
    } finally {
      turns.leave()
      if (folder !== null) await rm(folder, { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

async function tryPacked(
  packed: Uint8Array,
  name: string,
  form: TryForm,
  folder: string,
  limits: Limits,
): Promise<Omit<Tried, 'revision'>> {
  const memory = createMemoryWatch()
  const place = {
    folder,
    limits,
    createSupervisor: (options: Parameters<typeof createSupervisor>[0]) =>
      memory.watch(createSupervisor({ ...options, keepsSpare: false })),
    noServer: (database: string) =>
      new ScriptError(
        `scripts cannot query database servers while a draft is tried out, so the query to "${database}" was not sent`,
      ),
    adviseHttp: () => 'declare one, then run the scripts again',
  }
  try {
    // Errors of the draft are shown with their source lines, like those of an upload.
    const { stage } = await explainUpload(packed, limits, async () => {
      return { stage: await createStage(packed, name, place), warnings: [] }
    })
    try {
      return { ...(await runOn(stage, form)), memoryBytes: memory.largest() }
    } finally {
      await stage.stop()
    }
  } finally {
    memory.stop()
  }
}

async function runOn(stage: Stage, form: TryForm): Promise<Omit<Tried, 'revision' | 'memoryBytes'>> {
  for (const answer of form.answers) stage.answerHttp(declaredAnswer(answer.url, answer))
  const { recorder } = stage
  const mark = recorder.mark()
  const progress: Progress = { client: null }
  const ended = await endOf(() => run(stage, form, progress), progress)
  const { commands, log, milliseconds } = recorder.since(mark)
  // Read the recorded effects before closing the client, because closing isn't part of the run.
  await progress.client?.close().catch(() => {})
  return { ...ended, would: wouldLines(commands), log, milliseconds, requests: stage.httpRequests() }
}

type Ended = Pick<Tried, 'outcome' | 'message' | 'position' | 'result'>
/** The client that the run has opened, so that its state can be shown even if a script fails. */
type Progress = { client: OpenClient | null }

async function endOf(work: () => Promise<Json>, progress: Progress): Promise<Ended> {
  try {
    return { outcome: 'returned', message: null, position: null, result: await work() }
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error
    const result = progress.client?.state() ?? null
    if (!(error instanceof ScriptFailure)) return { outcome: 'refused', message: error.message, position: null, result }
    const { code, message, position = null } = error.failure
    return { outcome: code, message, position, result }
  }
}

async function run(stage: Stage, form: TryForm, progress: Progress): Promise<Json> {
  switch (form.run) {
    case 'sign-in':
      return stage.signIn({
        ...form.params,
        ...(form.lastLogin === undefined ? {} : { last_login: form.lastLogin }),
      })
    case 'oauth-config':
      return stage.getOAuthConfig(form.params)
    case 'endpoint': {
      const { user, locale, body, headers, token, signed } = form
      const given = withoutAbsent({ user, locale, body, headers, token, signed })
      return stage.request(form.address, given as Parameters<Stage['request']>[1])
    }
    case 'open': {
      const { user, locale, params, loginForm } = form
      const given = withoutAbsent({ user, locale, params, loginForm })
      const client = await stage.open(given as Parameters<Stage['open']>[0])
      progress.client = client
      if (form.form !== undefined) await client.call('application.showForm', [form.form])
      for (const { type, element, value } of form.events) await client.event(type, element, value)
      return client.state()
    }
    case 'job': {
      const { job, data = null, attempt, scheduledFor, missed, tenant } = form
      return stage.runJob(job, data, { attempt, scheduledFor, missed, tenant })
    }
  }
}

function withoutAbsent(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** Measures the memory of the sandbox processes that run the draft. */
function createMemoryWatch() {
  let largest = 0
  let timer: NodeJS.Timeout | undefined
  return {
    watch(supervisor: Supervisor): Supervisor {
      function measure(): void {
        for (const { pid } of supervisor.processes()) largest = Math.max(largest, memoryOf(pid).own)
      }
      timer = setInterval(measure, MEASURE).unref()
      return supervisor
    },
    largest: () => (largest === 0 ? null : largest),
    stop: () => clearInterval(timer),
  }
}
