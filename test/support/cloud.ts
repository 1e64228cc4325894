import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import {
  type AuthenticateAnswer,
  AuthenticateRequest,
  type LoginPageAnswer,
  RefreshRequest,
  SATELLITE_API,
} from '../../base/protocol/protocol.ts'
import { startTestHost, type TestHost } from './host.ts'
import { bundleOf } from './zip.ts'

/** Handles a request in place of the simulated control center. It must send a response or close the connection. */
export type Misbehaviour = (request: IncomingMessage, response: ServerResponse) => void

export type CloudRequestSeen = {
  readonly method: string
  readonly path: string
  readonly body: string
  readonly tag: string
}

export const CLOUD_TOKEN = 'remote-environment-token-of-a-test'
export const CLOUD_PASSWORD = 'seven green tractors'

/** A login page like those that the control center's designer creates. */
export const DESIGNED: LoginPageAnswer = {
  template: `<!DOCTYPE html><html lang="%%i18n:platform.language%%"><head><meta charset="UTF-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>%%i18n:design.title%%</title>
<style>body{font-family:sans-serif;margin:1rem;color:#111;background:#fff} input,select,button{font:inherit;max-width:100%;box-sizing:border-box}
label{display:block;margin-top:1rem} .errorlabel{display:none;color:#a00000}</style></head><body><main>
<h1>%%i18n:design.title%%</h1>
<form method="post" accept-charset="UTF-8" name="login_form" role="form">
<p id="errorlabel" class="errorlabel" role="alert">%%i18n:platform.logindialog.failed%%</p>
<label for="username">%%i18n:platform.logindialog.label.name%%</label>
<input type="text" id="username" name="username" required autocomplete="username">
<label for="password">%%i18n:platform.logindialog.password%%</label>
<input type="password" id="password" name="password" required autocomplete="current-password">
<label for="branch">%%i18n:design.branch%%</label><input type="text" id="branch" name="custom_branch">
<p><input type="checkbox" id="remember" name="remember"> <label for="remember">%%i18n:platform.logindialog.remember%%</label></p>
<input type="hidden" name="id_token"><button type="submit">%%i18n:platform.logindialog.submit%%</button></form></main></body></html>`,
  texts: {
    default: { 'design.title': 'Harbour sign-in', 'design.branch': 'Branch' },
    de: { 'design.title': 'Anmeldung Hafen', 'design.branch': 'Niederlassung' },
    it: { 'design.title': 'Accesso porto', 'design.branch': 'Filiale' },
  },
}

/** The user anna, who signs in with the password `CLOUD_PASSWORD`. */
export const ANNA: AuthenticateAnswer = {
  outcome: 'accepted',
  uid: 'c-1',
  username: 'anna',
  permissions: ['Users'],
  tenant: ['acme', 7],
}

/**
 * Starts a simulated control center. It implements `base/protocol/protocol.ts` over real HTTP for one solution,
 * `harbour`. Tests can make it misbehave.
 */
export async function startTestCloud() {
  const seen: CloudRequestSeen[] = []
  const sockets = new Set<unknown>()
  let page: LoginPageAnswer = DESIGNED
  let version = 1
  let answers: (request: AuthenticateRequest | RefreshRequest) => AuthenticateAnswer = accept
  let misbehaves: Misbehaviour | null = null
  let port = 0

  const server = createServer(async (request, response) => {
    const body = await text(request)
    sockets.add(request.socket)
    const path = request.url ?? ''
    seen.push({ method: request.method ?? '', path, body, tag: request.headers['if-none-match'] ?? '' })
    if (misbehaves !== null && path.startsWith(`${SATELLITE_API}/solutions/`)) return misbehaves(request, response)
    if (request.headers.authorization !== `Bearer ${CLOUD_TOKEN}`) return send(response, 401, {})
    const what = path.startsWith(`${SATELLITE_API}/solutions/harbour/`) ? path.split('/').at(-1) : ''
    if (what === 'login-page') {
      const tag = `"${version}"`
      response.setHeader('ETag', tag)
      return request.headers['if-none-match'] === tag ? response.writeHead(304).end() : send(response, 200, page)
    }
    if (what === 'authenticate') return send(response, 200, answers(AuthenticateRequest.parse(JSON.parse(body))))
    if (what === 'refresh') return send(response, 200, answers(RefreshRequest.parse(JSON.parse(body))))
    send(response, 404, { code: 'ERR_SOLUTION_NOT_FOUND' })
  })
  await listen()

  function listen(): Promise<void> {
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => {
        port = (server.address() as AddressInfo).port
        resolve()
      })
    })
  }

  function stop(): Promise<void> {
    return new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }

  return {
    url: `http://127.0.0.1:${port}`,
    /** All received requests, in order. */
    seen,
    asked: (what: string) => seen.filter(({ path }) => path.endsWith(`/${what}`)),
    connections: () => sockets.size,
    /** Serves a different login page from now on. */
    design(next: LoginPageAnswer) {
      page = next
      version++
    },
    answer(how: typeof answers) {
      answers = how
    },
    misbehave(how: Misbehaviour | null) {
      misbehaves = how
    },
    /**
     * Resets everything except the recorded requests. If a test has changed the login page, restores the original with
     * a new version number.
     */
    behave() {
      misbehaves = null
      answers = accept
      if (page !== DESIGNED) this.design(DESIGNED)
    },
    goAway: stop,
    /** Starts the control center again at the same address. */
    comeBack: listen,
    stop,
  }
}

export type TestCloud = Awaited<ReturnType<typeof startTestCloud>>

function accept(request: AuthenticateRequest | RefreshRequest): AuthenticateAnswer {
  if ('uid' in request) return request.uid === 'c-1' ? ANNA : { outcome: 'refused', reason: 'credentials' }
  const isAnna = request.username === 'anna' && request.password === CLOUD_PASSWORD
  return isAnna ? ANNA : { outcome: 'refused', reason: 'credentials' }
}

export function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** Starts a host as a Satellite of this control center. Tests can set its clock. */
export async function startSatellite(
  cloud: { readonly url: string },
  properties: Record<string, string> = {},
  options: { readonly home?: string } = {},
): Promise<TestHost & { readonly setClock: (milliseconds: number) => Promise<void> }> {
  const host = await startTestHost(
    {
      ENVIRONMENT: 'onprem',
      CLOUD_URL: cloud.url,
      REMOTE_ENVIRONMENT_TOKEN: CLOUD_TOKEN,
      PLATFORM_TESTING_MODE: 'true',
      ...properties,
    },
    options,
  )
  return {
    ...host,
    async setClock(clockOffsetMs) {
      const answer = await fetch(`${host.url}/admin/api/testing`, {
        method: 'POST',
        headers: { authorization: host.admin, 'content-type': 'application/json' },
        body: JSON.stringify({ clockOffsetMs }),
      })
      if (!answer.ok) throw new Error(await answer.text())
    },
  }
}

/** A solution whose users sign in with accounts in the control center. */
export async function addCloudSolution(
  host: TestHost,
  name = 'harbour',
  files: Record<string, string> = {},
): Promise<void> {
  const manifest = { name, authenticator: 'PLATFORM_CLOUD', permissions: ['Users', 'Pilots'] }
  const answer = await host.upload(name, await bundleOf(manifest, files))
  if (answer.status !== 201) throw new Error(await answer.text())
}
