import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { closeContexts, launchWholeBrowser, sharedBrowser, wholeBrowserPath } from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { waitUntil } from '../support/wait-until.ts'
import { zipOf } from '../support/zip.ts'

const USER = 'vera-4711'
const UID = 'uid-of-vera'

/**
 * Scripts on a login page that try to read another solution's data. One page runs all of them. Each is the body of an
 * async function that returns what it read, or null. `victim` is the other solution's URL, and `own` is the spy's. Both
 * end with `/`. `within` waits up to 1.5 s for a promise. `until` polls for a value for up to 1 s.
 */
const READS: Readonly<Record<string, string>> = {
  'fetch of the session': `return (await fetch(victim + 'session', { credentials: 'include' })).text()`,
  'fetch of the page': `return (await fetch(victim + 'index.html', { credentials: 'include' })).text()`,
  'fetch without CORS': `return (await fetch(victim + 'session', { credentials: 'include', mode: 'no-cors' })).type`,
  'fetch of its own address': `return (await fetch(own + 'session', { credentials: 'include' })).text()`,
  'fetch of the API': `return (await fetch('/admin/api/solutions', { credentials: 'include' })).text()`,
  XMLHttpRequest: `const request = new XMLHttpRequest()
    request.open('GET', victim + 'session', false)
    request.withCredentials = true
    request.send()
    return request.responseText`,
  WebSocket: `return within((resolve, reject) => {
      const socket = new WebSocket(victim.replace('http', 'ws') + 'client')
      socket.onopen = () => resolve('open')
      socket.onerror = () => reject(new Error('refused'))
    })`,
  'WebSocket to its own address': `return within((resolve, reject) => {
      const socket = new WebSocket(own.replace('http', 'ws') + 'client')
      socket.onopen = () => resolve('open')
      socket.onerror = () => reject(new Error('refused'))
    })`,
  EventSource: `return within((resolve, reject) => {
      const source = new EventSource(victim + 'session', { withCredentials: true })
      source.onopen = () => resolve('open')
      source.onerror = () => reject(new Error('refused'))
    })`,
  'a frame with the page': `return framed('iframe', 'src', victim + 'index.html')`,
  'a frame with the session': `return framed('iframe', 'src', victim + 'session')`,
  'a frame with the page for confirmations': `return framed('iframe', 'src', victim + 'confirm/press')`,
  'fetch of the account page': `return (await fetch(victim + 'account', { credentials: 'include' })).text()`,
  'fetch of the second step': `return (await fetch(victim + 'second-step', { credentials: 'include' })).text()`,
  'a frame with the account page': `return framed('iframe', 'src', victim + 'account')`,
  'a frame with the second step': `return framed('iframe', 'src', victim + 'second-step')`,
  'a frame with the set-up': `return framed('iframe', 'src', victim + 'set-up')`,
  'an object': `return framed('object', 'data', victim + 'index.html')`,
  'an embed': `return framed('embed', 'src', victim + 'session')`,
  'a script with the session': `return loaded('script', { src: victim + 'session' })`,
  'a module with the session': `return JSON.stringify((await import(victim + 'session', { with: { type: 'json' } })).default)`,
  'a style sheet with the session': `return loaded('link', { rel: 'stylesheet', href: victim + 'session' })`,
  'an image of the session': `return loaded('img', { src: victim + 'session' })`,
  'an image of the page': `return loaded('img', { src: victim + 'index.html' })`,
  'a font of the session': `await new FontFace('probe', 'url(' + victim + 'session)').load()
    return 'loaded'`,
  'the status of an image': `await loaded('img', { src: victim + 'session?image' }).catch(() => null)
    return statusOf(victim + 'session?image')`,
  'the status of a script': `await loaded('script', { src: victim + 'session?script' }).catch(() => null)
    return statusOf(victim + 'session?script')`,
  'a worker': `return within((resolve, reject) => {
      const worker = new Worker(own + 'media/worker.js')
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = () => reject(new Error('refused'))
    })`,
  'a worker from a blob': `return within((resolve, reject) => {
      const worker = new Worker(URL.createObjectURL(new Blob(['postMessage(1)'], { type: 'text/javascript' })))
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = () => reject(new Error('refused'))
    })`,
  'a service worker': `return (await navigator.serviceWorker.register(own + 'media/worker.js')).scope`,
  caches: `return (await caches.keys()).join()`,
  'a cache filled by the browser': `const cache = await caches.open('probe')
    await cache.add(victim + 'session').finally(() => caches.delete('probe'))
    return 'kept'`,
  cookies: `return document.cookie`,
  'the cookie store': `return (await cookieStore.getAll()).map(({ name }) => name).join()`,
  'the local storage': `return Object.keys(localStorage).join()`,
  'the session storage': `return Object.keys(sessionStorage).join()`,
  'the databases': `return (await indexedDB.databases()).map(({ name }) => name).join()`,
  'its opener': `return opener === null ? null : 'an opener'`,
  'its referrer': `return document.referrer`,
}

