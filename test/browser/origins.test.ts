import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { browserPath, launchBrowser } from '../support/browser.ts'
import { startTestHost, type TestHost } from '../support/host.ts'
import { ask } from '../support/http.ts'
import { zipOf } from '../support/zip.ts'

/** What the pages and the session of the victim's user show; no probe may bring any of it home. */
const USER = 'vera-4711'
const UID = 'uid-of-vera'

/**
 * How a script on a login page tries to learn something of another solution: the body of an async function that
 * returns what it learned, or null. `victim` is the address of the other solution with `/` at the end, `own` the
 * spy's; `within` waits for a promise and `until` for a value, both for a second and a half.
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
  'an object': `return framed('object', 'data', victim + 'index.html')`,
  'an embed': `return framed('embed', 'src', victim + 'session')`,
  'a script with the session': `return loaded('script', { src: victim + 'session' })`,
  'a module with the session': `return JSON.stringify((await import(victim + 'session', { with: { type: 'json' } })).default)`,
  'a style sheet with the session': `return loaded('link', { rel: 'stylesheet', href: victim + 'session' })`,
  'an image of the session': `return loaded('img', { src: victim + 'session' })`,
  'an image of the page': `return loaded('img', { src: victim + 'index.html' })`,
  'a font of the session': `await new FontFace('probe', 'url(' + victim + 'session)').load()
    return 'loaded'`,
  'the status of an image': `await loaded('img', { src: victim + 'session' })
    return statusOf(victim + 'session')`,
  'the status of a script': `await loaded('script', { src: victim + 'session' })
    return statusOf(victim + 'session')`,
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
  'a window with the page': `return readWindow(open(victim + 'index.html'))`,
  'a window with the session': `return readWindow(open(victim + 'session'))`,
  'a window that goes on from a blank page': `const opened = open('about:blank')
    opened.location = victim + 'index.html'
    return readWindow(opened)`,
  'a window found by its name': `open(victim + 'index.html', 'probe')
    await new Promise((resolve) => setTimeout(resolve, 700))
    return readWindow(open('', 'probe'))`,
  'a window with an answer that has no headers of ours': `const opened = open(own + 'media/' + 'x'.repeat(20000))
    return until(() => opened.location.href !== 'about:blank' && opened.document && opened.location.href)`,
  'a blank window that outlives the page': `return fromHelper(open('about:blank'))`,
  'a blob window that outlives the page': `const opened = open(URL.createObjectURL(new Blob(['<p>blob</p>'], { type: 'text/html' })))
    await until(() => opened.document.querySelector('p'))
    return fromHelper(opened)`,
}

/** What a script tries to do in the name of the victim's user; the session must survive it. */
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
  'taking the cookie away': `document.cookie = 'session-victim=; path=/solution/victim/; max-age=0'`,
  'a cookie over it': `document.cookie = 'session-victim=' + 'x'.repeat(43) + '; path=/solution/victim/'`,
  'a cookie of a longer path before it': `document.cookie = 'session-victim=' + 'x'.repeat(43) + '; path=/solution/victim/session'`,
  'a cookie for all hosts before it': `document.cookie = 'session-victim=' + 'x'.repeat(43) +
      '; path=/solution/victim/session; domain=' + location.hostname.replace(/^[^.]*[.]/, '')`,
}

const SPY_SCRIPT = `
const { nonce } = document.currentScript
const victim = document.body.dataset.victim
const own = document.body.dataset.own
const secret = /vera-4711|uid-of-vera/

function within(work) {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('nothing happened')), 1500)
    work(resolve, reject)
  })
}
async function until(read) {
  let last = new Error('nothing there')
  for (const end = Date.now() + 1500; Date.now() < end; ) {
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
function statusOf(address) {
  const [entry] = performance.getEntriesByName(address)
  return entry && (entry.responseStatus || entry.encodedBodySize) ? 'status ' + entry.responseStatus + ', bytes ' + entry.encodedBodySize : null
}
/** The window that is left behind goes on reading while this one is sent to the victim's page. */
function fromHelper(helper) {
  const script = helper.document.createElement('script')
  script.nonce = nonce
  script.textContent = '(' + (async (address) => {
    let learned = null
    let failure = 'nothing there'
    opener.location = address
    for (const end = Date.now() + 1500; Date.now() < end && learned === null; ) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      try {
        if (opener.location.pathname.startsWith('/solution/victim/')) learned = opener.document.body.innerText || null
      } catch (error) {
        failure = String(error)
      }
    }
    const output = document.createElement('output')
    output.id = 'learned'
    output.textContent = JSON.stringify({ learned, failure })
    document.body.append(output)
  }) + ')(' + JSON.stringify(victim + 'index.html') + ')'
  helper.document.body.append(script)
  return new Promise(() => {})
}
function post(action, fields, target = '_self', rel = '') {
  const form = Object.assign(document.createElement('form'), { method: 'post', action, target, rel })
  for (const [name, value] of Object.entries(fields)) form.append(Object.assign(document.createElement('input'), { name, value }))
  document.body.append(form)
  form.submit()
}
async function run(probe) {
  let learned = null
  let failure = null
  try {
    learned = (await probe()) || null
  } catch (error) {
    failure = String(error)
  }
  const output = document.createElement('output')
  output.id = 'learned'
  output.textContent = JSON.stringify({ learned, failure })
  document.body.append(output)
}
const probes = {
${Object.entries({ ...READS, ...ACTS })
  .map(([name, body]) => `${JSON.stringify(name)}: async () => {\n${body}\n}`)
  .join(',\n')}
}
const chosen = probes[decodeURIComponent(location.hash.slice(1))]
if (chosen) run(chosen)
`

