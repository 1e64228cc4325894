import { type Json, type Plugin, request, ScriptError } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'
import type { DeclaredAnswer } from './http-answers.ts'
import type { OpenClient } from './open-client.ts'
import { plain } from './sign-in.ts'
import type { Stage } from './stage.ts'

const Name = z.string().min(1).max(200)
const Plain: z.ZodType<Json> = z.json() as z.ZodType<Json>
const ClientId = z.int().min(1)
const Params = z.record(z.string().max(1000), Plain)

export const Opening = z.strictObject({
  user: z
    .strictObject({
      username: Name,
      uid: Name.optional(),
      permissions: z.array(Name).max(1000).optional(),
      tenant: z
        .array(z.union([z.string().max(1000), z.number()]))
        .max(100)
        .optional(),
      confirmed: z.boolean().optional(),
    })
    .optional(),
  params: z.record(z.string().max(1000), z.string()).optional(),
  locale: z
    .string()
    .regex(/^[a-z]{2,3}(-[A-Z]{2})?$/, 'must be a language tag such as nl or nl-BE')
    .optional(),
  loginForm: z.boolean().optional(),
})

const TestUser = Opening.shape.user
export const TestJobRun = z.strictObject({
  attempt: z.int().min(1).max(10).optional(),
  scheduledFor: z.number().nullable().optional(),
  missed: z.int().min(0).optional(),
  tenant: Opening.shape.user.unwrap().shape.tenant,
})

export const TestRequest = z.strictObject({
  body: Plain.optional(),
  headers: z.record(z.string().max(100), z.string().max(8192)).optional(),
  locale: Opening.shape.locale,
  user: TestUser,
  token: z
    .strictObject({
      permissions: z.array(Name).max(1000).optional(),
      tenant: z
        .array(z.union([z.string().max(1000), z.number()]))
        .max(100)
        .optional(),
    })
    .optional(),
  signed: z.boolean().optional(),
})

const NewUser = z.strictObject({
  username: Name,
  password: z.string().max(1000).optional(),
  permissions: z.array(Name).max(1000).optional(),
  email: z.string().max(254).optional(),
})

export const HttpAnswer = z.strictObject({
  status: z.int().min(100).max(599).default(200),
  headers: z.record(z.string(), z.string()).default({}),
  body: Plain.optional(),
  method: z.string().max(10).optional(),
})

/** Maximum time for `client.wait`, in ms. */
const LONGEST_WAIT = 5000
/**
 * Maximum number of open clients, far more than a test needs. Each client takes memory here, and the test may be
 * untrusted.
 */
const MOST_CLIENTS = 100

/**
 * The global `solution` of test files. Hosts don't have this plugin: only sandbox processes for tests do.
 * @param onFailed called with a request's error, so that the report can show the position in the solution's scripts
 */
export function createTestPlugin(
  stage: Stage,
  onFailed: (error: unknown) => void,
): Plugin & { forget(): void; settings(): Json } {
  const clients = new Map<number, OpenClient>()
  let lastClient = 0
  /** The clients that the running test has opened, including those still being opened. */
  let opened = 0

  function clientOf(id: number): OpenClient {
    const client = clients.get(id)
    if (client === undefined) throw new ScriptError('this client was opened by another test; open one in each test')
    return client
  }

  function asked<T>(schema: z.ZodType<T>, answer: (args: T) => Promise<Json> | Json) {
    return request(schema, async (_call, args: T) => {
      try {
        return await answer(args)
      } catch (error) {
        onFailed(error)
        throw error
      }
    })
  }

  /**
   * Creates the handler for an action in a client. Its response includes the client's new state, for the test's handle.
   */
  const acted = <T extends readonly [number, ...unknown[]]>(
    schema: z.ZodType<T>,
    act: (client: OpenClient, args: T) => Promise<Json>,
  ) =>
    asked(schema, async (args) => {
      const client = clientOf(args[0])
      const done = await act(client, args)
      return { state: client.state(), done }
    })

  return {
    name: 'solution',
    guest: new URL('./guest.ts', import.meta.url),
    commands: {},
    settings: () => ({ name: stage.solution.name, version: stage.solution.facts.version }),
    requests: {
      signIn: asked(z.tuple([Params]), ([params]) => stage.signIn(params)),
      getOAuthConfig: asked(z.tuple([Params]), ([params]) => stage.getOAuthConfig(params)),
      request: asked(z.tuple([z.string().max(8192), TestRequest]), ([address, given]) =>
        stage.request(address, given as Parameters<Stage['request']>[1]),
      ),
      runJob: asked(z.tuple([z.string().max(100), Plain, TestJobRun]), ([job, data, run]) =>
        stage.runJob(job, data, run),
      ),
      enqueued: asked(z.tuple([]), () => stage.queuedRuns()),
      open: asked(z.tuple([Opening]), async ([opening]) => {
        opened += 1
        if (opened > MOST_CLIENTS) throw new ScriptError(`a test can open at most ${MOST_CLIENTS} clients`)
        const client = await stage.open(opening as Parameters<Stage['open']>[0])
        lastClient += 1
        clients.set(lastClient, client)
        return { id: lastClient, state: client.state() }
      }),
      event: acted(z.tuple([ClientId, z.string(), z.string(), Plain]), (client, [, type, element, value]) =>
        client.event(type, element, value),
      ),
      leave: acted(z.tuple([ClientId]), (client) => client.leave()),
      confirm: acted(z.tuple([ClientId]), (client) => client.confirm()),
      refuse: acted(z.tuple([ClientId]), (client) => client.refuse()),
      call: acted(z.tuple([ClientId, z.string(), z.array(Plain)]), (client, [, name, args]) => client.call(name, args)),
      wait: acted(z.tuple([ClientId, z.number().min(0).max(LONGEST_WAIT)]), (client, [, milliseconds]) =>
        client.wait(milliseconds),
      ),
      close: acted(z.tuple([ClientId]), (client) => client.close()),
      addUser: asked(z.tuple([NewUser]), ([user]) => stage.addUser(user)),
      answerHttp: asked(z.tuple([z.url(), HttpAnswer]), ([url, answer]) => {
        stage.answerHttp(declaredAnswer(url.toString(), answer))
        return null
      }),
      httpRequests: asked(z.tuple([]), () => plain(stage.httpRequests())),
    },
    forget() {
      clients.clear()
      opened = 0
    },
  }
}

/** Converts a response that a test declares. A body that is not a string becomes JSON. */
export function declaredAnswer(
  url: string,
  { status, headers, body, method }: z.output<typeof HttpAnswer>,
): DeclaredAnswer {
  const isText = typeof body === 'string' || body === undefined
  const type = isText ? 'text/plain; charset=utf-8' : 'application/json'
  return {
    url,
    method: method ?? null,
    status,
    headers: { 'content-type': type, ...headers },
    body: isText ? (body ?? '') : JSON.stringify(body),
  }
}
