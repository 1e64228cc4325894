import type { Terminal } from '../base/terminal/terminal.ts'
import { z } from '../runtime/zod.ts'
import { authorization, type HostOptions, hostWords, readHostAddress } from './credentials.ts'
import { type ApiAnswer, createHostApi } from './host-api.ts'
import { refuse } from './refusals.ts'

const Run = z.object({
  id: z.string(),
  job: z.string(),
  state: z.string(),
  attempt: z.int(),
  createdAt: z.int(),
  startedAt: z.int().nullable(),
  endedAt: z.int().nullable(),
  failure: z.object({ code: z.string(), message: z.string() }).nullable(),
})
export type ShownRun = z.infer<typeof Run>

const Jobs = z.object({
  paused: z.boolean(),
  items: z.array(
    z.object({
      name: z.string(),
      schedule: z.string().nullable(),
      timeZone: z.string().nullable(),
      next: z.array(z.int()),
      last: Run.nullable(),
    }),
  ),
})
export type ShownJobs = z.infer<typeof Jobs>

const Runs = z.object({ items: z.array(Run) })
const Added = z.object({ id: z.string() })

/** The jobs of a solution on a host, through its API. Each method throws a CommandError if the host refuses. */
export interface JobsOnHost {
  /** The host's URL and the options, for commands that messages suggest. */
  readonly words: string
  list(): Promise<ShownJobs>
  runs(filter: { readonly job?: string | undefined; readonly state?: string | undefined }): Promise<readonly ShownRun[]>
  /** @returns the run's id */
  run(job: string, data: unknown): Promise<string>
  again(id: string): Promise<string>
  pause(isPaused: boolean): Promise<void>
}

export async function openJobs(
  solution: string,
  address: string,
  options: HostOptions,
  terminal: Terminal,
): Promise<JobsOnHost> {
  const url = readHostAddress(address, options['allow-http'] === true)
  const api = createHostApi(url, await authorization(options.user, terminal))
  const path = `/admin/api/solutions/${encodeURIComponent(solution)}`

  function read<T>(schema: z.ZodType<T>, answer: ApiAnswer, status = 200): T {
    const read = schema.safeParse(answer.body)
    if (answer.status !== status || !read.success) refuse(answer, url, solution, OWN)
    return read.data
  }

  function send(method: 'POST' | 'PUT', to: string, body: unknown): Promise<ApiAnswer> {
    return api.send(method, to, { type: 'application/json', bytes: Buffer.from(JSON.stringify(body)) })
  }

  return {
    words: hostWords(url, options),
    list: async () => read(Jobs, await api.get(`${path}/jobs`)),
    async runs(filter) {
      const query = new URLSearchParams(
        Object.entries(filter).filter((one): one is [string, string] => Boolean(one[1])),
      )
      return read(Runs, await api.get(`${path}/runs?${query}`)).items
    },
    run: async (job, data) =>
      read(
        Added,
        await send('POST', `${path}/jobs/${encodeURIComponent(job)}/run`, data === undefined ? {} : { data }),
        202,
      ).id,
    again: async (id) =>
      read(Added, await api.send('POST', `${path}/runs/${encodeURIComponent(id)}/again`, null), 202).id,
    async pause(paused) {
      read(z.object({ paused: z.boolean() }), await send('PUT', `${path}/jobs`, { paused }))
    },
  }
}

/**
 * Messages for requests about jobs, where they differ from the general ones. For 404 and 409, the host's own message is
 * shown.
 */
const OWN = {
  404: { exit: 'failed', text: (detail: string) => detail },
  409: { exit: 'failed', text: (detail: string) => detail },
  422: { exit: 'failed', text: (detail: string) => `The host rejected the request: ${detail}` },
} as const
