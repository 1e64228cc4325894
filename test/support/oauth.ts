import type { Host } from '../../host/main.ts'
import { openOnce } from './client-page.ts'
import { CLIENT_SECRET } from './client-secret.ts'
import type { TestHost } from './host.ts'
import type { OidcProvider } from './oidc-provider.ts'
import {
  createPerson,
  deliver,
  type Fields,
  type Page,
  type Person,
  type SignInAnswers,
  signInAtProvider,
} from './person.ts'
import { askAdmin } from './users.ts'
import { bundleOf, moduleFile } from './zip.ts'

/** The OAuth settings for each combination of flow and response mode, by name. */
export const FLOWS = {
  query: {},
  'form-post': { response_mode: 'form_post' },
  fragment: { response_mode: 'fragment' },
  'id-token': { response_type: 'id_token' },
  'id-token-post': { response_type: 'id_token', response_mode: 'form_post' },
} as const

/** An authenticator script. It accepts users with a verified email address at example.org, and logs its input. */
export const BY_EMAIL = `function onSolutionOpen(arg, q) {
  const login = q.last_login
  application.output('asked ' + JSON.stringify({ arg, q }))
  if (!login.email_verified || !login.email.endsWith('@example.org')) return null
  if (q.tenant) security.setTenantValue([q.tenant, -1])
  security.login(login.email, login.iss + '#' + login.sub, login.email.startsWith('anna') ? ['Users', 'Admins'] : ['Users'])
}`

/** The parts of a test host that these functions use. */
export type OAuthHost = Pick<TestHost, 'url' | 'admin' | 'upload'> & Partial<Pick<TestHost, 'addressOf'>>

export type OAuthSolution = {
  readonly name: string
  readonly oauth: Record<string, unknown>
  readonly script?: string
  readonly manifest?: Record<string, unknown>
  readonly files?: Record<string, string>
}

/** Uploads a solution whose users sign in with a provider. */
export async function addOAuthSolution(
  host: OAuthHost,
  { name, oauth, script = BY_EMAIL, manifest = {}, files = {} }: OAuthSolution,
): Promise<void> {
  const written = { name, authenticator: 'OAUTH', modules: ['auth'], oauth, ...manifest }
  const bundle = await bundleOf(written, {
    ...moduleFile('auth', { type: 'authenticator' }),
    'modules/auth/globals.js': script,
    ...files,
  })
  const answer = await host.upload(name, bundle)
  if (answer.status !== 201) throw new Error(await answer.text())
}

/** Registers the solution as an OAuth client of the provider, uploads it, and sets its client secret. */
export async function addSolutionOfProvider(
  host: OAuthHost,
  provider: OidcProvider,
  solution: Omit<OAuthSolution, 'oauth'> & { readonly oauth?: Record<string, unknown> },
): Promise<void> {
  const { name } = solution
  const place = host.addressOf?.(name) ?? `${host.url}/solution/${name}/`
  await provider.setClient({
    client_id: name,
    redirect_uris: [`${place}app_oauth/index.html`],
    post_logout_redirect_uris: [`${place}index.html?signed-out`],
    backchannel_logout_uri: `${place}backchannel-logout`,
  })
  const oauth = { api: 'Custom', issuer: provider.issuer, clientId: name, apiSecret: '%%CLIENT%%', ...solution.oauth }
  await addOAuthSolution(host, { ...solution, oauth })
  await askAdmin(
    host,
    'PUT',
    `solutions/${name}/secrets/CLIENT`,
    { value: CLIENT_SECRET, hosts: [provider.hostPort] },
    204,
  )
}

/**
 * Adds one solution for all of `FLOWS`, which needs only one sandbox process. The URL's query parameter `flow` selects
 * the flow.
 */
export function addFlowsOfProvider(
  host: OAuthHost,
  provider: OidcProvider,
  name: string,
  manifest: Record<string, unknown> = {},
): Promise<void> {
  const settings = { api: 'Custom', issuer: provider.issuer, clientId: name, apiSecret: '%%CLIENT%%' }
  return addSolutionOfProvider(host, provider, {
    name,
    script: `${chooseFlow(settings)}\n${BY_EMAIL}`,
    manifest: { ...manifest, authenticator: 'OAUTH_AUTHENTICATOR', oauth: undefined },
  })
}

/** Returns a script that selects one of `FLOWS` by the URL's query parameter `flow`. The default is `query`. */
export function chooseFlow(settings: Record<string, unknown>): string {
  const all = Object.entries(FLOWS).map(([flow, own]) => [flow, { ...settings, ...own }])
  return `function getOAuthConfig(q) { return ${JSON.stringify(Object.fromEntries(all))}[q.flow || 'query'] || null }`
}

/** Simulates a user's browser for one solution, whose users sign in with a provider. */
export function comeTo(host: Pick<Host, 'url'>, solution: string, person: Person = createPerson()) {
  const base = `${host.url}/solution/${solution}`
  const page = `${base}/index.html`

  /**
   * Opens the solution's page.
   * @returns the response, and the URL that it redirects to, or '' if it doesn't redirect
   */
  async function start(query = ''): Promise<{ answer: Page; location: string }> {
    const answer = await person.open(`${page}${query}`)
    return { answer, location: answer.headers.location ?? '' }
  }

  return {
    person,
    base,
    start,
    /** Signs in with the provider. @returns the host's response to the callback */
    async signIn(answers: Partial<SignInAnswers> = {}, query = ''): Promise<Page> {
      const { answer, location } = await start(query)
      if (answer.status !== 302) throw new Error(`the page answered ${answer.status}: ${textOf(answer.text)}`)
      return deliver(person, await signInAtProvider(person, location, { account: 'anna', from: page, ...answers }))
    },
    open: (query = '') => person.open(`${page}${query}`),
    session: () => person.open(`${base}/session`),
    /**
     * Signs out.
     * @param after the token that a client's sign-out frame contained
     */
    logOut: (after?: string) => {
      const fields: Fields = after === undefined ? [] : [['after', after]]
      return person.open(`${base}/logout`, { method: 'POST', from: page, ...(after === undefined ? {} : { fields }) })
    },
    /** Opens a client with the browser's cookies (see `openOnce`). */
    openClient(query = '') {
      const pairs = [...person.cookies(host.url)]
      const cookies = new Map(pairs.map(([name, value]) => [name, { value, path: '/' }]))
      return openOnce(host.url, solution, { cookies }, query)
    },
    /** Returns the solution's cookie of a kind, such as `session`. */
    cookie: (kind: string) => person.cookies(host.url).get(`${kind}-${solution}`),
    cookieNames: () => [...person.cookies(host.url).keys()],
  }
}

export type Visitor = ReturnType<typeof comeTo>

/** Returns the visible text of an HTML page. */
export function textOf(html: string): string {
  return html
    .replace(/<(style|script|template)\b.*?<\/\1>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

/** Reads the lines of a solution's log, oldest first. */
export async function logOf(host: Pick<TestHost, 'url' | 'admin'>, solution: string) {
  const { items } = (await askAdmin(host, 'GET', `solutions/${solution}/log?limit=200`)) as {
    items: { level: string; message: string; code?: string; correlationId?: string }[]
  }
  return items
}