/** Scripts that try to read the other solution's data through a window that they open. Each runs on a separate page. */
const READS_BY_WINDOWS: Readonly<Record<string, string>> = {
  'a window with the page': `return readWindow(open(victim + 'index.html'))`,
  'a window with the account page': `return readWindow(open(victim + 'account'))`,
  'a window with the second step': `return readWindow(open(victim + 'second-step'))`,
  'a window with the session': `return readWindow(open(victim + 'session'))`,
  'a window that goes on from a blank page': `const opened = open('about:blank')
    opened.location = victim + 'index.html'
    return readWindow(opened)`,
  'a window found by its name': `open(victim + 'index.html', 'probe')
    await new Promise((resolve) => setTimeout(resolve, 700))
    return readWindow(open('', 'probe'))`,
  'a window with an answer that has no headers of ours': `const opened = open(own + 'media/' + 'x'.repeat(20000))
    return until(() => opened.location.href !== 'about:blank' && opened.document && opened.location.href)`,
  'a blank window that outlives the page': `return fromHelper(open('about:blank'), () => opener.document.body.innerText)`,
  'a blank window that lends itself the fetch of the page': `return fromHelper(open('about:blank'), async () =>
      (await opener.fetch('/solution/victim/session')).text())`,
  'a blob window that outlives the page': `const opened = open(URL.createObjectURL(new Blob(['<p>blob</p>'], { type: 'text/html' })))
    await until(() => opened.document.querySelector('p'))
    return fromHelper(opened, () => opener.document.body.innerText)`,
}

/**
 * Scripts that try to read the other solution's login form before a user signs in. A script that can do this could also
 * read what users type.
 */
const READS_OF_FORM: Readonly<Record<string, string>> = {
  'a window with the login page': `return readWindow(open(victim + 'index.html'))`,
  'a blank window that outlives this login page': `return fromHelper(open('about:blank'), () =>
      opener.document.forms.login_form.elements.csrf_token.value)`,
}

/** Actions that a script tries to perform on the victim's behalf. The victim's session must survive. */
const ACTS: Readonly<Record<string, string>> = {
  'a form to logout': `post(victim + 'logout', {})`,
  'a form to logout in a new window': `post(victim + 'logout', {}, '_blank')`,
  'a form without referrer to logout': `post(victim + 'logout', {}, '_self', 'noreferrer')`,
  'a form to the login page': `post(victim + 'index.html', { username: 'mallory', password: 'open' })`,
  'a form with its own token to the login page': `post(victim + 'index.html', {
      username: 'mallory',
      password: 'open',
      csrf_token: document.forms.login_form.elements.csrf_token.value,
    })`,
  'sendBeacon to logout': `navigator.sendBeacon(victim + 'logout')`,
  'fetch to logout': `await fetch(victim + 'logout', { method: 'POST', mode: 'no-cors', credentials: 'include', keepalive: true })`,
  'the ping of a link to logout': `const link = Object.assign(document.createElement('a'), { href: '#x', ping: victim + 'logout' })
    document.body.append(link)
    link.click()`,
  'a script that takes the cookie away': `document.cookie = 'session-victim=; path=/solution/victim/; max-age=0'`,
  'a cookie over the session’s': `document.cookie = 'session-victim=' + 'x'.repeat(43) + '; path=/solution/victim/'`,
  'a cookie of a longer path': `document.cookie = 'session-victim=' + 'x'.repeat(43) + '; path=/solution/victim/session'`,
  'a cookie for all hosts of the site': `document.cookie = 'session-victim=' + 'x'.repeat(43) +
      '; path=/solution/victim/session; domain=' + location.hostname.replace(/^[^.]*[.]/, '')`,
}

