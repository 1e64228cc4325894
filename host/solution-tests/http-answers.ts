import type { HttpAnswer, HttpPorts, HttpRequest } from '../../plugins/http/host.ts'
import { ScriptError } from '../../runtime/plugin.ts'

export type DeclaredAnswer = {
  readonly url: string
  /** null: any. */
  readonly method: string | null
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type SeenRequest = Pick<HttpRequest, 'url' | 'method' | 'headers' | 'body'>

/** What `plugins.http.fetch` gets in tests. Nothing is sent anywhere. */
export interface HttpAnswers {
  readonly ports: HttpPorts
  /** A later one for the same address and method takes the place of an earlier one. */
  declare(answer: DeclaredAnswer): void
  seen(): readonly SeenRequest[]
  clear(): void
}

/** Answers that a test declares, and requests that it can look at. Each may be large, and the test a stranger's. */
const MOST = 500

/**
 * Chosen here: every host that a manifest asks for counts as granted. What a test is there to show is what the scripts do
 * with an answer; that the manifest has to ask is checked by the binding, as on a host.
 */
export function createHttpAnswers(): HttpAnswers {
  let answers: DeclaredAnswer[] = []
  let seen: SeenRequest[] = []

  async function send({ url, method, headers, body, maxBytes }: HttpRequest): Promise<HttpAnswer> {
    if (seen.length === MOST) throw new ScriptError(`the scripts of one test send at most ${MOST} requests`)
    seen.push({ url, method, headers, body })
    const found = answers.findLast((one) => one.url === url && (one.method === null || one.method === method))
    if (found === undefined) {
      const advice = `solution.answerHttp(${JSON.stringify(url)}, { … }) declares one`
      throw new ScriptError(`no answer is declared for ${method} ${url}: ${advice}`)
    }
    const bytes = new TextEncoder().encode(found.body)
    if (bytes.length > maxBytes) throw new ScriptError(`the answer is larger than ${maxBytes} bytes (FETCH_SIZE)`)
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
      if (answers.length === MOST) throw new ScriptError(`a test declares at most ${MOST} answers`)
      answers.push(answer)
    },
    seen: () => seen,
    clear() {
      answers = []
      seen = []
    },
  }
}
