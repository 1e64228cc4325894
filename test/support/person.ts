import { type DefaultTreeAdapterMap, html, parse } from 'parse5'
import { type Answer, ask } from './http.ts'

export type Page = Answer & { readonly url: string }

export type Fields = readonly (readonly [name: string, value: string])[]

export type Opening = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly fields?: Fields
  /** A value to send as JSON in place of form fields, like a page's script. */
  readonly json?: unknown
  readonly headers?: Record<string, string>
  /** The URL of the page with the link or form. If it is absent, the user typed the URL. */
  readonly from?: string
}

/** The request with which a provider sends the browser back: a redirect, possibly with a fragment, or a form. */
export type Callback = {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly fields: Fields
  /** The URL of the provider's page that sends the browser back. */
  readonly from: string
}

type Cookie = { readonly value: string; readonly path: string; readonly sameSite: string; readonly lasts: boolean }

/**
 * Simulates one user's browser across several origins. It stores cookies by origin, name and path, and sends the
 * headers that describe a request's source (Origin, Sec-Fetch-*). It treats each origin as a separate site, even if
 * only the port differs. A real browser is less strict on loopback. On the internet, a host and a provider are normally
 * separate sites.
 * @param askAt replaces `ask`, for hosts without a server
 */
export function createPerson(defaults: Record<string, string> = {}, askAt: typeof ask = ask) {
  const jars = new Map<string, Map<string, Cookie>>()

  function jarOf(origin: string): Map<string, Cookie> {
    const found = jars.get(origin) ?? new Map<string, Cookie>()
    jars.set(origin, found)
    return found
  }

  /** Sends one request and doesn't follow redirects. `*.localhost` resolves to loopback, as in browsers. */
  async function open(
    address: string,
    { method = 'GET', fields, json, headers = {}, from }: Opening = {},
  ): Promise<Page> {
    const url = new URL(address)
    const isCrossSite = from !== undefined && new URL(from).origin !== url.origin
    const cookie = cookiesFor(url, method, isCrossSite)
    const sent = {
      accept: 'text/html',
      'sec-fetch-site': from === undefined ? 'none' : isCrossSite ? 'cross-site' : 'same-origin',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
      ...(method !== 'GET' ? { origin: from === undefined ? 'null' : new URL(from).origin } : {}),
      ...(fields === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...(cookie === '' ? {} : { cookie }),
      ...defaults,
      ...headers,
      host: url.host,
    }
    const target = new URL(url)
    if (target.hostname.endsWith('.localhost')) target.hostname = '127.0.0.1'
    const form = fields?.map((pair) => new URLSearchParams([[...pair]]).toString()).join('&')
    const body = json === undefined ? form : JSON.stringify(json)
    const answer = await askAt(target.href, { method, headers: sent, ...(body === undefined ? {} : { body }) })
    for (const line of answer.headers['set-cookie'] ?? []) keep(url, line)
    return { ...answer, url: url.href }
  }

  function cookiesFor(url: URL, method: string, isCrossSite: boolean): string {
    const goes = ({ path, sameSite }: Cookie) =>
      covers(path, url.pathname) && (!isCrossSite || sameSite === 'none' || (sameSite === 'lax' && method === 'GET'))
    return [...jarOf(url.origin)]
      .filter(([, cookie]) => goes(cookie))
      .map(([key, { value }]) => `${key.slice(0, key.indexOf(';'))}=${value}`)
      .join('; ')
  }

  function keep(url: URL, line: string): void {
    const [pair = '', ...rest] = line.split(/;\s*/)
    const [name = '', value = ''] = pair.split(/=(.*)/s)
    const attribute = (wanted: string) =>
      rest.find((one) => one.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1)
    const path = attribute('path') ?? '/'
    const maxAge = attribute('max-age')
    const expires = attribute('expires')
    const isGone =
      maxAge === undefined ? expires !== undefined && Date.parse(expires) <= Date.now() : Number(maxAge) <= 0
    const key = `${name};${path}`
    if (isGone || value === '') jarOf(url.origin).delete(key)
    else {
      const lasts = maxAge !== undefined || expires !== undefined
      jarOf(url.origin).set(key, { value, path, sameSite: (attribute('samesite') ?? 'lax').toLowerCase(), lasts })
    }
  }

  return {
    open,
    /** Returns an origin's cookies: the values by name. */
    cookies: (origin: string): ReadonlyMap<string, string> =>
      new Map([...jarOf(origin)].map(([key, { value }]) => [key.slice(0, key.indexOf(';')), value])),
    /** Closes the browser: cookies without a max age are deleted. */
    close() {
      for (const jar of jars.values()) for (const [key, { lasts }] of jar) if (!lasts) jar.delete(key)
    },
    /** Adds a cookie without a server's response. Null removes the cookie. */
    plant(origin: string, name: string, value: string | null, path: string) {
      const key = `${name};${path}`
      if (value === null) jarOf(origin).delete(key)
      else jarOf(origin).set(key, { value, path, sameSite: 'lax', lasts: true })
    },
    /** Deletes all cookies of one origin, or of all origins. */
    forget: (origin?: string) => (origin === undefined ? jars.clear() : void jars.delete(origin)),
  }
}

export type Person = ReturnType<typeof createPerson>

export type SignInAnswers = {
  readonly account: string
  /** The account's password. The default is `{account}-tries-oidc`. */
  readonly password?: string
  /** If false, the user denies access on the consent page. */
  readonly consent?: boolean
  /** If true, the user presses Cancel on the login page. */
  readonly cancel?: boolean
  /** The host's page that redirected the browser to the provider. */
  readonly from?: string
}

/** The maximum number of the provider's pages in one sign-in. */
const STEPS = 20

/**
 * Signs in on the provider's pages, from the authorization URL until the provider redirects to another origin.
 * @throws Error if the provider shows an error, or the same login page again
 */
export async function signInAtProvider(person: Person, location: string, answers: SignInAnswers): Promise<Callback> {
  const { account, password = `${account}-tries-oidc`, consent = true, cancel = false, from } = answers
  let hasSignedIn = false
  const end = await walk(person, location, from, (form) => {
    if (!form.names.includes('password')) return [['answer', consent ? 'allow' : 'deny']]
    if (hasSignedIn) throw new Error(`the provider refuses account "${account}"`)
    hasSignedIn = true
    if (cancel) return [['answer', 'cancel']]
    return [
      ['account', account],
      ['password', password],
      ['answer', 'sign-in'],
    ]
  })
  if ('status' in end) throw new Error(`${end.url} answered ${end.status} and leads nowhere: ${textOf(end)}`)
  return end
}

/**
 * Signs out at the provider's end session endpoint.
 * @param confirm whether the user confirms the sign-out
 * @returns the request that sends the browser back, or the provider's last page if there is none
 */
export function signOutAtProvider(
  person: Person,
  location: string,
  { confirm = true, from }: { readonly confirm?: boolean; readonly from?: string } = {},
): Promise<Callback | Page> {
  return walk(person, location, from, () => (confirm ? [['logout', 'yes']] : []))
}

/**
 * Sends the provider's response to the host, like a browser with JavaScript. Copies a fragment's parameters to the
 * page's form, and submits forms that submit themselves.
 * @returns the response after these steps
 */
export async function deliver(person: Person, { method, url, fields, from }: Callback): Promise<Page> {
  const sent = method === 'POST' ? { method, fields, from } : { from }
  const page = await person.open(url.replace(/#.*/s, ''), sent)
  const form = page.status === 200 ? formOf(page) : null
  const hash = new URL(url).hash.slice(1)
  if (form === null || form.method !== 'post' || (method === 'GET' && hash === '')) return page
  const added: Fields = [...new URLSearchParams(hash)]
  return person.open(form.action, { method: 'POST', fields: [...form.fields, ...added], from: page.url })
}

async function walk(
  person: Person,
  location: string,
  from: string | undefined,
  answer: (form: Form) => Fields,
): Promise<Callback | Page> {
  const { origin } = new URL(location)
  let page = await person.open(location, from === undefined ? {} : { from })
  for (let step = 0; step < STEPS; step++) {
    const target = page.headers.location
    if (target !== undefined && page.status >= 300 && page.status < 400) {
      const { href, origin: next } = new URL(target, page.url)
      if (next !== origin) return { method: 'GET', url: href, fields: [], from: page.url }
      page = await person.open(href, { from: page.url })
      continue
    }
    const form = formOf(page)
    if (form === null || form.method !== 'post') return page
    if (new URL(form.action).origin !== origin) {
      return { method: 'POST', url: form.action, fields: form.fields, from: page.url }
    }
    // A form without visible fields or buttons submits itself, so the user fills in nothing.
    const fields = form.needsPerson ? [...form.fields, ...answer(form)] : form.fields
    page = await person.open(form.action, { method: 'POST', fields, from: page.url })
  }
  throw new Error(`the provider at ${origin} goes round in circles`)
}

type Form = {
  readonly method: string
  readonly action: string
  /** The names and values of the hidden fields. */
  readonly fields: Fields
  /** The names of all input elements. */
  readonly names: readonly string[]
  readonly needsPerson: boolean
}

/** Finds the first form on a page. */
export function formOf({ text, url }: Page): Form | null {
  const elements = elementsOf(parse(text, { scriptingEnabled: true }))
  const form = elements.find(({ tagName }) => tagName === 'form')
  if (form === undefined) return null
  const inside = new Set(elementsOf(form))
  const id = attributeOf(form, 'id')
  const belongs = (element: Element) => inside.has(element) || (id !== '' && attributeOf(element, 'form') === id)
  const inputs = elements.filter((element) => element.tagName === 'input' && belongs(element))
  const hidden = inputs.filter((input) => attributeOf(input, 'type') === 'hidden')
  return {
    method: attributeOf(form, 'method').toLowerCase(),
    action: new URL(attributeOf(form, 'action') || url, url).href,
    fields: hidden.map((input) => [attributeOf(input, 'name'), attributeOf(input, 'value')] as const),
    names: inputs.map((input) => attributeOf(input, 'name')),
    needsPerson:
      hidden.length < inputs.length || elements.some((element) => element.tagName === 'button' && belongs(element)),
  }
}

type Element = DefaultTreeAdapterMap['element']

function elementsOf(parent: DefaultTreeAdapterMap['parentNode']): Element[] {
  return parent.childNodes.flatMap((node) => ('tagName' in node ? [node, ...elementsOf(node)] : []))
}

function attributeOf({ attrs, namespaceURI }: Element, name: string): string {
  return (namespaceURI === html.NS.HTML && attrs.find((attribute) => attribute.name === name)?.value) || ''
}

function textOf({ text }: Page): string {
  return text
    .replace(/<style.*?<\/style>/gs, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .slice(0, 300)
}

function covers(path: string, asked: string): boolean {
  return asked === path || asked.startsWith(path.endsWith('/') ? path : `${path}/`)
}
