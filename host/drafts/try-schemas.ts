import { JobName } from '../../runtime/bundle/job-schema.ts'
import { FAILURES } from '../../runtime/outcome.ts'
import type { Json } from '../../runtime/plugin.ts'
import { z } from '../../runtime/zod.ts'
import { HttpAnswer, Opening, TestJobRun, TestRequest } from '../solution-tests/plugin.ts'

/** Maximum number of events in one run. Nobody enters this many by hand. */
const MOST_EVENTS = 20
const MOST_ANSWERS = 50

/**
 * Accepts any value, because the request's body has already been parsed as JSON. A schema for JSON values would be
 * recursive in the API description.
 */
const AnyJson = z.unknown() as z.ZodType<Json>
const Name = z.string().min(1).max(200)
const Params = z.record(z.string().max(1000), z.string()).default({})

const ANSWERS = {
  answers: z
    .array(HttpAnswer.extend({ url: z.url().max(2048), body: AnyJson.optional() }))
    .max(MOST_ANSWERS)
    .default([])
    .describe('the responses that plugins.http.fetch returns; nothing is sent over the network'),
}
const COMMON = {
  user: Opening.shape.user.describe('the signed-in user; if absent, nobody is signed in'),
  locale: Opening.shape.locale,
  ...ANSWERS,
}

/** The function to run, and the input that the author enters for it. */
export const TryForm = z
  .discriminatedUnion('run', [
    z.strictObject({
      ...COMMON,
      run: z.literal('sign-in'),
      params: Params.describe('URL parameters and login form fields'),
      lastLogin: z.record(z.string().max(200), AnyJson).optional(),
    }),
    z.strictObject({ ...COMMON, run: z.literal('oauth-config'), params: Params }),
    z.strictObject({
      ...COMMON,
      run: z.literal('open'),
      params: Params,
      loginForm: z.boolean().default(false),
      form: Name.optional().describe('the form to show once the solution is open'),
      events: z
        .array(z.strictObject({ type: Name, element: Name, value: AnyJson.default(null) }))
        .max(MOST_EVENTS)
        .default([])
        .describe('the user’s actions, in order'),
    }),
    z.strictObject({
      ...COMMON,
      run: z.literal('endpoint'),
      address: z.string().max(8192).describe('the method and path, such as `POST /orders?full=1`'),
      body: AnyJson.optional(),
      headers: TestRequest.shape.headers,
      token: TestRequest.shape.token,
      signed: TestRequest.shape.signed,
    }),
    // A job has no user. Its locale is the solution's default.
    z.strictObject({
      ...ANSWERS,
      run: z.literal('job'),
      job: JobName.describe('the job’s key in `jobs` in solution.json'),
      data: AnyJson.optional().describe('the data, as passed to `plugins.jobs.enqueue`'),
      attempt: TestJobRun.shape.attempt.describe('default: 1'),
      scheduledFor: TestJobRun.shape.scheduledFor.describe(
        'the due time in epoch ms; default: null, as if a script queued the run',
      ),
      missed: TestJobRun.shape.missed.describe('default: 0'),
      tenant: TestJobRun.shape.tenant,
    }),
  ])
  .meta({ id: 'TryForm' })
export type TryForm = z.infer<typeof TryForm>

export const OUTCOMES = ['returned', 'refused', ...(Object.keys(FAILURES) as (keyof typeof FAILURES)[])] as const

export const Tried = z
  .object({
    revision: z.int(),
    outcome: z
      .enum(OUTCOMES)
      .describe('`refused`: no script failed, but the input is invalid for this draft; `message` contains the reason'),
    message: z.string().nullable(),
    position: z.object({ file: z.string(), line: z.int(), column: z.int() }).nullable(),
    would: z.array(
      z.object({
        command: z.string(),
        args: z.array(AnyJson),
        text: z.string().describe('what the scripts would do, such as `would sign in anna with Users`'),
      }),
    ),
    result: AnyJson,
    requests: z
      .array(
        z.object({
          url: z.string(),
          method: z.string(),
          headers: z.record(z.string(), z.string()),
          body: z.string().nullable(),
        }),
      )
      .describe('the requests that the scripts would have sent with plugins.http.fetch'),
    log: z.array(
      z.object({
        level: z.enum(['debug', 'info', 'warn', 'error']),
        message: z.string(),
        code: z.string().optional(),
        file: z.string().optional(),
        line: z.int().optional(),
        column: z.int().optional(),
      }),
    ),
    milliseconds: z.int(),
    memoryBytes: z.int().nullable().describe('peak private memory of the sandbox process'),
  })
  .meta({ id: 'Tried' })
