import type { ActiveSolution } from '../../base/bundles/active-solution.ts'
import { type Json, ScriptError } from '../../runtime/plugin.ts'
import type { DeclaredAnswer, SeenRequest } from './http-answers.ts'
import { type OpenClient, openClient } from './open-client.ts'
import { createRecorder, type Recorder } from './recorder.ts'
import { requestEndpoint, type TestRequest } from './request.ts'
import { runJob, type TestJobRun } from './run-job.ts'
import { type GivenParams, getOAuthConfig, signIn } from './sign-in.ts'
import { createStageParts, type StagePlace } from './stage-parts.ts'
import { type Opening, visitorOf } from './stage-visitor.ts'

export type NewUser = {
  readonly username: string
  readonly password?: string | undefined
  readonly permissions?: readonly string[] | undefined
  readonly email?: string | undefined
}

/**
 * A solution on a host without ports, for tests and for "Try" in the workbench. It has all parts of a host that scripts
 * use.
 */
export interface Stage {
  readonly solution: ActiveSolution
  /** Records everything that the scripts do, also in calls that fail. */
  readonly recorder: Recorder
  signIn(params: GivenParams): Promise<Json>
  getOAuthConfig(params: GivenParams): Promise<Json>
  request(address: string, request: TestRequest): Promise<Json>
  runJob(name: string, data: Json, run: TestJobRun): Promise<Json>
  /** Returns the job runs that scripts have queued so far. */
  queuedRuns(): readonly Json[]
  open(opening: Opening): Promise<OpenClient>
  addUser(user: NewUser): Promise<{ uid: string }>
  answerHttp(answer: DeclaredAnswer): void
  httpRequests(): readonly SeenRequest[]
  /** Resets the stage to the initial state: no users, declared responses or clients, and empty databases. */
  clear(): Promise<void>
  stop(): Promise<void>
}

/** The page size for listing all users when the stage is cleared. */
const ALL = { limit: 1000 }

/**
 * Chosen here: a stage consists of the real parts of a host, without the web server. The solution therefore behaves as
 * it does on a host. A separate PLATFORM_HOME ensures that no data remains.
 * @param packed as in an upload
 * @throws ERR_BUNDLE_REFUSED with every error in `details.faults`
 */
export async function createStage(packed: Uint8Array, name: string, place: StagePlace): Promise<Stage> {
  await using started = new AsyncDisposableStack()
  const parts = await createStageParts(packed, name, place, started)
  const { solution, problems, sessions, users, grants, databases, http, queuedRuns } = parts
  const recorder = createRecorder()
  const ofClients = { ...parts.ofClients, ...recorder.around(parts.ofClients) }
  let open: OpenClient[] = []
  let added: string[] = []
  const isAdded = (uid: string) => added.includes(uid)
  const visitors = { solution, users, sessions, isAdded }

  /** Turns errors from parts of the host into a `ScriptError` with the original message. */
  async function withScriptErrors<T>(work: Promise<T>): Promise<T> {
    const before = problems.length
    try {
      return await work
    } catch (error) {
      if (error instanceof ScriptError) {
        const also = problems.slice(before)
        if (also.length > 0) error.message += ` (${also.join('; ')})`
        throw error
      }
      throw new ScriptError(error instanceof Error ? error.message : String(error), { cause: error })
    }
  }

  async function openFor(opening: Opening): Promise<OpenClient> {
    return openClient(await visitorOf(opening, visitors), ofClients)
  }

  const everything = started.move()
  return {
    solution,
    recorder,
    signIn: (params) => withScriptErrors(signIn(solution, params, ofClients)),
    getOAuthConfig: (params) => withScriptErrors(getOAuthConfig(solution, params, ofClients)),
    request: (address, request) =>
      withScriptErrors(
        (async () => {
          const visitor = await visitorOf(request.user === undefined ? {} : { user: request.user }, visitors)
          const found = visitor.found?.session ?? null
          try {
            return await requestEndpoint(solution, address, request, found, ofClients)
          } finally {
            await visitor.forget()
          }
        })(),
      ),
    runJob: (name, data, run) =>
      withScriptErrors(runJob(solution, name, data, run, { ...ofClients, queued: queuedRuns.add })),
    queuedRuns: queuedRuns.list,
    async open(opening) {
      const client = await withScriptErrors(openFor(opening))
      open.push(client)
      return client
    },
    async addUser(user) {
      const { uid } = await withScriptErrors(users.create({ ...user, mustChangePassword: false }))
      added.push(uid)
      await grants.put(name, { ...(await grants.get(name)), users: true })
      return { uid }
    },
    answerHttp: http.declare,
    httpRequests: http.seen,
    async clear() {
      // Effects and errors that occur while clients are being closed don't belong to a test.
      for (const client of open) await client.close().catch(() => {})
      for (let page = await users.list(ALL); page.items.length > 0; page = await users.list(ALL)) {
        for (const { uid } of page.items) await users.delete(uid)
      }
      if (added.length > 0) await grants.put(name, { ...(await grants.get(name)), users: false })
      await databases.erase(name)
      http.clear()
      queuedRuns.clear()
      problems.length = 0
      open = []
      added = []
    },
    stop: () => everything.disposeAsync(),
  }
}
