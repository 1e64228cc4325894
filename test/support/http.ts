import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export type Answer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly json: () => unknown
}

export type Ask = {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Uint8Array
  /** A path to send exactly as written. Without this option, the URL parser normalises the path. */
  readonly path?: string
}

/** Sends one request to loopback, and doesn't follow redirects. The `Host` header can contain any name. */
export function ask(url: string, { method = 'GET', headers = {}, body, path }: Ask = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      url,
      { method, headers, agent: false, ...(path === undefined ? {} : { path }) },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: () => JSON.parse(text) as unknown,
          })
        })
      },
    )
    request.on('error', reject)
    request.end(body)
  })
}

export type FormOptions = {
  readonly headers?: Record<string, string>
  /** Replaces the hidden CSRF token of the last page. Null sends none. */
  readonly token?: string | null
}

/**
 * Simulates the parts of a browser that a sign-in needs. It stores cookies by name and path, and the hidden CSRF token
 * of the last page.
 * @param askAt sends the requests; replaces `ask`, for example for TLS
 */
export function createVisitor(base: string, defaults: Record<string, string> = {}, askAt: typeof ask = ask) {
  const cookies = new Map<string, { value: string; path: string }>()
  let token: string | null = null

  async function send(path: string, options: Ask): Promise<Answer> {
    const cookie = [...cookies]
      .filter(([, { path: scope }]) => path.startsWith(scope))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
    const headers = { accept: 'text/html', ...defaults, ...(cookie === '' ? {} : { cookie }), ...options.headers }
    const answer = await askAt(`${base}${path}`, { ...options, headers })
    for (const line of answer.headers['set-cookie'] ?? []) keep(line)
    token = /name="csrf_token" value="([^"]+)"/.exec(answer.text)?.[1] ?? token
    return answer
  }

  function keep(line: string): void {
    const [pair = '', ...attributes] = line.split(/;\s*/)
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const path = attributes.find((attribute) => /^path=/i.test(attribute))?.slice(5) ?? '/'
    if (value === '') cookies.delete(name)
    else cookies.set(name, { value, path })
  }

  return {
    cookies,
    /** Headers that are sent with each request. */
    headers: defaults,
    token: () => token,
    get: (path: string, headers: Record<string, string> = {}) => send(path, { headers }),
    post: (path: string, fields: Record<string, string>, { headers = {}, token: given }: FormOptions = {}) => {
      const sent = given === null ? {} : { csrf_token: given ?? token ?? '' }
      return send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ ...sent, ...fields }).toString(),
      })
    },
  }
}

export type Visitor = ReturnType<typeof createVisitor>
