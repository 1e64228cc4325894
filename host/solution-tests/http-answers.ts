import type { HttpAnswer, HttpPorts, HttpRequest } from '../../plugins/http/host.ts'
import { ScriptError } from '../../runtime/plugin.ts'

export type DeclaredAnswer = {
  readonly url: string
  /** The request method that the response applies to; null: any. */
  readonly method: string | null
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type SeenRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>

/** Responds to `plugins.http.fetch` requests in tests. Nothing is sent over the network. */
export interface HttpAnswers {
  readonly ports: HttpPorts
  /** A later response for the same URL and method replaces an earlier one. */
  declare(answer: DeclaredAnswer): void
  seen(): readonly SeenRequest[]
  clear(): void
}

/** Maximum number of declared responses and recorded requests. Each may be large, and the test may be untrusted. */
const MOST = 500

/** Returns the advice on how to declare a response to requests for this URL. */
export type HttpAdvice = (url: string) => string

const inTests: HttpAdvice = (url) => `declare one with solution.answerHttp(${JSON.stringify(url)}, { … })`

/**
 * Chosen here: every host that a manifest requests is treated as granted, because tests check what scripts do with a
 * response. The binding checks requests against the manifest, as on a host.
 */
export function createHttpAnswers(advise: HttpAdvice = inTests): HttpAnswers {
  let answers: DeclaredAnswer[] = []
  let seen: SeenRequest[] = []

  async function send({ url, method, headers, body, maxBytes }: HttpRequest): Promise<HttpAnswer> {
    if (seen.length === MOST) throw new ScriptError(`the scripts can send at most ${MOST} requests per test`)
    seen.push({ url, method, headers, body })
    const found = answers.findLast((one) => one.url === url && (one.method === null || one.method === method))
    if (found === undefined) {
      throw new ScriptError(`no response is declared for ${method} ${url}: ${advise(url)}`)
    }
    const bytes = new TextEncoder().encode(found.body)
    if (bytes.length > maxBytes) {
      throw new ScriptError(
        `the response declared for ${method} ${url} is larger than ${maxBytes} bytes (FETCH_SIZE); shorten its body`,
      )
    }
    return { status: found.status, headers: found.headers, body: bytes }
  }

  return {
    ports: {
      granted: async ({ solution: { manifest, modules } }) =>
        [manifest, ...modules.map((module) => module.manifest)].flatMap(({ http }) => http),
      send,
      onRefused: () => {},
    },
    declare(answer) {
      if (answers.length === MOST) throw new ScriptError(`a test can declare at most ${MOST} responses`)
      answers.push(answer)
    },
    seen: () => seen,
    clear() {
      answers = []
      seen = []
    },
  }
}