/**
 * Known gaps on a shared host (docs/security/browser.md): all solutions have the same origin there, and the contract
 * accepts same-origin POST requests. The script can't read anything or sign in a user.
 */
const SIGNS_OUT: readonly string[] = ['a form to logout', 'a form without referrer to logout']

const ALL_READS = 'all reads'
const NOTHING = Object.fromEntries(Object.keys(READS).map((name) => [name, null]))

const SPY_SCRIPT = `
const { nonce } = document.currentScript
const victim = document.body.dataset.victim
const own = document.body.dataset.own

function within(work) {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('nothing happened')), 1500)
    work(resolve, reject)
  })
}
async function until(read) {
  let last = new Error('nothing there')
  for (const end = Date.now() + 1000; Date.now() < end; ) {
    try {
      const value = read()
      if (value) return value
    } catch (error) {
      last = error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw last
}
function framed(tag, attribute, address) {
  const frame = document.createElement(tag)
  frame.setAttribute(attribute, address)
  document.body.append(frame)
  return until(() => frame.contentDocument?.body?.textContent)
}
function loaded(tag, properties) {
  return within((resolve, reject) => {
    const element = Object.assign(document.createElement(tag), properties)
    element.onload = () => resolve('loaded')
    element.onerror = () => reject(new Error('refused'))
    document.body.append(element)
  })
}
function readWindow(opened) {
  return until(() => {
    if (opened.location.href === 'about:blank') return null
    return [opened.document.body.innerText, Object.keys(opened.localStorage)].join()
  })
}
// A 403 reveals nothing: elements get it whether somebody is signed in or not.
function statusOf(address) {
  const [entry] = performance.getEntriesByName(address)
  if (entry && entry.responseStatus === 403) return null
  return entry && (entry.responseStatus || entry.encodedBodySize) ? 'status ' + entry.responseStatus + ', bytes ' + entry.encodedBodySize : null
}
/** The window left behind keeps reading while this one navigates to the victim's page. */
function fromHelper(helper, read) {
  const script = helper.document.createElement('script')
  script.nonce = nonce
  script.textContent = '(' + (async (address, read) => {
    let learned = null
    let failure = null
    opener.location = address
    for (const end = Date.now() + 1500; Date.now() < end && learned === null; ) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      try {
        if (opener.location.pathname.startsWith('/solution/victim/')) learned = (await read()) || null
      } catch (error) {
        failure = String(error)
      }
    }
    const output = document.createElement('output')
    output.id = 'learned'
    output.textContent = JSON.stringify({ learned, failure })
    document.body.append(output)
  }) + ')(' + JSON.stringify(victim + 'index.html') + ',' + read + ')'
  helper.document.body.append(script)
  return new Promise(() => {})
}
function post(action, fields, target = '_self', rel = '') {
  const form = Object.assign(document.createElement('form'), { method: 'post', action, target, rel })
  for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { name, value }))
  document.body.append(form)
  form.submit()
}
async function learn(probe) {
  try {
    return (await probe()) || null
  } catch {
    return null
  }
}
async function run(probe) {
  const learned = await learn(probe)
  const output = document.createElement('output')
  output.id = 'learned'
  output.textContent = JSON.stringify({ learned })
  document.body.append(output)
}
const reads = {${sourceOf(READS)}}
const probes = {
  async [${JSON.stringify(ALL_READS)}]() {
    const learned = Object.entries(reads).map(async ([name, read]) => [name, await learn(read)])
    return Object.fromEntries(await Promise.all(learned))
  },
  ${sourceOf({ ...READS_BY_WINDOWS, ...READS_OF_FORM, ...ACTS })}
}
const chosen = probes[decodeURIComponent(location.hash.slice(1))]
if (chosen) addEventListener('load', () => setTimeout(() => run(chosen)))
`

function sourceOf(probes: Readonly<Record<string, string>>): string {
  return Object.entries(probes)
    .map(([name, body]) => `${JSON.stringify(name)}: async () => {\n${body}\n}`)
    .join(',\n')
}

const LEARNED = `document.querySelector('#learned')?.textContent`