const FORM = `<form method="post" accept-charset="UTF-8" name="login_form" role="form">
  <p id="errorlabel" class="errorlabel" role="alert">No.</p>
  <input type="text" id="username" name="username"><input type="password" id="password" name="password">
  <input type="checkbox" name="remember"><input type="hidden" name="id_token"><button type="submit">Go</button>
</form>`

/** A solution with its own login page that lets everybody in whose password is "open". */
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

const SETUPS = {
  'hosts of their own': { SOLUTION_ORIGIN: 'http://{name}.localhost' },
  'hosts of their own on one site': { SOLUTION_ORIGIN: 'http://{name}.apps.localhost' },
  'one shared host': {},
}

describe.skipIf(browserPath === undefined).each(Object.entries(SETUPS))('solutions on %s', (setup, properties) => {
  const shared = setup === 'one shared host'
  let host: TestHost
  let browser: Browser
  let context: BrowserContext

  beforeAll(async () => {
    host = await startTestHost(properties)
    const spy = `<body data-victim="${host.addressOf('victim')}" data-own="${host.addressOf('spy')}">${FORM}<script>${SPY_SCRIPT}</script></body>`
    const uploads = [
      await host.upload('spy', await solutionOf('spy', spy)),
      await host.upload('victim', await solutionOf('victim', `<body><h1>Victim</h1>${FORM}</body>`)),
    ]
    for (const answer of uploads) expect(await answer.json()).toMatchObject({ active: true, warnings: [] })
    browser = await launchBrowser()
    context = await browser.newContext()
    await signIn(context, 'victim')
  })

  afterAll(async () => {
    await browser?.close()
    await host?.stop()
  })

  const pageOf = (solution: string) => `${host.addressOf(solution)}index.html`

  async function signIn(where: BrowserContext, solution: string): Promise<void> {
    const page = await where.newPage()
    await page.goto(pageOf(solution))
    await page.fill('[name=username]', USER)
    await page.fill('[name=password]', 'open')
    await page.click('button[type=submit]')
    await page.getByText(UID).waitFor()
    await page.close()
  }

  /** The session as the server sees it, with the cookies that the browser would send. */
  async function sessionOf(where: BrowserContext, solution: string) {
    const url = new URL(`${host.addressOf(solution)}session`)
    const cookies = (await where.cookies(url.href)).map(({ name, value }) => `${name}=${value}`).join('; ')
    return ask(`${host.url}${url.pathname}`, { headers: { host: url.host, cookie: cookies } })
  }

  /** Opens the spy's login page with that probe and waits for what it brings home. */
  async function probe(where: BrowserContext, name: string): Promise<{ learned: unknown; failure: unknown }> {
    const page = await where.newPage()
    try {
      await page.goto(`${pageOf('spy')}#${encodeURIComponent(name)}`)
      for (const end = Date.now() + 6000; Date.now() < end; await page.waitForTimeout(50)) {
        for (const one of where.pages()) {
          const text = await one
            .evaluate<string | undefined>(`document.querySelector('#learned')?.textContent`)
            .catch(() => undefined)
          if (text !== undefined) return JSON.parse(text)
        }
      }
      throw new Error('the probe brought nothing home')
    } finally {
      await Promise.all(where.pages().map((one) => one.close()))
    }
  }

  test.each(Object.keys(READS))('a script on a login page learns nothing of another solution by %s', async (name) => {
    const result = await probe(context, name)
    console.log('PROBE', setup, '|', name, '|', JSON.stringify(result).slice(0, 300))
    expect(result.learned).toBeNull()
  })

  test.each(Object.keys(ACTS))('a user stays signed in after %s on another solution’s login page', async (name) => {
    const own = await browser.newContext()
    await signIn(own, 'victim')
    const page = await own.newPage()
    await page.goto(`${pageOf('spy')}#${encodeURIComponent(name)}`)
    await page.waitForTimeout(1000)
    const address = page.url()
    const cookies = (await own.cookies(`${host.addressOf('victim')}session`)).map(
      (c) => `${c.name} ${c.path} ${c.domain}`,
    )
    const session = await sessionOf(own, 'victim')
    const view = await own.newPage()
    await view.goto(`${host.addressOf('victim')}session`)
    console.log(
      'ACT',
      setup,
      '|',
      name,
      '|',
      session.status,
      (await view.innerText('body')).slice(0, 80),
      address,
      cookies.join(' ; '),
    )
    expect(await view.innerText('body')).toContain(USER)
    await own.close()
  })
})