async function freePort(): Promise<number> {
  const server = createServer()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const FORM = `<form method="post" accept-charset="UTF-8" name="login_form" role="form">
  <p id="errorlabel" class="errorlabel" role="alert">No.</p>
  <input type="text" id="username" name="username"><input type="password" id="password" name="password">
  <input type="checkbox" name="remember"><input type="hidden" name="id_token"><button type="submit">Go</button>
</form>`

/** A solution with its own login page that accepts any user with the password "open". */
function solutionOf(name: string, page: string): Promise<Buffer> {
  return zipOf({
    'solution.json': JSON.stringify({ name, version: '1.0.0', authenticator: 'AUTHENTICATOR', modules: ['auth'] }),
    'modules/auth/solution.json': JSON.stringify({ name: 'auth', version: '1.0.0', type: 'authenticator' }),
    'modules/auth/globals.js': `function onSolutionOpen(arg, { username, password }) {
      if (password === 'open') security.login(username, ${JSON.stringify(UID)}, ['Users'])
    }`,
    'media/login.html': `<!DOCTYPE html><html lang="en"><head><title>${name}</title></head>${page}</html>`,
    'media/worker.js': 'postMessage(1)',
    'media/mark.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
  })
}

const SETUPS: Readonly<Record<string, (port: number) => Record<string, string>>> = {
  'hosts of their own': () => ({ SOLUTION_ORIGIN: 'http://{name}.localhost' }),
  // Browsers treat a.localhost and b.localhost as two sites. The hosts here belong to one site, like a company's hosts.
  'hosts of their own on one site': (port) => ({
    PORT: String(port),
    SOLUTION_ORIGIN: `http://{name}.apps.localhost:${port}`,
  }),
  'one shared host': () => ({}),
}

describe.skipIf(wholeBrowserPath === undefined).each(Object.entries(SETUPS))('solutions on %s', (setup, properties) => {
  const shared = setup === 'one shared host'
  let host: TestHost
  let browser: Browser
  /**
   * The browser for tests with windows. On a shared host, only headers isolate windows, which requires the full
   * browser. In the other setups, origins isolate them.
   */
  let browserOfWindows: Browser
  let context: BrowserContext
  /** The victim's cookies, for browser profiles that don't need their own session. */
  let signedIn: Awaited<ReturnType<BrowserContext['storageState']>>

  beforeAll(async () => {
    host = await startTestHost(properties(await freePort()))
    const spy = `<body data-victim="${host.addressOf('victim')}" data-own="${host.addressOf('spy')}">${FORM}<script>${SPY_SCRIPT}</script></body>`
    const uploads = [
      await host.upload('spy', await solutionOf('spy', spy)),
      await host.upload('victim', await solutionOf('victim', `<body><h1>Victim</h1>${FORM}</body>`)),
    ]
    for (const answer of uploads) expect(await answer.json()).toMatchObject({ active: true, warnings: [] })
    browser = await sharedBrowser()
    browserOfWindows = shared ? await launchWholeBrowser() : browser
    context = await browser.newContext()
    await signIn(context, 'victim')
    signedIn = await context.storageState()
  })

  afterAll(async () => {
    await closeContexts(browser)
    if (browserOfWindows !== browser) await browserOfWindows?.close()
    await host?.stop()
  })

  const pageOf = (solution: string) => `${host.addressOf(solution)}index.html`

  async function signIn(where: BrowserContext, solution: string): Promise<void> {
    const page = await where.newPage()
    await page.goto(pageOf(solution))
    await page.fill('#username', USER)
    await page.fill('#password', 'open')
    await page.click('button[type=submit]')
    await page.getByText(UID).waitFor()
    await page.close()
  }

  /**
   * Creates a browser profile.
   * @param state the saved state of a signed-in user; if omitted, a new user signs in with the form
   */
  async function newUser(solution = 'victim', state?: typeof signedIn) {
    const own = await browser.newContext(state === undefined ? {} : { storageState: state })
    if (state === undefined) await signIn(own, solution)
    return { context: own, [Symbol.asyncDispose]: () => own.close() }
  }

  /** Requests the session from the server with these cookies. */
  function askSession(solution: string, cookies: readonly { name: string; value: string }[]) {
    const { host: name, pathname } = new URL(`${host.addressOf(solution)}session`)
    const cookie = cookies.map((one) => `${one.name}=${one.value}`).join('; ')
    return ask(`${host.url}${pathname}`, { headers: { host: name, cookie } })
  }

  /** Throws until the spy's script has reported a result or its window has left the spy's page. */
  async function requireDone(page: Page): Promise<void> {
    const said = await page.evaluate<string | undefined>(LEARNED).catch(() => undefined)
    if (said === undefined && page.url().startsWith(pageOf('spy'))) throw new Error('the script is not done')
  }

  /** Runs the probe on the spy's login page in the victim's browser. @returns what it read */
  async function probe(name: string, options: BrowserContextOptions = {}, within = browser): Promise<unknown> {
    const own = await within.newContext({ storageState: signedIn, ...options })
    const page = await own.newPage()
    await page.goto(`${pageOf('spy')}#${encodeURIComponent(name)}`)
    const text = await waitUntil(async () => {
      // The result may be reported by a window that the probe opened.
      for (const one of own.pages()) {
        const learned = await one.evaluate<string | undefined>(LEARNED).catch(() => undefined)
        if (learned !== undefined) return learned
      }
      throw new Error('the probe brought nothing home')
    })
    await own.close()
    return (JSON.parse(text) as { learned: unknown }).learned
  }

  // Cross-site hosts are easier to protect than the other setups, so the read probes skip them.
  const isEasier = setup === 'hosts of their own'
  const readsByWindows = isEasier ? [] : Object.keys(READS_BY_WINDOWS)
  const readsOfForm = isEasier ? [] : Object.keys(READS_OF_FORM)

  if (!isEasier)
    test('a script on a login page cannot read another solution’s data with requests, elements, workers and storage', async () => {
      expect(await probe(ALL_READS)).toEqual(NOTHING)
    })

  test.concurrent.each(readsByWindows)(
    'a script on a login page cannot read another solution’s data with windows: %s',
    async (name) => {
      expect(await probe(name, {}, browserOfWindows)).toBeNull()
    },
  )

  test.concurrent.each(readsOfForm)(
    'a script on a login page cannot read another solution’s login form with: %s',
    async (name) => {
      expect(await probe(name, { storageState: { cookies: [], origins: [] } }, browserOfWindows)).toBeNull()
    },
  )

  if (shared)
    test('the probes work: without the Content-Security-Policy, one of them reads the session', async () => {
      const learned = await probe(ALL_READS, { bypassCSP: true })
      expect(learned).toMatchObject({ 'fetch of the session': expect.stringContaining(USER) })
    })

  test('the probes work: the window that the script cannot read does show the signed-in user’s page', async () => {
    const own = await browserOfWindows.newContext({ bypassCSP: true, storageState: signedIn })
    const page = await own.newPage()
    await page.goto(pageOf('spy'))
    const [opened] = await Promise.all([
      own.waitForEvent('page'),
      page.evaluate(`void open(document.body.dataset.victim + 'index.html')`),
    ])
    await opened.getByText(UID).waitFor()
    await own.close()
  })

  test.concurrent.each(Object.keys(ACTS))(
    'a user stays signed in whatever another login page sends: %s',
    async (name) => {
      const isOpen = shared && SIGNS_OUT.includes(name)
      const plants = name.includes('cookie')
      // All attempts share one session, except those known to lose it. Attempts that don't plant cookies also share a
      // browser profile.
      await using own =
        isOpen || plants
          ? await newUser('victim', isOpen ? undefined : signedIn)
          : { context, [Symbol.asyncDispose]: async () => {} }
      const cookies = () => own.context.cookies(`${host.addressOf('victim')}session`)
      const before = await cookies()
      const page = await own.context.newPage()
      await page.goto(`${pageOf('spy')}#${encodeURIComponent(name)}`)
      await waitUntil(() => requireDone(page))
      await page.waitForTimeout(300)
      const session = await askSession('victim', before)
      expect(session.status).toBe(isOpen ? 401 : 200)
      if (isOpen) return
      expect(session.json()).toMatchObject({ username: USER })
      await page.close()
      if (!plants) return expect(await cookies()).toEqual(before)
      const view = await own.context.newPage()
      const answer = await view.goto(`${host.addressOf('victim')}session`)
      expect(answer?.status()).toBe(200)
    },
  )

  test('a user of one solution is not signed in to another', async () => {
    await using own = await newUser('spy')
    const cookies = await own.context.cookies(`${host.addressOf('spy')}session`)
    expect((await askSession('spy', cookies)).status).toBe(200)
    const page = await own.context.newPage()
    const session = await page.goto(`${host.addressOf('victim')}session`)
    expect([session?.status(), (await page.content()).includes(USER)]).toEqual([401, false])
    await page.goto(pageOf('victim'))
    expect(await page.innerText('h1')).toBe('Victim')
    // The cookie's value is also rejected if it is sent with the other solution's cookie name.
    const renamed = cookies.map(({ name, value }) => ({ name: name.replace('spy', 'victim'), value }))
    expect((await askSession('victim', renamed)).status).toBe(401)
  })

  test('after a sign-in, scripts can read nothing from the browser except the tab’s client id', async () => {
    const page = await context.newPage()
    await page.goto(pageOf('victim'))
    await page.getByText(UID).waitFor()
    const kept = await page.evaluate(async () => {
      const { localStorage, sessionStorage, document } = globalThis as unknown as {
        localStorage: object
        sessionStorage: object
        document: { cookie: string }
      }
      const { caches, indexedDB } = globalThis as unknown as {
        caches: { keys: () => Promise<string[]> }
        indexedDB: { databases: () => Promise<unknown[]> }
      }
      return [
        { ...localStorage },
        { ...sessionStorage },
        document.cookie,
        await caches.keys(),
        await indexedDB.databases(),
      ]
    })
    // The id is useless without the session cookie; see "clients of other users" in test/flows/client-hostile.test.ts.
    const client = { 'client /solution/victim/client': expect.stringMatching(/^[\w-]{43}$/) }
    expect(kept).toEqual([{}, client, '', [], []])
    await page.close()
  })

  test('known gap: a script can navigate its own window to another solution, but learns nothing', async () => {
    const page = await context.newPage()
    await page.goto(pageOf('spy'))
    await page.evaluate('void (location.href = document.body.dataset.victim + "index.html")')
    await page.getByText(UID).waitFor()
    await page.close()
  })

  test('known gap on a shared host: a script can read the URLs that its tab has visited', async () => {
    const page = await context.newPage()
    await page.goto(`${pageOf('victim')}?argument=order-5`)
    await page.goto(pageOf('spy'))
    const addresses = String(await page.evaluate('navigation.entries().map(({ url }) => url).join()'))
    expect(addresses.includes('order-5')).toBe(shared)
    await page.close()
  })

  test('known gap on a shared host: a script can sign the browser in as a user of its choice', async () => {
    await using mallory = await newUser()
    const cookies = await mallory.context.cookies(`${host.addressOf('victim')}session`)
    const value = cookies.find(({ name }) => name === 'session-victim')?.value
    const fresh = await browser.newContext()
    const page = await fresh.newPage()
    await page.goto(pageOf('spy'))
    await page.evaluate(`document.cookie = 'session-victim=${value}; path=/solution/victim/'`)
    // The browser stores the cookie asynchronously. A request that starts before that lacks it.
    await expect.poll(async () => (await fresh.cookies()).map((cookie) => cookie.value)).toContain(value)
    expect((await page.goto(`${host.addressOf('victim')}session`))?.status()).toBe(shared ? 200 : 401)
    await fresh.close()
  })

  if (!shared)
    test('a solution’s host name does not serve another solution', async () => {
      const page = await context.newPage()
      const origin = new URL(host.addressOf('spy')).origin
      const statuses: unknown[] = []
      for (const path of ['index.html', 'session', 'media/mark.svg']) {
        statuses.push((await page.goto(`${origin}/solution/victim/${path}`))?.status())
      }
      statuses.push((await page.goto(`${origin}/admin/api/solutions`))?.status())
      expect(statuses).toEqual([404, 404, 404, 404])
      await page.close()
    })

  if (!shared)
    test('an unknown host name gets 421; the platform’s host name redirects the browser', async () => {
      const page = await context.newPage()
      const nobody = pageOf('victim').replace('victim', 'nobody')
      expect((await page.goto(nobody))?.status()).toBe(421)
      const answer = await page.goto(`${host.url}/solution/victim/index.html?a=1`)
      expect(page.url()).toBe(`${pageOf('victim')}?a=1`)
      expect((await answer?.request().redirectedFrom()?.response())?.status()).toBe(308)
      expect(await page.innerText('body')).toContain(USER)
      await page.close()
    })
})
